"""`grader serve`: the service, with one command."""

from __future__ import annotations

from typing import Annotated

import typer

from grader.cli.server import run_server

EXAMPLES = """\
[bold]Examples[/]
  grader serve --demo                 a course with 120 made-up students, to look around
  grader serve --port 9000
  GRADER_DATABASE_URL=postgresql://grader@localhost/grader grader serve --workers 4

`grader settings` lists everything that can be set.
"""


def serve(
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="The address to listen on.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="The port; 0 takes any that is free.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="How many processes; more than one needs PostgreSQL."),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", metavar="", help="Add a course with made-up students, and print ways in."
        ),
    ] = False,
) -> None:
    """Serve the API and the pages; brings the database up to date first."""
    run_server(host=host, port=port, workers=workers, is_demo=demo)
