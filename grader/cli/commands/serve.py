"""`grader serve`: run the service."""

from __future__ import annotations

from typing import Annotated

import typer

from grader.cli.server import run_server

EXAMPLES = """\
[bold]Examples[/]
  grader serve --demo                 with a demo course of 120 made-up students
  grader serve --port 9000
  GRADER_DATABASE_URL=postgresql://grader@localhost/grader grader serve --workers 4

`grader settings` lists all settings.
"""


def serve(
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="The address to listen on.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="The port; 0 takes any free port.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, help="The number of processes; more than one needs PostgreSQL."
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            metavar="",
            help="Add a demo course, and print sign-in links and tokens for it.",
        ),
    ] = False,
) -> None:
    """Serve the API and the pages, after bringing the database up to date."""
    run_server(host=host, port=port, workers=workers, is_demo=demo)
