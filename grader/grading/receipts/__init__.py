"""Receipts: what proves a grade. Nothing here needs a database.

`bundle` is the file that a student takes away, `checks` what it says of itself, `replay` judges it
again. Other packages may import all three.
"""
