"""Use cases of grading: the order of their steps and what belongs into one transaction."""
