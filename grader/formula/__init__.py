"""Mathematics as people write it: text → typed tree → NumPy. Nothing is ever executed as Python.

The stages of a formula: `syntax.normalize` removes formatting, `syntax.clauses` splits off the
writer's constants, `syntax.lexer` makes tokens, `syntax/grammar.lark` combines them,
`typed.checker` gives every node its exact shape, `formula` bounds the work, `eval` computes, and
`render` shows how the formula was read.
"""
