"""Draws, key sets, observations, verdicts: pure NumPy that knows no web, SQL or YAML."""
