"""`python -m grader` is the command `grader`."""

from __future__ import annotations

from grader.cli.main import main

if __name__ == "__main__":
    main()
