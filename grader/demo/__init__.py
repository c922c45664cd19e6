"""A made-up course for trying Keyset: its people, their answers and the decisions of staff.

Others use `fill` and `people`.
"""
