"""Tell this machine's isolation tier, and how workers start, where `doctor` tells everything else."""

import dataclasses

from jaxguide.base.text import _
from jaxguide.debug.diagnosis import Diagnosis, Trouble
from jaxguide.grading.isolation.tier import MEDIUM, STRONG, IsolationError, Tier
from jaxguide.grading.isolation.tier_search import find_tier
from jaxguide.grading.workers.spawning import can_fork
from jaxguide.grading.workers.zygote import UnfitError, Zygote, ZygoteError


def add_isolation(diagnosis: Diagnosis) -> Diagnosis:
    """Return a diagnosis with the tier that grading gets here, and what keeps it from a better one or a faster start.

    None of it is serious for who does not grade: the diagnosis is as healthy as before.
    """
    try:
        tier = find_tier(anew=True)  # whoever asks may just have changed something
    except IsolationError as error:
        remedy = _("Grade as an ordinary user, or on a machine where you are one.")
        trouble = Trouble("grading_refused", False, str(error), remedy)
        facts = {**diagnosis.facts, "isolation": _("none")}
        return dataclasses.replace(diagnosis, facts=facts, troubles=[*diagnosis.troubles, trouble])
    layers = ", ".join(layer.name for layer in tier.layers if tier.uses(layer.name))
    remarks = "".join(f"; {remark}" for remark in tier.remarks)
    workers, troubles = how_workers_start()
    facts = {**diagnosis.facts, "isolation": f"{tier.name} ({layers}{remarks})", "workers": workers}
    if tier.name != STRONG:
        troubles.insert(0, _why_not_strong(tier))
    return dataclasses.replace(diagnosis, facts=facts, troubles=[*diagnosis.troubles, *troubles])


def how_workers_start() -> tuple[str, list[Trouble]]:
    """Return how grading starts workers here, having tried, and what keeps it from forking them."""
    if not can_fork():
        return _("a new Python for each submission, as on every system but Linux"), []
    try:
        Zygote().close()
    except UnfitError as error:
        what = _("{said} So grading starts a new Python for each submission, which takes several times as long.")
        remedy = _(
            "Something starts threads or JAX in every Python here: look for it in sitecustomize.py and in the .pth "
            "files of site-packages, or grade from an environment that holds only jaxguide."
        )
        trouble = Trouble("workers_are_not_forked", False, what.format(said=error), remedy)
        return _("a new Python for each submission"), [trouble]
    except ZygoteError as error:
        what = _("Grading does not work here, no worker starts: {said}")
        remedy = _("Try again when the machine is less busy; if it stays, look after what the message names.")
        return _("none starts"), [Trouble("workers_do_not_start", False, what.format(said=error), remedy)]
    return _("forked from one process that has imported JAX"), []


def _why_not_strong(tier: Tier) -> Trouble:
    what = _("Grading isolates submissions in tier {name} here. What does not hold: {reasons}.")
    if tier.name == MEDIUM:
        remedy = _(
            "Submissions see neither key nor disk nor network; for a namespace of their own as well, allow user "
            "namespaces: in a container by its options, on Ubuntu by kernel.apparmor_restrict_unprivileged_userns=0."
        )
    else:
        remedy = _(
            "A submission could read the key and the disk: grade on Linux 5.13 or newer with Landlock, or only what "
            "you trust, with --trust-submissions."
        )
    reasons = "; ".join(tier.reasons)
    return Trouble(f"isolation_is_{tier.name}", False, what.format(name=tier.name, reasons=reasons), remedy)
