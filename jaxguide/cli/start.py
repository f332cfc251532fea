"""The command `start`: copy the lessons into the student's workspace and open JupyterLab in it."""

import contextlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from jaxguide.cli.common import stopped_by_signals

# `jaxguide --help` imports this module, so dependencies that only one function needs are imported inside it.
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jaxguide.student.workspace import LaidFile

# Turns off JupyterLab's questions about news and its checks for updates, shows Markdown as a page, not as its source,
# and shows the index anew when it changes.
_JUPYTER_CONFIG = Path(__file__).parent / "jupyter"
_PAGE = "lab/workspaces/jaxguide/tree/index.md"
# Variables for the folders, in the home folder by default, that Jupyter, IPython and Matplotlib write to.
_IN_HOME = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR")
_START_LIMIT_S = 120.0
_STOP_LIMIT_S = 15.0


@click.command(short_help="Create your workspace and open JupyterLab.")
@click.option(
    "--course",
    "given",
    type=click.Path(exists=True, path_type=Path),
    help="The folder or zip that you got from your teacher; by default the course in your workspace or in the current "
    "folder, or else the one that comes with jaxguide.",
)
@click.option(
    "--workspace",
    type=click.Path(file_okay=False, path_type=Path),
    help="Your folder, by default workspace/. Lessons are copied into it, and your files are never overwritten.",
)
@click.option("--py", "scripts", is_flag=True, help="Copy each lesson as a .py file, too, for your own editor.")
@click.option("--browser/--no-browser", default=True, help="Open a browser, or only print the address.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to use; by default the first free one from 8888.")
@click.option("--ip", default="localhost", show_default=True, help="Address to listen on; 0.0.0.0 in a container.")
def start(
    given: Path | None, workspace: Path | None, scripts: bool, browser: bool, port: int | None, ip: str
) -> NoReturn:
    """Copy the lessons into your workspace and open JupyterLab in it, with an index of the lessons.

    A workspace has one course. In the folder of a course that you got, that folder is your workspace.

    \b
    Example: jaxguide start
             jaxguide start --workspace mine --no-browser
             jaxguide start --course physics.zip --workspace physics
    """
    with _opened(given) as folder:
        workspace = _lay_lessons(folder, workspace, given, scripts)
    if not all(importlib.util.find_spec(name) for name in ("jupyterlab", "ipykernel")):
        command = f'"{sys.executable}" -m pip install "jaxguide[notebook]"'
        click.echo(f"JupyterLab is not installed; install it with: {command}", err=True)
        sys.exit(1)
    sys.exit(_Server(workspace, browser, port, ip).run())


@contextlib.contextmanager
def _opened(given: Path | None) -> "Iterator[Path | None]":
    """Yield the folder of a course: the given one, or the one in the given zip."""
    import zipfile

    from jaxguide.course.books.folders import LAID_OUT_NAME
    from jaxguide.grading.intake.file_to_grade import BROKEN_ZIP

    if given is None or given.is_dir():
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="jaxguide-course-") as name:
        folder = Path(name)
        try:
            with zipfile.ZipFile(given) as archive:
                archive.extractall(folder)
        except BROKEN_ZIP as error:
            raise click.UsageError(f"{given} cannot be unpacked: {error}.") from None
        # A zip has the files in a folder, or as they are.
        yield next((path.parent for path in sorted(folder.glob(f"*/{LAID_OUT_NAME}"))), folder)


def _lay_lessons(folder: Path | None, workspace: Path | None, given: Path | None, scripts: bool) -> Path:
    """Copy a course's lessons into the workspace, say so, and return the workspace; exit if that is not possible.

    Args:
        folder: the course's folder, None for the one that is here.
        workspace: the workspace, None for the usual one.
        given: what the user gave as the course, for messages.
        scripts: whether to copy `.py` files, too.
    """
    from jaxguide.cli.common import course_meant, read_course_outline, read_course_settings
    from jaxguide.course.books.folders import LAID_OUT_NAME, course_folders, laid_out_in
    from jaxguide.course.progress import Progress
    from jaxguide.course.settings import BUNDLED, SETTINGS_NAME
    from jaxguide.student.index import keep_index
    from jaxguide.student.new_editions import lay_new_editions
    from jaxguide.student.which_course import other_course_in
    from jaxguide.student.workspace import DEFAULT_FOLDER, KEPT, lay_workspace

    if workspace is None:
        workspace = Path() if folder is None and laid_out_in(Path()) else Path(DEFAULT_FOLDER)
    folder = course_meant(folder, workspace=workspace)
    where, settings = course_folders(folder), read_course_settings(folder)
    if not where.is_bundled and not (where.notebooks / LAID_OUT_NAME / settings.identity / SETTINGS_NAME).is_file():
        words = "{folder} has no printed lessons. If it is your course, run: jaxguide print --course {folder}"
        raise click.UsageError(words.format(folder=given or folder))
    identity = BUNDLED if where.is_bundled else settings.identity
    if other_course_in(workspace, identity):
        words = "{folder} has the lessons of another course. Choose another folder with --workspace."
        raise click.UsageError(words.format(folder=workspace.resolve()))
    course = read_course_outline(folder)
    try:
        laid = lay_workspace(workspace, course, scripts=scripts)
        if any(file.state == KEPT for file in laid):
            laid = lay_new_editions(laid, course)
    except OSError as error:
        click.echo(f"The workspace could not be created: {error}.", err=True)
        sys.exit(1)
    keep_index(course, Progress(workspace, identity), creates=True)
    for line in _said(workspace, laid):
        click.echo(line)
    return workspace


