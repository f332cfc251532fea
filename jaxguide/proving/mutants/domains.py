"""Read the domain of an exercise's arguments from its contract.

The domain stands where students read it, in the `Args:` lines of the docstring. A line names its argument and gives
its type; clauses after it, set off by commas or semicolons, may narrow it:

    x: float32[n,m], no row with all numbers equal.
    width: int, from 1 to n.
    values: a NumPy array float32[n], n at least 1.
    key: key<fry>[] or uint32[2].
    weights: a list of floats, one or more, each more than 0.
    params: a dict of "w" float32[d] and "b" float32[].
    function: a function of one array.

Without a narrowing clause, all values of the type are in the domain, NaN and infinities included, and all sizes from 0
on. A clause that seems to narrow the domain, and that is not understood, makes the domain undeclared: no input is
guessed.
"""

import ast
import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jaxguide.base.text import _

_SECTION = re.compile(r"^(\w+):$")
_ENTRY = re.compile(r"^    (\*?\w+(?:, \*?\w+)*): (.*)$")
_ARRAY = re.compile(r"((?:b?float|u?int|complex|key<\w+>|bool)\d*)?\[([^\]]*)\](?: each)?")
_ANY_SHAPE = re.compile(r"((?:float32|int32|float32 or int32|int32 or float32|float) )?arrays?(?: of any shape)?$")
_SCALAR = re.compile(r"(?:Python )?(int|float|bool|number)s?\b(?!\d|\[)")
_ORIGIN = re.compile(r"(NumPy|JAX) arrays?")
_LIST = re.compile(r"list of (.+)$")
_ENTRIES = re.compile(r'"(\w+)" ([\w<>]+\[[^\]]*\])')
_FUNCTION = re.compile(r"function (?:of|from)\b(.*)")
_VALUE = r"(`?-?[\w.]+`?(?: [-+] \d+)?)"
_ABOUT = r"^(?:(?:with|and) )?(?:(?P<of>each(?: \w+)*|\w+) (?:is )?)?"
# How many elements a list has; a range of their values says `each`.
_LENGTH = re.compile(r"(one|two|three|\d+) or more$")
_NUMBERS = {"one": "1", "two": "2", "three": "3"}
_RANGES = (
    (re.compile(_ABOUT + rf"from {_VALUE} to {_VALUE}$"), "[]"),
    (re.compile(_ABOUT + rf"{_VALUE} or more$"), "["),
    (re.compile(_ABOUT + rf"at least {_VALUE}$"), "["),
    (re.compile(_ABOUT + rf"(?:more than|above) {_VALUE} and at most {_VALUE}$"), "(]"),
    (re.compile(_ABOUT + rf"more than {_VALUE}$"), "("),
    (re.compile(_ABOUT + rf"at most {_VALUE}$"), "]"),
)
# Clauses that say how values are related, by the name of what `domain_inputs` does about them.
_RELATIONS = {
    re.compile(r"no row with all numbers equal$"): "rows_vary",
    re.compile(r"the first (\w+) entries are positive$"): "first_positive",
    re.compile(r"(?:all )?positive$"): "positive",
    re.compile(r"(?:all )?finite$"): "finite",
    re.compile(r"(?:all )?different$"): "different",
}
_NARROWS = re.compile(
    r"\b(no|not|never|none|only|must|all|positive|negative|nonnegative|finite|sorted|distinct|different|same|"
    r"equal|least|most|more|less|fewer|from|between|above|below|except|unless|without|such that|of length|square|"
    r"symmetric|increasing|decreasing|away|smooth)\b"
)
_HARMLESS = re.compile(
    r"\b(traced|static|any values|anything|any dtype|may be|the others|such as|also|under `?jax|under jit|"
    r"the same for all|without inner|always three)\b"
)


@dataclasses.dataclass(frozen=True)
class ArrayType:
    """Arrays of a dtype and a shape of names, numbers and sums; `dims` is None for any shape."""

    dtype: str
    dims: tuple[str, ...] | None
    origins: tuple[str, ...] = ("jax",)


