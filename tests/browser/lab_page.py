"""Drive JupyterLab as a student does: open a notebook, find a cell, edit and run it, and read its output."""

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lab_server import StartedLab

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LIMIT_MS = 120_000
IN_FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"


class LabPage:
    """A browser page that shows a running JupyterLab."""

    def __init__(self, page: "Page", lab: StartedLab, screenshots: Path):
        self.page = page
        self.lab = lab
        self.screenshots = screenshots
        page.set_default_timeout(LIMIT_MS)

    def open(self, notebook: str, theme: str = "JupyterLab Light") -> None:
        """Open a notebook of the workspace in the given theme and wait until its kernel is ready."""
        self._set("apputils-extension/themes", {"theme": theme})
        # Put every cell into the page, not only those in view.
        self._set("notebook-extension/tracker", {"windowingMode": "none"})
        # By default, JupyterLab drops completions after one second, which is too short for a kernel on a busy machine.
        self._set("completer-extension/manager", {"providerTimeout": LIMIT_MS})
        self.page.goto(f"{self.lab.address}/lab/tree/{notebook}?token={self.lab.token}&reset")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.page.wait_for_selector(f'body[data-jp-theme-name="{theme}"]', state="attached")
        # JupyterLab ignores requests to run a cell before there is a kernel.
        self.page.wait_for_selector('.jp-NotebookPanel .jp-Notebook-ExecutionIndicator[data-status="idle"]')

    def open_too(self, notebook: str) -> None:
        """Open another notebook in front of the one that is open, which stays in the page."""
        self.page.locator(".jp-DirListing-item").filter(has_text=notebook).dblclick()
        self.page.wait_for_selector(f'{IN_FRONT} .jp-Notebook-ExecutionIndicator[data-status="idle"]')

    def cell(self, words: str) -> "Locator":
        """Return the first code cell whose source contains these words."""
        return self.page.locator(f"{IN_FRONT} .jp-CodeCell").filter(has_text=words).first

    def run(self, words: str, source: str | None = None) -> "Locator":
        """Run the cell that contains these words, with a new source if given; return it once it has run."""
        cell = self.cell(words)
        number = cell.evaluate("cell => [...cell.parentElement.children].indexOf(cell)")
        # From now on, locate the cell by position, since a new source may not contain the words.
        cell = self.page.locator(f"{IN_FRONT} .jp-Notebook .jp-Cell").nth(number)
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text()
        editor = cell.locator(".cm-content").first
        editor.scroll_into_view_if_needed()
        editor.click()
        if source is not None:
            self.page.keyboard.press("Control+a")
            self.page.keyboard.insert_text(source)
        self._execute(prompt, before)
        return cell

    def _execute(self, prompt: "Locator", before: str) -> None:
        """Press Ctrl-Enter, repeatedly if needed: JupyterLab drops it at the moment when a kernel connects."""
        deadline = time.monotonic() + LIMIT_MS / 1000
        while time.monotonic() < deadline:
            if prompt.inner_text() in (before, "[ ]:"):
                self.page.keyboard.press("Control+Enter")
            for _ in range(50):
                if (now := prompt.inner_text()) != before and re.fullmatch(r"\[\d+\]:", now):
                    return
                self.page.wait_for_timeout(100)
        raise AssertionError(f"the cell did not run: its prompt is {prompt.inner_text()!r}, and was {before!r}")

    def picture(self, cell: "Locator", name: str) -> Path:
        """Take a screenshot of a cell with its output."""
        path = self.screenshots / f"{name}.png"
        cell.screenshot(path=str(path))
        return path

    def save(self) -> None:
        """Save the notebook, and wait until it is on disk."""
        with self.page.expect_response(lambda answer: answer.request.method == "PUT" and "/contents/" in answer.url):
            self.page.keyboard.press("Control+s")

    def _set(self, plugin: str, settings: dict[str, str | int]) -> None:
        path = self.lab.settings / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
