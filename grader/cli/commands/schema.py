"""`grader schema`: the JSON Schema of rubric files, for editors."""

from __future__ import annotations

from typing import Annotated

import typer

from grader.cli.console import print_json
from grader.rubric.assignment import AssignmentFile
from grader.rubric.forms import QuestionFile

EXAMPLES = """\
[bold]Examples[/]
  grader schema > question.schema.json
  grader schema --assignment > assignment.schema.json

In editors that use the YAML language server, write this line at the top of a rubric:
  # yaml-language-server: $schema=question.schema.json
"""


def schema(
    assignment: Annotated[
        bool,
        typer.Option(
            "--assignment", metavar="", help="Print the schema of assignment.yaml instead."
        ),
    ] = False,
) -> None:
    """Print the JSON Schema of a question's file."""
    model = AssignmentFile if assignment else QuestionFile
    print_json(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **model.model_json_schema(by_alias=True),
        }
    )