@dataclasses.dataclass(frozen=True)
class ScalarType:
    """Python numbers: 'int', 'float' or 'bool'."""

    kind: str


@dataclasses.dataclass(frozen=True)
class ListType:
    """Lists of elements, as many as `count` says; any number if it is ''."""

    count: str
    elements: "tuple[ArgumentType, ...]"


@dataclasses.dataclass(frozen=True)
class DictType:
    """Dicts with these keys."""

    entries: "tuple[tuple[str, ArgumentType], ...]"


@dataclasses.dataclass(frozen=True)
class FunctionType:
    """Functions of arrays; `named` are those that the contract names."""

    arguments: int
    named: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class SuitingType:
    """Arguments that suit the function before them."""


@dataclasses.dataclass(frozen=True)
class NothingType:
    """None."""


ArgumentType = ArrayType | ScalarType | ListType | DictType | FunctionType | SuitingType | NothingType


@dataclasses.dataclass(frozen=True)
class ValueRange:
    """A range of values, of a size that `of` names, or of a list's length.

    Its ends are expressions of sizes, arguments and constants.
    """

    of: str
    low: str = ""
    high: str = ""
    above_low: bool = False
    of_length: bool = False


@dataclasses.dataclass(frozen=True)
class DeclaredArgument:
    """One argument: the types that it may have, and what narrows them."""

    name: str
    types: tuple[ArgumentType, ...]
    ranges: tuple[ValueRange, ...] = ()
    relations: tuple[tuple[str, tuple[str, ...]], ...] = ()
    is_variadic: bool = False


class UndeclaredDomain(ValueError):
    """The contract does not say, in the words known here, which arguments are in the domain."""


