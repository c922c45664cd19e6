"""Rubric files: from strict YAML to checked, frozen questions, with the place of every mistake."""
