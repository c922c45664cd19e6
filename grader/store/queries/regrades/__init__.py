"""Queries of regrades.

`records` has the regrades themselves, `judging` the attempts that they judge, `changes` the grades
that follow from it, and `preview` what of it is shown.
"""
