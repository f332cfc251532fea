"""Draw the pictures of README and of docs/helpers.md from real output: `python docs/make_stills.py [NAME ...]`.

Cells run in IPython, and Chromium takes screenshots of what a notebook would show; `jaxguide watch` runs in tmux.
This needs Chromium, tmux and the extra `dev`.
"""

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
sys.path[:0] = [str(DOCS.parent / "benchmarks" / "session"), str(DOCS.parent / "tests")]

WIDTH, SCALE, COLOURS = 820, 2, 96
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
PAGE = """<!doctype html><html style="--jp-content-font-color1:#212121;--jp-layout-color1:#fff;
--jp-border-color1:#bdbdbd;--jp-code-font-family:'DejaVu Sans Mono',monospace"><body style="margin:0;padding:14px;
width:{width}px;box-sizing:border-box;background:#fff;color:#212121;font:15px/1.45 'DejaVu Sans',sans-serif">
<style>.code {{margin:0;white-space:pre-wrap}}</style>
<div style="background:#f7f7f7;border:1px solid #e0e0e0;padding:8px 12px;font-size:14px">{code}</div>
{output}</body></html>"""

CARD = """\
def two_samples(key, n, m):
    return jax.random.normal(key, (n,)), jax.random.normal(key, (m,))

check(two_samples)
"""
ERROR = """\
@jax.jit
def total(x):
    s = 0.0
    for i in range(3):
        if x[i] > 0:
            s = s + x[i]
    return s

total(jnp.array([1.0, -2.0, 3.0]))
"""
ANSWER = """\
def curve_both_ways(n):
    x = np.linspace(0, 10, n)
    curve = 2 * np.sin(x) * np.cos(x)
    return curve, curve
"""
# Pictures of what the examples in docs/helpers.md print.
RESULTS = {
    "keys": "report.tree",
    "lines": "by_line",
    "nan": "find_nan(safe_log, jnp.array([1.0, 0.0]))",
    "timeline": "callback_timeline(descend, 8.0)",
    "traces": "traces",
}
TERMINAL_COLUMNS, TERMINAL_ROWS = 92, 36


def shown_by(setup: str, cell: str) -> list[str]:
    """Run a cell in IPython as a notebook does, and return the HTML of what it displays."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell = InteractiveShell.instance()
    shell.run_cell(setup, silent=True)
    with capture_output() as captured, contextlib.redirect_stderr(io.StringIO()):
        shell.run_cell(cell)
    return [output.data["text/html"] for output in captured.outputs if "text/html" in output.data]


def coloured(code: str) -> str:
    """Return Python code as HTML with syntax colours."""
    import pygments
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    html: str = pygments.highlight(code, PythonLexer(), HtmlFormatter(noclasses=True, nobackground=True))
    return html.replace("<pre ", "<pre class=code ")


def photograph(name: str, code: str, output: str) -> None:
    """Write `images/NAME.png`, a screenshot of a cell and its output."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, CHROMIUM)))
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 100}, device_scale_factor=SCALE)
        page.set_content(PAGE.format(width=WIDTH, code=coloured(code), output=output))
        pixels = page.locator("body").screenshot()
        browser.close()
    picture = Image.open(io.BytesIO(pixels)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    picture.save(IMAGES / f"{name}.png", optimize=True)


def card() -> None:
    """Draw the card of a wrong answer."""
    (output,) = shown_by("import jax\nfrom jaxguide.lesson import check", CARD)
    photograph("card", CARD, output)


def error() -> None:
    """Draw the explanation of an error in a lesson, above the line that is left of its traceback."""
    import jax

    setup = "import jax, jax.numpy as jnp\nfrom jaxguide.explain.notebook import explain_in_notebook\n"
    # A shell with a kernel is that of a notebook.
    (output,) = shown_by(f"{setup}get_ipython().kernel = None\nexplain_in_notebook()", ERROR)
    raised = sys.last_value
    assert isinstance(raised, jax.errors.TracerBoolConversionError)
    said = f"{type(raised).__name__}: {str(raised).splitlines()[0]}"
    style = (
        "background:#fdecea;margin:10px 0;padding:6px 10px;font:14px 'DejaVu Sans Mono',monospace;white-space:pre-wrap"
    )
    photograph("error", ERROR, f'{output}<div style="{style}">{escape(said)}</div>')


def helpers() -> None:
    """Draw results of the examples in docs/helpers.md, each right below its block, whose lines they show."""
    import linecache

    from documents import blocks

    from jaxguide.base.render import Picture
    from jaxguide.callbacks import Timeline

    names: dict[str, Any] = {}
    for block in blocks(DOCS / "helpers.md"):
        if block.language != "python":
            continue
        linecache.cache["train.py"] = (len(block.text), None, block.text.splitlines(keepends=True), "train.py")
        exec(compile(block.text, "train.py", "exec"), names)
        for name, expression in RESULTS.items():
            if f"print({expression})" not in block.text:
                continue
            result = eval(expression, names)
            if isinstance(result, Timeline):
                result = result.picture()
            if svg := getattr(result, "svg", ""):
                (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")
            else:
                html = result.html if isinstance(result, Picture) else result._repr_html_()
                photograph(name, expression, html)


def watch() -> None:
    """Draw a session in the terminal: the first exercise and a wrong answer to it."""
    import time

    from record import Terminal
    from rich.console import Console
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME
    from rich.text import Text

    program = Path(sys.executable).with_name("jaxguide")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "SHELL": "/bin/sh"}
        environment.pop("TMUX", None)
        terminal = Terminal(folder, TERMINAL_COLUMNS, TERMINAL_ROWS, [str(program), "watch"], environment)

        def wait_for(words: str) -> str:
            deadline = time.monotonic() + 120
            while words not in Text.from_ansi(terminal.screen()).plain:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{words!r} was not shown:\n{terminal.screen()}")
                time.sleep(0.5)
            return terminal.screen()

        try:
            wait_for("q quit")
            lesson = folder / "workspace" / "arrays_and_layers.py"
            text = lesson.read_text("utf-8")
            starter = re.search(r"def curve_both_ways\(n\):.*?\n    \.\.\.\n", text, re.DOTALL)
            assert starter is not None
            lesson.write_text(text.replace(starter[0], ANSWER), "utf-8")
            screen = wait_for("Not right yet")
        finally:
            terminal.close()
    console = Console(record=True, width=TERMINAL_COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen.rstrip()))
    svg = console.export_svg(title="jaxguide watch", theme=DEFAULT_TERMINAL_THEME, unique_id="watch")
    svg = svg.replace('fill="#ffffff" stroke="rgba(255,255,255,0.35)"', 'fill="#fafafa" stroke="#cccccc"')
    # The picture must fetch nothing: every reader has a monospaced font, and each text sets its width.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code, ", "")
    (IMAGES / "watch.svg").write_text(svg, encoding="utf-8")


STILLS = {"card": card, "error": error, "helpers": helpers, "watch": watch}


def main() -> None:
    """Draw the pictures named on the command line, or all."""
    here = Path.cwd()
    IMAGES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or STILLS:
        with tempfile.TemporaryDirectory() as folder:  # for the progress that `check` records
            os.chdir(folder)
            STILLS[name]()
            os.chdir(here)


if __name__ == "__main__":
    main()
