"""Grade generated classes of growing size, to see if memory stays flat and time is linear; see the README.

`python benchmarks/grading/class_of.py 10 100 1000`
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from assignment import well_behaved
from graders import HERE
from layouts import notebook

_POLL_S = 0.1


def grade_class(size: int, folder: Path, jobs: int) -> dict[str, float]:
    """Grade a class of `size` right submissions; return seconds, and the peak memory in MB of the grader's own process.

    Raises:
        SystemExit: not all submissions got full marks.
    """
    submissions = folder / "submissions"
    submissions.mkdir(parents=True)
    for number in range(size):
        kind = well_behaved(number)
        (submissions / f"{kind.name}.ipynb").write_text(notebook(kind, "jaxguide"))
    command = [sys.executable, "-m", "jaxguide", "grade", "submissions", "--course", str(HERE / "course")]
    command += ["--out", "results", "--jobs", str(jobs)]
    before, started = os.times(), time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    with (folder / "said.txt").open("w") as said:
        grader = subprocess.Popen(command, cwd=folder, env=environment, stdout=said, stderr=said)
    process, peak = psutil.Process(grader.pid), 0
    while grader.poll() is None:
        try:
            peak = max(peak, process.memory_info().rss)
        except psutil.Error:
            break
        time.sleep(_POLL_S)
    grader.wait()
    wall_s, now = time.monotonic() - started, os.times()
    cpu_s = now.children_user + now.children_system - before.children_user - before.children_system
    document = folder / "results" / "results.json"
    if not document.exists():
        raise SystemExit((folder / "said.txt").read_text())
    rows = json.loads(document.read_text())["submissions"]
    if len(rows) != size or any(row["score"] != 10 for row in rows):
        raise SystemExit(f"{sum(row['score'] == 10 for row in rows)} of {size} got full marks")
    return {"wall_s": wall_s, "cpu_s": cpu_s, "peak_mb": peak / 1e6}


def main() -> None:
    """Print a table with a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    print("| class of | CPU s for each | wall s for each | grader's own peak, MB |\n| --- | --- | --- | --- |")
    for size in asked.sizes:
        with tempfile.TemporaryDirectory(prefix="class-") as folder:
            one = grade_class(size, Path(folder), asked.jobs)
        print(f"| {size} | {one['cpu_s'] / size:.2f} | {one['wall_s'] / size:.2f} | {one['peak_mb']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
