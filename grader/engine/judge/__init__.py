"""Observations to verdicts: criteria, predictions, misconceptions."""
