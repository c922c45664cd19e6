"""A rubric's own examples, tried while the author waits, and cached: results never change."""

from __future__ import annotations

import math
from dataclasses import dataclass

from grader.engine.random.draws import DrawFailed
from grader.grading.context import GradingContext
from grader.rubric.catalog import Rubric
from grader.rubric.examples import ExampleOutcome, list_example_outcomes
from grader.rubric.forms import ExampleForm

#: On how many variants examples are tried; publishing tries more, but nobody waits for it.
SHOWN_VARIANTS = 3


@dataclass(frozen=True, slots=True)
class ExampleRun:
    """An example with its result on each variant."""

    example: ExampleForm
    outcomes: tuple[ExampleOutcome, ...]

    @property
    def faults(self) -> tuple[str, ...]:
        """How its results differ from its file, once for each variant on which they do."""
        return tuple(each.fault for each in self.outcomes if each.fault)

    @property
    def is_as_stated(self) -> bool:
        """Whether its results agree with its file, which may allow a share of exceptions."""
        return len(self.faults) <= math.ceil(self.example.by_chance * len(self.outcomes))


@dataclass(frozen=True, slots=True)
class ExampleRuns:
    """The results of all examples of a rubric."""

    tried: tuple[ExampleRun, ...]
    failure: str = ""
    """Why no variant can be drawn; empty if one can."""

    @property
    def as_stated(self) -> int:
        """How many agree with the file."""
        return sum(each.is_as_stated for each in self.tried)


def find_example_runs(context: GradingContext, rubric: Rubric) -> ExampleRuns | None:
    """How the examples come out, if that was tried before."""
    with context.lock:
        return context.example_runs.get((rubric.id, rubric.versions))


def run_rubric_examples(context: GradingContext, rubric: Rubric) -> ExampleRuns:
    """How the examples come out; it may take seconds, the first time."""
    found = find_example_runs(context, rubric)
    if found is None:
        found = _run(rubric)
        with context.lock:
            context.example_runs[rubric.id, rubric.versions] = found
    return found


def _run(rubric: Rubric) -> ExampleRuns:
    try:
        outcomes = list(list_example_outcomes(rubric, variants=SHOWN_VARIANTS))
    except DrawFailed as error:
        return ExampleRuns((), f"A variant cannot be drawn: {error}")
    return ExampleRuns(tuple(ExampleRun(example, tuple(found)) for example, found in outcomes))
