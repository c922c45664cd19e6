"""What a student sent, read into arrays and formulas or refused with the exact place."""
