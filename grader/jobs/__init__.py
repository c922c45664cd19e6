"""Durable jobs: long work in pieces, which goes on where it stood when a process has died.

`worker` does the pieces of all jobs, `phases` says what a kind of job consists of, and every kind
has a module. Use cases in `grading` do the work itself.
"""
