"""Explain `lax.scan`, `lax.while_loop` and `lax.fori_loop`: bodies, conditions, lengths, and carries that change."""

import ast
from functools import partial

import jax

from jaxguide.code.user_frame import is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.scene import called

_is_scan = probes.calls("scan")
_is_one = probes.is_valued("start", int, float, jax.Array)
_loop = partial(
    entry,
    link=f"{texts.API}/jax.lax.scan.html",
    body=probes.loop_body,
    start=probes.loop_start,
    carry=probes.loop_carry,
    result=probes.result_of("body"),
    output=lambda facts: probes.item("result", 1)(facts) if _is_scan(facts) else None,
    out=lambda facts: probes.item("result", 0)(facts) if facts.knows("output") else facts["result"],
)


_loop(
    "loop_body_returns_none",
    texts.SCAN_PAIR,
    texts.CARRY_STRUCTURE,
    x=probes.loop_given,
    when=probes.returns_nothing("body"),
    title="A loop body without `return`",
    what="`{x}` returns None.",
    why="`lax.{f.name}` hands what one turn returns to the next, and a function without `return` gives None.",
    fixes="End it with `return` and the carry for the next turn; in `lax.scan`, a comma and an output or None follow.",
    link=f"{texts.API}/jax.lax.{{f.name}}.html",
)


def _is_carry_alone(facts: Facts) -> bool:
    """Ask whether a turn returns what may be the carry; a tuple may only if the start is one."""
    starts_as_tuple = isinstance(facts.value("start"), tuple) or isinstance(facts.node("start"), ast.Tuple)
    is_tuple = facts.scene.message[facts.found.end() :].strip().startswith("(")
    return not hasattr(facts.node("result"), "elts") and (starts_as_tuple or not is_tuple)


_loop(
    "scan_pair",
    texts.SCAN_PAIR,
    x=probes.loop_given,
    when=_is_scan,
    title="A scan body that does not return a pair",
    what="`{x}` returns `{result}`, which is not a pair.",
    why="`lax.scan` takes from each turn the carry for the next, and an output to stack, which may be None.",
    pair=probes.first_and_rest("result"),
    fixes=[
        Swap(
            "Return the carry, and one tuple of the outputs.",
            when=lambda facts: _is_one(facts) and facts["result"].count > 2,
            result="{pair}",
        ),
        Swap("Return the carry and no output.", when=_is_carry_alone, result="{result}, None"),
        Swap("Keep every turn's value too.", when=_is_carry_alone, result="{result}, {result}"),
    ],
    otherwise="Put what belongs to the carry into one tuple, and the outputs into another.",
)


_loop(
    "scan_length",
    texts.SCAN_SIZES,
    x=probes.argument(2, "xs"),
    when=_is_scan,
    fewest=lambda facts: min(int(facts["g1"]), int(facts["g2"])),
    title="A scan of no clear length",
    what="The arrays in `{x}` have {g1} and {g2} entries.",
    why="`lax.scan` takes one entry of each array per turn, so all have the same length.",
    fixes=Swap(
        "If the last entries are too many: cut them to one length.",
        x="{jax}.tree.map(lambda a: a[:{fewest}], {x})",
    ),
)
_loop(
    "scan_length",
    texts.SCAN_LENGTH,
    texts.SCAN_NO_LENGTH,
    x=probes.call,
    # The second phrase has no groups.
    when=[_is_scan, lambda facts: facts.knows("length") == bool(facts.found.groups())],
    xs=probes.argument(2, "xs"),
    length=probes.argument(3, "length"),
    variable="length",
    title="A scan of no clear length",
    what=("`{xs}` has another length than `length={length}`.", "`xs` is None and there is no `length`."),
    why="`lax.scan` must know how many turns there are: from arrays, or from `length`.",
    fixes=Either(
        Words("Leave `length` out: the arrays say it.", when=probes.knows("length")),
        "Say how many turns: `length=TURNS`.",
    ),
)
entry(
    "while_condition",
    texts.WHILE_CONDITION,
    x=probes.result_of("condition"),
    condition=probes.body_of(0, "cond_fun"),
    title="A loop condition that is not a single truth value",
    what="`{x}` is {g1}[{g2}].",
    why="`lax.while_loop` asks one question before each turn: its answer is one bool, of shape ().",
    fixes="Return one bool: `{jnp}.any` makes one of several, and a comparison one of a number.",
    link=f"{texts.API}/jax.lax.while_loop.html",
)


