"""Publishing: an assignment's files and dates come into force in a course run."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from grader.engine.random.draws import DrawFailed
from grader.errors import FileLocation, RequestRefused, RubricError, RubricErrors
from grader.feedback.base import hash_bytes
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.dates import check_date_order, normalize_date
from grader.grading.grades.settle import update_grades
from grader.grading.locks import lock_assignment
from grader.rubric.catalog import CompiledAssignment, Rubric
from grader.rubric.examples import run_examples
from grader.store.database import Session
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.courses import RunLine
from grader.store.queries.facts import RecordedTable
from grader.store.queries.grades import list_grades
from grader.store.queries.publications import PublicationLine, add_publication, find_in_force
from grader.store.rows import make_id

#: On how many variants examples are tried before publishing.
EXAMPLE_VARIANTS = 20
#: The largest integer of a PostgreSQL column.
_MAX_REVISION = 2**31 - 1
# How many grades are updated at once.
_BATCH_SIZE = 200


def check_examples(assignment: CompiledAssignment, *, known: Collection[str] = ()) -> None:
    """Try the examples of an assignment's rubrics, except those of `known` versions.

    Raises
    ------
    RubricErrors
        With every example whose result differs from what its file says.
    """
    errors = []
    for rubric in assignment.rubrics.values():
        if rubric.version not in known:
            errors += _failing_examples(rubric)
    if errors:
        raise RubricErrors(errors)


def _failing_examples(rubric: Rubric) -> list[RubricError]:
    try:
        results = list(run_examples(rubric, variants=EXAMPLE_VARIANTS))
    except DrawFailed as error:
        return [_make_error(rubric, f"a variant cannot be drawn: {error}", field="draw")]
    return [
        _make_error(
            rubric,
            f"the result of the example {each.example!r} differs from the file: {each.message}",
            field="examples",
        )
        for failures in results
        for each in failures[:1]
    ]


def _make_error(rubric: Rubric, message: str, *, field: str) -> RubricError:
    return RubricError(message, place=FileLocation(f"{rubric.id}.yaml", 1, 1), field=field)


def _check_storable(assignment: CompiledAssignment) -> None:
    """Raise RubricErrors for values that files may have but that cannot be stored or used."""
    errors = [
        _make_error(rubric, f"a revision is at most {_MAX_REVISION}", field="revision")
        for rubric in assignment.rubrics.values()
        if rubric.question.revision > _MAX_REVISION
    ]
    form = assignment.form
    place = FileLocation(f"{form.id}/assignment.yaml", 1, 1)
    errors += [
        RubricError(f"{each!r} is not a number of points", place=place, field="grades")
        for each in form.grades
        if not each.isascii()
    ]
    if len(set(form.questions)) < len(form.questions):
        errors.append(RubricError("a question is listed twice", place=place, field="questions"))
    if errors:
        raise RubricErrors(errors)


def publish(
    session: Session,
    context: GradingContext,
    *,
    run: RunLine,
    assignment: CompiledAssignment,
    opens_at: datetime | None,
    due_at: datetime | None,
    note: str,
    at: datetime,
    by: str,
) -> PublicationLine:
    """Put an assignment in force from now on; publishing the same again changes nothing.

    Attempts keep their verdicts until a regrade. If dates, policies or points change, grades are
    computed again.

    Raises
    ------
    MalformedRequest, RubricErrors
        If a date or something in a file cannot be used.
    RequestRefused
        If a question that students have answered would be removed.
    """
    name = assignment.form.id
    _check_storable(assignment)
    opens_at = normalize_date(opens_at, field="opens_at")
    due_at = normalize_date(due_at, field="due_at")
    check_date_order(opens_at, due_at)
    lock_assignment(session, run_id=run.id, assignment=name)
    current = find_in_force(session, run_id=run.id, assignment=name)
    before = context.published(session, current) if current else None
    if before is not None and _is_same(before, assignment, opens_at, due_at):
        return before.line
    answered = {line.question for line in list_grades(session, run_id=run.id, assignment=name)}
    _refuse_removal(answered - set(assignment.form.questions))
    line = PublicationLine(
        id=make_id("pub"),
        run_id=run.id,
        assignment=name,
        number=before.line.number + 1 if before else 1,
        opens_at=opens_at,
        due_at=due_at,
        note=note,
        by=by,
        published_at=at,
    )
    rubrics = {key: (each.version, each.text) for key, each in assignment.rubrics.items()}
    add_publication(session, line, form=assignment.text, rubrics=rubrics)
    add_audit_entry(
        session,
        at=at,
        by=by,
        run_id=run.id,
        action="assignment.published",
        subject=name,
        details={
            "publication": line.id,
            "number": line.number,
            "note": note,
            "form": hash_bytes(assignment.text.encode()),
            "versions": {key: version for key, (version, _) in rubrics.items()},
        },
        changed={
            RecordedTable.PUBLICATIONS: [line.id],
            RecordedTable.PUBLICATION_PARTS: [line.id],
            RecordedTable.RUBRIC_TEXTS: [version for version, _ in rubrics.values()],
        },
    )
    if before is not None:
        now = PublishedAssignment(line, assignment)
        changed = {each for each in answered if _changes_grades(before, now, each)}
        _settle_again(session, context, now, changed, at=at)
    return line


def _is_same(
    before: PublishedAssignment,
    assignment: CompiledAssignment,
    opens_at: datetime | None,
    due_at: datetime | None,
) -> bool:
    return (
        before.line.opens_at == opens_at
        and before.line.due_at == due_at
        and before.assignment.text == assignment.text
        and {key: each.version for key, each in before.assignment.rubrics.items()}
        == {key: each.version for key, each in assignment.rubrics.items()}
    )


def _refuse_removal(removed: set[str]) -> None:
    if removed:
        raise RequestRefused(
            f"Students have answered {', '.join(sorted(removed))}; answered questions must stay.",
            code="publication.removes_question",
        )


def _changes_grades(before: PublishedAssignment, now: PublishedAssignment, question: str) -> bool:
    return (
        before.policy(question) != now.policy(question)
        or before.rubric(question).form.points != now.rubric(question).form.points
    )


def _settle_again(
    session: Session,
    context: GradingContext,
    now: PublishedAssignment,
    questions: set[str],
    *,
    at: datetime,
) -> None:
    run_id, assignment = now.line.run_id, now.line.assignment
    grades = list_grades(session, run_id=run_id, assignment=assignment)
    keys = [line.part for line in grades if line.question in questions]
    for start in range(0, len(keys), _BATCH_SIZE):
        batch = keys[start : start + _BATCH_SIZE]
        update_grades(session, context, run_id=run_id, parts=batch, at=at)
