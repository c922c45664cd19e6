"""The environment of the templates."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from grader import __version__


def make_environment() -> Environment:
    """An environment for `grader/web/templates`, which escapes everything."""
    environment = Environment(
        loader=PackageLoader("grader.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # They are part of the package; to look whether they have changed takes a system call each.
        auto_reload=False,
    )
    environment.globals["version"] = __version__
    return environment
