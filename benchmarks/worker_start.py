"""Measure a trivial submission's worker, forked and in a fresh process: `python benchmarks/worker_start.py`.

Each run starts a worker, defines one function, calls it once and ends the worker, as grading one exercise does. Times
are medians of the worker's processor time and of wall time. The zygote's start is listed separately, since a batch pays
for it once.

Memory is that of a worker and the small processes around it. `rss_mb` is the worker's resident memory, including all
pages that it shares with others; `pss_mb` counts shared pages in equal parts for each process that holds them; `own_mb`
is memory that is not shared, which is free again when the worker ends.
"""

import json
import statistics
import sys
import time

import psutil

from jaxguide.course.judging.evaluate import Request
from jaxguide.course.judging.values import to_data
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.workers.worker_process import WorkerProcess
from jaxguide.grading.workers.zygote import Spawn, can_fork, fresh_process, start_worker, the_zygote

REPEATS = 15
SOURCE = "import jax\nimport jax.numpy as jnp\n\n\ndef double(x):\n    return 2 * jnp.asarray(x)\n"


def main() -> None:
    """Print seconds and megabytes as a table, or as an object with `--json`."""
    import numpy as np

    find_isolation()  # a batch tests isolation once
    ways: dict[str, Spawn] = {"fresh process": fresh_process}
    measured: dict[str, dict[str, float]] = {}
    if can_fork():
        began = time.monotonic()
        times = psutil.Process(the_zygote().pid).cpu_times()  # this waits until it is ready
        measured["zygote, once"] = {"cpu_s": times.user + times.system, "wall_s": time.monotonic() - began}
        ways["zygote"] = start_worker
    request = Request((), "value", (((to_data(np.float32(3)),), {}),))
    runs: dict[str, list[tuple[float, ...]]] = {name: [] for name in ways}
    for _repeat in range(REPEATS):  # interleaved, so that load on the machine affects both alike
        for name, spawn in ways.items():
            began = time.monotonic()
            worker = WorkerProcess(spawn=spawn)
            worker.request("define", cell=1, source=SOURCE, exercises=["double"], starters=[])
            assert worker.request("ask", name="double", request=request)["value"].values == 6
            ready_s = time.monotonic() - began
            sizes = [one.memory_full_info() for one in worker.tree.processes()]
            ending = time.monotonic()
            worker.kill()
            shared = (sum(getattr(one, kind, 0) for one in sizes) for kind in ("pss", "uss"))
            memory = (max(one.rss for one in sizes), *shared)
            wall_s = ready_s + time.monotonic() - ending
            runs[name].append((worker.tree.total_cpu_s, wall_s, *(size / 1e6 for size in memory)))
    for name, found in runs.items():
        medians = (statistics.median(column) for column in zip(*found, strict=True))
        measured[name] = dict(zip(("cpu_s", "wall_s", "rss_mb", "pss_mb", "own_mb"), medians, strict=True))
    if "--json" in sys.argv:
        print(
            json.dumps({name: {key: round(value, 3) for key, value in row.items()} for name, row in measured.items()})
        )
        return
    for name, row in measured.items():
        print(f"{name:15}", "  ".join(f"{key} {value:8.3f}" for key, value in row.items()))


if __name__ == "__main__":
    main()
