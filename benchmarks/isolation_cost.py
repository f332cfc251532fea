"""Measure what each isolation layer adds to a worker's start: `python benchmarks/isolation_cost.py`.

Each line is the median processor time of entering one layer and those that it depends on, minus that of entering none,
which forks the same two processes.
"""

import json
import statistics
import sys

from jaxguide.grading.isolation.tier import LAYERS, NAMES, STRONG, IsolationError, Tier
from jaxguide.grading.isolation.tier_search import alone, find_tier, try_layers

REPEATS = 25


def main() -> None:
    """Print milliseconds of processor time as a table, or as an object with `--json`."""
    tiers: dict[str, Tier] = {"none": Tier(STRONG, ())}
    tiers |= {name: alone(name) for name in (*LAYERS[STRONG], "audit hook")}
    for name in NAMES:
        try:
            tiers[f"tier {name}"] = find_tier(name)
        except IsolationError as error:
            print(error, file=sys.stderr)
    # Interleave the tiers, so that load on the machine affects all alike.
    replies = try_layers([(tier, []) for _repeat in range(REPEATS) for tier in tiers.values()])
    medians = {}
    for place, name in enumerate(tiers):
        took = [reply["took_s"] for reply in replies[place :: len(tiers)] if not reply["error"]]
        medians[name] = 1000 * statistics.median(took) if took else float("nan")
    costs = {name: round(ms if name == "none" else ms - medians["none"], 2) for name, ms in medians.items()}
    if "--json" in sys.argv:
        print(json.dumps(costs))
        return
    for name, ms in costs.items():
        print(f"{name:20} {ms:7.2f} ms")


if __name__ == "__main__":
    main()
