"""Publishing: putting an assignment's files and dates in force.

`publish` does it, `history` lists earlier publications, and `example_runs` tries a rubric's own
examples for its author. Other packages may import all three.
"""
