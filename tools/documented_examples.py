"""Print which documented examples the course reproduces, where, and how each comes out on the installed JAX."""

import dataclasses
import sys
from collections.abc import Iterator

import click
import jax

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.cli.common import json_option, judged_course, print_json, read_course
from jaxguide.course import ledger
from jaxguide.course.books.book import run_answer
from jaxguide.course.books.documented_index import example_places
from jaxguide.course.books.library import Course
from jaxguide.course.exercise import Check, Exercise
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.draw import DEFAULT_SEED, Draw
from jaxguide.course.judging.judge import not_checked
from jaxguide.course.judging.run_check import run_check
from jaxguide.proving.proof import Proof, ProofSettings
from jaxguide.proving.prove_documented import prove_documented

AS_DOCUMENTED, WITH_SETTING, CHANGED = "as documented", "with setting", "changed"
NEWLY_CHANGED, NOT_COMPARED = "newly changed", "not compared"
STATES = (AS_DOCUMENTED, WITH_SETTING, CHANGED, NEWLY_CHANGED, NOT_COMPARED)

# Maps an example's class in the ledger to its recorded state; claims that were never true count as changed.
_KNOWN = {"REPRODUCES-WITH-CONFIG": WITH_SETTING, "CHANGED": CHANGED, "CLAIM-FALSE": CHANGED}


@dataclasses.dataclass(frozen=True)
class Drift:
    """What one documented example gives on the installed JAX.

    Args:
        example: its id in the ledger.
        state: one of `STATES`.
        says: what the example shows.
        exercise: the exercise that compares it, '' if none does.
        setting, since: the setting under which, or the JAX release since which it holds, if the ledger records one.
        got: how it differs from the ledger's record, if that is new.
    """

    example: str
    state: str
    says: str
    exercise: str = ""
    setting: str = ""
    since: str = ""
    got: str = ""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Look up the documented examples that the bundled course reproduces.

    \b
    Example: python tools/documented_examples.py drift --json
             python tools/documented_examples.py find S1-09
    """


@main.command()
@click.argument("example")
@json_option
def find(example: str, as_json: bool) -> None:
    """Say in which lesson, exercise and cell a documented example is."""
    course = read_course(None, keys=False, as_json=as_json)
    places = example_places(course)
    if example not in places:
        raise click.UsageError(f"There is no documented example {example}.{did_you_mean(example, places)}")
    place, says, (page, address) = places[example], ledger.entries()[example]["says"], ledger.page_of(example)
    if as_json:
        print_json({"example": example, "says": says, "page": page, "address": address, **dataclasses.asdict(place)})
        return
    printed = course.folders.notebooks / place.lesson
    click.echo(f"{example}: {says} {address}")
    click.echo(f"lesson {place.lesson}, exercise {place.exercise}")
    click.echo(f"cell {place.cell} of {printed}.ipynb, line {place.line} of {printed}.py")


@main.command()
@json_option
def coverage(as_json: bool) -> None:
    """List the documented examples that exercises reproduce.

    An example counts only if a check compares it with the ledger's record and names no other, the starter fails that
    check, and so does a wrong answer that reproduces the exercise's other examples. The exit status is 1 if one is
    missing.
    """
    with judged_course(None, as_json=as_json) as course:
        found = measure_coverage(course)
    owners = {example: one.name for one in course.exercises.values() for example in one.reproduces}
    documented = list(ledger.entries())
    missing = [example for example in documented if example not in found.reproduced]
    counts = {"documented": len(documented), "reproduced": len(found.reproduced)}
    if as_json:
        print_json({**counts, "missing": missing})
    else:
        for example in documented:
            how = "missing" if example in missing else ""
            click.echo(f"{example:6} {owners.get(example, ''):24} {how}".rstrip())
        click.echo(
            "{reproduced} of {documented} documented examples are reproduced by graded exercises".format(**counts)
        )
    sys.exit(1 if missing else 0)


@main.command()
@json_option
def drift(as_json: bool) -> None:
    """Compare each documented example with what the installed JAX does; run this on each new release.

    The exit status is 1 if an example differs from what the ledger records.
    """
    with judged_course(None, as_json=as_json) as course:
        found = list(measure_drift(course))
    counts = {state: sum(one.state == state for one in found) for state in STATES}
    if as_json:
        print_json({"jax": jax.__version__, "counts": counts, "examples": [dataclasses.asdict(one) for one in found]})
    else:
        for one in found:
            note = one.got or one.setting or (f"since JAX {one.since}" if one.since else one.says)
            click.echo(f"{one.example:6} {one.state:14} {note}")
        click.echo(f"JAX {jax.__version__}: " + ", ".join(f"{state} {count}" for state, count in counts.items()))
    sys.exit(1 if counts[NEWLY_CHANGED] else 0)


def measure_coverage(course: Course) -> Proof:
    """Return the proof of the documented examples that a course with its keys reproduces."""
    found, settings = Proof(), ProofSettings.of_course(course, seeds=1)
    for exercise in course.exercises.values():
        found.add(prove_documented(course.book_of(exercise), exercise, settings))
    return found


def measure_drift(course: Course) -> Iterator[Drift]:
    """Run the key's answers on the installed JAX, and compare each documented example with the ledger.

    Each check that reproduces an example runs whether or not others fail, so each change is reported once.

    Args:
        course: with its keys loaded.

    Yields:
        The outcome of each documented example, in the ledger's order.
    """
    exercises = {example: one for one in course.exercises.values() for example in one.reproduces}
    failures: dict[str, dict[str, str]] = {}
    for example, entry in ledger.entries().items():
        exercise, record = exercises.get(example), entry["record"] or {}
        state, name, got = NOT_COMPARED, "", ""
        if exercise is not None and record:
            name = exercise.name
            if name not in failures:
                failures[name] = _failures(course, exercise)
            got = failures[name].get(example, "")
            state = NEWLY_CHANGED if got else _KNOWN.get(entry["class"], AS_DOCUMENTED)
        setting, since = record.get("setting", ""), ledger.current(record).get("since", "")
        yield Drift(example, state, entry["says"], name, setting, since, got)


def _failures(course: Course, exercise: Exercise) -> dict[str, str]:
    """Return how the key's answer differs from the ledger on the installed JAX: example -> what came out."""
    assert exercise.key is not None
    found: dict[str, str] = {}
    namespace = run_answer(course.book_of(exercise), exercise.key.answer.source)
    answer = LocalAnswer(exercise.name, namespace[exercise.name], namespace)
    for check in exercise.all_checks():
        if check.reproduces:
            wrong = _run(check, exercise, answer)
            found |= dict.fromkeys(check.reproduces, wrong) if wrong else {}
    return found


def _run(check: Check, exercise: Exercise, answer: LocalAnswer) -> str:
    result = not_checked(check, required=False)
    draw = Draw(DEFAULT_SEED, exercise.name, check.name)
    try:
        with ledger.asking_the_key():
            run_check(check, result, answer, answer, draw)
    except Exception as error:  # the check itself may depend on what changed
        return f"{type(error).__name__}: {error}"
    if result.passed:
        return ""
    got = f" Got {result.got}, expected {result.expected}." if result.got or result.expected else ""
    return (result.trouble or result.message) + got


if __name__ == "__main__":
    main()
