"""Keyset from a notebook: see a question as arrays, check an answer, send it, read the feedback.

::

    from grader.client import Client

    g = Client("http://localhost:8000", token="keyset_…", course="demo", assignment="attention")
    k = g.question("3b").given["k"]
    g.submit("3b", q=40 * (k[0] + k[1]))
"""

from grader.client.client import Client
from grader.client.errors import ClientError, ProblemPlace
from grader.client.questions import Question
from grader.client.results import Result
from grader.client.transport import Patience

__all__ = ["Client", "ClientError", "Patience", "ProblemPlace", "Question", "Result"]
