"""Explain `lax.scan`, `lax.while_loop` and `lax.fori_loop`: bodies, conditions, lengths, and carries that change."""

import ast
import re
from typing import Any

import numpy as np

from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts, Probe
from jaxguide.explain.scene import called

_SCAN = f"{texts.API}/jax.lax.scan.html"
_JOINS = ("concatenate", "hstack", "vstack")
_is_scan = probes.calls("scan")


def _body_name(facts: Facts) -> str:
    given = facts["given_body"]
    return "lambda" if isinstance(given.node, ast.Lambda) else str(given)


def _container(facts: Facts) -> tuple[type, int] | None:
    """Find the type and length of the start of a loop; (object, 1) for a single array."""
    start, value = facts["start"], facts.value("start")
    if type(value) in (tuple, list):
        return type(value), len(value)
    if isinstance(start.node, ast.Tuple | ast.List):
        return (tuple if isinstance(start.node, ast.Tuple) else list), start.count
    return (object, 1) if is_array(value) or isinstance(value, int | float | complex) else None


def _packed(parts: list[str], kind: type) -> str:
    """Return parts in a container; `object` is for a single one without."""
    text = ", ".join(parts)
    if kind is list:
        return f"[{text}]"
    return text if kind is object else f"({text},)" if len(parts) == 1 else f"({text})"


def _pair(facts: Facts, parts: list[str], outputs: list[str]) -> str | None:
    """Say what a turn returns if the first parts are the carry, packed like the start, and the others are outputs."""
    kind, count = facts["container"]
    rest = [*outputs, *parts[count:]]
    return f"{_packed(parts[:count], kind)}, {_packed(rest, tuple if len(rest) > 1 else object)}" if rest else None


_LOOP: dict[str, Any] = {
    "body": probes.loop_body,
    "given_body": probes.loop_given,
    "name": _body_name,
    "start": probes.loop_start,
    "container": _container,
    "carry": probes.loop_carry,
    "result": probes.result_of("body"),
    "output": lambda facts: facts["result"].items[1] if _is_scan(facts) and facts["result"].count == 2 else None,
    "out": lambda facts: facts["result"].items[0] if facts.knows("output") else facts["result"],
}


# A body that returns nothing.


def _computed(facts: Facts) -> str | None:
    """Say the names that a body has computed for the next turn: the carry's, those of its parts, or the last one."""
    carry, text = facts["carry"], str(facts["body"])
    if re.search(rf"\b{carry}(\[.*?\])? [+*/-]?= ", text):
        return str(carry)
    parts = re.search(rf"^\s*\(?(\w+(?:, \w+)+)\)? = {carry}$", text, re.MULTILINE)
    last = re.match(r"(\w+) = ", str(facts["last"]))
    return parts[1] if parts else last[1] if last else None


def _return_line(facts: Facts) -> str:
    """Say the line that is missing."""
    if not _is_scan(facts):
        return f"return {facts['computed']}"
    return f"return ({facts['computed']}), None" if "," in facts["computed"] else f"return {facts['computed']}, None"


entry(
    "loop_body_returns_none",
    texts.SCAN_PAIR,
    texts.CARRY_STRUCTURE,
    x=probes.loop_given,
    when=probes.returns_nothing("body"),
    last=probes.last_statement_of("body"),
    value=lambda facts: facts["last"].inside(facts.node("last").value),
    computed=_computed,
    missing=_return_line,
    none=lambda facts: ", None" if _is_scan(facts) else "",
    title="A loop body without `return`",
    what="`{x}` returns None.",
    why="`lax.{f.name}` hands what one turn returns to the next, and a function without `return` gives None.",
    fixes=[
        Either(
            Swap("Add `{missing}`.", last="{last}\n{missing}"),
            Swap(
                "Return what the last line computes.",
                when=probes.is_written("value", ast.BinOp, ast.UnaryOp, ast.Name, ast.Tuple),
                last="return {value}{none}",
            ),
            Words("End it with `return`, the carry for the next turn, a comma, and an output or None.", when=_is_scan),
            "End it with `return` and the carry for the next turn.",
        )
    ],
    link=f"{texts.API}/jax.lax.{{f.name}}.html",
    **_LOOP,
)


# A scan body that returns no pair.


def _is_many(facts: Facts) -> bool:
    return isinstance(facts.node("result"), ast.Tuple) and facts["result"].count > 2


