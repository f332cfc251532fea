"""Run the key checkers on the battery and print what each finds, misses and reports by mistake.

    python benchmarks/key_battery/scoreboard.py            # jaxguide's checker and JAX's own, side by side
    python benchmarks/key_battery/scoreboard.py --json
    python benchmarks/key_battery/scoreboard.py --prove    # run every case on plain JAX: the bugs are bugs

"eager" gives a checker the plain function, "jit" the jitted one. `check_keys` finds a bug if it reports one of the
kinds that fit it; its lines are right if both uses are placed where the source marks them. JAX's checker finds a bug by
raising `KeyReuseError`, which names no kind. Any report on a correct program is a false alarm. A checker that fails
with an error has missed the bug or, on a correct program, raised a false alarm. The exit status is 1 if `check_keys`
misses a bug or raises a false alarm.
"""

import argparse
import contextlib
import dataclasses
import io
import json
import platform
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from key_battery.bugs import BUGS
from key_battery.case import MAKE_KEY, Case, bare
from key_battery.correct import CORRECT
from key_battery.proof import prove

OURS, THEIRS = "jaxguide check_keys", "jax debug_key_reuse"
MODES = ("eager", "jit")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A checker's result on one case; `right_lines` is None if there are no lines to compare."""

    case: str
    planted: bool
    reported: bool
    right_lines: bool | None = None
    said: str = ""

    @property
    def right(self) -> bool:
        """Whether the bug was found, or the correct program not reported."""
        return self.planted == self.reported


def ask_check_keys(case: Case, key_kind: str, mode: str) -> Verdict:
    """Run `jaxguide.keys.check_keys` on the program."""
    from jaxguide.keys import check_keys

    program, arguments = case.build(key_kind)
    problems = check_keys(jax.jit(program) if mode == "jit" else program, *arguments)
    said = "; ".join(f"{problem.kind}: {problem.message}" for problem in problems)
    if not case.kinds:
        return Verdict(case.name, False, bool(problems), said=said)
    fitting = [problem for problem in problems if problem.kind in case.kinds]
    first, second = case.marked("first"), case.marked("second")
    right_lines = None
    if first and second and fitting:
        right_lines = any(bare(p.first_source) in first and bare(p.second_source) in second for p in fitting)
    return Verdict(case.name, True, bool(fitting), right_lines, said)


def ask_jax(case: Case, key_kind: str, mode: str) -> Verdict:
    """Run the program under `jax.debug_key_reuse`."""
    program, arguments = case.build(key_kind)
    if mode == "jit":
        program = jax.jit(program)
    try:
        with jax.debug_key_reuse(True):
            jax.block_until_ready(program(*arguments))
    except jax.errors.KeyReuseError as error:
        return Verdict(case.name, bool(case.kinds), True, said=str(error).splitlines()[0])
    return Verdict(case.name, bool(case.kinds), False)


CHECKERS: dict[str, Callable[[Case, str, str], Verdict]] = {OURS: ask_check_keys, THEIRS: ask_jax}


