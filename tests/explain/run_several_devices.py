"""Run and explain every program of `several_devices_cases.py`, apply the fixes, and print what came of it as JSON."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from explain_cases.case import HEADER, Case
from failing import failure, run
from several_devices_cases import CASES, HEAD, SILENT
from test_explain import explained, plain

from jaxguide.explain import explain


def _outcome(case: Case, folder: Path) -> dict[str, Any]:
    try:
        explanation = explained(case.program, folder / "student.py")
    except Exception as error:
        return {"kind": f"{type(error).__name__}: {error}", "variable": None, "line": None, "fixes": []}
    fixes: list[tuple[str, Any]] = []
    for number, fix in enumerate(explanation.fixes):
        if not fix.edits:
            fixes.append(("no edits" if fix.code else "no code", None))
            continue
        mended = fix.apply(case.program)
        try:
            with ThreadPoolExecutor(1) as thread:  # a mesh that is set is the thread's own
                names = thread.submit(run, mended, folder / f"mended_{number}.py").result()
            fixes.append(("ran", plain(eval(case.result, names))))
        except Exception as error:
            fixes.append((f"{type(error).__name__}: {error}", mended))
    return {
        "kind": explanation.kind,
        "variable": explanation.variable,
        "line": explanation.line.number,
        "fixes": fixes,
    }


def main() -> None:
    """Print the outcomes by the cases' names."""
    folder = Path(sys.argv[1])
    found: dict[str, Any] = {case.name: _outcome(case, folder) for case in CASES}
    for name, source in SILENT.items():
        said = explain(failure(HEADER + HEAD + source + "\n", folder / "student.py"))
        found[name] = None if said is None else str(said)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