def _is_other_tuple(facts: Facts) -> bool:
    """Ask whether the result is a tuple by a name, and the carry is none."""
    said, written = facts.scene.message[facts.found.end() :], isinstance(facts.node("result"), ast.Tuple | ast.List)
    return (
        said.strip().startswith("(") and not written and facts.knows("container") and facts["container"][0] is not tuple
    )


entry(
    "scan_pair",
    texts.SCAN_PAIR,
    x=lambda facts: facts["result"] if isinstance(facts.node("body"), ast.Lambda) else facts["given_body"],
    when=[_is_scan, lambda facts: not _is_other_tuple(facts) and not _is_many(facts)],
    title="A scan body that does not return a pair",
    what="`{name}` returns `{result}` alone.",
    why="`lax.scan` takes from each turn the carry for the next, and an output to stack, which may be None.",
    fixes=[
        Swap("Return the carry and no output.", result="{result}, None"),
        Swap("Keep every turn's value too.", result="{result}, {result}"),
    ],
    link=_SCAN,
    **_LOOP,
)
entry(
    "scan_pair",
    texts.SCAN_PAIR,
    x=_body_name,
    pair=lambda facts: _pair(facts, [str(one) for one in facts["result"].items], []),
    title="A scan body that does not return a pair",
    what=(
        "`{x}` returns {result.count} values, `{result}`.",
        "`{x}` returns `{result}`, a tuple, but not of a carry and an output.",
    ),
    why="`lax.scan` takes from each turn the carry for the next, and an output to stack: two values.",
    fixes=[
        Either(
            Swap("Return the carry, and one tuple of the outputs.", result="{pair}"),
            "Put what belongs to the carry into one tuple, and the outputs into another.",
        )
    ],
    link=_SCAN,
    **_LOOP,
)


# Lengths and conditions.


def _other_axis(facts: Facts, value: Any) -> int | None:
    """Find another axis as long as the first one of the other arrays: perhaps that counts the turns."""
    shape, sizes = np.shape(value), {int(facts["g1"]), int(facts["g2"])}
    return next((axis for axis, size in enumerate(shape) if axis and {shape[0], size} == sizes), None)


_LENGTH: dict[str, Any] = {
    "when": _is_scan,
    "xs": probes.argument(2, "xs"),
    "length": probes.argument(3, "length"),
    "title": "A scan of no clear length",
    "link": _SCAN,
}
entry(
    "scan_length",
    texts.SCAN_LENGTH,
    texts.SCAN_SIZES,
    x=probes.argument(3, "length"),
    variable="length",
    kept=lambda facts: facts["rest"].removeprefix(", "),
    what="`{xs}` has another length than `length={x}`.",
    why="`lax.scan` takes one turn for each entry, so the length says nothing new.",
    fixes=[Swap("Leave `length` out: the arrays say it.", call="{f}({kept})")],
    **_LENGTH,
)
entry(
    "scan_length",
    texts.SCAN_SIZES,
    x=probes.argument(2, "xs"),
    turned=lambda facts: probes.leaf(lambda value: _other_axis(facts, value) is not None, of="x")(facts),
    axis=lambda facts: _other_axis(facts, facts.value("turned")),
    fewest=lambda facts: min(int(facts["g1"]), int(facts["g2"])),
    what="The arrays in `{x}` have {g1} and {g2} entries.",
    why="`lax.scan` takes one entry of each array per turn, so all have the same length.",
    fixes=[
        "If axis {axis} of `{turned}` counts the turns: move it to the front with `{jnp}.moveaxis`.",
        Swap(
            "If the last entries are too many: cut them to one length.",
            x="{jax}.tree.map(lambda a: a[:{fewest}], {x})",
        ),
    ],
    **_LENGTH,
)
entry(
    "scan_length",
    texts.SCAN_NO_LENGTH,
    x=probes.call,
    variable="length",
    what="`xs` is None and there is no `length`.",
    why="`lax.scan` must know how many turns there are: from arrays, or from `length`.",
    fixes=[Code("Say how many turns.", "{f}({given}, length=TURNS)")],
    **_LENGTH,
)
entry(
    "while_condition",
    texts.WHILE_CONDITION,
    x=probes.result_of("condition"),
    condition=probes.body_of(0, "cond_fun"),
    title="A loop condition that is not a single truth value",
    what="`{x}` is {g1}[{g2}].",
    why="`lax.while_loop` asks one question before each turn: its answer is one bool, of shape ().",
    fixes=[
        Swap("Make one truth value of them.", when=lambda facts: facts["g2"] != "", x="{jnp}.any({x})"),
        Swap("Compare, so that the result is a bool.", when=lambda facts: facts["g2"] == "", x="{x.atom} != 0"),
    ],
    link=f"{texts.API}/jax.lax.while_loop.html",
)


