"""Typed tree back to plain text or LaTeX."""
