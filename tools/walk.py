"""Walk one warm POST through the code: the modules and functions it enters, and its time.

Usage: python -m tools.walk [--time N] [--list]

The attempt is the second one of a student, so that caches are warm and the variant is known.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from grader.domain.roles import Role
from grader.store.database import open_database
from grader.store.migrations import migrate_up
from tests.support.world import World, make_service, question_path

QUESTION = "attention-exploration/3b"
_PACKAGE = str(Path(__file__).parents[1] / "grader") + "/"


class Recorder:
    """Counts the calls into our own code, in all threads that begin after `install`."""

    def __init__(self) -> None:
        self.calls: Counter[CodeType] = Counter()
        self.is_on = False

    def install(self) -> None:
        """Watch this thread and all that begin from now on."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # Comprehensions and lambdas are part of the function that they stand in.
        is_named = event == "call" and "<" not in code.co_name
        if self.is_on and is_named and code.co_filename.startswith(_PACKAGE):
            self.calls[code] += 1


def post(world: World, login: str, scale: float) -> None:
    """Submit a wrong query, which is looked at for every known misconception."""
    response = world.post(
        question_path(QUESTION) + "/attempts", login, {"answer": {"q": f"{scale} k_a - k_b"}}
    )
    assert response.status_code == 201, response.text


@contextmanager
def open_world(students: int) -> Iterator[World]:
    """A service on SQLite whose students have each sent one answer."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/walk.db"
        migrate_up(url)
        with make_service(open_database(url)) as world:
            for number in range(students):
                world.add_member(f"walker{number}", Role.STUDENT)
                post(world, f"walker{number}", 1)
            yield world


def walk() -> Counter[CodeType]:
    """The calls of one warm POST."""
    recorder = Recorder()
    recorder.install()
    with open_world(3) as world:
        post(world, "walker0", 1.5)
        recorder.is_on = True
        post(world, "walker1", 1.5)
        recorder.is_on = False
    threading.setprofile(None)
    sys.setprofile(None)
    return recorder.calls


def time_posts(count: int) -> tuple[list[float], list[float]]:
    """Seconds by the clock and of processor time of warm POSTs, sent one after the other."""
    taken, spent = [], []
    with open_world(count) as world:
        for number in range(count):
            began, busy = time.perf_counter(), time.process_time()
            post(world, f"walker{number}", 1.5)
            taken.append(time.perf_counter() - began)
            spent.append(time.process_time() - busy)
    return taken, spent


def main() -> None:
    """Print the walk, or times as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", type=int, default=0, metavar="N", help="time N posts instead")
    parser.add_argument("--list", action="store_true", help="list every function with its calls")
    asked = parser.parse_args()
    if asked.time:
        taken, spent = time_posts(asked.time)
        figures = {"clock_ms": taken, "cpu_ms": spent}
        print(
            json.dumps(
                {name: round(1e3 * statistics.median(each), 2) for name, each in figures.items()}
            )
        )
        return
    calls = walk()
    modules = Counter(code.co_filename.removeprefix(_PACKAGE) for code in calls.elements())
    print(f"{len(modules)} modules, {len(calls)} functions, {calls.total()} calls")
    if asked.list:
        for code, count in sorted(calls.items(), key=lambda each: -each[1]):
            print(f"{count:6} {code.co_filename.removeprefix(_PACKAGE)}:{code.co_qualname}")


if __name__ == "__main__":
    main()