# A carry that changes its dtype or shape.


def _is_key(facts: Facts) -> bool:
    return "key<" in facts["change"]["dtype"]


def _changes_shape(facts: Facts) -> bool:
    return bool(facts["change"]["shape"] != facts["change"]["new_shape"])


def _changes_dtype(facts: Facts) -> bool:
    return not _changes_shape(facts) and not _is_key(facts)


def _is_carried(facts: Facts) -> bool:
    """Ask whether the start is traced by a loop around this one, whose carry it may be."""
    value = facts.value("start")
    return is_tracer(value) and facts.scene.under(value).startswith("lax.")


def _is_alone(facts: Facts) -> bool:
    """Ask whether the carry is one array, which is not part of a container."""
    written = isinstance(facts.node("start"), ast.Tuple | ast.List | ast.Dict)
    return len(facts["changes"]) == 1 and not written and not re.search(r"[\[.]", facts["x"])


def _start_parts(facts: Facts) -> Fix | None:
    """Make the fix that converts parts of an initial tuple or list to the dtypes that a turn gives."""
    edits: list[Edit] = []
    for change in facts["changes"]:
        index = re.fullmatch(r"(?:loop_carry\[1\]|\w+)\[(\d+)\]", change["name"])
        if index is None or change["shape"] != change["new_shape"] or int(index[1]) >= facts["start"].count:
            return None
        part = facts["start"].items[int(index[1])]
        edits.append(
            part.source.replace(part.node, f"{facts['jnp']}.asarray({part}, {facts['jnp']}.{change['new_dtype']})")
        )
    return facts.scene.fix("Start with the dtype that a turn gives.", *edits) if edits else None


def _added(facts: Facts) -> str | None:
    """Say what `jnp.append(c, x)` or `jnp.concatenate([c, x[None]])` adds to the carry `c`."""
    grown = facts.node("out")
    given = grown.args if isinstance(grown, ast.Call) and not grown.keywords else []
    joined = getattr(given[0], "elts", []) if len(given) == 1 and called(grown) != "append" else given
    if called(grown) not in ("append", *_JOINS) or len(joined) != 2 or getattr(joined[0], "id", "") != facts["carry"]:
        return None
    added = str(facts["out"].inside(joined[1]))
    return added.removesuffix("[None]").removeprefix("[").removesuffix("]") if joined is not given else added


def _grows(facts: Facts) -> bool:
    """Ask whether a body joins arrays, so that one of them gets longer in each turn."""
    names = ("append", "insert", "pad", "stack", *_JOINS)
    return any(called(node) in names for node in ast.walk(facts.node("body")))


def _gives_no_output(facts: Facts) -> bool:
    output = facts.node("output")
    return isinstance(output, ast.Constant) and output.value is None


def _starts_small(facts: Facts) -> bool:
    """Ask whether the start is one number, which may stand for a whole array."""
    small = facts["change"]["shape"] in ("", "1") and facts["change"]["new_shape"] != ""
    return small and _is_alone(facts) and not _is_carried(facts) and not _is_key(facts)


def _changed_name(facts: Facts) -> str | None:
    """Say what changes; if dtype and shape do not, the axes do, under `jax.shard_map`: `meshes.py`."""
    change, carry = facts["change"], facts["carry"] if facts.knows("carry") else "loop_carry[1]"
    return change["name"].replace("loop_carry[1]", carry) if change["old"] != change["new"] else None


def _shape_text(name: str) -> Probe:
    return lambda facts: str(tuple(int(size) for size in facts["change"][name].split(",") if size))


