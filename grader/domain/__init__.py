"""Plain values that every other part speaks about."""
