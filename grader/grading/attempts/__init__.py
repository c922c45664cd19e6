"""What was sent and how it came out, for students and for staff."""