entry(
    "carry_type",
    texts.CARRY_TYPE,
    x=_changed_name,
    when=probes.knows("start"),
    change=probes.said(texts.CARRY_TYPES),
    changes=lambda facts: list(texts.CARRY_TYPES.finditer(facts.scene.message)),
    differing=lambda facts: "shape" if _changes_shape(facts) else "dtype",
    added=lambda facts: _added(facts) if _is_scan(facts) and _gives_no_output(facts) else None,
    shape=_shape_text("shape"),
    new_shape=_shape_text("new_shape"),
    title="A carry that changes its {differing}",
    what="`{x}` goes in as {change[old]} and comes out as {change[new]}.",
    why="One turn is compiled once and used for all, so what comes out must fit what goes in.",
    fixes=[
        Either(
            Words("Carry one key: `key, subkey = {random}.split(key)`.", when=_changes_shape),
            "Use one kind of keys throughout: `{random}.key(seed)`.",
            when=_is_key,
        ),
        Either(
            Swap(
                "Do not grow it: give the new entry as the turn's output, and `lax.scan` stacks the outputs.",
                result="{carry}, {added}",
            ),
            Words(
                "Keep its length: start with the full length and set one entry in each turn with `.at[...].set`, or "
                "drop an old entry for each new one.",
                when=_grows,
            ),
            Swap(
                "Start with the shape that a turn gives.",
                when=_starts_small,
                start="{jnp}.broadcast_to({jnp}.asarray({start}, {jnp}.{change[new_dtype]}), {new_shape})",
            ),
            "Return it with shape {shape}, as it went in, or start with shape {new_shape}.",
            when=lambda facts: _changes_shape(facts) and not _is_key(facts),
        ),
        Words(
            "Or reduce it to one number in every turn, as `.sum()` does, if one number is meant.",
            when=lambda facts: _starts_small(facts) and facts["change"]["shape"] == "" and not _grows(facts),
        ),
        Swap(
            "Start with the dtype that a turn gives.",
            when=lambda facts: _changes_dtype(facts) and _is_alone(facts) and not _is_carried(facts),
            start="{jnp}.asarray({start}, {jnp}.{change[new_dtype]})",
        ),
        Swap(
            "Give the result the dtype that went in.",
            when=lambda facts: _changes_dtype(facts) and _is_alone(facts),
            out="{out.atom}.astype({jnp}.{change[dtype]})",
        ),
        Either(_start_parts, when=lambda facts: _changes_dtype(facts) and not _is_alone(facts)),
    ],
    otherwise=["Start with the dtype that a turn gives."],
    link=_SCAN,
    **_LOOP,
)


# A carry that changes its parts.


def _other_container(facts: Facts) -> str | None:
    """Say the parts of a carry in the kind of container that the start is."""
    (kind, count), out = facts["container"], facts["out"]
    if kind is object or out.count != count or isinstance(out.node, ast.Tuple if kind is tuple else ast.List):
        return None
    return _packed([str(one) for one in out.items], kind)


def _are_both_the_carry(facts: Facts) -> bool:
    """Ask whether a scan body returns the two parts of its carry."""
    return facts.knows("output") and facts["container"] == (tuple, 2) and not hasattr(facts.node("out"), "elts")


def _pair_of_the_rest(facts: Facts) -> str | None:
    """Say what a turn returns if only the first parts are the carry, as many as the start has."""
    parts = [str(one) for one in facts["out"].items]
    outputs = [] if _gives_no_output(facts) else [str(facts["output"])]
    return _pair(facts, parts, outputs) if len(parts) > facts["container"][1] else None


def _none(facts: Facts) -> str | None:
    start = facts.node("start")
    return "None" if isinstance(start, ast.Constant) and start.value is None else None


entry(
    "carry_structure",
    texts.CARRY_STRUCTURE,
    x=probes.loop_carry,
    when=probes.knows("result", "start"),
    keys=probes.said(texts.CARRY_KEYS),
    other_keys=probes.said(texts.CARRY_OTHER_KEYS),
    none=_none,
    other_container=_other_container,
    pair=_pair_of_the_rest,
    title="A carry that changes its parts",
    what=(
        "`{x}` goes in and comes out with other keys: {keys[1]} is on one side only.",
        "`{x}` goes in with the keys {other_keys[1]}, and comes out with the keys {other_keys[2]}.",
        "`{x}` goes in as {none}, and comes out as an array.",
        "`{x}` goes in as `{start}`, and a turn returns `{out}`.",
    ),
    why="What one turn returns as carry is what the next one takes, so both have the same parts.",
    fixes=[
        Either(
            "Give the start every key that a turn returns, {keys[1]} too, or leave it out of both.",
            "Return the keys that the start has: {other_keys[1]}.",
            Words(
                "Start with an array of the shape and dtype that a turn gives, such as zeros.",
                when=probes.knows("none"),
            ),
            Swap(
                "If both are the carry: put them into a tuple of their own, and give no output.",
                when=_are_both_the_carry,
                result="({out}, {output}), None",
            ),
            Swap("Return the kind of container that went in: a list is not a tuple.", out="{other_container}"),
            Swap("Keep the carry as it came, and give the rest as the output of the turn.", result="{pair}"),
            "Return as carry just the parts that the start has, in the same kind of container.",
        )
    ],
    link=_SCAN,
    **_LOOP,
)
