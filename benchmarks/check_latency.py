"""Measure which share of `check(f)` is jaxguide's; the rest is the student's own function and JAX's compilation.

    python benchmarks/check_latency.py

Each exercise's right answer is checked several times in this process, including the card. The student's share is the
time inside their function and JAX's compilation. Everything else is ours, including the interpreter behind the key
checks and the running of compiled programs. "cold" is the first check of a new function, "edited" a check of the same
source defined again, as after a student's edit, and "again" a check of the same function object. Compare shares within
one run, not seconds.
"""

import dataclasses
import functools
import io
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.monitoring

from jaxguide.course.books.book import run_answer
from jaxguide.course.books.library import load_course
from jaxguide.course.cards import Card
from jaxguide.course.progress import Progress
from jaxguide.lesson import check_answer

REPEATS = 5


@dataclasses.dataclass
class Clock:
    """Seconds inside the student's function, and seconds of JAX's compilation outside it."""

    inside_s: float = 0.0
    compile_s: float = 0.0
    depth: int = 0

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its outermost calls timed."""

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            self.depth += 1
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.depth -= 1
                if self.depth == 0:
                    self.inside_s += time.perf_counter() - started

        return timed

    def on_event(self, event: str, seconds: float, **_kwargs: Any) -> None:
        """Count a compilation, unless it happens inside the student's function, where it is already counted."""
        if self.depth == 0 and event.endswith(("jaxpr_to_mlir_module_duration", "backend_compile_duration")):
            self.compile_s += seconds


CLOCK = Clock()


@contextmanager
def timing() -> Iterator[dict[str, float]]:
    """Measure the time of a block, and the student's part of it."""
    CLOCK.inside_s = CLOCK.compile_s = 0.0
    found: dict[str, float] = {}
    started = time.perf_counter()
    yield found
    found["all_s"] = time.perf_counter() - started
    found["students_s"] = CLOCK.inside_s + CLOCK.compile_s


def main() -> None:
    """Measure every coding exercise and print a table, or JSON with `--json`."""
    jax.monitoring.register_event_duration_secs_listener(CLOCK.on_event)
    course = load_course()
    jax.random.normal(jax.random.key(0)).block_until_ready()
    rows = []
    with TemporaryDirectory() as folder:
        progress = Progress(Path(folder))
        for exercise in course.exercises.values():
            if exercise.key is None or exercise.is_prediction:
                continue
            book = course.book_of(exercise)

            def define(exercise: Any = exercise, book: Any = book) -> Callable[[], None]:
                names = run_answer(book, exercise.key.answer.source)
                function = CLOCK.wrap(names[exercise.name])

                def once() -> None:
                    with redirect_stdout(io.StringIO()):
                        Card(check_answer(exercise, function, names, progress))._repr_mimebundle_()

                return once

            rows.append({"exercise": exercise.name, **measure(define)})
    report(rows)


def measure(define: Callable[[], Callable[[], None]]) -> dict[str, float]:
    """Return the shares and seconds of one exercise, as medians over repeats."""
    result = {}
    with timing() as cold:
        define()()
    result["cold_s"], result["cold_ours"] = cold["all_s"], _ours(cold)
    edited, again = [], []
    for _repeat in range(REPEATS):
        once = define()
        with timing() as first:
            once()
        with timing() as second:
            once()
        edited.append(first)
        again.append(second)
    for name, runs in (("edited", edited), ("again", again)):
        result[f"{name}_s"] = statistics.median(run["all_s"] for run in runs)
        result[f"{name}_ours"] = statistics.median(map(_ours, runs))
        result[f"{name}_ours_s"] = statistics.median(run["all_s"] - run["students_s"] for run in runs)
    return result


def _ours(run: dict[str, float]) -> float:
    return 1 - run["students_s"] / run["all_s"]


def report(rows: list[dict[str, Any]]) -> None:
    """Print the rows and their medians."""
    if "--json" in sys.argv:
        print(json.dumps(rows, indent=1))
        return
    columns = ("cold_s", "cold_ours", "edited_s", "edited_ours", "again_s", "again_ours", "again_ours_s")
    print(f"jax {jax.__version__}")
    print(f"{'exercise':28}" + "".join(f"{name:>14}" for name in columns))
    for row in rows:
        print(f"{row['exercise']:28}" + "".join(_cell(name, row[name]) for name in columns))
    print(f"{'median':28}" + "".join(_cell(n, statistics.median(r[n] for r in rows)) for n in columns))
    for name in ("edited", "again"):
        slowest = max(rows, key=lambda row: row[f"{name}_s"])
        others = [row for row in rows if row is not slowest]
        print(f"our share of all time, {name}: {_share(rows, name):.0%}; without {slowest['exercise']}, ", end="")
        print(f"the slowest: {_share(others, name):.0%}")


def _share(rows: list[dict[str, Any]], name: str) -> float:
    return sum(row[f"{name}_ours_s"] for row in rows) / sum(row[f"{name}_s"] for row in rows)


def _cell(name: str, value: float) -> str:
    return f"{value:14.3f}" if name.endswith("_s") else f"{value:14.0%}"


if __name__ == "__main__":
    main()
