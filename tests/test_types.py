"""Test that a type checker sees the types of the installed helpers."""

import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

CLONE = Path(__file__).parents[1]
USER = """
import jax
import numpy as np
from jaxguide.callbacks import host_function
from jaxguide.debug import find_nan, record, recording
from jaxguide.keys import KeyStream, check_keys, no_key_reuse
from jaxguide.tracing import watch_traces

sine = host_function(np.sin, elementwise=True)
reveal_type(sine)
reveal_type(check_keys(sine, 1.0))
reveal_type(find_nan(sine, 1.0))
with recording() as rec, watch_traces() as traces:
    record("x", sine(1.0))
reveal_type(rec)
reveal_type(traces)


@no_key_reuse
def noise(key: jax.Array) -> jax.Array:
    return jax.random.normal(key)


reveal_type(noise(jax.random.key(0)))
record(1, 2.0)
KeyStream(0).following()
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel beside this Python's packages, and return the interpreter that has both."""
    folder = tmp_path_factory.mktemp("types")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(CLONE)]
    subprocess.run(build, check=True, capture_output=True)
    venv.create(folder / "user", symlinks=True)
    (packages,) = (folder / "user").glob("lib/python*/site-packages")
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(packages)
    (packages / "others.pth").write_text(sysconfig.get_paths()["purelib"])
    return folder / "user" / "bin" / "python"


@pytest.mark.long
def test_mypy_checks_a_users_calls_of_the_helpers(python: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(USER)
    check = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "train.py"]
    said = subprocess.run(check, capture_output=True, text=True, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}).stdout
    revealed = re.findall(r'Revealed type is "(.*)"', said)
    types = [re.sub(r"\w+\.", "", one) for one in revealed]  # without modules
    assert types == ["HostFunction", "KeyReport", "NanReport", "Recording", "Traces", "Array"], said
    errors = [line for line in said.splitlines() if ": error: " in line]
    assert len(errors) == 2, said
    assert 'Argument 1 to "record" has incompatible type "int"; expected "str"' in errors[0]
    assert '"KeyStream" has no attribute "following"' in errors[1]
