"""Queries by subject. They return frozen lines, never rows."""
