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

Then write above a rubric, for editors that know the YAML language server:
  # yaml-language-server: $schema=question.schema.json
"""


def schema(
    assignment: Annotated[
        bool,
        typer.Option("--assignment", metavar="", help="The schema of assignment.yaml instead."),
    ] = False,
) -> None:
    """Print the JSON Schema of a question's file, so that an editor can complete and check it."""
    model = AssignmentFile if assignment else QuestionFile
    described = model.model_json_schema(by_alias=True)
    print_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **described})
