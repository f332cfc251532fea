"""Judge the mutants of a course's exercises, and print those that pass, as diffs for its author to read."""

import functools
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from jaxguide.cli.common import course_option, judged_course, need_names
from jaxguide.course.books.library import Course
from jaxguide.course.exercise import Exercise
from jaxguide.grading.batch.grader import cores
from jaxguide.proving.planted_judge import passes
from jaxguide.proving.proof import ProofSettings
from jaxguide.proving.prove_in_parallel import ProverDied, judge_in_parallel
from tools.mutants.making import Mutant, make_mutants


@click.command()
@click.argument("lessons", nargs=-1, metavar="[LESSON]...")
@course_option
@click.option("--only", metavar="EXERCISE", help="Try only this exercise.")
@click.option("--jobs", type=click.IntRange(1), help="Mutants to judge in parallel; by default one per core.")
def main(lessons: tuple[str, ...], folder: Path | None, only: str | None, jobs: int | None) -> None:
    """Try the checks with mutants: the key's answers, each changed in one place, as learners err.

    At most a dozen mutants of each exercise are judged, as planted wrong answers are, and those that pass are printed.
    Read each: it shows a check that is missing, or it is right, too, which the key can say with `equivalent`.
    The exit status is 1 if a mutant passes.

    \b
    Example: python -m tools.mutants random_numbers
             python -m tools.mutants --course my_course --only double
    """
    need_names(folder, [] if only is None else [only], lessons)
    with judged_course(folder, as_json=False) as course:
        chosen = [
            one
            for one in course.exercises.values()
            if only in (None, one.name) and (not lessons or one.lesson in lessons)
        ]
        try:
            made, passed = _try(course, chosen, jobs or cores())
        except ProverDied as died:
            raise click.ClickException(str(died)) from None
    click.echo(f"{made} mutants judged, {passed} passed")
    sys.exit(1 if passed else 0)


def _try(course: Course, exercises: Sequence[Exercise], jobs: int) -> tuple[int, int]:
    """Judge the mutants of exercises, print those that pass, and return how many were made and passed."""
    mutants = {one.name: make_mutants(one) for one in exercises}
    judges = {
        f"{exercise.name}-{mutant.id}": (exercise, functools.partial(passes, planted=mutant.planted))
        for exercise in exercises
        for mutant in mutants[exercise.name]
    }
    # A mutant that could only be stopped by ending its process comes as a problem.
    passing = (
        found is True for found in judge_in_parallel(course, judges, ProofSettings.of_course(course, 1), jobs=jobs)
    )
    passed = 0
    for name, made in mutants.items():
        survivors = [mutant for mutant in made if next(passing)]
        passed += len(survivors)
        _show(name, made, survivors)
    return len(judges), passed


def _show(name: str, made: Sequence[Mutant], survivors: Sequence[Mutant]) -> None:
    click.echo(f"{name}: {len(made)} mutants, {len(survivors)} passed")
    for mutant in survivors:
        click.echo(mutant.diff + "\n")


if __name__ == "__main__":
    main(prog_name="python -m tools.mutants")