def _is_alone(facts: Facts) -> bool:
    """Ask whether the carry is one array that starts here, not a part, nor the carry of a loop around this one."""
    start = facts.value("start")
    return facts["x"].isidentifier() and not (is_tracer(start) and facts.scene.under(start).startswith("lax."))


def _grows(facts: Facts) -> bool:
    """Ask whether a body joins arrays, so that one of them gets longer in each turn."""
    names = ("append", "insert", "pad", "stack", "concatenate", "hstack", "vstack")
    return any(called(node) in names for node in ast.walk(facts.node("body")))


def _starts_as_number(facts: Facts) -> bool:
    """Ask whether the start is one number, which may stand for a whole array."""
    is_number = facts["change"]["shape"] == "" and "key<" not in facts["change"]["dtype"]
    return is_number and _is_alone(facts) and not _grows(facts)


_carry = partial(
    _loop,
    # If dtype and shape do not change, the axes do, under `jax.shard_map`: `shardings.py`.
    x=lambda facts: facts["name"] if facts["change"]["old"] != facts["change"]["new"] else None,
    name=lambda facts: facts["change"]["name"].replace("loop_carry[1]", facts["carry"]),
    change=probes.said(texts.CARRY_TYPES),
    what="`{x}` goes in as {change[old]} and comes out as {change[new]}.",
    why="One turn is compiled once and used for all, so what comes out must fit what goes in.",
)
_carry(
    "carry_type",
    texts.CARRY_TYPE,
    when=[probes.knows("start"), lambda facts: facts["change"]["shape"] == facts["change"]["new_shape"]],
    title="A carry that changes its dtype",
    fixes=[
        Swap(
            "Start with the dtype that a turn gives.",
            when=_is_alone,
            start="{jnp}.asarray({start}, {jnp}.{change[new_dtype]})",
        ),
        Swap(
            "Give the result the dtype that went in.",
            when=lambda facts: facts["x"].isidentifier(),
            out="{out.atom}.astype({jnp}.{change[dtype]})",
        ),
    ],
    otherwise="Start with the dtype that a turn gives.",
)
_carry(
    "carry_type",
    texts.CARRY_TYPE,
    when=probes.knows("start"),
    title="A carry that changes its shape",
    fixes=[
        Either(
            Words(
                "Carry one key, as it went in: `key, subkey = {random}.split(key)`.",
                when=lambda facts: "key<" in facts["change"][0],
            ),
            Words(
                "Do not grow it: give the new entry as the turn's output, and `lax.scan` stacks the outputs.",
                when=lambda facts: _grows(facts) and _is_alone(facts) and str(facts["output"]) == "None",
            ),
            Words(
                "Keep its length: start with the full length and set one entry in each turn with `.at[...].set`, or "
                "drop an old entry for each new one.",
                when=_grows,
            ),
            Swap(
                "Start with the shape that a turn gives.",
                when=_starts_as_number,
                start="{jnp}.broadcast_to({jnp}.asarray({start}, {jnp}.{change[new_dtype]}), ({change[new_shape]},))",
            ),
            "Return it as {change[old]}, as it went in, or start with {change[new]}.",
        ),
        Words(
            "Or reduce it to one number in every turn, as `.sum()` does, if one number is meant.",
            when=_starts_as_number,
        ),
    ],
)
_loop(
    "carry_structure",
    texts.CARRY_STRUCTURE,
    x=probes.loop_carry,
    when=probes.knows("result", "start"),
    keys=probes.said(texts.CARRY_KEYS),
    other_keys=probes.said(texts.CARRY_OTHER_KEYS),
    none=lambda facts: "None" if str(facts["start"]) == "None" else None,
    title="A carry that changes its parts",
    what=(
        "`{x}` goes in and comes out with other keys: {keys[1]} is on one side only.",
        "`{x}` goes in with the keys {other_keys[1]}, and comes out with the keys {other_keys[2]}.",
        "`{x}` goes in as {none}, and comes out as an array.",
        "`{x}` goes in as `{start}`, and a turn returns `{out}`.",
    ),
    why="What one turn returns as carry is what the next one takes, so both have the same parts.",
    fixes=Either(
        "Give the start every key that a turn returns, {keys[1]} too, or leave it out of both.",
        "Return the keys that the start has: {other_keys[1]}.",
        Words(
            "Start with an array of the shape and dtype that a turn gives, such as zeros.", when=probes.knows("none")
        ),
        "Return as carry just the parts that the start has, in the same kind of container.",
    ),
)
