"""Rubric file → question: every expression read, every shape checked, every name known."""

from __future__ import annotations

from collections.abc import Mapping

from grader.engine.question import Question
from grader.rubric.compile_answers import compile_fields, compile_key_sets, compile_steps
from grader.rubric.compile_criteria import (
    check_needs,
    check_points,
    compile_criteria,
    compile_misconceptions,
    compile_plots,
)
from grader.rubric.compile_draws import (
    Compiled,
    check_given,
    compile_draws,
    compile_families,
    compile_uses,
)
from grader.rubric.document import Document
from grader.rubric.forms import QuestionFile
from grader.rubric.reader import Reader


def compile_question(
    form: QuestionFile, document: Document, *, assignment: str, earlier: Mapping[str, Compiled]
) -> Compiled:
    """Compile a question.

    Parameters
    ----------
    earlier
        The assignment's questions before this one, by id; `uses` may name one of them.

    Raises
    ------
    RubricErrors
        With the places of what cannot be used.
    """
    reader = Reader(document)
    uses = compile_uses(reader, form.uses, earlier)
    draws = (*(uses.question.draws if uses else ()), *compile_draws(reader, form.draw))
    reader.stop_on_errors()
    compile_families(reader, form.families)
    check_given(reader, form.given)
    fields = tuple(compile_fields(reader, form))
    reader.stop_on_errors()
    key_sets = compile_key_sets(reader, form.key_sets)
    reader.stop_on_errors()
    compute = compile_steps(reader, form.compute)
    reader.stop_on_errors()
    question = Question(
        id=f"{assignment}/{form.id}",
        revision=form.revision,
        draws=draws,
        given=form.given,
        fields=fields,
        criteria=tuple(compile_criteria(reader, form)),
        compute=compute,
        key_sets=key_sets,
        misconceptions=tuple(compile_misconceptions(reader, form)),
        uses=uses,
        plots=tuple(compile_plots(reader, form.plots)),
        fresh_variants=form.fresh_variants,
    )
    # A criterion that could not be read has no points; to say that they are missing helps nobody.
    reader.stop_on_errors()
    check_points(reader, form, question)
    check_needs(reader, form, question)
    reader.stop_on_errors()
    return Compiled(question, reader.scope)
