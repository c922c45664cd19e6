"""A made-up course for trying Keyset: its people, their answers and what staff decided.

Others use `fill`.
"""
