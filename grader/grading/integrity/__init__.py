"""Wrong answers that solve another student's variant, and the chance of that."""
