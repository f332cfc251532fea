"""Provide the `%jaxguide` magic of IPython and notebooks, which draws a picture of a call."""

import ast
import contextlib
import importlib
import re
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import needs_local_scope, no_var_expand
from IPython.display import display

from jaxguide.base.did_you_mean import did_you_mean

# Subcommand -> module and name of the helper that draws the picture.
HELPERS = {
    "trace": ("jaxguide.tracing", "show_lines"),
    "keys": ("jaxguide.keys", "check_keys"),
    "program": ("jaxguide.tracing", "program"),
}
_PACKAGE = str(Path(__file__).parents[1])
_HELPER = "__jaxguide_helper__"
_USAGES = "`%jaxguide trace f(x)`, `%jaxguide keys f(key)` or `%jaxguide program f(x)`"


def register(shell: Any) -> None:
    """Add the magic and its completion to an IPython shell; a second call changes nothing.

    Args:
        shell: the shell, as `get_ipython()` returns it.
    """
    if shell.find_line_magic("jaxguide") is not jaxguide_magic:
        shell.register_magic_function(jaxguide_magic, "line", "jaxguide")
        shell.set_hook("complete_command", _complete, str_key="%jaxguide")


def unregister(shell: Any) -> None:
    """Remove the magic and its completion."""
    shell.magics_manager.magics["line"].pop("jaxguide", None)
    shell.strdispatchers.get("complete_command", types.SimpleNamespace(strs={})).strs.pop("%jaxguide", None)


@no_var_expand
@needs_local_scope
def jaxguide_magic(line: str, local_ns: Mapping[str, Any] | None = None) -> None:
    """Draw a picture of a call, written as in a cell.

    %jaxguide trace f(x)      each line of f: what is traced, what is static
    %jaxguide keys f(key)     the keys that f makes, draws from, and uses twice
    %jaxguide program f(x)    the program (jaxpr) that JAX makes of f

    `jaxguide.tracing.show_lines`, the tree of `jaxguide.keys.check_keys` and `jaxguide.tracing.program` do the
    same in Python.
    """
    from IPython import get_ipython

    __tracebackhide__ = True
    which, _space, source = line.strip().partition(" ")
    if which not in HELPERS:
        raise UsageError(f"`%jaxguide` cannot show `{which}`.{did_you_mean(which, HELPERS, most=1)} Write {_USAGES}.")
    module, name = HELPERS[which]
    names = {**get_ipython().user_ns, **(local_ns or {}), _HELPER: getattr(importlib.import_module(module), name)}
    try:
        picture = eval(compile(_given_to_helper(source.strip().rstrip(";")), "<%jaxguide>", "eval"), names)
    except (NameError, TypeError, ValueError, RuntimeError) as error:
        if _refused(error):
            raise UsageError(str(error)) from None
        raise
    display(getattr(picture, "tree", getattr(picture, "drawing", picture)))


def _given_to_helper(source: str) -> ast.Expression:
    """Return the call of the helper with the function and the arguments of a call, which is not made itself."""
    try:
        node = ast.parse(source, mode="eval").body
    except SyntaxError:
        node = None
    if not isinstance(node, ast.Call):
        raise UsageError(f"A call in one line of Python is needed, and `{source}` is not one: write {_USAGES}.")
    given = ast.Call(ast.Name(_HELPER, ast.Load()), [node.func, *node.args], node.keywords)
    return ast.fix_missing_locations(ast.Expression(given))


def _refused(error: BaseException) -> bool:
    """Return whether an error comes only from this package or the typed line, not from a student's function."""
    step = error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        # The frame of `contextlib` is that of a helper's decorator.
        if file not in ("<%jaxguide>", contextlib.__file__) and not file.startswith(_PACKAGE):
            return False
        step = step.tb_next
    return True


def _complete(shell: Any, event: Any) -> list[str]:
    """Complete the subcommand, then names and attributes as on any other line."""
    line = event.text_until_cursor.split("\n")[-1]
    if line.count(" ") == 1:
        return [name for name in HELPERS if name.startswith(line.split(" ")[1])]
    word = re.findall(r"[A-Za-z_][\w.]*$|$", line)[0]
    return list(shell.Completer.attr_matches(word) if "." in word else shell.Completer.global_matches(word))