def read_domain(contract: str, signature: str) -> list[DeclaredArgument]:
    """Return the declared arguments of a contract, in the order of the signature.

    Args:
        contract: the docstring, cleaned.
        signature: the parameters, such as `(x, n)`.

    Raises:
        UndeclaredDomain: an argument is missing, or its line is not understood.

    >>> read_domain("Add.\\n\\nArgs:\\n    x: float32[n], n at least 1.", "(x)")[0].ranges
    (ValueRange(of='n', low='1', high='', above_low=False, of_length=False),)
    """
    entries = _entries(contract)
    node = ast.parse(f"def f{signature}: ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    optional = {one.arg for one in node.args.args[len(node.args.args) - len(node.args.defaults) :]}
    found = []
    for one in [*node.args.args, *([node.args.vararg] if node.args.vararg else [])]:
        if one.arg not in entries:
            if one.arg in optional:
                break
            raise UndeclaredDomain(_("`{name}` has no line under `Args:`").format(name=one.arg))
        argument = read_argument(one.arg, entries[one.arg])
        found.append(dataclasses.replace(argument, is_variadic=one is node.args.vararg))
    return found


def _entries(contract: str) -> dict[str, str]:
    """Return the text of each argument under `Args:`, in one line."""
    entries: dict[str, str] = {}
    names: list[str] = []
    is_inside = False
    for line in contract.splitlines():
        if section := _SECTION.match(line):
            is_inside = section[1] == "Args"
        elif is_inside and (entry := _ENTRY.match(line)):
            names = [name.lstrip("*") for name in entry[1].split(", ")]
            entries.update(dict.fromkeys(names, entry[2]))
        elif is_inside and line.startswith("        "):
            entries.update({name: f"{entries[name]} {line.strip()}" for name in names})
    return entries


def read_argument(name: str, text: str) -> DeclaredArgument:
    """Read one line of `Args:`.

    Raises:
        UndeclaredDomain: the line is not understood.

    >>> read_argument("x", "a NumPy array float32[n], the measurements.").types
    (ArrayType(dtype='float32', dims=('n',), origins=('numpy',)),)
    """
    types: list[ArgumentType] = []
    ranges: list[ValueRange] = []
    relations: list[tuple[str, tuple[str, ...]]] = []
    origins: tuple[str, ...] = ()
    for clause in _clauses(text):
        found, of = _types(clause)
        if clause.startswith("such as") and types and isinstance(types[-1], FunctionType):
            types[-1] = dataclasses.replace(types[-1], named=tuple(re.findall(r"`(\w+)`", clause)))
        if found and (not types or clause.startswith("or ") or not ranges):
            types += found
            origins = origins or of
        elif of:
            origins = of
        elif any(isinstance(one, ListType) for one in types) and (length := _LENGTH.match(clause)):
            ranges.append(ValueRange("", _NUMBERS.get(length[1], length[1]), of_length=True))
        elif (narrowed := _range(clause)) and _is_clear(narrowed, clause, types):
            ranges.append(narrowed)
        elif relation := _relation(clause):
            relations.append(relation)
        elif narrowed or (_NARROWS.search(clause) and not _HARMLESS.search(clause)):
            message = _("`{name}`: it is not clear which values “{clause}” leaves out")
            raise UndeclaredDomain(message.format(name=name, clause=clause))
    if origins and not any(isinstance(one, ArrayType) for one in types):
        types += [ArrayType(dtype, None) for dtype in ("float32", "int32")]
    if not types:
        raise UndeclaredDomain(_("`{name}`: “{text}” names no known type").format(name=name, text=text))
    if origins:
        types = [dataclasses.replace(one, origins=origins) if isinstance(one, ArrayType) else one for one in types]
    return DeclaredArgument(name, tuple(dict.fromkeys(types)), tuple(ranges), tuple(relations))


def _is_clear(narrowed: ValueRange, clause: str, types: Sequence[ArgumentType]) -> bool:
    """Return whether a range is one of values; without `each`, that of a list may be one of its length."""
    return bool(narrowed.of) or "each" in clause or not any(isinstance(one, ListType) for one in types)


def _clauses(text: str) -> list[str]:
    """Split a line at commas, semicolons, colons and full stops outside of brackets and quotes."""
    parts, depth, begun = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        is_end = text[place + 1 : place + 2] in ("", " ") and not text.startswith(' each with "', place + 1)
        if letter in ",;:." and not depth and is_end:
            parts.append(text[begun:place])
            begun = place + 1
    parts.append(text[begun:])
    return [part.strip() for part in parts if part.strip()]


def _types(clause: str) -> tuple[list[ArgumentType], tuple[str, ...]]:
    """Return the types that a clause names, and the libraries that it names; nothing if it says something else."""
    clause = re.sub(r"^(?:and|or) ", "", clause)
    whole = re.sub(r"^(?:an?|one|the) ", "", clause)
    if found := _FUNCTION.match(whole):
        named = tuple(re.findall(r"`(\w+)`", found[1]))
        is_known = re.match(r" (one array|one number|one float to one float|arrays|one argument)\b", found[1])
        return [_function(found[1], named)] if is_known else [], ()
    if re.match(r"its arguments?$", whole):
        return [SuitingType()], ()
    if re.match(r"dict of", whole) and (entries := _ENTRIES.findall(whole)):
        return [_dict(entries)], ()
    if found := _LIST.match(whole):
        return _list(found), ()
    if whole in ("True or False",):
        return [ScalarType("bool")], ()
    types: list[ArgumentType] = []
    origins: tuple[str, ...] = ()
    for part in re.split(r",? or |, ", clause):
        part = re.sub(r"^(?:an?|one) ", "", part.strip())
        origin = _ORIGIN.match(part)
        if origin:
            origins += (origin[1].lower(),)
            part = re.sub(r"^ ?(?:of shape )?", "", part[origin.end() :])
            if not part or part.startswith("on "):
                continue
        found_types = _one_type(part)
        if not found_types:
            return [], origins if not types and origins and not part else ()
        types += found_types
    return types, origins


def _one_type(part: str) -> list[ArgumentType]:
    if part == "None":
        return [NothingType()]
    if array := _ARRAY.match(part):
        rest = part[array.end() :].strip()
        if rest and not re.match(r"(array|for|on|with|as)\b", rest):
            return []
        dims = tuple(re.sub(r"\s", "", one) for one in array[2].split(",") if one.strip())
        dtypes = [array[1]] if array[1] else ["float32", "int32"]
        dtypes = [{"int": "int32", "float": "float32"}.get(one, one) for one in dtypes]
        return [ArrayType(one, dims) for one in dtypes]
    if shape := _ANY_SHAPE.match(part):
        dtypes = re.findall(r"float32|int32", shape[1] or "") or ["float32"]
        return [ArrayType(one, None) for one in dtypes]
    if part in ("float32", "int32"):  # as in "float32 or int32 array of any shape"
        return [ArrayType(part, None)]
    if scalar := _SCALAR.match(part):
        kinds = ["int", "float"] if scalar[1] == "number" else [scalar[1]]
        rest = part[scalar.end() :].strip()
        return [ScalarType(kind) for kind in kinds] if not rest else []
    return []


def _function(words: str, named: tuple[str, ...]) -> FunctionType:
    return FunctionType(1 if "one" in words.split(",")[0] else 0, named)


def _dict(entries: list[tuple[str, str]]) -> DictType:
    return DictType(tuple((name, one) for name, text in entries for one in _one_type(text)[:1]))


def _list(found: re.Match[str]) -> list[ArgumentType]:
    words = found[1]
    counted = re.match(r"([a-z]) (.+)", words)
    count, words = (counted[1], counted[2]) if counted else ("", words)
    # Other words, such as "two", would be left out.
    if re.match(r"(?:parameter )?dicts\b", words) and (entries := _ENTRIES.findall(words)):
        return [ListType(count, (_dict(entries),))]
    if array := re.fullmatch(r"arrays ([\w<>]*\[[^\]]*\])", words):
        return [ListType(count, tuple(_one_type(array[1])))]
    if words == "arrays with one axis":
        return [ListType("", (ArrayType("float32", ("_length",)),))]
    elements: list[ArgumentType] = []
    for part in re.split(r", | and | or ", words):
        if origin := _ORIGIN.match(part):
            elements += [ArrayType("float32", None, (origin[1].lower(),))]
        elif known := _one_type(part):
            elements += known
        else:
            return []
    return [ListType(count, tuple(elements))]


def _range(clause: str) -> ValueRange | None:
    for pattern, ends in _RANGES:
        if found := pattern.match(clause):
            of = found["of"] or ""
            values = [one.strip("`") for one in found.groups()[1:]]
            low = values[0] if ends[0] in "[(" else ""
            high = values[-1] if ends.endswith("]") else ""
            return ValueRange("" if of.startswith("each") else of, low, high, ends[0] == "(")
    return None


def _relation(clause: str) -> tuple[str, tuple[str, ...]] | None:
    for pattern, name in _RELATIONS.items():
        if found := pattern.match(clause):
            return name, found.groups()
    return None


def size_of(text: str, known: Mapping[str, Any]) -> Any:
    """Compute a size or an end of a range, such as `n - 1`, from known sizes, arguments and constants.

    Raises:
        UndeclaredDomain: it contains an unknown name.

    >>> size_of("n - 1", {"n": 4})
    3
    """
    return _computed(ast.parse(text, mode="eval").body, known)


def _computed(node: ast.expr, known: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name) and isinstance(known.get(node.id), int | float):
        return known[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_computed(node.operand, known)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        left, right = _computed(node.left, known), _computed(node.right, known)
        if isinstance(node.op, ast.Mult):
            return left * right
        return left + right if isinstance(node.op, ast.Add) else left - right
    raise UndeclaredDomain(_("`{text}` is not a size, an argument or a constant").format(text=ast.unparse(node)))
