"""Build the zip of a Gradescope autograder: its scripts, requirements and settings, and the course with its key."""

import base64
import hashlib
import importlib.metadata
from pathlib import Path

import jaxguide
from jaxguide.base.files import zip_bytes
from jaxguide.course.books.library import Course, contents_of
from jaxguide.course.requirements import pinned
from jaxguide.grading.exports.gradescope_harness import AUTOGRADER_SETTINGS_NAME, AutograderSettings

# Gradescope runs this once, as root, to build the image. On Ubuntu 22.04, its oldest image, python3 is Python 3.10.
_SETUP = """\
#!/usr/bin/env bash
set -euo pipefail
cd "${AUTOGRADER:-/autograder}/source"
find_python() {
    for python in python3.13 python3.12 python3.11 python3; do
        if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
}
python="$(find_python)"
if [ -z "$python" ]; then
    apt-get update
    apt-get install -y python3.12 python3.12-venv || apt-get install -y python3.11 python3.11-venv
    python="$(find_python)"
fi
"$python" -m venv ../venv
# Compile bytecode now, because the container may not be able to write later. Without it, importing jax takes three
# times as long.
../venv/bin/python -m pip install --compile --requirement requirements.txt
chmod -R go-rwx .
# Save in the image what the course's answers compile and compute. If this fails, each container does it.
XDG_CACHE_HOME="$PWD/../cache" ../venv/bin/python -m jaxguide export fill-gradescope .. || true
"""

# Gradescope runs this for each submission.
_RUN = """\
#!/usr/bin/env bash
root="${AUTOGRADER:-/autograder}"
cd "$root"
export XDG_CACHE_HOME="$root/cache"
exec "$root/venv/bin/python" -m jaxguide export run-gradescope "$root"
"""

_PINNED = ("jax", "jaxlib", "numpy")


class NoKey(ValueError):
    """The course cannot be graded, because it has no key."""


def autograder_zip(course: Course, settings: AutograderSettings, requirement: Path | str | None = None) -> bytes:
    """Return the bytes of an autograder's zip.

    It contains the key and the seed, so keep it as secret as they are.

    Args:
        course: the course, with its keys.
        settings: how submissions are graded.
        requirement: the jaxguide that pip installs: the path of a wheel, which is added to the zip, or a requirement
            such as 'jaxguide @ git+https://...'. By default a wheel of the running jaxguide's own files.

    Raises:
        NoKey: the course has no key.
        OSError: the wheel or a file of the course cannot be read.
    """
    if not any(exercise.key for exercise in course.exercises.values()):
        raise NoKey(f"The course has no key in {course.folders.solutions}.")
    files: dict[str, bytes] = {}
    if isinstance(requirement, str):
        names = [requirement]
    else:
        name, content = (requirement.name, requirement.read_bytes()) if requirement is not None else own_wheel()
        names = [f"./{name}"]
        files[name] = content
    # Pin the versions of this environment, so that the autograder behaves as it was tested here.
    needed = {name: f"{name}=={importlib.metadata.version(name)}" for name in _PINNED}
    names += (pinned(course.settings) | needed).values()
    files |= {
        "setup.sh": _SETUP.encode(),
        "run_autograder": _RUN.encode(),
        "requirements.txt": "".join(f"{name}\n" for name in names).encode(),
        AUTOGRADER_SETTINGS_NAME: settings.to_text().encode(),
        **{f"course/{name}": content for name, content in contents_of(course).items()},
    }
    return zip_bytes(files, programs=("setup.sh", "run_autograder"))


def own_wheel() -> tuple[str, bytes]:
    """Return the name and the content of a wheel of this package's own files, without the course that comes with it.

    See https://packaging.python.org/en/latest/specifications/binary-distribution-format/.
    """
    found = importlib.metadata.distribution("jaxguide")
    package, info = Path(jaxguide.__file__).parent, f"jaxguide-{found.version}.dist-info"
    files = {
        f"jaxguide/{path.relative_to(package).as_posix()}": path.read_bytes()
        for path in package.rglob("*")
        if path.is_file() and not {"__pycache__", "_course"}.intersection(path.relative_to(package).parts)
    }
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: jaxguide\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    for name in ("METADATA", "entry_points.txt"):
        files[f"{info}/{name}"] = (found.read_text(name) or "").encode()
    rows = [f"{name},{_record_of(content)}\n" for name, content in sorted(files.items())]
    files[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    return f"jaxguide-{found.version}-py3-none-any.whl", zip_bytes(files)


def _record_of(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"sha256={digest},{len(content)}"
