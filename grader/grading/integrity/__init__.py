"""Integrity: answers that fail their own variant and solve another student's.

`check` starts and runs a check in the background, and `results` loads what it found, with the
`coincidence` that says how probable it is by accident. Other packages may import these three;
`cases` collects a check's input, and `search` does the comparing.
"""
