"""Regrades: stored answers judged again after a rubric has changed.

`decide` starts a regrade, applies it and takes it back; `judge` and `compare` are the work between,
in pieces that jobs carry out; `outdated` tells where one is needed, and `preview` what it changes.
"""