def ask(checker: str, case: Case, key_kind: str, mode: str) -> Verdict:
    """Return a checker's verdict; if the checker raises an error, the verdict is wrong."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            verdict = CHECKERS[checker](case, key_kind, mode)
            jax.effects_barrier()
    except Exception as error:
        planted = bool(case.kinds)
        return Verdict(case.name, planted, not planted, said=f"{type(error).__name__}: {error}".splitlines()[0])
    return verdict


def score(checkers: list[str], key_kinds: list[str], cases: list[Case]) -> Iterator[dict[str, Any]]:
    """Yield a row for each checker, key kind and mode."""
    for checker in checkers:
        for key_kind in key_kinds:
            for mode in MODES:
                verdicts = [ask(checker, case, key_kind, mode) for case in cases if key_kind in case.key_kinds]
                bugs = [verdict for verdict in verdicts if verdict.planted]
                correct = [verdict for verdict in verdicts if not verdict.planted]
                compared = [verdict for verdict in bugs if verdict.right_lines is not None]
                yield {
                    "checker": checker,
                    "keys": key_kind,
                    "mode": mode,
                    "planted": len(bugs),
                    "found": sum(verdict.right for verdict in bugs),
                    "correct": len(correct),
                    "false_alarms": sum(not verdict.right for verdict in correct),
                    "lines_compared": len(compared),
                    "lines_right": sum(bool(verdict.right_lines) for verdict in compared),
                    "missed": {verdict.case: verdict.said for verdict in bugs if not verdict.right},
                    "alarmed": {verdict.case: verdict.said for verdict in correct if not verdict.right},
                    "misplaced": {verdict.case: verdict.said for verdict in compared if not verdict.right_lines},
                }


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print the table and, below it, what went wrong in each row."""
    print(f"{'checker':21}{'keys':8}{'mode':7}{'found':>12}{'false alarms':>15}{'lines right':>14}")
    for row in rows:
        found = f"{row['found']} of {row['planted']}"
        alarms = f"{row['false_alarms']} of {row['correct']}"
        lines = f"{row['lines_right']} of {row['lines_compared']}" if row["lines_compared"] else "-"
        print(f"{row['checker']:21}{row['keys']:8}{row['mode']:7}{found:>12}{alarms:>15}{lines:>14}")
    for title, count in (("missed", "planted"), ("alarmed", "correct"), ("misplaced", "lines_compared")):
        for row in rows:
            names = row[title]
            if names:
                print(f"\n{title}, {row['checker']}, {row['keys']}, {row['mode']}:")
                if len(names) == row[count] and not any(names.values()):
                    print("  all")
                    continue
                if silent := ", ".join(name for name, said in names.items() if not said):
                    print(*textwrap.wrap(silent, 118, initial_indent="  ", subsequent_indent="  "), sep="\n")
                for name, said in names.items():
                    if said:
                        print(f"  {name}: {said[:300]}")


def print_proofs(key_kinds: list[str], cases: list[Case]) -> bool:
    """Run every case on plain JAX, print those whose proof fails, and return whether all hold."""
    runs, failures = 0, []
    for case in cases:
        for key_kind in case.key_kinds:
            if key_kind in key_kinds:
                runs += 1
                try:
                    wrong = prove(case, key_kind)
                except Exception as error:
                    wrong = f"{type(error).__name__}: {error}".splitlines()[0]
                if wrong:
                    failures.append(f"{case.name}, {key_kind}: {wrong}")
    print(*failures, f"{runs - len(failures)} of {runs} proofs hold.", sep="\n")
    return not failures


def main() -> int:
    """Run the checkers or, with `--prove`, the proofs, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--prove", action="store_true", help="run every case on plain JAX instead")
    parser.add_argument("--checker", choices=["jaxguide", "jax", "both"], default="both")
    parser.add_argument("--keys", nargs="+", choices=list(MAKE_KEY), default=["typed", "legacy"], help="kinds of keys")
    parser.add_argument("--case", nargs="+", metavar="NAME", help="only these cases")
    options = parser.parse_args()

    jax.config.update("jax_disable_most_optimizations", True)  # so that XLA compiles faster
    cases = [case for case in BUGS + CORRECT if not options.case or case.name in options.case]
    if unknown := set(options.case or ()) - {case.name for case in cases}:
        parser.error(f"no case is named {', '.join(sorted(unknown))}")
    left_out = [case.name for case in cases if not case.installed()]
    cases = [case for case in cases if case.installed()]
    if options.prove:
        return 0 if print_proofs(options.keys, cases) else 1

    checkers = {"jaxguide": [OURS], "jax": [THEIRS], "both": [OURS, THEIRS]}[options.checker]
    rows = list(score(checkers, options.keys, cases))
    versions = {"python": platform.python_version(), "jax": jax.__version__, "jaxlib": jax.lib.__version__}
    if options.json:
        print(json.dumps({"versions": versions, "not_installed": left_out, "rows": rows}, indent=2))
    else:
        print(", ".join(f"{name} {version}" for name, version in versions.items()))
        if left_out:
            print("left out, because their library is not installed:", ", ".join(left_out))
        print_table(rows)
    return int(any(row["missed"] or row["alarmed"] for row in rows if row["checker"] == OURS))


if __name__ == "__main__":
    sys.exit(main())
