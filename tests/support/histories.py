"""An assignment of one question with much to decide, and random histories of students at it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from grader.rubric.catalog import CompiledAssignment, read_assignment
from tests.support.world import DUE, World, question_path

LONG = "long"
QUESTION = f"{LONG}/one"

_FORM = """
id: long
title: A long history
questions: [one]
attempts: {{most: {most}, counted: {counted}}}
late: {{grace_seconds: 60, per_day: 0.15, days: 6}}
"""
_ONE = """
id: one
title: One key
points: 6
prompt: "Send $q$, and say why."
draw:
  n: 5
  d: 7
  a: {{distinct_indices: n}}
  k: {{orthonormal: [n, d]}}
given: [n, d, a, k]
answer:
  q: {{shape: [d], symbols: [k]}}
  explanation: {{text: {{items: [{{points: 2, for: "the score is far above all others"}}]}}}}
compute:
  w: softmax(k q)
criteria:
  - id: weights
    title: All weight on one key
    points: 4
    measure: tv(w, unit(a))
    in_words: "{{measured}} of the weight is in the wrong place; {{needed}} may be"
    levels: [{{within: {within}, credit: 1}}, {{within: 0.25, credit: 0.4}}]
"""


def long_assignment(
    *, counted: str = "best", most: int = 12, within: float = 0.02
) -> CompiledAssignment:
    """The assignment; a multiple of `k_a` earns more, the longer it is."""
    form = _FORM.format(counted=counted, most=most)
    return read_assignment(LONG, form, {"one": _ONE.format(within=within)})


@dataclass(slots=True)
class History:
    """What happens to students one after the other, as `random` has it."""

    world: World
    random: Random
    counted: str
    within: float = 0.02

    def publish(self, *, due_at: datetime = DUE) -> None:
        self.world.publish(long_assignment(counted=self.counted, within=self.within), due_at=due_at)

    def go_on(self, who: str) -> None:
        """Let something happen to a student."""
        steps = [self.attempt] * 8 + [self.review] * 3 + [self.override, self.extend] * 2
        self.random.choice([*steps, self.wait, self.wait, self.publish_again])(who)

    def attempt(self, who: str) -> None:
        answer: dict[str, Any] = {"q": f"{self.random.randint(1, 8)} k_a"}
        if self.random.random() < 0.5:
            answer["explanation"] = self.random.choice(["It is far above.", "Because."])
        path = question_path(QUESTION) + "/attempts"
        sent = self.world.post(path, who, {"answer": answer})
        assert sent.status_code in (200, 201, 409), sent.text

    def review(self, who: str) -> None:
        attempts = self.world.read(question_path(QUESTION) + "/attempts", who)
        if attempts:
            attempt = self.random.choice(attempts)["id"]
            body = {"criterion": "explanation", "points": self.random.randint(0, 8) / 4}
            path = f"/api/v1/courses/one/attempts/{attempt}/reviews"
            sent = self.world.post(path, "arthur", body)
            # Nobody reviews what was not sent.
            assert sent.status_code in (201, 404, 409, 422), sent.text

    def override(self, who: str) -> None:
        """Set the points, or leave them to the attempts again."""
        path = question_path(QUESTION) + f"/grades/{who}"
        version = self.world.get(path, "irene").headers["ETag"]
        points = None if self.random.random() < 0.5 else self.random.randint(0, 24) / 4
        body = {"points": points, "reason": "As it should be."}
        sent = self.world.call("PUT", path + "/override", "irene", body, {"If-Match": version})
        assert sent.status_code == 200, sent.text

    def extend(self, who: str) -> None:
        """Give more time, or less than before, or one more attempt."""
        due_at = self.world.clock() + timedelta(days=self.random.uniform(-3, 3))
        body = {
            "student": who,
            "due_at": due_at.replace(microsecond=0).isoformat(),
            "extra_attempts": self.random.randint(0, 2),
            "reason": "Ill.",
        }
        path = f"/api/v1/courses/one/assignments/{LONG}/extensions"
        sent = self.world.post(path, "irene", body)
        assert sent.status_code == 201, sent.text

    def wait(self, _: str) -> None:
        self.world.clock.turn(hours=self.random.uniform(0, 30))

    def publish_again(self, _: str) -> None:
        """Mend the rubric, after which old answers are judged again for free, and move the end."""
        self.within = self.random.choice([0.02, 0.01, 0.05])
        self.publish(due_at=DUE + timedelta(days=self.random.choice([-2, -1, 0, 1])))
