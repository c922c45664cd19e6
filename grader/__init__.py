"""Keyset grades answers about attention by what they do on random key sets."""

__version__ = "0.1.0"
