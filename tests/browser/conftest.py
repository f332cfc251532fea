"""Fixtures for browser tests: JupyterLab on a workspace, and a headless Chromium to open it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lab_page import LabPage
from lab_server import StartedLab
from needs import needs_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# Fetch only the page, and run despite a container's limits.
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


# Not for the session: while it lives, Playwright has a running event loop, and no other test can call `asyncio.run`.
@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    chromium = needs_program(*CHROMIUM)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS.split())
        yield browser
        browser.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[StartedLab]:
    with StartedLab(tmp_path) as started:
        yield started


@pytest.fixture
def lab_page(browser: "Browser", lab: StartedLab, tmp_path: Path) -> Iterator[LabPage]:
    folder = Path(os.environ.get("JAXGUIDE_SCREENSHOTS") or tmp_path / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    yield LabPage(context.new_page(), lab, folder)
    context.close()
