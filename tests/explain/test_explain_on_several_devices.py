"""Test what `explain` says about failures on several devices, and that each of its fixes works when applied.

The programs run in a process of their own, because the number of virtual devices is settled when JAX starts.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from explain_cases.case import Case, no_code, no_edits
from several_devices_cases import CASES, SILENT
from test_explain import same

pytestmark = pytest.mark.long
_HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was explained about each case, and what came of its fixes."""
    folder = tmp_path_factory.mktemp("programs")
    variables = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": os.pathsep.join([str(_HERE), *sys.path]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "run_several_devices", str(folder)],
        capture_output=True,
        text=True,
        check=True,
        env=variables,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_line_and_the_variable_are_right_and_every_fix_runs_when_applied(
    case: Case, outcomes: dict[str, Any]
) -> None:
    found = outcomes[case.name]
    assert (found["kind"], found["variable"], found["line"]) == (case.kind, case.variable, case.line)
    assert len(found["fixes"]) == len(case.after_fix)
    for (how, value), expected in zip(found["fixes"], case.after_fix, strict=True):
        if expected is no_code or expected is no_edits:
            assert how == ("no code" if expected is no_code else "no edits")
        else:
            assert how == "ran", value
            assert same(value, expected)


@pytest.mark.parametrize("name", SILENT)
def test_what_is_not_certain_is_left_alone(name: str, outcomes: dict[str, Any]) -> None:
    assert outcomes[name] is None
