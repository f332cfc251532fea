"""`jaxguide start`: lay the lessons into the student's workspace and open JupyterLab on it."""

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import click

from jaxguide.base.text import _

# What only `start` itself needs is imported there: the help of all commands reads this module.
if TYPE_CHECKING:
    from jaxguide.student.workspace import LaidFile

# Turns off JupyterLab's questions about news and its look-ups of newer versions.
_JUPYTER_CONFIG = Path(__file__).parent / "jupyter"
# Where Jupyter and what kernels import write below the home folder.
_IN_HOME = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR")
_START_LIMIT_S = 120.0
_STOP_LIMIT_S = 15.0


@click.command(short_help="Lay your workspace and open JupyterLab.")
@click.option(
    "--workspace",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("workspace"),
    show_default=True,
    help="Your folder: lessons are copied into it, and what is there already is never overwritten.",
)
@click.option("--browser/--no-browser", default=True, help="Open a browser, or print the address only.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to use; the first free one from 8888 by default.")
@click.option("--ip", default="localhost", show_default=True, help="Address to listen on; 0.0.0.0 in a container.")
def start(workspace: Path, browser: bool, port: int | None, ip: str) -> NoReturn:
    """Lay the lessons into your workspace and open JupyterLab on it.

    \b
    Example: jaxguide start
             jaxguide start --workspace mine --no-browser
    """
    sys.exit(run_start(workspace, browser, port, ip))


def run_start(workspace: Path, browser: bool, port: int | None, ip: str = "localhost") -> int:
    """Lay the workspace, run JupyterLab on it until it is stopped, and return the exit status."""
    from jaxguide.course.books.places import places
    from jaxguide.student.workspace import lay_workspace

    try:
        laid = lay_workspace(workspace, places().notebooks)
    except OSError as error:
        click.echo(_("The workspace could not be laid: {error}.").format(error=error), err=True)
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
        FileState.CURRENT: _("there already, unchanged"),
    }
    width = max((len(file.path.name) for file in laid), default=0)
    lines = [_("Your workspace is {folder}").format(folder=workspace.resolve())]
    return [*lines, *(f"  {file.path.name:<{width}}  {words[file.state]}" for file in laid)]


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


class _Server:
    """JupyterLab in a process of its own, from its start to its end."""

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
            self.command.append("--allow-root")  # containers have no other user

    def environment(self) -> dict[str, str]:
        """Return the server's environment, which kernels inherit."""
        from jaxguide import compat

        compat.set_print_flag()
        config = [str(_JUPYTER_CONFIG), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
        return {
            **os.environ,
            # By environment, since every user of the machine can read a command line.
            "JUPYTER_TOKEN": self.token,
            # The kernel must be this Python, not one that the student installed for themselves at another time.
            "JUPYTER_PREFER_ENV_PATH": "1",
            "JUPYTER_CONFIG_PATH": os.pathsep.join(config),
            "JAXGUIDE_WORKSPACE": str(self.workspace),
        }

    def run(self) -> int:
        click.echo(_("Starting JupyterLab; Ctrl-C stops it."))
        for name in ("SIGTERM", "SIGHUP"):  # a closed terminal or a stopped container ends the server too
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _interrupt)
        with contextlib.ExitStack() as stack:
            if not _home_can_be_written():
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxguide-jupyter-"))
                click.echo(_("Your home folder cannot be written: JupyterLab's settings are kept until it stops."))
                # This process looks there, too.
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
        """Wait until the server has written down where it listens; None when it ended or told nothing."""
        from jupyter_core.paths import jupyter_runtime_dir

        deadline = time.monotonic() + _START_LIMIT_S
        while process.poll() is None and time.monotonic() < deadline:
            # Found by the token: on Windows the server's process is not the one started here.
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
    """Read a file that another process may be writing or removing at this moment."""
    import json

    try:
        info = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return info if isinstance(info, dict) else {}


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server with its kernels; at a second signal, or when it takes too long, at once."""
    try:
        process.terminate()
        process.wait(_STOP_LIMIT_S)
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        process.kill()
        process.wait()
