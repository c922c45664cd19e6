"""The store's own verification, one module for each kind of thing it looks at.

Others use `verify`.
"""
