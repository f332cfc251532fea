"""Pages that work from disk: one file each, nothing fetched, no script, light and dark, narrow and wide."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from jaxguide.base.clean import clean
from jaxguide.base.render.prose import prose_html

# Name -> colour in light and in dark. Text stands on `page` and `panel` alone, with a contrast of 4.5 or more; the four
# tones are for shapes, each beside words that say the same.
COLOURS = {
    "text": ("#1b1d21", "#e9ebee"),
    "muted": ("#4f5661", "#b3bac4"),
    "page": ("#f7f7f5", "#131519"),
    "panel": ("#ffffff", "#1c1f25"),
    "line": ("#d8dbe0", "#3b4049"),
    "link": ("#0b57b0", "#8ab8ff"),
    "good": ("#1f7a4d", "#4fbf8a"),
    "partly": ("#a86a00", "#dba53a"),
    "bad": ("#b8382c", "#ef7d70"),
    "quiet": ("#737b87", "#858d99"),
}

_LIGHT = ";".join(f"--{name}:{light}" for name, (light, _dark) in COLOURS.items())
_DARK = ";".join(f"--{name}:{dark}" for name, (_light, dark) in COLOURS.items())

# Cards take a notebook's colours, where they are shown in one; here they take the page's.
_FOR_CARDS = (
    "--jp-content-font-color1:var(--text);--jp-layout-color1:var(--panel);--jp-border-color1:var(--quiet);"
    "--jp-success-color1:var(--good);--jp-warn-color1:var(--partly);--jp-error-color1:var(--bad)"
)

_CODE_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

_STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT};{_FOR_CARDS};--jp-code-font-family:{_CODE_FONT}}}
@media(prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--page);color:var(--text);
  font:1rem/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;overflow-wrap:break-word}}
main{{max-width:66rem;margin:0 auto;padding:2rem clamp(1rem,4vw,2.5rem) 4rem}}
h1{{font-size:1.9rem;line-height:1.2;margin:0 0 .3rem;letter-spacing:-.01em}}
h2{{font-size:1.3rem;line-height:1.3;margin:2.8rem 0 .3rem}}
h3{{font-size:1.05rem;margin:0}}
p{{margin:.35rem 0 .8rem;max-width:46rem}}
a{{color:var(--link)}}
code,pre{{font-family:{_CODE_FONT};font-size:.9em}}
pre{{white-space:pre-wrap;margin:0;overflow-wrap:anywhere}}
pre.panel{{white-space:pre;overflow-x:auto}}
.muted,figcaption,.under{{color:var(--muted)}}
.panel{{background:var(--panel);border:1px solid var(--line);border-radius:10px;padding:1.1rem 1.25rem;margin:.9rem 0;
  max-width:none}}
.tiles{{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.8rem;margin:1.4rem 0;padding:0;
  list-style:none}}
.tiles li{{background:var(--panel);border:1px solid var(--line);border-radius:10px;padding:.8rem 1rem}}
.tiles strong{{display:block;font-size:1.75rem;line-height:1.25;font-variant-numeric:tabular-nums}}
.tiles span{{color:var(--muted);font-size:.95rem}}
.scroll{{overflow-x:auto}}
table{{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}}
caption{{text-align:left;color:var(--muted);padding:0 0 .5rem}}
th{{text-align:left;font-weight:600}}
thead th{{color:var(--muted);font-size:.9rem;border-bottom:1px solid var(--line)}}
td,th{{padding:.45rem .9rem .45rem 0;vertical-align:top;border-bottom:1px solid var(--line)}}
tbody tr:last-child td,tbody tr:last-child th{{border-bottom:0}}
td:last-child,th:last-child{{padding-right:0}}
.number{{text-align:right;white-space:nowrap}}
.again{{white-space:nowrap}}
tbody th{{min-width:9rem}}
svg{{display:block;max-width:100%}}
svg text{{fill:var(--text);font-family:inherit}}
details{{margin:.6rem 0}}
details.panel{{padding:.45rem 1.25rem;margin:.5rem 0}}
details.panel[open]{{padding-bottom:1rem}}
summary{{cursor:pointer;font-weight:600;padding:.35rem 0}}
dl.facts{{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.2rem;margin:.6rem 0}}
dl.facts dt{{color:var(--muted)}}
dl.facts dd{{margin:0;min-width:0;overflow-wrap:anywhere}}
ul.plain{{margin:.4rem 0;padding-left:1.2rem}}
.notice{{border-left:5px solid var(--partly)}}
.notice.bad{{border-left-color:var(--bad)}}
.tag{{display:inline-block;border:1px solid var(--quiet);border-radius:99px;padding:0 .55rem;font-size:.85rem;
  white-space:nowrap}}
@media(max-width:36rem){{
  main{{padding-top:1.2rem}}
  h1{{font-size:1.5rem}}
  .panel{{padding:.9rem}}
  details.panel{{padding:.35rem .9rem}}
  dl.facts{{grid-template-columns:1fr;gap:0}}
  dl.facts dd{{margin-bottom:.5rem}}
  .stacks thead{{display:none}}
  .stacks tr{{display:grid;grid-template-columns:1fr max-content;padding:.5rem 0;border-bottom:1px solid var(--line)}}
  .stacks tr:last-child{{border-bottom:0}}
  .stacks th,.stacks td{{border:0;padding:.1rem 0}}
  .stacks td:nth-child(n+3){{grid-column:1/-1;width:auto}}
}}
@media print{{body{{background:none}}.panel,.tiles li{{break-inside:avoid}}}}
"""


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
_HEAD = (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    '<meta name="referrer" content="no-referrer">\n'
)


