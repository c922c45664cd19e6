"""Grades: what attempts, reviews, overrides, external scores and extensions add up to.

`settle` computes grades and stores them; every change of what they depend on calls it. Staff change
grades through `overrides`, `external_scores` and `extensions`, and read them through `gradebook`
and `export`. Other packages may import all of these.
"""
