"""Test the words in which contracts declare domains, and the inputs that are made for them."""

import numpy as np
import pytest

from jaxguide.course.judging.values import ArrayData, FunctionName, KeyData
from jaxguide.proving.mutants.domain_inputs import Case, make_cases
from jaxguide.proving.mutants.domains import (
    ArrayType,
    DictType,
    FunctionType,
    ListType,
    NothingType,
    ScalarType,
    UndeclaredDomain,
    ValueRange,
    read_argument,
    read_domain,
)

FLOATS, INTS = ArrayType("float32", ("n",)), ArrayType("int32", ("n",))
ENTRIES = DictType((("w", FLOATS), ("b", INTS)))


@pytest.mark.parametrize(
    ("line", "types"),
    [
        ("float32[n].", (FLOATS,)),
        ("float32[n], a JAX array.", (FLOATS,)),
        ("a NumPy array, float32[n].", (ArrayType("float32", ("n",), ("numpy",)),)),
        ("int[n], a NumPy array or a JAX array.", (ArrayType("int32", ("n",), ("numpy", "jax")),)),
        ("int32[n] or float32[n].", (INTS, FLOATS)),
        ("[n], a vector.", (FLOATS, INTS)),
        ("float32[3,b]: column j is its weights.", (ArrayType("float32", ("3", "b")),)),
        ("a float32 array of any shape.", (ArrayType("float32", None),)),
        ("int, the seed, for NumPy's global generator and for a JAX key.", (ScalarType("int"),)),
        ("ints, or int32[]; under `jax.jit` they are traced.", (ScalarType("int"), ArrayType("int32", ()))),
        ("key<fry>[] or uint32[2].", (ArrayType("key<fry>", ()), ArrayType("uint32", ("2",)))),
        ("True or False, whether it is static.", (ScalarType("bool"),)),
        ("None, or a float.", (NothingType(), ScalarType("float"))),
        ("a list of floats, one for each layer.", (ListType("", (ScalarType("float"),)),)),
        ("a list of b arrays float32[n].", (ListType("b", (FLOATS,)),)),
        ('a dict of "w" float32[n] and "b" int32[n].', (DictType((("w", FLOATS), ("b", INTS))),)),
        ('a list of m dicts, each with "w" float32[n] and "b" int32[n].', (ListType("m", (ENTRIES,)),)),
        ("a function from one float to one float; it works on arrays, too.", (FunctionType(1, ()),)),
        ("a function of one array, such as `wave`.", (FunctionType(1, ("wave",)),)),
    ],
)
def test_a_line_of_a_contract_names_types(line: str, types: tuple[object, ...]) -> None:
    assert read_argument("x", line).types == types


@pytest.mark.parametrize(
    ("clause", "narrowed"),
    [
        ("n at least 1", ValueRange("n", "1")),
        ("2 or more", ValueRange("", "2")),
        ("from 1 to n", ValueRange("", "1", "n")),
        ("with k from 1 to n", ValueRange("k", "1", "n")),
        ("each from 0 to MAX_DEPTH", ValueRange("", "0", "MAX_DEPTH")),
        ("more than 0 and at most 1", ValueRange("", "0", "1", above_low=True)),
        ("more than `low`", ValueRange("", "low", above_low=True)),
    ],
)
def test_a_clause_narrows_a_range(clause: str, narrowed: ValueRange) -> None:
    assert read_argument("x", f"float32[n,k], {clause}.").ranges == (narrowed,)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("anything that is in a list.", "names no known type"),
        ("float32[n], each far from its neighbours, none above 3.", "“each far from its neighbours” leaves out"),
        ("a pytree of float32 arrays.", "names no known type"),
        ("a list of two arrays float32[n].", "names no known type"),
        ('a list of two dicts, each with "w" float32[n].', "names no known type"),
        ("a list of floats, at least 2.", "“at least 2” leaves out"),
    ],
)
def test_what_is_not_understood_is_not_guessed(line: str, words: str) -> None:
    with pytest.raises(UndeclaredDomain, match=words):
        read_argument("x", line)


def test_an_argument_without_a_line_is_not_declared() -> None:
    with pytest.raises(UndeclaredDomain, match="`y` has no line"):
        read_domain("Add.\n\nArgs:\n    x: float.", "(x, y)")


