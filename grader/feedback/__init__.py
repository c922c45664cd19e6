"""Verdicts → sentences and plot data. Data, not drawings: pages and the command line draw."""
