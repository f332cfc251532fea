"""Tell the isolation tier of this machine where `doctor` tells everything else."""

import dataclasses

from jaxguide.debug.diagnosis import Diagnosis, Trouble
from jaxguide.grading.isolation.find import find_tier
from jaxguide.grading.isolation.tier import MEDIUM, STRONG, IsolationError, Tier
from jaxguide.text import _


def add_isolation(diagnosis: Diagnosis) -> Diagnosis:
    """Return a diagnosis with the tier that grading gets here, and what keeps it from a better one.

    None of it is serious for who does not grade: the diagnosis is as healthy as before.
    """
    try:
        tier = find_tier()
    except IsolationError as error:
        remedy = _("Grade as an ordinary user, or on a machine where you are one.")
        trouble = Trouble("grading_refused", False, str(error), remedy)
        facts = {**diagnosis.facts, "isolation": _("none")}
        return dataclasses.replace(diagnosis, facts=facts, troubles=[*diagnosis.troubles, trouble])
    layers = ", ".join(layer.name for layer in tier.layers if tier.uses(layer.name))
    remarks = "".join(f"; {remark}" for remark in tier.remarks)
    facts = {**diagnosis.facts, "isolation": f"{tier.name} ({layers}{remarks})"}
    troubles = [] if tier.name == STRONG else [_why_not_strong(tier)]
    return dataclasses.replace(diagnosis, facts=facts, troubles=[*diagnosis.troubles, *troubles])


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
