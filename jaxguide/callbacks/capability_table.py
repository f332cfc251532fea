"""Show what each kind of host callback can do on the installed JAX, next to what JAX's guide says."""

from dataclasses import dataclass
from html import escape
from typing import Any

import jax

from jaxguide.base.render.theme import FOREGROUND, LINE
from jaxguide.base.text import _, plural
from jaxguide.callbacks.capabilities import Cell, kinds, measure, situations
from jaxguide.compat.debug_flags import CHECKS, DISABLE_JIT, flags_off


@dataclass(frozen=True, repr=False)
class CallbackTable:
    """The measurements: a row for each situation, a column for each kind of callback.

    Args:
        rows: situation -> kind -> `Cell`.
        jax_version, platform: what they were made on, such as '0.12.0.1' and 'cpu'.
    """

    rows: dict[str, dict[str, Cell]]
    jax_version: str
    platform: str

    def differences(self) -> list[tuple[str, str]]:
        """Return the (situation, kind) pairs in which JAX differs from its guide."""
        return [(row, kind) for row, cells in self.rows.items() for kind, cell in cells.items() if cell.agrees is False]

    def to_plain(self) -> dict[str, Any]:
        """Return this as dict, str, int, bool and None only."""
        rows = {row: {kind: dict(vars(cell)) for kind, cell in cells.items()} for row, cells in self.rows.items()}
        return {"jax": self.jax_version, "platform": self.platform, "rows": rows}

    def __str__(self) -> str:
        names = [kind.split(" ") for kind in kinds()]
        lines = [self._title(), ""]
        width = max(len(label) for label in _labels().values()) + 1
        for part in range(2):
            heads = [[*name, ""][part] for name in names]
            lines.append(" " * width + "".join(f" {head:<15}" for head in heads).rstrip())
        for row, cells in self.rows.items():
            lines.append(f"{_labels()[row]:<{width}}" + "".join(f" {_word(c):<15}" for c in cells.values()).rstrip())
            if any(cell.documented for cell in cells.values()):
                said = "".join(f" {_guide(cell):<15}" for cell in cells.values()).rstrip()
                lines.append(f"{'  ' + _('the guide says'):<{width}}{said}")
        return "\n".join([*lines, "", *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        # Set colours and stripes on every part: JupyterLab's own table style is unreadable in its dark theme.
        edge = f"border:0;border-bottom:1px solid {LINE};text-align:left;padding:0.25em 0.9em 0.25em 0"
        plain = f"background:none;color:{FOREGROUND}"
        heads = "".join(f'<th scope="col" style="{edge}">{escape(kind)}</th>' for kind in ("", *kinds()))
        body = ""
        for row, cells in self.rows.items():
            data = "".join(
                f'<td style="{edge};vertical-align:top" title="{escape(cell.error)}">{escape(_word(cell))}'
                + (f"<br><small>{escape(_('guide:'))} {escape(_guide(cell))}</small>" if cell.documented else "")
                + "</td>"
                for cell in cells.values()
            )
            label = f'<th scope="row" style="{edge};font-weight:normal">{escape(_labels()[row])}</th>'
            body += f'<tr style="{plain}">{label}{data}</tr>'
        notes = "".join(f'<li style="margin:0.2em 0">{escape(note)}</li>' for note in self._notes())
        return (
            f'<div style="{plain};overflow-x:auto"><table style="{plain};border-collapse:collapse;font-size:90%">'
            f'<caption style="text-align:left;{plain}"><strong>{escape(self._title())}</strong></caption>'
            f'<thead><tr style="{plain}">{heads}</tr></thead><tbody>{body}</tbody></table>'
            f'<ul style="margin:0.5em 0 0 1.2em;padding:0">{notes}</ul></div>'
        )

    def _title(self) -> str:
        return _("Host callbacks on jax {version}, {platform}: measurements, next to what JAX's guide says").format(
            version=self.jax_version, platform=self.platform
        )

    def _notes(self) -> list[str]:
        different = len(self.differences())
        notes = [
            _("✓ as often as plain Python calls it; ! otherwise; ✗ refused, or no value; ≠ differs from the guide."),
            plural("{count} cell differs from the guide.", "{count} cells differ from the guide.", different),
        ]
        errors: dict[str, list[str]] = {}
        for row, cells in self.rows.items():
            for kind, cell in cells.items():
                if cell.error:
                    errors.setdefault(cell.error, []).append(f"{kind}: {_labels()[row]}")
        return notes + [f"✗ {'; '.join(places)}:\n    {error}" for error, places in errors.items()]


@flags_off(*CHECKS, DISABLE_JIT)
def callback_table() -> CallbackTable:
    """Measure what each kind of host callback supports on the installed JAX, and how often it runs.

    >>> table = callback_table()
    >>> table.rows["constant_in_scan"]["pure_callback"].calls, table.rows["vmap_of_cond"]["debug.callback"].calls
    (1, 3)
    >>> ("vmap", "pure_callback") in table.differences()  # since JAX 0.6.0 it needs vmap_method
    True

    It runs fifteen small programs with each of `jax.pure_callback`, `jax.experimental.io_callback` and
    `jax.debug.callback`, the last two also with `ordered=True`: return values, `jit`, `vmap`, `grad`, loops, order, and
    the cases in which a call is dropped, hoisted out of a loop, or repeated. Compiling them takes about four seconds
    on one processor. If JAX's guide to external callbacks covers a situation, its answer is shown below, and
    differences are marked.

    Returns:
        A `CallbackTable`; print it, or end a notebook cell with it.

    See https://docs.jax.dev/en/latest/external-callbacks.html for the guide.
    """
    with jax.enable_x64(False):  # its host functions compute in float32
        rows = {situation.name: {kind: measure(kind, situation) for kind in kinds()} for situation in situations()}
    return CallbackTable(rows, jax.__version__, jax.default_backend())


def _labels() -> dict[str, str]:
    return {
        "value": _("returns a value"),
        "jit": _("under jit"),
        "vmap": _("vmap over 3 rows"),
        "vmap_method": _("the same, vmap_method='sequential'"),
        "grad": _("grad through it"),
        "scan": _("scan of 3 steps"),
        "while": _("while of 3 steps"),
        "order": _("6 calls in a map come in order"),
        "unused": _("runs when its result is not used"),
        "constant_in_scan": _("argument constant in a scan of 3"),
        "unused_in_scan_under_grad": _("not used, in a scan of 3 under grad"),
        "constant_in_scan_under_grad": _("the same, argument constant"),
        "vmap_of_cond": _("vmap of cond, 1 of 3 rows calls"),
        "vmap_of_while": _("vmap of while, 0 + 1 + 2 steps"),
        "checkpoint_under_grad": _("in jax.checkpoint, under grad"),
    }


def _word(cell: Cell) -> str:
    if cell.error:
        return "✗ " + _("refused")
    if cell.value is False:
        return "✗ " + _("no value")
    if cell.value:
        return "✓ " + _("yes")
    if cell.calls != cell.expected:
        return "! " + _("{calls}, not {expected}").format(calls=cell.calls, expected=cell.expected)
    if cell.in_order is False:
        return "! " + _("out of order")
    if cell.in_order:
        return "✓ " + _("in order")
    return "✓ " + plural("{count} call", "{count} calls", cell.expected)


def _guide(cell: Cell) -> str:
    words = {"yes": _("yes"), "no": _("no"), "": ""}
    return words[cell.documented] + (" ≠" if cell.agrees is False else "")
