"""Test a class's report in headless Chromium: readable in light and dark, wide and narrow, and fetching nothing."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from made_class import made_class
from needs import ON_THE_NEWEST

from jaxguide.grading.reports import write_reports

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Returns each piece of text with the contrast between its colour and its background.
CONTRASTS = """() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => {
    const [r, g, b] = parts(colour).map(p => p / 255).map(p => p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    for (let one = element; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (parts(colour).length < 4 || parts(colour)[3] > 0) return colour;
    }
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim()) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(style.color), light(behind(element))];
    found.push([walk.currentNode.data.trim(), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    write_reports(made_class(), folder)
    return folder


@pytest.mark.browser
@ON_THE_NEWEST
@pytest.mark.parametrize("name", ["report.html", "feedback/Hal.html"])
@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_a_page_reads_well(browser: "Browser", reports: Path, name: str, mode: str, width: int) -> None:
    asked: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=mode)  # type: ignore[arg-type]
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto((reports / name).as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 30
    assert [one for one in contrasts if one[1] < 4.5] == []
    # Wide content scrolls inside the page; the page itself never scrolls sideways.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert asked == [(reports / name).as_uri()]
    assert complaints == []
    context.close()


@pytest.mark.browser
@ON_THE_NEWEST
def test_light_and_dark_differ(browser: "Browser", reports: Path) -> None:
    grounds = []
    for mode in ("light", "dark"):
        context = browser.new_context(color_scheme=mode)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto((reports / "report.html").as_uri())
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        context.close()
    assert grounds == ["rgb(247, 247, 245)", "rgb(19, 21, 25)"]


@pytest.mark.browser
@ON_THE_NEWEST
def test_the_keyboard_leads_from_the_table_to_a_folded_card(browser: "Browser", reports: Path) -> None:
    page = browser.new_page(viewport={"width": 700, "height": 500})
    page.goto((reports / "feedback" / "Bo.html").as_uri())
    card = page.locator("#two_samples")
    assert not card.is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    card.wait_for(state="visible")
    top = card.evaluate("one => one.getBoundingClientRect().top")
    assert 0 <= top < 500
    page.close()
