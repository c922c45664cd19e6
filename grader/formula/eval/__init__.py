"""Typed tree to NumPy."""
