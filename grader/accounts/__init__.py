"""Accounts: people, course runs, rosters, tokens and signing in; nothing here knows about grading.

`callers` says who calls and what the caller may do; every use case takes its `Membership`. `people`
and `courses` make accounts and course runs. `roster_files` reads a roster, `roster_plans` says what
it would change, and `rosters` changes who takes part. `tokens` and `sign_in` make credentials.
Other packages may import all of these.
"""
