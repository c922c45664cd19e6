"""Parse tree to typed tree: every shape is checked exactly."""
