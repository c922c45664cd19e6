"""HTTP in and out: strict intake, problems, headers, budgets, logs, metrics and the manual."""
