"""Attempts that count by an earlier version of their rubric, which nobody has decided about yet.

Versions that differ in words alone are one version here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from grader.domain.regrades import RegradeState
from grader.errors import KeysetError
from grader.grading.context import GradingContext, PublishedAssignment
from grader.rubric.changes import hash_deciding
from grader.store.database import Session
from grader.store.queries.publications import PublicationLine, list_publications
from grader.store.queries.regrades.judging import count_versions
from grader.store.queries.regrades.records import RegradeLine, list_regrades


@dataclass(frozen=True, slots=True)
class RubricHistory:
    """By whose rubrics answers come out as by those of one publication.

    Parameters
    ----------
    deciding
        By question, what decides about its answers.
    alike
        By question, the publications whose rubric decides in the same way.
    since
        By question, when the publication in force began to, or the first of those alike that were
        published one after the other up to now.
    """

    deciding: Mapping[str, str]
    alike: Mapping[str, frozenset[str]]
    since: Mapping[str, datetime]


def load_rubric_history(
    session: Session, context: GradingContext, published: PublishedAssignment
) -> RubricHistory:
    """What an assignment's other publications have in common with this one."""
    deciding = {name: hash_deciding(each) for name, each in published.assignment.rubrics.items()}
    alike: dict[str, set[str]] = {name: set() for name in deciding}
    since = dict.fromkeys(deciding, published.line.published_at)
    changed: set[str] = set()
    line = published.line
    # The newest come first.
    for each in list_publications(session, run_id=line.run_id, assignment=line.assignment):
        other = _list_deciding(session, context, each)
        for name, digest in deciding.items():
            if other.get(name) == digest:
                alike[name].add(each.id)
                if name not in changed:
                    since[name] = each.published_at
            else:
                changed.add(name)
    return RubricHistory(deciding, {name: frozenset(ids) for name, ids in alike.items()}, since)


def _list_deciding(
    session: Session, context: GradingContext, line: PublicationLine
) -> Mapping[str, str]:
    """By question what decides in a publication; empty where its files are not understood now."""
    try:
        rubrics = context.published(session, line).assignment.rubrics
    except KeysetError:
        return {}
    return {name: hash_deciding(each) for name, each in rubrics.items()}


def count_outdated(
    session: Session, context: GradingContext, published: PublishedAssignment
) -> dict[str, int]:
    """By question, how many attempts count by an earlier version of the rubric in force.

    Questions without any are left out, and those about which somebody has decided: by a regrade,
    which may have left some attempts as they are, or against one.
    """
    line = published.line
    regrades = list_regrades(session, run_id=line.run_id, assignment=line.assignment)
    # New attempts count by the rubrics in force, so that only these can change the counts.
    key = (line.id, tuple((each.id, each.state) for each in regrades))
    with context.lock:
        known = context.outdated.get(key)
    if known is None:
        known = _count_outdated(session, context, published, regrades)
        with context.lock:
            context.outdated[key] = known
    return dict(known)


def _count_outdated(
    session: Session,
    context: GradingContext,
    published: PublishedAssignment,
    regrades: Sequence[RegradeLine],
) -> dict[str, int]:
    line = published.line
    history = load_rubric_history(session, context, published)
    counts: Counter[str] = Counter()
    for each in count_versions(session, run_id=line.run_id, assignment=line.assignment):
        if each.question in history.alike and (
            each.publication_id not in history.alike[each.question]
        ):
            counts[each.question] += each.attempts
    return {
        name: counts[name]
        for name in published.form.questions
        if counts[name] and not _is_decided(name, history, regrades)
    }


def _is_decided(question: str, history: RubricHistory, regrades: Sequence[RegradeLine]) -> bool:
    """Whether somebody has decided since the rubric in force decides about the question."""
    return any(
        each.state in (RegradeState.APPLIED, RegradeState.DECLINED)
        and each.questions.get(question) == history.deciding[question]
        and each.decided_at is not None
        and each.decided_at >= history.since[question]
        for each in regrades
    )
