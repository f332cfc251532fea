"""Provide the `%jaxguide` magic of IPython and notebooks, which draws a picture of a call."""

import ast
import contextlib
import importlib
import inspect
import re
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from IPython.core.error import UsageError
from IPython.core.magic import needs_local_scope, no_var_expand
from IPython.display import display

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.base.text import plural

# Subcommand -> module and name of the helper that draws the picture.
HELPERS = {
    "trace": ("jaxguide.tracing", "show_lines"),
    "keys": ("jaxguide.keys", "check_keys"),
    "program": ("jaxguide.tracing", "program"),
}
_PACKAGE = str(Path(__file__).parents[1])
_PACK = "__jaxguide_call__"


class _Call(NamedTuple):
    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


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
    __tracebackhide__ = True
    which, source = _read(line)
    call = _evaluate(which, source, local_ns or {})
    _require_arguments(source, call)
    module, name = HELPERS[which]
    helper = getattr(importlib.import_module(module), name)
    try:
        picture = helper(call.function, *call.args, **call.kwargs)
    except (TypeError, ValueError, RuntimeError) as error:
        if _refused(error):
            raise UsageError(str(error)) from None
        raise
    display(getattr(picture, "tree", getattr(picture, "drawing", picture)))


def _read(line: str) -> tuple[str, str]:
    """Return the subcommand and the source of the call."""
    which, _space, source = line.strip().partition(" ")
    if not which:
        raise UsageError(f"What shall be shown? Write {_usages()}.")
    if which not in HELPERS:
        text = f"`%jaxguide` cannot show `{which}`." + did_you_mean(which, HELPERS, most=1)
        raise UsageError(text + " " + f"Write {_usages()}.")
    return which, source.strip().rstrip(";")


def _usages() -> str:
    return "{one} or {last}".format(
        one=", ".join(f"`{_usage(which)}`" for which in list(HELPERS)[:-1]), last=f"`{_usage(list(HELPERS)[-1])}`"
    )


def _usage(which: str) -> str:
    return f"%jaxguide {which} {'f(key)' if which == 'keys' else 'f(x)'}"


def _evaluate(which: str, source: str, local_ns: Mapping[str, Any]) -> _Call:
    """Evaluate the function and the arguments of a call, without making the call."""
    from IPython import get_ipython

    __tracebackhide__ = True
    if not source:
        text = "A call is needed after `{which}`: write for example `{usage}`."
        raise UsageError(text.format(which=which, usage=_usage(which)))
    try:
        tree = ast.parse(source, mode="eval")
    except SyntaxError as error:
        text = "`{source}` is not a call in one line of Python ({error}): write for example `{usage}`."
        raise UsageError(text.format(source=source, error=error.msg, usage=_usage(which))) from None
    node = tree.body
    if not isinstance(node, ast.Call):
        text = "A call is needed, and `{source}` is not one: write the function with its arguments, as in `{usage}`."
        raise UsageError(text.format(source=source, usage=_usage(which)))
    # The function becomes the first argument of `_pack`, so that Python itself evaluates stars and keywords.
    packed = ast.Call(ast.Name(_PACK, ast.Load()), [node.func, *node.args], node.keywords)
    code = compile(ast.fix_missing_locations(ast.Expression(packed)), "<%jaxguide>", "eval")
    names = {**get_ipython().user_ns, **local_ns, _PACK: _pack}
    try:
        found = eval(code, names)
    except NameError as error:
        if not _refused(error):
            raise
        text = f"`{error.name}` is not defined: run the cell that defines it first."
        own = [name for name in names if not name.startswith("_")]
        raise UsageError(text + did_you_mean(error.name, own, most=1)) from None
    assert isinstance(found, _Call)
    return found


def _pack(function: Any, /, *args: Any, **kwargs: Any) -> _Call:
    return _Call(function, args, kwargs)


def _require_arguments(source: str, call: _Call) -> None:
    """Reject anything but a function, and arguments that the function does not accept."""
    from jaxguide.jaxpr.value_words import describe

    if not callable(call.function):
        text = "A function is needed, and `{source}` calls {got}."
        raise UsageError(text.format(source=source, got=describe(call.function)))
    try:
        signature = inspect.signature(call.function)
    except (TypeError, ValueError):  # some builtins have no signature
        return
    try:
        signature.bind(*call.args, **call.kwargs)
    except TypeError as error:
        given = plural("{count} argument", "{count} arguments", len(call.args) + len(call.kwargs))
        name = getattr(call.function, "__name__", type(call.function).__name__)
        text = "`{name}{signature}` does not take what `{source}` gives it, {given}: {error}."
        words = text.format(name=name, signature=signature, source=source, given=given, error=error)
        raise UsageError(words) from None


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
    found = re.fullmatch(r"\s*%jaxguide\s+(?:(\w+)\s+(.*)|(\w*))", event.text_until_cursor, re.DOTALL)
    if found is None:
        return []
    which, source, begun = found.groups()
    if which is None:
        return [name for name in HELPERS if name.startswith(begun)]
    word = re.search(r"[A-Za-z_][\w.]*$", source or "")
    if word is not None and "." in word[0]:
        return list(shell.Completer.attr_matches(word[0]))
    start = word[0] if word else ""
    names: dict[str, Any] = {name: value for name, value in shell.user_ns.items() if name.startswith(start)}
    names = {name: value for name, value in names.items() if start or not name.startswith("_")}
    if word is None or word.start() == 0:
        # The first name is a function, or a module that contains one.
        return [name for name, value in names.items() if _may_lead(value) and name not in shell.user_ns_hidden]
    return list(shell.Completer.global_matches(start))


def _may_lead(value: Any) -> bool:
    return callable(value) or isinstance(value, types.ModuleType)