def cases(args: str, signature: str, **constants: object) -> list[Case]:
    return make_cases(read_domain(f"Do.\n\nArgs:\n{args}", signature), constants, "test")


def test_inputs_have_the_edges_of_their_domain() -> None:
    found = cases("    x: float32[n,m].", "(x)")
    values = [case.args[0].values for case in found]
    assert {value.shape for value in values} >= {(3, 4), (1, 4), (0, 4), (3, 0), (1, 1)}
    for is_edge in (
        lambda v: np.isnan(v).any(),
        lambda v: (v == np.inf).any(),
        lambda v: (v == -np.inf).any(),
        lambda v: (v == 0).any() and (v != 0).any(),
        lambda v: (v == 0).all(),
        lambda v: (np.signbit(v) & (v == 0)).any(),
        lambda v: (np.abs(v) > 1e20).any(),
        lambda v: (np.abs(v) > 0).all() and (np.abs(v) < 1e-20).all(),
    ):
        assert any(value.size and is_edge(value) for value in values)
    # Most inputs share a shape, so that programs are compiled once.
    assert sum(value.shape == (3, 4) for value in values) > len(values) / 2


def test_inputs_stay_in_their_domain() -> None:
    args = "    x: float32[n], n at least 1.\n    width: int, from 1 to n.\n    rate: float, more than 0 and at most 1."
    found = cases(args, "(x, width, rate)")
    assert found
    for case in found:
        x, width, rate = case.args
        assert 1 <= width <= len(x.values)
        assert 0 < rate <= 1
    assert {case.args[1] for case in found} >= {1, 3}
    varied = cases("    x: float32[n,m], no row with all numbers equal.", "(x)")
    assert all(np.ptp(case.args[0].values, axis=1).all() for case in varied)
    depths = cases("    depths: int32[b], each from 0 to MAX.", "(depths)", MAX=4)
    assert {int(v) for case in depths for v in case.args[0].values} == {0, 1, 2, 3, 4}


def test_the_elements_of_a_list_and_its_length_stay_in_their_ranges() -> None:
    found = [case.args[0] for case in cases("    rates: a list of floats, one or more, each more than 0.", "(rates)")]
    assert {len(one) for one in found} >= {1, 3}
    assert all(one and min(one) > 0 for one in found)
    assert len({number for one in found for number in one}) > 3
    rows = [case.args[1] for case in cases("    x: int[b].\n    rows: a list of int, each from 1 to b.", "(x, rows)")]
    assert {number for one in rows for number in one} >= {1, 3}
    assert min(number for one in rows for number in one) == 1
    assert all(case.args[0] > 0 for case in cases("    x: float, positive.", "(x)"))
    with pytest.raises(UndeclaredDomain, match="not clear which numbers"):
        cases("    rates: a list of floats, all different.", "(rates)")


def test_a_range_of_an_unknown_name_is_not_declared() -> None:
    with pytest.raises(UndeclaredDomain, match="`size` is not a size"):
        cases("    x: int, from 1 to size.", "(x)")
    with pytest.raises(UndeclaredDomain, match="`others` is neither a size nor an argument"):
        cases("    x: float32[n], others at least 1.", "(x)")


def test_keys_typed_and_raw_and_with_a_common_word() -> None:
    found = cases("    key: key<fry>[] or uint32[2].", "(key)")
    typed = [case.args[0].bits for case in found if isinstance(case.args[0], KeyData)]
    raw = [case.args[0].values for case in found if isinstance(case.args[0], ArrayData)]
    for bits in (typed, raw):
        assert any(a[1] == b[1] and a[0] != b[0] for a in bits for b in bits)


def test_functions_that_no_lesson_defines() -> None:
    found = cases("    f: a function of one array, such as `wave`.\n    x: its argument.", "(f, x)", wave=abs)
    names = {case.args[0].name for case in found if isinstance(case.args[0], FunctionName)}
    assert names >= {"wave", "identity", "shape_of", "refuses"}


def test_rows_of_two_arguments_may_be_equal() -> None:
    found = cases("    xs: float32[n,d].\n    ys: float32[m,d].", "(xs, ys)")
    (case,) = (one for one in found if one.kind == "equal arguments")
    xs, ys = (one.values for one in case.args)
    assert len(xs) != len(ys)
    assert any((x == y).all() for x in xs for y in ys)
