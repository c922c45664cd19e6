"""Submissions: an answer arrives.

`submit` judges and stores answers, `check` tries one without storing it, `drafts` and `uploads`
keep what belongs to an answer before it is sent. Other packages may import all four.
"""
