"""Compare graders on one assignment: `python benchmarks/grading/compare.py FOLDER`; see the README in this folder."""

import argparse
import json
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from assignment import bad_kinds, well_behaved
from bare import bare_cpu_s
from graders import GRADERS, Jaxguide, mark_of
from measure import Used, adopt_orphans


def _costs(graders: list[Any], work: Path, rounds: int, size: int, limit_s: float) -> dict[str, Any]:
    """Grade one right submission and a class of them with each grader in turn, and run the answers without a grader."""
    runs: dict[tuple[str, str], list[Used]] = {}
    lost: dict[tuple[str, str], int] = {}
    bare: dict[str, list[float]] = {}
    for number in range(rounds):
        kind = well_behaved(0)
        for grader in graders:
            if isinstance(grader, Jaxguide):
                used, scores = grader.first(kind, work / f"{grader.name}-first-{number}", limit_s)
                if mark_of(scores, kind) != 10:
                    raise SystemExit(f"{grader.name} gave {mark_of(scores, kind)} the first time:\n{used.said}")
                print(f"{grader.name}, first: {used.cpu_s:.2f} CPU s", flush=True)
                runs.setdefault((grader.name, "first"), []).append(used)
                lost[grader.name, "first"] = 0
        # Reverse the order every other round, so that load on the machine affects all graders alike.
        for grader in graders if number % 2 == 0 else graders[::-1]:
            for what, count in (("one", 1), ("class", size)):
                kinds = [well_behaved(place) for place in range(count)]
                used, scores = grader.grade(kinds, work / f"{grader.name}-{what}-{number}", limit_s * count)
                marks = [mark_of(scores, kind) for kind in kinds]
                if 10 not in marks or not {10, None}.issuperset(marks):
                    raise SystemExit(f"{grader.name} gave {marks} to right submissions:\n{used.said}")
                lost[grader.name, what] = lost.get((grader.name, what), 0) + marks.count(None)
                print(f"{grader.name}, {what}: {used.cpu_s / count:.2f} CPU s, {marks.count(None)} lost", flush=True)
                runs.setdefault((grader.name, what), []).append(used)
        for which, spent_s in bare_cpu_s(size).items():
            print(f"JAX alone, {which}: {spent_s:.3f} CPU s", flush=True)
            bare.setdefault(which, []).append(spent_s)
    table: dict[str, Any] = {}
    for (name, what), all_used in runs.items():
        count = size if what == "class" else 1
        table[f"{name}, {what}"] = {
            "cpu_s": round(statistics.median(used.cpu_s for used in all_used) / count, 2),
            "wall_s": round(statistics.median(used.wall_s for used in all_used) / count, 2),
            "all_processes_mb": round(statistics.median(used.peak_bytes for used in all_used) / 1e6),
            "largest_child_mb": round(statistics.median(used.process_bytes for used in all_used) / 1e6),
            "lost": f"{lost[name, what]} of {count * len(all_used)}",
        }
    _print_ratios(runs, bare, size)
    for which, all_spent_s in bare.items():
        missing = dict.fromkeys(list(table["jaxguide, class"]), "")
        table[f"JAX alone, {which}"] = {**missing, "cpu_s": round(statistics.median(all_spent_s), 2)}
    return table


def _print_ratios(runs: dict[tuple[str, str], list[Used]], bare: dict[str, list[float]], size: int) -> None:
    """Print jaxguide's target ratios; each is taken within one round, so the machine's speed does not matter."""
    spent = {key: [used.cpu_s for used in all_used] for key, all_used in runs.items()}
    otter, first, one = spent["otter", "one"], spent["jaxguide", "first"], spent["jaxguide", "one"]
    more = [(whole - alone) / (size - 1) for whole, alone in zip(spent["jaxguide", "class"], one, strict=True)]
    for said, ours, theirs in (
        ("one submission, the first time, to `otter run`", first, otter),
        ("one submission, from the second time on, to `otter run`", one, otter),
        ("a submission more in a class, to JAX alone", more, bare["JAX's own programs kept"]),
    ):
        ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
        print(f"{said}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


def _behaviour(graders: list[Any], work: Path, limit_s: float) -> dict[str, dict[str, str]]:
    """Grade each bad submission alone with each grader, and describe each outcome in a few words."""
    table: dict[str, dict[str, str]] = {}
    for place, kind in enumerate(bad_kinds()):
        row = table[f"{kind.name} ({kind.fair})"] = {}
        for grader in graders:
            folder = work / f"{grader.name}-bad-{place}"
            used, scores = grader.grade([kind], folder, limit_s)
            row[grader.name] = _in_words(used, mark_of(scores, kind))
            shutil.rmtree(folder, ignore_errors=True)
            print(f"{kind.name}: {grader.name}: {row[grader.name]}", flush=True)
    return table


def _in_words(used: Used, mark: float | None) -> str:
    words = ["no marks" if mark is None else f"{mark:g}/10"]
    if used.timed_out:
        words.append("ended at the time limit")
    elif used.status:
        words.append(f"exit status {used.status}")
    if used.orphans:
        words.append(f"{used.orphans} left running")
    return f"{', '.join(words)}; {used.cpu_s:.0f} s, {used.peak_bytes / 1e6:.0f} MB"


def _print_table(title: str, table: dict[str, dict[str, Any]]) -> None:
    columns = list(next(iter(table.values())))
    print(f"\n| {title} | {' | '.join(columns)} |\n|{' --- |' * (len(columns) + 1)}")
    for name, row in table.items():
        print(f"| {name} | {' | '.join(str(row[column]) for column in columns)} |")


def main() -> None:
    """Print the tables, and write them to FOLDER/compare.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder for the peers' virtual environments")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=int, default=8, help="the number of submissions in a class")
    parser.add_argument("--limit", type=float, default=120, help="the wall time limit per submission, in seconds")
    parser.add_argument("--without", choices=["nbgrader"], action="append", default=[], help="do not measure this peer")
    parser.add_argument("--skip", choices=["costs", "behaviour"], action="append", default=[])
    asked = parser.parse_args()
    cache = asked.folder.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    graders: list[Any] = [grader(cache) for grader in GRADERS if grader.name not in asked.without]
    adopt_orphans()
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="compare-", ignore_cleanup_errors=True) as work:
        if "costs" not in asked.skip:
            result["costs"] = _costs(graders, Path(work), asked.rounds, asked.size, asked.limit)
            workers = graders[0]
            result["workers"] = {
                "cpu_s": statistics.median(workers.worker_cpu_s),
                "peak_mb": round(statistics.median(workers.worker_bytes) / 1e6),
            }
            _print_table("well-behaved, for each submission", result["costs"])
            print(f"\njaxguide's workers alone: {result['workers']}", flush=True)
        if "behaviour" not in asked.skip:
            result["behaviour"] = _behaviour(graders, Path(work), asked.limit)
            _print_table("submission (fair marks)", result["behaviour"])
    (cache / "compare.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
