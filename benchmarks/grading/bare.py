"""Measure what JAX alone computes for the assignment: `python benchmarks/grading/bare.py`.

Each right submission runs in a process forked from one that has imported everything that workers import. It starts
JAX's backend, defines the five answers and calls each twice, on inputs of the ten tests' shapes. Nothing is checked,
isolated, limited or recorded, so this is the minimum cost of any grader that runs each submission in a separate
process.

It is measured twice: with JAX's own programs in the compile cache, as workers have it, and with all programs, including
those of the answers, which no grader may take from a submission.
"""

import argparse
import gc
import importlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assignment import ANSWERS, IMPORTS

# The shapes of the arguments in each exercise's visible and hidden check.
SHAPES: dict[str, tuple[tuple[tuple[int, ...], ...], ...]] = {
    "standardize": (((6, 3),), ((5, 3),)),
    "stable_softmax": (((5,),), ((6,),)),
    "loss_gradient": (((3,), (4, 3), (4,)), ((2,), (7, 2), (7,))),
    "distances": (((3, 2), (4, 2)), ((2, 5), (3, 5))),
    "smooth": (((4,), ()), ((9,), ())),
}
_OWN_PROGRAMS = "jit_scan-"


def bare_cpu_s(times: int) -> dict[str, float]:
    """Return the median processor seconds of a fork, by the programs that it finds in the compile cache."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from jaxguide.grading.workers.processes import environment

    with tempfile.TemporaryDirectory() as folder:
        variables = {**environment(Path(folder)), "PYTHONPATH": sys.path[0]}
        command = [sys.executable, __file__, "--times", str(times), "--forks"]
        said = subprocess.run(command, env=variables, check=True, stdout=subprocess.PIPE).stdout
    found: dict[str, float] = json.loads(said)
    return found


def _forks(times: int) -> dict[str, float]:
    from jaxguide import compat
    from jaxguide.grading.workers import shared_programs
    from jaxguide.grading.workers.forking import MODULES

    compat.set_print_flag()
    for name in MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    with tempfile.TemporaryDirectory() as folder:
        everything, public = Path(folder, "everything"), Path(folder, "public")
        everything.mkdir()
        _fork(lambda: shared_programs.load_programs(str(everything), saves=True))
        shutil.copytree(everything, public)
        own = [program for program in public.iterdir() if program.name.startswith(_OWN_PROGRAMS)]
        if len(own) != 2:
            raise SystemExit(f"the answers compiled {len(own)} loops, not two")
        for program in own:
            program.unlink()
        found: dict[str, list[float]] = {}
        for _time in range(times):
            for name, place in (("JAX's own programs kept", public), ("all programs kept", everything)):
                spent_s = _fork(lambda place=place: shared_programs.load_programs(str(place), saves=False))
                found.setdefault(name, []).append(spent_s)
        return {name: round(statistics.median(spent), 3) for name, spent in found.items()}


def _fork(use_programs: Callable[[], None]) -> float:
    """Run the answers in a fork, and return its processor seconds from beginning to end."""
    before_s = _children_cpu_s()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            use_programs()
            _run_answers()
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(pid, 0)[1] != 0:
        raise SystemExit("the answers failed in a fork")
    return _children_cpu_s() - before_s


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run_answers() -> None:
    import jax
    import numpy as np

    names: dict[str, Any] = {}
    exec(IMPORTS, names)
    for source in ANSWERS.values():
        exec(source, names)
    generator = np.random.default_rng(0)
    for exercise, calls in SHAPES.items():
        for shapes in calls:
            arguments = [jax.device_put(np.asarray(generator.normal(size=shape), np.float32)) for shape in shapes]
            if not np.isfinite(np.asarray(names[exercise](*arguments))).all():
                raise SystemExit(f"{exercise} gave a number that is not finite")


def main() -> None:
    """Print the two medians; with `--forks`, run as the process that forks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--forks", action="store_true")
    asked = parser.parse_args()
    if asked.forks:
        print(json.dumps(_forks(asked.times)))
        return
    for name, spent_s in bare_cpu_s(asked.times).items():
        print(f"{name}: {spent_s:.3f} CPU s")


if __name__ == "__main__":
    main()
