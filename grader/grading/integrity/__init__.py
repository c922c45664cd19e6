"""Integrity: answers that fail their own variant and solve another student's.

`check` starts and runs a check in the background and loads what it found, with the `coincidence`
that says how probable it is by accident. Other packages may import these two; `cases`
collects a check's input, and `search` does the comparing.
"""
