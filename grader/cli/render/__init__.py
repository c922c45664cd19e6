"""What commands print: formulas, arrays and plots as text."""
