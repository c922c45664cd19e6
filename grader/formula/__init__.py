"""Mathematics as people write it: text → typed tree → NumPy. Nothing is ever executed as Python.

The way of a formula: `clean` takes away what only concerns looks, `definitions` splits off the
writer's constants, `tokens` knows the names, `grammar.lark` how they combine, `typing` gives every
node its exact shape, `limits` bounds the work, `evaluate` computes, `show` says how it was read.
"""
