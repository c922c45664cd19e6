"""What proves a grade: bundles, and judging again from one. Needs no database."""
