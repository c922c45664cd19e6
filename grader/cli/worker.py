"""What the worker processes of a service need; the process that they are forked from imports it.

Nothing here may start a thread or open a connection: neither would survive the fork.
"""

from __future__ import annotations

import grader.cli.server
import grader.web.submissions
from grader.web.app import list_lazy_routes

__all__ = ["grader"]

# With their models, they take longer to make than all else.
list_lazy_routes()
