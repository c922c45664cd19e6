"""Analytics: figures about a class.

`statistics` computes an assignment's statistics from the `tallies` of its questions; `models` are
their reported form. `question` caches them and adds variant fairness; `drilldown` lists the
attempts behind a figure; `staff_home` is the staff's home page. Other packages may import all but
`tallies`.
"""
