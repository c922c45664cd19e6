"""Figures about a class: statistics, fairness, drill-down, the staff's home page."""
