"""Test that text on cards and pictures has a contrast of at least 4.5 to 1 in light and dark, trusted or not."""

import re
import tempfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from made_results import ALL

from jaxguide.base.render.theme import EDGES
from jaxguide.course.books.library import students_course
from jaxguide.course.cards import Card
from jaxguide.course.progress import Progress
from jaxguide.debug import find_nan
from jaxguide.explain.explaining import explain
from jaxguide.keys import check_keys
from jaxguide.student.standing import Position, standing_card
from jaxguide.tracing import program, show_lines

PACKAGE = Path(__file__).parents[3] / "jaxguide"
LEAST = 4.5
Colour = tuple[float, float, float]

BORDER = {"--jp-border-color1": "#bdbdbd"}
# The variables that JupyterLab 4.5 and VS Code 1.100 set; without a theme, the browser's colours apply.
THEMES: dict[str, dict[str, str]] = {
    "JupyterLab light": {"--jp-content-font-color1": "rgba(0,0,0,.87)", "--jp-layout-color1": "#ffffff", **BORDER},
    "JupyterLab dark": {"--jp-content-font-color1": "#ffffff", "--jp-layout-color1": "#212121", **BORDER},
    "VS Code light": {"--vscode-editor-foreground": "#3b3b3b", "--vscode-editor-background": "#ffffff"},
    "VS Code dark": {"--vscode-editor-foreground": "#cccccc", "--vscode-editor-background": "#1f1f1f"},
    "browser light": {"CanvasText": "#000000", "Canvas": "#ffffff"},
    "browser dark": {"CanvasText": "#ffffff", "Canvas": "#121212"},
}
PAGE = {name: tuple(theme.values())[:2] for name, theme in THEMES.items()}


def f(x, n):
    y = jnp.log(x) * n
    return y.sum()


def two_draws(key):
    first, _second = jax.random.split(key)
    return jax.random.normal(first) + jax.random.uniform(first)


def card() -> str:
    return "".join(Card(one, cases={check.name: ["f(1) → 2"] for check in one.checks}).html() for one in ALL)


def progress() -> str:
    course = students_course()
    with tempfile.TemporaryDirectory() as folder:
        kept = Progress(Path(folder))
        kept.update("two_samples", attempts=["a"], hints=1)
        kept.update("draw_by_draw", passed=True)
        return standing_card(Position(course, kept), course.books["random_numbers"]).html()


def explanation() -> str:
    try:
        jax.jit(lambda x: x if x > 0 else -x)(1.0)
    except jax.errors.TracerBoolConversionError as error:
        found = explain(error)
        assert found is not None
        return found.html()
    raise AssertionError


# Name of each kind of output -> its HTML.
PICTURES: dict[str, Callable[[], str]] = {
    "card": card,
    "progress": progress,
    "explanation": explanation,
    "program": lambda: program(f, jnp.ones(3), 2).drawing.html,
    "keys": lambda: check_keys(two_draws, jax.random.key(0)).tree.html,
    "lines": lambda: show_lines(f, jnp.ones(3), 2).html,
    "first NaN": lambda: find_nan(f, -jnp.ones(3), 2)._repr_html_(),
}


def rgb(words: str, behind: Colour = (1, 1, 1)) -> Colour:
    """Return a CSS colour, blended with the colour behind it if it is transparent."""
    if words.startswith("#"):
        digits = words[1:] if len(words) == 7 else "".join(2 * digit for digit in words[1:])
        red, green, blue = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
        return red, green, blue
    found = re.fullmatch(r"rgba\((.+)\)", words)
    assert found is not None, words
    *parts, alpha = (float(part) for part in found[1].split(","))
    red, green, blue = (alpha * part / 255 + (1 - alpha) * under for part, under in zip(parts, behind, strict=True))
    return red, green, blue


def contrast(one: Colour, other: Colour) -> float:
    def light(colour: Colour) -> float:
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    dark, bright = sorted([light(one), light(other)])
    return (bright + 0.05) / (dark + 0.05)


