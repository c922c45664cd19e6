"""Rubric files: from strict YAML to compiled questions, with the location of every error."""
