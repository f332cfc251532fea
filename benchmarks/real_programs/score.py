"""Try the helpers on real programs: `python benchmarks/real_programs/score.py`; see the README in this folder."""

import argparse
import concurrent.futures
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KINDS = ("failures", "keys", "nan", "retraces")
HALVES = ("seen", "unseen")
_LIMIT_S = 180
_VERDICTS = HERE / "verdicts.json"


def digest(text: str) -> str:
    """Return the name of a text in `verdicts.json`; folders, addresses and line numbers of `run_one` do not count."""
    stable = re.sub(r"(?<![\w.])/[^\s\"'`:,]*/", "", " ".join(text.split()))
    stable = re.sub(r"(run_one\.py\D{1,9})\d+|0x[0-9a-f]+|\d{9,}", r"\1N", stable)
    return hashlib.sha256(stable.encode()).hexdigest()[:16]


def judged(verdicts: dict[str, Any], name: str, text: str) -> str:
    """Return the verdict that a reader gave this text about this program; 'unjudged' if nobody has read it."""
    return "silent" if not text.strip() else verdicts.get(name, {}).get(digest(text), "unjudged")


def run_one(path: Path) -> dict[str, Any]:
    """Run a program in a new Python, with the helpers and with what JAX itself offers."""
    command = [sys.executable, str(HERE / "run_one.py"), path.parent.name, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"broken": f"took longer than {_LIMIT_S} s"}
    try:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except (IndexError, ValueError):
        return {"broken": done.stderr[-500:]}


def outcomes(kind: str, name: str, found: dict[str, Any], verdicts: dict[str, Any]) -> tuple[str, str]:
    """Return the verdicts on the helper and on JAX itself."""
    if "broken" in found:
        return "broken", "broken"
    if kind == "keys":
        return found["ours"], found["jax"]
    ours, jax = (judged(verdicts, name, found[whose]) for whose in ("ours", "jax"))
    if kind == "nan":
        line = "line right" if found["line"] else "line wrong"
        return f"{line}, advice {ours}", "line right" if found["jax_line"] else "line wrong"
    return ours, jax


def _kind(name: str) -> str:
    # Not `choices`, which Python 3.11 applies to the default as well.
    if name not in KINDS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(KINDS)}")
    return name


def main() -> None:
    """Print how often each half of each kind was judged how, and which fixes failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", type=_kind, metavar="KIND", help=f"of {', '.join(KINDS)}; by default all")
    parser.add_argument("--half", choices=HALVES, action="append", help="by default both")
    parser.add_argument("--only", metavar="TEXT", default="", help="run only files whose name contains this")
    parser.add_argument("--out", type=Path, help="write all texts to this JSON file")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    verdicts = json.loads(_VERDICTS.read_text()) if _VERDICTS.exists() else {}
    everything: dict[str, Any] = {}
    for kind in options.kinds or KINDS:
        for half in options.half or HALVES:
            paths = [path for path in sorted((HERE / half / kind).glob("*.py")) if options.only in path.name]
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                results = dict(zip(paths, pool.map(run_one, paths), strict=True))
            ours, jax, fixes = Counter[str](), Counter[str](), Counter[str]()
            for path, found in results.items():
                name = f"{half}/{kind}/{path.stem}"
                mine, theirs = outcomes(kind, name, found, verdicts)
                ours[mine] += 1
                jax[theirs] += 1
                fixes.update("runs" if runs == "" else "fails" for runs in found.get("fixes", []))
                everything[name] = {**found, "verdict": mine, "verdict_on_jax": theirs}
                if mine in ("wrong", "broken", "unjudged"):
                    print(f"  {mine}: {name} {found.get('broken', '')}")
            print(f"{kind}, {half}, {len(paths)}: ours {dict(ours)}; JAX {dict(jax)}; fixes {dict(fixes)}", flush=True)
    if options.out:
        options.out.write_text(json.dumps(everything, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