def resolved(value: str, theme: dict[str, str]) -> str:
    """Return a CSS value with its variables replaced, the innermost first."""
    while found := re.search(r"var\((--[\w-]+)(?:,\s*([^()]*(?:\([^()]*\))?[^()]*))?\)", value):
        value = value.replace(found[0], theme.get(found[1], (found[2] or "").strip()))
    return theme.get(value, value)


class Texts(HTMLParser):
    """Find each piece of text with its colour and the colour behind it."""

    void = ("br", "hr", "img", "meta", "input")

    def __init__(self, source: str, page: tuple[str, str], theme: dict[str, str], trusted: bool):
        super().__init__()
        self.theme, self.trusted = theme, trusted
        self.open = [page]
        self.found: list[tuple[str, str, str]] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        colour, ground = self.open[-1]
        for declaration in (given.get("style") or "").split(";"):
            name, _colon, value = declaration.partition(":")
            if not self.trusted and "var(" in value:
                continue  # as JupyterLab's sanitizer does
            value = resolved(value.strip(), self.theme)
            if name.strip() in ("color", "fill") and value not in ("inherit", "currentColor"):
                colour = value
            if name.strip() in ("background-color", "background") and value not in ("none", "transparent"):
                ground = value
        if given.get("fill") not in (None, "none", "currentColor") and tag == "text":
            colour = str(given["fill"])
        if tag == "a":
            return self.open.append(("", ground))  # the front end sets the colour of links
        if tag not in self.void:
            self.open.append((colour, ground))
        return None

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.void:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if data.strip() and self.open[-1][0]:
            self.found.append((data.strip(), *self.open[-1]))


@pytest.mark.parametrize("name", PICTURES)
def test_every_text_stands_out_from_what_is_behind_it(name: str) -> None:
    source = PICTURES[name]()
    for theme, variables in THEMES.items():
        for trusted in (True, False):
            texts = Texts(source, PAGE[theme], variables, trusted).found
            assert texts
            for words, colour, ground in texts:
                behind = rgb(ground)
                assert contrast(rgb(colour, behind), behind) >= LEAST, (theme, words, colour, ground, trusted)


def test_a_drawing_in_a_file_of_its_own_stands_out_and_has_a_title_and_a_description() -> None:
    picture = check_keys(two_draws, jax.random.key(0)).tree
    light, dark = re.findall(r"\{color:(#\w+);background:(#\w+)\}", picture.svg)
    assert all(contrast(rgb(text), rgb(ground)) >= LEAST for text, ground in (light, dark))
    for source in (picture.svg, picture.html):
        head = re.search(r'<svg[^>]* role="img" aria-label="([^"]+)"[^>]*><title>([^<]+)</title>', source)
        described = re.search("<desc>([^<]+)</desc>", source)
        assert head is not None
        assert head[1] == head[2]
        assert described is not None
        assert head[1] in picture.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert len(described[1]) > 2 * len(head[1]), "the description must say more than the title"


@pytest.mark.parametrize("tone", EDGES)
def test_edges_and_lines_of_the_packages_own_colours_stand_out_3_to_1(tone: str) -> None:
    own, themes = EDGES[tone]
    colours = {own, *([resolved(themes, THEMES["JupyterLab light"])] if tone == "quiet" else [])}
    for colour in colours:
        assert min(contrast(rgb(colour), rgb(ground)) for ground in ("#ffffff", "#1f1f1f", "#212121")) >= 3


def test_no_text_has_a_colour_but_the_themes() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        if "reports" in path.parts:
            continue  # reports are separate pages with a separate test
        values = re.findall(r"(?<![-\w])(?:color:|fill=\")([^;\"'}]+)", path.read_text())
        known = ("{FOREGROUND", "inherit", "currentColor", "none", "#111", "#eee")
        wrong += [(path.name, v) for v in values if v not in known and not v.startswith("var(--jp-mirror-editor-")]
    assert wrong == []
