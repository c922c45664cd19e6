"""The grade dashboard, and one student at one question."""
