"""Run one real program with the helpers and with JAX's own tools, and print what each says as one line of JSON."""

import contextlib
import io
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

_LIMIT_S = 60
_TEXT_LIMIT = 4000


def _parts(path: Path) -> dict[str, str]:
    """Return the parts of a battery file below its `# %%` lines, by title."""
    pieces = re.split(r"^# %% (\w+)\n", path.read_text(), flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def _loaded(folder: str, code: str) -> dict[str, Any]:
    """Run code as a file, so that the helpers can read its lines."""
    file = Path(folder) / "program.py"
    file.write_text(code)
    module = types.ModuleType("program")
    module.__file__ = str(file)
    sys.modules["program"] = module
    exec(compile(code, str(file), "exec"), module.__dict__)
    return module.__dict__


def _jax_says(error: BaseException) -> str:
    """Return the error as JAX shows it, with the user's own last line."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith("program.py")]
    where = f"at `{lines[-1].line}`: " if lines else ""
    return f"{where}{type(error).__name__}: {error}"[:_TEXT_LIMIT]


def failures(path: Path, folder: str) -> dict[str, Any]:
    """Explain what the program raises, and really run it with each fix that can be applied."""
    from jaxguide.explain import explain

    code = _parts(path)["fails"]
    try:
        _loaded(folder, code)
    except Exception as error:
        explanation = explain(error)
        found: dict[str, Any] = {"jax": _jax_says(error), "ours": "" if explanation is None else str(explanation)}
        found["kind"] = None if explanation is None else explanation.kind
        found["fixes"] = []
        for fix in explanation.fixes if explanation is not None else ():
            if fix.edits:
                fixed = fix.apply(code, str(Path(folder) / "program.py"))
                command = [sys.executable, "-c", fixed]
                try:
                    done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, cwd=folder)
                    found["fixes"].append("" if done.returncode == 0 else f"{fixed}\n{done.stderr[-300:]}")
                except subprocess.TimeoutExpired:
                    found["fixes"].append(f"{fixed}\nruns longer than {_LIMIT_S} s")
        return found
    return {"broken": "the program does not fail"}


def keys(path: Path, folder: str) -> dict[str, Any]:
    """Check a program's keys."""
    import jax

    from jaxguide.keys import check_keys

    text = path.read_text()
    is_reuse = "# verdict: reuse" in text
    code = _parts(path)["program"]
    program = _loaded(folder, code)["program"]
    lines = code.splitlines()
    marked = {number for number, line in enumerate(lines, 1) if re.search(r"# (first|second)( # second)?$", line)}
    found: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            problems = check_keys(program, jax.random.key(7))
        except Exception as error:
            found = {"ours": "crashed", "said": [f"{type(error).__name__}: {error}"]}
        else:
            said = [str(problem) for problem in problems]
            numbers = {int(number) for one in said for number in re.findall(r"line (\d+)", one)}
            if is_reuse:
                found["ours"] = "missed" if not said else "found" if marked & numbers else "found elsewhere"
            else:
                found["ours"] = "false alarm" if said else "right"
            found["said"] = said
        found["warned"] = [str(one.message) for one in warned]
    jax.clear_caches()
    try:
        with jax.debug_key_reuse(True):
            jax.block_until_ready(_loaded(folder, code)["program"](jax.random.key(7)))
        found["jax"] = "missed" if is_reuse else "right"
    except Exception as error:
        reuse = "KeyReuse" in type(error).__name__
        found["jax"] = ("found" if is_reuse else "false alarm") if reuse else "crashed"
    return found


def nan(path: Path, folder: str) -> dict[str, Any]:
    """Find the first NaN of a program."""
    import jax

    from jaxguide.debug import find_nan

    code = _parts(path)["fails"]
    (guilty,) = [number for number, line in enumerate(code.splitlines(), 1) if line.endswith("# guilty")]
    names = _loaded(folder, code)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            report = find_nan(names["f"], *names["args"])
            text = str(report)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
    found: dict[str, Any] = {"ours": text}
    said = re.findall(r"line (\d+)", text)
    found["line"] = bool(said) and int(said[0]) == guilty
    found["jax"], found["jax_line"] = "", False
    for setting in ("jax_debug_nans", "jax_debug_infs"):
        jax.config.update(setting, True)
        try:
            jax.block_until_ready(names["f"](*names["args"]))
        except Exception as error:
            frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.endswith("program.py")]
            found["jax"] = _jax_says(error)
            found["jax_line"] = bool(frames) and frames[-1].lineno == guilty
            break
    return found


def retraces(path: Path, folder: str) -> dict[str, Any]:
    """Watch what a program traces again, and why."""
    import jax

    from jaxguide.tracing import watch_traces

    def run() -> None:
        names = _loaded(folder, _parts(path)["program"])
        for call in names["calls"]:
            jax.block_until_ready(call() if callable(call) else names["step"](*call))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with watch_traces() as seen:
            run()
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger("jax").addHandler(handler)
    jax.clear_caches()
    with jax.explain_cache_misses(True), contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run()
    ours = re.sub(r" in [\d.]+ m?s\b", "", str(seen))  # times differ in each run
    return {"ours": _without_folder(ours, folder), "jax": _without_folder(log.getvalue(), folder)[:_TEXT_LIMIT]}


def _without_folder(text: str, folder: str) -> str:
    return text.replace(folder, "")


def main() -> None:
    """Run one kind on one file."""
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
    os.environ["JAX_PLATFORMS"] = "cpu"
    kind, path = sys.argv[1], Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            found = globals()[kind](path, folder)
        if isinstance(found.get("ours"), str):
            found["ours"] = _without_folder(found["ours"], folder)
        if isinstance(found.get("jax"), str):
            found["jax"] = _without_folder(found["jax"], folder)
        print(json.dumps(found))
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
