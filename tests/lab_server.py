"""Run `jaxguide start --no-browser` in a separate process, isolated from the user's own Jupyter settings."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

START_LIMIT_S = 120.0
STOP_LIMIT_S = 30.0


def free_port() -> int:
    """Return a port that is free at the moment."""
    with socket.socket() as server:
        server.bind(("localhost", 0))
        port: int = server.getsockname()[1]
        return port


class StartedLab:
    """Context manager that runs `jaxguide start` on a workspace in `folder`.

    Args:
        folder: holds the workspace, and Jupyter's own files unless `home` is given.
        options: options of the command.
        home: the home folder of the process.
    """

    def __init__(self, folder: Path, *options: str, home: Path | None = None):
        self.folder = folder
        self.home = home
        self.workspace = folder / "workspace"
        self.settings = folder / "settings"
        self.options = options
        self.port = free_port()
        self.log = folder / "log.txt"
        self.address = ""
        self.token = ""

    def __enter__(self) -> "StartedLab":
        command = [sys.executable, "-m", "jaxguide", "start", "--workspace", str(self.workspace), "--no-browser"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port), *self.options],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment(),
            )
        try:
            self._wait()
        except BaseException:
            self.process.kill()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> int:
        """Interrupt the process as Ctrl-C does, and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def said(self) -> str:
        return self.log.read_text()

    def _environment(self) -> dict[str, str]:
        folders = {
            "JUPYTER_CONFIG_DIR": self.folder / "config",
            "JUPYTER_DATA_DIR": self.folder / "data",
            "JUPYTER_RUNTIME_DIR": self.folder / "runtime",
            "JUPYTERLAB_SETTINGS_DIR": self.settings,
            "JUPYTERLAB_WORKSPACES_DIR": self.folder / "workspaces",
            "IPYTHONDIR": self.folder / "ipython",
        }
        if self.home is not None:
            apart = {name: value for name, value in os.environ.items() if name not in folders}
            return {**apart, "HOME": str(self.home)}
        return {**os.environ, **{name: str(path) for name, path in folders.items()}}

    def _wait(self) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while self.process.poll() is None and time.monotonic() < deadline:
            if found := re.search(
                r"(http://\S+)/lab/workspaces/jaxguide/tree/index\.md\?token=(\w+)$", self.said(), re.MULTILINE
            ):
                self.address, self.token = found.groups()
                return
            time.sleep(0.1)
        raise AssertionError(f"`jaxguide start` gave no address:\n{self.said()}")
