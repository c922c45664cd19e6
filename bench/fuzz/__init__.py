"""`make fuzz`: a million mutated requests to a real server, and what it promises about them.

`course` fills a store, `pages` finds the forms and links of each role, `values` mutates JSON and
texts, `formulas` and `rubrics` write hostile ones, `requests` makes the request of a number,
`sending` sends it and looks at the answer, `runs` runs a server with a sender and watches memory.
The request of a number is the same in every run with the same seed.
"""
