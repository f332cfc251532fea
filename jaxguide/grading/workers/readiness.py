"""Report the machine's isolation tier, how workers start, and what a course lacks, for `jaxguide doctor`."""

import dataclasses

from jaxguide.course.requirements import unmet_requirements
from jaxguide.course.settings import CourseSettings
from jaxguide.debug.diagnosis import Diagnosis, Trouble
from jaxguide.grading.isolation.tier import MEDIUM, STRONG, IsolationError, Tier
from jaxguide.grading.isolation.tier_search import find_tier
from jaxguide.grading.workers.spawning import can_fork
from jaxguide.grading.workers.zygote import UnfitError, Zygote, ZygoteError


def add_isolation(diagnosis: Diagnosis) -> Diagnosis:
    """Add the isolation tier, the way workers start, and what limits either of them, to a diagnosis.

    Only workers that do not start are serious, since the terminal session needs them, too. Most users do not grade.
    """
    try:
        tier = find_tier()
    except IsolationError as error:
        remedy = "Grade as an unprivileged user, or on a machine where you are one."
        trouble = Trouble("grading_refused", False, str(error), remedy, about="Grading")
        facts = {**diagnosis.facts, "grading": "does not work here", "isolation": "none"}
        return dataclasses.replace(diagnosis, facts=facts, troubles=[*diagnosis.troubles, trouble])
    layers = ", ".join(layer.name for layer in tier.layers if tier.uses(layer.name))
    remarks = "".join(f"; {remark}" for remark in tier.remarks)
    workers, troubles = how_workers_start()
    works = "works here, for submissions that you trust" if tier.asks_for_trust else "works here"
    facts = {
        **diagnosis.facts,
        "grading": "does not work here" if any(one.serious for one in troubles) else works,
        "isolation": f"{tier.name} ({layers}{remarks})",
        "workers": workers,
    }
    if tier.name != STRONG:
        troubles.insert(0, _why_not_strong(tier))
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


def _why_not_strong(tier: Tier) -> Trouble:
    what = "Grading isolates submissions in tier {name} on this machine. Layers that do not hold: {reasons}."
    if tier.name == MEDIUM:
        remedy = (
            "Submissions cannot see the key, the disk or the network. To run them in separate namespaces too, allow "
            "user namespaces: with options of the container, or on Ubuntu with "
            "kernel.apparmor_restrict_unprivileged_userns=0."
        )
    else:
        remedy = (
            "A submission could read the key and the disk. Grade on Linux 5.13 or newer with Landlock, or grade only "
            "submissions that you trust, with --trust-submissions."
        )
    reasons = "; ".join(tier.reasons)
    said = what.format(name=tier.name, reasons=reasons)
    return Trouble(f"isolation_is_{tier.name}", False, said, remedy, about="Grading")


def add_requirements(diagnosis: Diagnosis, settings: CourseSettings) -> Diagnosis:
    """Add what a course requires and is not installed to a diagnosis."""
    troubles = [Trouble("requirement_not_met", True, one.what, one.remedy) for one in unmet_requirements(settings)]
    return dataclasses.replace(diagnosis, troubles=[*diagnosis.troubles, *troubles])
