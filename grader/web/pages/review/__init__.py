"""Reviewing written parts in the browser."""
