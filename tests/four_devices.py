"""Run the cases of a test file in a process with four CPU devices, and return what each gave."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def results_of(file: str) -> dict[str, Any]:
    """Run a test file as a program, which calls `print_results`."""
    folders = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    environment = {**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    done = subprocess.run([sys.executable, file], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return results


def print_results(cases: dict[str, Callable[[], Any]]) -> None:
    """Print what each case returns, or its error, as one line of JSON."""
    results = {}
    for name, case in cases.items():
        try:
            results[name] = case()
        except Exception as error:
            results[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(results))
