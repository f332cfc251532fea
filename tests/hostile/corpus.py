"""The table of hostile submissions: name, kind, file, and acceptable verdicts."""

from hostile import ends, files, tricks
from hostile.case import Case

CASES: list[Case] = [
    *(*ends.ENDS, *ends.NEVER_ENDS, *ends.EXHAUSTS, *ends.CRASHES, *ends.KILLS, *ends.LINGERS, *ends.MISSING_FUNCTIONS),
    *(*tricks.STEALS, *tricks.TELLS, *tricks.TAMPERS, *tricks.NETWORK, *tricks.COSTS),
    *(*files.ARCHIVES, *files.NOTEBOOKS, *files.BREAKS_OUT),
]