def is_page(path: Path) -> bool:
    """Return whether a file is a page that `page` made.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(_HEAD)) == _HEAD.encode()


def page(title: str, parts: Iterable[str], style: str = "") -> str:
    """Return a whole HTML page.

    Nothing in it is fetched and no script runs, which it asks the browser to see to as well.

    Args:
        title: what the window shows.
        parts: the body's HTML.
        style: more style sheet.
    """
    body = "\n".join(parts)
    return (
        f"{_HEAD}"
        f"<title>{text(title, 200)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def text(words: object, limit: int = 1000) -> str:
    """Return anything as text that is safe in HTML: cleaned of control characters, on one line, escaped.

    >>> text("<b>\\x1b[31mred")
    '&lt;b&gt;red'
    """
    return escape(" ".join(clean(str(words), limit).split()))


def prose(words: str, limit: int = 2000) -> str:
    """Return a sentence as safe HTML, with what stands between backticks as code."""
    return prose_html(clean(words, limit))


def table(
    heads: Iterable[tuple[str, str]], rows: Iterable[Iterable[str]], caption: str = "", stacks: bool = False
) -> str:
    """Return a table that scrolls sideways where the page is too narrow for it.

    Args:
        heads: each column's head as HTML, and its class ('number', '').
        rows: cells as HTML; the first of a row is its head.
        caption: what the table shows, as HTML.
        stacks: put the cells of a row below each other there instead.
    """
    heads = list(heads)
    classes = [f' class="{kind}"' if kind else "" for _head, kind in heads]
    head = "".join(f'<th scope="col"{kind}>{name}</th>' for (name, _kind), kind in zip(heads, classes, strict=True))
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(others, classes[1:], strict=True))
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    said = f"<caption>{caption}</caption>" if caption else ""
    body = "\n".join(lines)
    kind = ' class="stacks"' if stacks else ""
    # The keyboard scrolls only what can be focused.
    return (
        f'<div class="scroll" tabindex="0"><table{kind}>{said}<thead><tr>{head}</tr></thead>'
        f"\n<tbody>\n{body}\n</tbody></table></div>"
    )
