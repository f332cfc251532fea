"""Report whether submissions can be isolated, how workers start, and what a course lacks, for `jaxguide doctor`."""

import dataclasses

from jaxguide.course.requirements import unmet_requirements
from jaxguide.course.settings import CourseSettings
from jaxguide.debug.diagnosis import Diagnosis, Trouble
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.workers.zygote import UnfitError, Zygote, ZygoteError, can_fork


def add_isolation(diagnosis: Diagnosis) -> Diagnosis:
    """Add whether submissions are isolated here, the way workers start, and what limits either, to a diagnosis.

    Only workers that do not start are serious, since the terminal session needs them, too. Most users do not grade.
    """
    missing = "; ".join(find_isolation().missing)
    workers, troubles = how_workers_start()
    works = "works here, for submissions that you trust" if missing else "works here"
    facts = {
        **diagnosis.facts,
        "grading": "does not work here" if any(one.serious for one in troubles) else works,
        "isolation": f"incomplete: {missing}" if missing else "complete: see docs/isolation.md",
        "workers": workers,
    }
    if missing:
        what = "Submissions are not isolated completely here, so one could read the key and your files."
        remedy = "Grade on Linux 5.13 or newer, or if you trust everyone who submitted, with --trust-submissions."
        troubles.insert(0, Trouble("isolation_is_incomplete", False, what, remedy, about="Grading"))
    return dataclasses.replace(diagnosis, facts=facts, troubles=[*diagnosis.troubles, *troubles])


def how_workers_start() -> tuple[str, list[Trouble]]:
    """Try to start workers; return how grading starts them on this machine, and why it cannot fork them if so."""
    if not can_fork():
        return "a new Python for each submission, as on every system except Linux", []
    try:
        Zygote().close()
    except UnfitError as error:
        what = "{said} Grading starts a new Python for each submission instead, which takes several times as long."
        remedy = (
            "Something starts threads or JAX in every Python process. Look for it in sitecustomize.py and in the .pth "
            "files of site-packages, or grade from an environment that contains only jaxguide."
        )
        trouble = Trouble("workers_are_not_forked", False, what.format(said=error), remedy, about="Grading")
        return "a new Python for each submission", [trouble]
    except ZygoteError as error:
        what = "Workers do not start here, so `jaxguide watch`, `check` and `grade` do not work: {said}"
        remedy = "Try again when the machine is less busy. If the error remains, fix the cause that it names."
        return "do not start", [Trouble("workers_do_not_start", True, what.format(said=error), remedy)]
    return "forked from one process that has imported JAX", []


def add_requirements(diagnosis: Diagnosis, settings: CourseSettings) -> Diagnosis:
    """Add what a course requires and is not installed to a diagnosis."""
    troubles = [Trouble("requirement_not_met", True, one.what, one.remedy) for one in unmet_requirements(settings)]
    return dataclasses.replace(diagnosis, troubles=[*diagnosis.troubles, *troubles])
