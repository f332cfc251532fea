"""Measure what importing jaxguide and its helpers costs in addition to Python and JAX.

Run it with `python benchmarks/import_time.py`. Each round runs new processes one after the other, in changing order,
and measures their processor time. The table shows medians over the rounds, also as shares of the cost of `import jax`
in the same rounds. A helper's row imports all public names of its package, with all that they need.
"""

import argparse
import resource
import statistics
import subprocess
import sys

HELPERS = ("keys", "callbacks", "debug", "tracing", "explain")
JAX = "import jax, jax.numpy"
PROGRAMS = {
    "python": "",
    "import jaxguide": "import jaxguide",
    JAX: JAX,
    **{f"jaxguide.{name}": f"{JAX}; from jaxguide.{name} import *" for name in HELPERS},
    "all helpers": f"{JAX}; " + "; ".join(f"from jaxguide.{name} import *" for name in HELPERS),
}


def cpu_ms(code: str) -> float:
    """Run `code` in a new Python and return its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    for code in PROGRAMS.values():  # once each, to warm up the bytecode and the disk cache
        cpu_ms(code)
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for turn in range(rounds):
        names = list(PROGRAMS)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            times[name].append(cpu_ms(PROGRAMS[name]))
    middle = {name: statistics.median(values) for name, values in times.items()}
    jax_alone = middle[JAX] - middle["python"]
    print(f"processor time, median of {rounds} rounds")
    print(f"{'Python alone':22} {middle['python']:8.1f} ms")
    print(f"{'import jaxguide':22} {middle['import jaxguide'] - middle['python']:+8.1f} ms beyond Python")
    print(f"{'import jax':22} {jax_alone:+8.1f} ms beyond Python")
    for name in [*(f"jaxguide.{helper}" for helper in HELPERS), "all helpers"]:
        # Compare within a round, so that a machine that slows down between rounds has no influence.
        extra = statistics.median(a - b for a, b in zip(times[name], times[JAX], strict=True))
        print(f"{name:22} {extra:+8.1f} ms beyond jax, {100 * extra / jax_alone:+5.1f} % of importing it")


if __name__ == "__main__":
    main()
