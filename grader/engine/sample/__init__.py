"""Trying answers on key sets: what must be computed, and the observations."""
