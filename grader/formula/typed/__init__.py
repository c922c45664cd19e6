"""Parse tree → typed tree: every shape is checked exactly."""