def _said(workspace: Path, laid: "list[LaidFile]") -> list[str]:
    width = max((len(file.path.name) for file in laid), default=0)
    lines = [f"Your workspace is {workspace.resolve()}"]
    lines += [f"  {file.path.name:<{width}}  {file.state}" for file in laid]
    if any(file.state.startswith("new edition") for file in laid):
        lines += [
            "Lessons have changed since you began, so new editions lie beside your files, which stay as they are. Your "
            "answers stay there, too: `check`, `watch` and `grade` still read them, and what you have done stays done "
            "unless the lesson no longer asks for it."
        ]
    return lines


class _Server:
    """Run JupyterLab in a separate process: start it, wait until it ends, and stop it at Ctrl-C or a signal."""

    def __init__(self, workspace: Path, browser: bool, port: int | None, ip: str):
        import secrets

        self.workspace = workspace.resolve()
        self.token = secrets.token_hex(24)
        self.command = [
            *(sys.executable, "-m", "jupyterlab"),
            f"--ServerApp.root_dir={self.workspace}",
            f"--ServerApp.ip={ip}",
            "--ServerApp.answer_yes=True",
            f"--LabApp.default_url=/{_PAGE}",
            f"--LabApp.extra_labextensions_path={_JUPYTER_CONFIG / 'labextensions'}",
            "--ServerApp.log_level=ERROR",
            "--LabApp.log_level=ERROR",
        ]
        if not browser:
            self.command.append("--no-browser")
        if port is not None:
            self.command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            self.command.append("--allow-root")  # containers often have no other user

    def environment(self) -> dict[str, str]:
        """Return the server's environment, which kernels inherit."""
        from jaxguide import compat

        compat.set_print_flag()
        config = [str(_JUPYTER_CONFIG), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
        return {
            **os.environ,
            # In the environment, since every user of the machine can read a command line.
            "JUPYTER_TOKEN": self.token,
            # The kernel must be this Python, not a kernel that the student installed earlier.
            "JUPYTER_PREFER_ENV_PATH": "1",
            "JUPYTER_CONFIG_PATH": os.pathsep.join(config),
            "JAXGUIDE_WORKSPACE": str(self.workspace),
        }

    def run(self) -> int:
        click.echo("Starting JupyterLab; press Ctrl-C to stop it.")
        with contextlib.ExitStack() as stack:
            stack.enter_context(stopped_by_signals())
            if not _home_can_be_written():
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxguide-jupyter-"))
                click.echo("Your home folder is not writable, so JupyterLab forgets its settings when it stops.")
                # This process reads these variables, too.
                os.environ.update({name: f"{folder}/{name}" for name in _IN_HOME if name not in os.environ})
            return self._run()

    def _run(self) -> int:
        process: subprocess.Popen[bytes] | None = None
        try:
            process = subprocess.Popen(self.command, env=self.environment(), stdin=subprocess.DEVNULL)
            if (address := self._wait_for_address(process)) is not None:
                click.echo(f"JupyterLab is at {address}")
            status = process.wait()
        except KeyboardInterrupt:
            if process is not None:
                _stop(process)
            click.echo("JupyterLab has stopped.")
            return 0
        if status:
            click.echo(f"JupyterLab ended with status {status}.", err=True)
        return 1 if status else 0

    def _wait_for_address(self, process: subprocess.Popen[bytes]) -> str | None:
        """Return the server's address once it has written it to disk, or None if it ends or takes too long."""
        import json

        from jupyter_core.paths import jupyter_runtime_dir

        deadline = time.monotonic() + _START_LIMIT_S
        while process.poll() is None and time.monotonic() < deadline:
            # Search for the token: on Windows, the server runs in another process than the one started here.
            for path in Path(jupyter_runtime_dir()).glob("jpserver-*.json"):
                # Another process may be writing or deleting it.
                with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
                    info = json.loads(path.read_text())
                    if info["token"] == self.token:
                        return f"{info['url']}{_PAGE}?token={self.token}"
            time.sleep(0.1)
        return None


def _home_can_be_written() -> bool:
    try:
        home = Path.home()
    except RuntimeError:
        return False
    there = next((folder for folder in (home, *home.parents) if folder.exists()), home)
    return os.access(there, os.W_OK | os.X_OK)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the server and its kernels; kill it at a second signal or if it takes too long."""
    try:
        process.terminate()
        process.wait(_STOP_LIMIT_S)
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        process.kill()
        process.wait()
