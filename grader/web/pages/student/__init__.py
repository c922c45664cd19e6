"""Pages for students: their work, a question, an answer being written, attempts."""
