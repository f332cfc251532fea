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

from jaxguide.base.text import _
from jaxguide.cli.common import stopped_by_signals

# `jaxguide --help` imports this module, so dependencies that only one function needs are imported inside it.
if TYPE_CHECKING:
    from jaxguide.student.workspace import LaidFile

# Turns off JupyterLab's questions about news and its checks for updates.
_JUPYTER_CONFIG = Path(__file__).parent / "jupyter"
# Variables for the folders, in the home folder by default, that Jupyter, IPython and Matplotlib write to.
_IN_HOME = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR")
_START_LIMIT_S = 120.0
_STOP_LIMIT_S = 15.0


@click.command(short_help="Create your workspace and open JupyterLab.")
@click.option(
    "--workspace",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("workspace"),
    show_default=True,
    help="Your folder. Lessons are copied into it, and your files are never overwritten.",
)
@click.option("--browser/--no-browser", default=True, help="Open a browser, or only print the address.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to use; by default the first free one from 8888.")
@click.option("--ip", default="localhost", show_default=True, help="Address to listen on; 0.0.0.0 in a container.")
def start(workspace: Path, browser: bool, port: int | None, ip: str) -> NoReturn:
    """Copy the lessons into your workspace and open JupyterLab in it.

    \b
    Example: jaxguide start
             jaxguide start --workspace mine --no-browser
    """
    sys.exit(run_start(workspace, browser, port, ip))


def run_start(workspace: Path, browser: bool, port: int | None, ip: str = "localhost") -> int:
    """Create the workspace, run JupyterLab in it until it is stopped, and return the exit status."""
    from jaxguide.course.books.folders import course_folders
    from jaxguide.course.settings import read_settings
    from jaxguide.student.workspace import lay_workspace

    where = course_folders()
    try:
        files = read_settings(where.top).file_paths(where.exercises)
        laid = lay_workspace(workspace, where.notebooks, files)
    except OSError as error:
        click.echo(_("The workspace could not be created: {error}.").format(error=error), err=True)
        return 1
    for line in _said(workspace, laid):
        click.echo(line)
    if not all(importlib.util.find_spec(name) for name in ("jupyterlab", "ipykernel")):
        click.echo(
            _("JupyterLab is not installed; install it with: {command}").format(
                command=f'"{sys.executable}" -m pip install "jaxguide[notebook]"'
            ),
            err=True,
        )
        return 1
    return _Server(workspace, browser, port, ip).run()


def _said(workspace: Path, laid: "list[LaidFile]") -> list[str]:
    from jaxguide.student.workspace import FileState

    words = {
        FileState.NEW: _("new"),
        FileState.KEPT: _("yours, kept as it is"),
        FileState.CURRENT: _("already there, unchanged"),
    }
    width = max((len(file.path.name) for file in laid), default=0)
    lines = [_("Your workspace is {folder}").format(folder=workspace.resolve())]
    return [*lines, *(f"  {file.path.name:<{width}}  {words[file.state]}" for file in laid)]


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
        click.echo(_("Starting JupyterLab; press Ctrl-C to stop it."))
        with contextlib.ExitStack() as stack:
            stack.enter_context(stopped_by_signals())
            if not _home_can_be_written():
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxguide-jupyter-"))
                click.echo(_("Your home folder is not writable, so JupyterLab forgets its settings when it stops."))
                # This process reads these variables, too.
                os.environ.update({name: f"{folder}/{name}" for name in _IN_HOME if name not in os.environ})
            return self._run()

    def _run(self) -> int:
        process: subprocess.Popen[bytes] | None = None
        try:
            process = subprocess.Popen(self.command, env=self.environment(), stdin=subprocess.DEVNULL)
            if (address := self._wait_for_address(process)) is not None:
                click.echo(_("JupyterLab is at {address}").format(address=address))
            status = process.wait()
        except KeyboardInterrupt:
            if process is not None:
                _stop(process)
            click.echo(_("JupyterLab has stopped."))
            return 0
        if status:
            click.echo(_("JupyterLab ended with status {status}.").format(status=status), err=True)
        return 1 if status else 0

    def _wait_for_address(self, process: subprocess.Popen[bytes]) -> str | None:
        """Return the server's address once it has written it to disk, or None if it ends or takes too long."""
        from jupyter_core.paths import jupyter_runtime_dir

        deadline = time.monotonic() + _START_LIMIT_S
        while process.poll() is None and time.monotonic() < deadline:
            # Search for the token: on Windows, the server runs in another process than the one started here.
            for path in Path(jupyter_runtime_dir()).glob("jpserver-*.json"):
                info = _read_json(path)
                if info.get("token") == self.token:
                    return f"{info['url']}lab?token={self.token}"
            time.sleep(0.1)
        return None


def _home_can_be_written() -> bool:
    try:
        home = Path.home()
    except RuntimeError:
        return False
    there = next((folder for folder in (home, *home.parents) if folder.exists()), home)
    return os.access(there, os.W_OK | os.X_OK)


def _read_json(path: Path) -> dict[str, object]:
    """Return what a file contains, or an empty dict if another process is writing or deleting it."""
    import json

    try:
        info = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return info if isinstance(info, dict) else {}


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the server and its kernels; kill it at a second signal or if it takes too long."""
    try:
        process.terminate()
        process.wait(_STOP_LIMIT_S)
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        process.kill()
        process.wait()
