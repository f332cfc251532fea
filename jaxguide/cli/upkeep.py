"""The commands that look after jaxguide itself: `doctor` and `completion`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from jaxguide.cli.common import course_meant, json_option, print_json, read_course_settings, students_course_option

if TYPE_CHECKING:
    from jaxguide.student.diagnosis import Trouble


@click.command(short_help="See whether jaxguide works here, and what to do if not.")
@students_course_option
@json_option
def doctor(folder: Path | None, as_json: bool) -> None:
    """Report installed versions, JAX's devices and settings, and known problems with their remedies.

    Also report whether submissions can be isolated here and what is missing if not, and how workers start and what
    keeps them from starting faster.

    Also report what the course requires and is not installed.

    The exit status is 1 if there is a serious problem that neither lessons nor the grader fix by themselves.

    \b
    Example: jaxguide doctor --json
    """
    from jaxguide.course.requirements import unmet_requirements
    from jaxguide.student.diagnosis import Diagnosis, Trouble, diagnose

    settings = read_course_settings(course_meant(folder), as_json=as_json)
    found, (facts, troubles) = diagnose(measured=True), grading_here()
    troubles += [Trouble("requirement_not_met", True, one.what, one.remedy) for one in unmet_requirements(settings)]
    diagnosis = Diagnosis({**found.facts, **facts}, [*found.troubles, *troubles])
    if as_json:
        print_json(diagnosis.to_plain())
    else:
        click.echo(str(diagnosis))
    sys.exit(0 if diagnosis.healthy else 1)


def grading_here() -> "tuple[dict[str, str], list[Trouble]]":
    """Return whether submissions are isolated here, the way workers start, and what limits either.

    Only workers that do not start are serious, since the terminal session needs them, too. Most users do not grade.
    """
    from jaxguide.grading.isolation.self_test import find_isolation
    from jaxguide.student.diagnosis import Trouble

    missing = "; ".join(find_isolation().missing)
    workers, trouble = how_workers_start()
    facts = {
        "grading": "works here, for submissions that you trust" if missing else "works here",
        "isolation": f"incomplete: {missing}" if missing else "complete: see docs/isolation.md",
        "workers": workers,
    }
    troubles = [trouble] if trouble else []
    if any(one.serious for one in troubles):
        facts["grading"] = "does not work here"
    if missing:
        what = "Submissions are not isolated completely here, so one could read the key and your files."
        remedy = "Grade on Linux 5.13 or newer, or if you trust everyone who submitted, with --trust-submissions."
        troubles.insert(0, Trouble("isolation_is_incomplete", False, what, remedy, about="Grading"))
    return facts, troubles


def how_workers_start() -> "tuple[str, Trouble | None]":
    """Try to start workers; return how grading starts them on this machine, and why it cannot fork them if so."""
    from jaxguide.grading.workers.zygote import UnfitError, Zygote, ZygoteError, can_fork
    from jaxguide.student.diagnosis import Trouble

    if not can_fork():
        return "a new Python for each submission, as on every system except Linux", None
    try:
        Zygote().close()
    except UnfitError as error:
        what = f"{error} Grading starts a new Python for each submission instead, which takes several times as long."
        remedy = (
            "Something starts threads or JAX in every Python process. Look for it in sitecustomize.py and in the .pth "
            "files of site-packages, or grade from an environment that contains only jaxguide."
        )
        trouble = Trouble("workers_are_not_forked", False, what, remedy, about="Grading")
        return "a new Python for each submission", trouble
    except ZygoteError as error:
        what = f"Workers do not start here, so `jaxguide watch`, `check` and `grade` do not work: {error}"
        remedy = "Try again when the machine is less busy. If the error remains, fix the cause that it names."
        return "do not start", Trouble("workers_do_not_start", True, what, remedy)
    return "forked from one process that has imported JAX", None


@click.command(short_help="Let your shell complete commands when you press Tab.")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script with which SHELL completes the names of commands, exercises and lessons.

    \b
    Example: eval "$(jaxguide completion bash)"                                 (in ~/.bashrc)
             eval "$(jaxguide completion zsh)"                                  (in ~/.zshrc)
             jaxguide completion fish > ~/.config/fish/completions/jaxguide.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "jaxguide", "_JAXGUIDE_COMPLETE").source())
