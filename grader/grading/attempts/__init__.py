"""Attempts: what was sent and how it came out.

`open_questions` is what a student sees before answering; `find` and `report` give attempts to those
who may see them, `compare` two of them, `inspect` everything about one for staff, `bundle_for` its
bundle. Other packages may import all of these.
"""
