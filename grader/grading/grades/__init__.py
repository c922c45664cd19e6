"""What attempts, reviews and overrides come to, and the gradebook made of it."""
