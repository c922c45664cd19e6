"""Reviews: people grade written parts and what the engine left undecided.

`review` knows the tasks and records one decision, `queue` lists the tasks by question and reports
progress, `claims` reserves an attempt for one reviewer, and `save` records all decisions about an
attempt. Other packages may import all four.
"""
