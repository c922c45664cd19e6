"""The demo: a course run with made-up people and what they did, and ways into it."""

from __future__ import annotations

from grader.cli.demo.telling import tell_demo

__all__ = ["tell_demo"]
