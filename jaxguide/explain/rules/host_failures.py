"""Explain host functions that fail while a compiled program runs: JAX passes on only the text of their error."""

import ast
import re
import sys
from collections.abc import Iterator

from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line, place_name
from jaxguide.code.source import Source, source_of
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called

_PAGE = "https://docs.jax.dev/en/latest/external-callbacks.html"
_CALLBACKS = ("pure_callback", "io_callback", "callback")


@explains(error_texts.HOST_FAILURE)
def host_function_failed(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an error that a host function raised inside a compiled program."""
    said = error_texts.HOST_ERROR.search(scene.message)
    if said is not None:
        return _of_host_function(scene, said)
    frames = [(file, int(line), name) for file, line, name in error_texts.HOST_FRAMES.findall(scene.message)]
    error = _said_last(scene.message)
    own = next((i for i in range(len(frames) - 1, -1, -1) if not is_library(frames[i][0])), None)
    called_by_jax = own is not None and any(file.endswith("callback.py") for file, _n, _f in frames[:own])
    unexpected = error_texts.HOST_KEYWORD.search(error)
    if unexpected is not None:
        return _keyword(scene, unexpected[1], unexpected[2])
    if own is None or not called_by_jax:
        return None
    file, number, name = frames[own]
    line, source = Line(file, number), source_of(file)
    # The frames of the host function itself come last, except those of libraries that it calls.
    writes = "immutable" in error or "read-only" in error
    fix = _copy_first(scene, source, number, name) if writes and source is not None else None
    return _explained(scene, name, f"{error.partition('. ')[0].rstrip('.')}.", line, fix)


def _said_last(message: str) -> str:
    """Return what the last traceback in a message ends with: the error and its text, in one line."""
    lines = message.strip().splitlines()
    frames = [i for i, line in enumerate(lines) if error_texts.HOST_FRAMES.match(line)]
    # Below a frame, its line of code and the marks under it are indented further; the error is not.
    last = next((i for i in range(frames[-1] + 1, len(lines)) if not lines[i].startswith(" ")), len(lines) - 1)
    return " ".join(" ".join(lines[last:]).split())


def _of_host_function(scene: Scene, said: re.Match[str]) -> Explanation | None:
    """Explain the error of a function made by `jaxguide.callbacks`, whose sentence is the last line of the message."""
    place = re.search(r"\(([^()\n]+), line (\d+)\)", said[1])
    name = re.match(r"`(.+?)`", said[1])
    line = None
    modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    files = {file for file in modules if file is not None and not is_library(file)}
    files |= {spot.line.file for spot in scene.spots}
    fitting = [file for file in files if place is not None and place_name(file) == place[1]]
    if place is not None and len(fitting) == 1:
        line = Line(fitting[0], int(place[2]))
    return _explained(scene, name[1] if name is not None else None, said[1], line, None)


def _explained(scene: Scene, name: str | None, error: str, line: Line | None, fix: Fix | None) -> Explanation | None:
    return scene.explanation(
        "host_function_failed",
        title="A host function failed while the program was running",
        what=error if error.startswith("`") else f"`{name}` raised {error}",
        variable=name,
        why="The compiled program calls it, so its error arrives where Python waits for the result, as text alone.",
        fixes=[
            fix,
            scene.advice(
                (
                    "Mend it on that line; called outside of `jax.jit`, with the same values, it shows the "
                    "whole traceback."
                )
                if line is not None
                else "Mend the function; called outside of `jax.jit`, with the same values, it fails by itself."
            ),
        ],
        link=_PAGE,
        line=line,
    )


def _calls(scene: Scene) -> Iterator[tuple[Source, ast.Call]]:
    for source in {spot.source.file: spot.source for spot in scene.spots if spot.source is not None}.values():
        yield from ((source, call) for call in source.calls() if called(call) in _CALLBACKS and call.args)


def _keyword(scene: Scene, name: str, keyword: str) -> Explanation | None:
    """Explain a keyword that a callback function of JAX does not know, and hands on to the host function."""
    found = [
        (source, call, given)
        for source, call in _calls(scene)
        for given in call.keywords
        if given.arg == keyword and (source.quote(call.args[0]).split(".")[-1] == name or name == "<lambda>")
    ]
    if len(found) != 1:
        return None
    source, call, given = found[0]
    fix: Fix | None = None
    if keyword == "vectorized" and isinstance(given.value, ast.Constant):
        method = "expand_dims" if given.value.value else "sequential"
        sentence = "Say it with `vmap_method`, which took its place."
        fix = scene.fix(sentence, source.replace(given, f'vmap_method="{method}"'))
    return scene.explanation(
        "callback_keyword",
        title="A callback hands a keyword on to the host function",
        what=(
            f"`{source.quote(call.func)}` has no keyword `{keyword}`, so it was given to `{name}`, which has none "
            "either."
        ),
        variable=keyword,
        why="All keywords that a callback of JAX does not know are meant for the host function.",
        fixes=[fix or scene.advice("Leave it out, or let the host function take it.")],
        link=_PAGE,
        line=Line(source.file, source.start(call)[0]),
    )


def _copy_first(scene: Scene, source: Source, number: int, name: str) -> Fix | None:
    """Return the fix that copies the argument which a host function writes into."""
    for function in source.functions(name):
        if not function.lineno <= number <= (function.end_lineno or 0):
            continue
        written = {
            target.value.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign | ast.AugAssign) and node.lineno <= number <= (node.end_lineno or 0)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
        }
        arguments = {a.arg for a in [*function.args.posonlyargs, *function.args.args]}
        if len(written) == 1 and written <= arguments:
            (argument,) = written
            first = function.body[0]
            line = f"{argument} = {scene.np}.array({argument})\n{source.indent(first)}"
            return scene.fix(
                "Write into a copy: what a host function is given is JAX's own memory.",
                source.insert_before(first, line),
            )
    return None
