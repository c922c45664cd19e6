"""Putting an assignment's files and dates in force, and what was in force before."""
