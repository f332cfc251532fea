"""Test `show_lines`, a function line by line: static and traced names, primitives, loops, inner functions, errors."""

import contextlib
import dataclasses
import functools
import json
import re
import sys
import types
from html.parser import HTMLParser

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.tracing import LineByLine, show_lines

W = np.ones((3, 4), np.float32)


def row(shown: LineByLine, words: str):
    """Return the row whose source contains these words."""
    return next(row for row in shown.rows if any(words in line for line in row.source))


def kinds(shown: LineByLine, words: str) -> dict[str, tuple[str, str]]:
    return {name.name: (name.kind, name.text) for name in row(shown, words).names}


def norm(x, n):
    """Doc."""
    size = x.shape[0] + n

    y = x - x.mean(0)  # the documents' example
    return y / size


def test_each_name_is_static_with_its_value_or_traced_with_its_type():
    shown = show_lines(norm, jnp.ones((2, 3)), 1)
    assert kinds(shown, "def norm") == {"x": ("traced", "float32[2,3]"), "n": ("static", "1")}
    assert kinds(shown, "size = ") == {
        "x": ("traced", "float32[2,3]"),
        "x.shape": ("static", "(2, 3)"),
        "n": ("static", "1"),
        "size": ("static", "3"),
    }
    y = next(name for name in row(shown, "y = x").names if name.name == "y")
    assert (y.shape, y.dtype, y.weak_type) == ((2, 3), "float32", False)
    assert shown.error is None


def test_each_line_has_the_primitives_that_it_put_into_the_program():
    shown = show_lines(norm, jnp.ones((2, 3)), 1)
    assert row(shown, "y = x").primitives == {"reduce_sum": 1, "div": 1, "broadcast_in_dim": 1, "sub": 1}
    assert row(shown, "return").primitives == {"div": 1}
    assert row(shown, "size =").primitives == {}
    assert shown.elsewhere == {}


def test_the_text_is_the_source_with_aligned_notes():
    text = str(show_lines(norm, jnp.ones((2, 3)), 1))
    first = norm.__code__.co_firstlineno
    assert text.startswith(f"norm(x, n) · test_show_lines.py, line {first}\n")
    assert f'{first + 1}      """Doc."""' in text.splitlines()
    notes = [line.index(" | ") for line in text.splitlines() if " | " in line]
    assert len(set(notes)) == 1
    assert max(map(len, text.splitlines())) <= 110


def test_rows_are_plain_data_that_cover_the_source():
    shown = show_lines(norm, jnp.ones((2, 3)), 1)
    json.dumps([dataclasses.asdict(row) for row in shown.rows])
    assert [row.state for row in shown.rows] == ["ran", "no code", "ran", "no code", "ran", "ran"]
    lines = [line for row in shown.rows for line in row.source]
    assert lines[0] == "def norm(x, n):"
    assert lines[-1] == "    return y / size"


class _Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_the_html_has_inline_style_only_and_says_what_the_text_says():
    def escapes(x):
        return x if "<b>" < "c" else x & x

    shown = show_lines(escapes, jnp.ones(2))
    seen = _Elements()
    seen.feed(shown.html)
    assert seen.attributes == {"style"}
    assert seen.tags <= {"section", "p", "strong", "ul", "li", "pre", "div", "span"}
    words = re.sub("<[^>]*>", "", shown.html)
    assert "~ traced x: float32[2]" in words
    assert "&lt;b&gt;" in words
    assert shown._repr_mimebundle_() == {"text/plain": shown.text, "text/html": shown.html}


def unrolled(x, n):
    total = 0.0
    for i in range(n):
        x = jnp.sin(x)
        total += i
    while n > 0: n -= 1  # fmt: skip # noqa: E701
    return x, total


def test_a_python_loop_shows_how_often_it_ran_and_first_and_last():
    shown = show_lines(unrolled, jnp.ones(2), 3)
    assert kinds(shown, "for i")["i"] == ("static", "0 ... 2")
    assert [row(shown, words).times for words in ("for i", "x = jnp", "total +=")] == [3, 3, 3]
    assert row(shown, "x = jnp").primitives == {"sin": 3}
    assert kinds(shown, "total +=")["total"] == ("static", "0.0 ... 3.0")
    assert kinds(shown, "while n")["n"] == ("static", "3 → 0")
    assert "3 times" in shown.text


def changing(x):
    y = 0
    y = y + x
    x = x.sum()
    return x + y


def test_a_name_that_changes_shows_both():
    shown = show_lines(changing, jnp.ones((2, 3)))
    assert kinds(shown, "y = y + x")["y"] == ("traced", "static 0 → traced float32[2,3]")
    assert kinds(shown, "x = x.sum")["x"] == ("traced", "float32[2,3] → float32[]")


def with_inner(xs):
    def body(carry, x):
        carry = carry + jnp.sin(x)
        return carry, carry

    total, _ = jax.lax.scan(body, 0.0, xs)
    rows = jax.vmap(lambda x: jnp.cos(x) * total)(xs)
    kept = [jnp.tan(r) for r in rows]
    pick = jax.lax.cond(total > 0, lambda: total, lambda: -total)
    return rows, kept, pick


def test_inner_functions_lambdas_and_comprehensions_have_their_own_types():
    shown = show_lines(with_inner, jnp.ones(3))
    assert kinds(shown, "def body")["x"] == ("traced", "float32[]")
    assert row(shown, "carry = carry").primitives["sin"] == 1
    assert row(shown, "total, _").primitives == {"scan": 1}
    assert kinds(shown, "rows = ")["x (lambda)"] == ("traced", "float32[]")
    assert kinds(shown, "rows = ")["rows"] == ("traced", "float32[3]")
    assert row(shown, "rows = ").primitives == {"cos": 1, "mul": 1}
    assert row(shown, "kept = ").primitives["tan"] == 3
    assert row(shown, "pick = ").primitives["neg"] == 1


@functools.partial(jax.jit, static_argnums=1, static_argnames=("rate",))
def jitted(x, depth, k, rate=0.5):
    if depth > 2:
        return x
    return x * depth * k * rate


def test_a_jitted_functions_static_arguments_are_static_and_all_others_traced():
    shown = show_lines(jitted, jnp.ones(2), 1, 3)
    head = kinds(shown, "def jitted")
    assert head == {
        "x": ("traced", "float32[2]"),
        "depth": ("static", "1"),
        "k": ("traced", "int32[] weak"),
        "rate": ("static", "0.5"),
    }
    assert row(shown, "return x").state == "not run"
    assert "not run" in shown.text
    assert show_lines(jitted, jnp.ones(2), 3, 3).rows[-1].state == "not run"
    assert row(shown, "@functools").state == "no code"


def test_what_jax_remembers_of_earlier_calls_hides_nothing_and_stays():
    traces = []

    @jax.jit
    def counted(x):
        traces.append(1)
        return jnp.where(x > 0, x, 0)

    counted(jnp.ones(2))
    for _ in range(2):
        assert row(show_lines(counted, jnp.ones(2)), "return").primitives["select_n"] == 1
    assert len(traces) == 3
    counted(jnp.ones(2))
    assert len(traces) == 3


def twice(v):
    return jnp.sin(v) * 3


def inner_jit(x):
    step = jax.jit(jnp.sin)
    norm = jax.jit(lambda v: v / 2)
    x = step(x)
    x = step(x)
    y = jax.lax.map(twice, x)
    z = jax.lax.map(twice, x)
    return norm(x) + norm(x), y, z


def test_a_call_that_jax_remembers_counts_on_each_line_that_makes_it():
    shown = show_lines(inner_jit, jnp.ones(2))
    assert [found.primitives for found in shown.rows if "x = step(x)" in found.source[0]] == [{"sin": 1}] * 2
    assert row(shown, "y = ").primitives == row(shown, "z = ").primitives == {"scan": 1, "sin": 1, "mul": 1}
    assert row(shown, "lambda v").primitives == {"div": 2}
    assert row(shown, "return").primitives == {"jit": 2, "add": 1}


def loss(w, x):
    p = x @ w
    return (p**2).sum()


def test_under_a_transformation_the_types_are_those_inside():
    shown = show_lines(jax.vmap(loss, (None, 0)), jnp.ones(3), jnp.ones((5, 3)))
    assert kinds(shown, "def loss") == {"w": ("traced", "float32[3]"), "x": ("traced", "float32[3]")}
    assert kinds(show_lines(jax.jit(jax.grad(loss)), jnp.ones(3), jnp.ones((5, 3))), "p = ")["p"][1] == "float32[5]"


class Model:
    def __init__(self):
        self.w = jnp.ones(3)
        self.power = 2

    @property
    def loud(self):
        raise AssertionError("a property ran")

    def __call__(self, x):
        if x is None:
            return self.loud
        return (self.w * x) ** self.power

    @jax.checkpoint
    def remat(self, x):
        return x

    @staticmethod
    def times(x):
        return x * 2


def test_methods_objects_and_partials_are_read():
    model = Model()
    expected = {"self.w": ("static", "float32[3] [1. 1. 1.]"), "x": ("traced", "float32[3]")}
    for fn in (model, model.__call__, functools.partial(model, jnp.ones(3))):
        args = () if isinstance(fn, functools.partial) else (jnp.ones(3),)
        shown = show_lines(fn, *args)
        assert shown.text.startswith("Model.__call__(self, x)")
        seen = kinds(shown, "return (self")
        assert seen["self.power"] == ("static", "2")
        if args:
            assert expected.items() <= seen.items()
    assert show_lines(Model.times, jnp.ones(3)).rows[-1].primitives == {"mul": 1}


def decorated_well(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        return fn(*args) + 1

    return wrapper


@decorated_well
def behind_a_decorator(x):
    return x * 2


def test_a_decorated_functions_own_lines_are_shown():
    shown = show_lines(behind_a_decorator, 1.0)
    assert [line for r in shown.rows for line in r.source][1] == "def behind_a_decorator(x):"
    assert row(shown, "return").primitives == {"mul": 1}
    assert shown.elsewhere == {"add": 1}
    assert "Outside these lines: add." in shown.text


def branches(x):
    y = jnp.sin(
        x,
    )
    if y > 0:
        return y
    return x


def test_a_line_that_raises_is_marked_after_what_came_before():
    for fn in (branches, jax.jit(branches)):
        shown = show_lines(fn, 1.0)
        assert row(shown, "y = jnp.sin").primitives == {"sin": 1}
        assert len(row(shown, "y = jnp.sin").source) == 3
        assert row(shown, "if y").state == "raised"
        assert row(shown, "if y").error.startswith("TracerBoolConversionError: Attempted boolean conversion")
        assert shown.error == row(shown, "if y").error
        assert row(shown, "return y").state == "not run"
        assert "✗" in shown.text


@functools.partial(jax.jit, static_argnames="n")
def fails_with_static(x, n, k):
    y = jnp.zeros(n) + x + k
    return jnp.zeros(y)


def test_a_jitted_function_that_raises_keeps_its_static_arguments():
    shown = show_lines(fails_with_static, jnp.float32(1), n=3, k=3)
    assert kinds(shown, "def fails")["k"] == ("traced", "int32[] weak")
    assert row(shown, "y = ").primitives == {"broadcast_in_dim": 1, "add": 2, "convert_element_type": 1}
    assert row(shown, "return").error.startswith("TypeError: Shapes must be 1D sequences")


def calls_a_helper(x):
    y = x + 1
    return branches(y)


def test_an_error_in_a_helper_is_marked_on_the_line_that_called_it():
    shown = show_lines(calls_a_helper, 1.0)
    assert row(shown, "return").state == "raised"
    assert row(shown, "return").primitives == {"sin": 1, "gt": 1}


def numpy_on_static(x):
    size = np.prod(x.shape)
    table = np.arange(1000)
    key = jax.random.key(0)
    big = {"w": x, "rest": [1] * 50}
    return x.reshape(size), table, key, big, W


def test_numpy_values_keys_and_large_values_are_short():
    shown = show_lines(numpy_on_static, jnp.ones((2, 3)))
    assert kinds(shown, "size = ")["size"] == ("static", "np.int64(6)")
    assert kinds(shown, "table = ")["table"] == ("static", "int64[1000] [0 ... 999]")
    assert kinds(shown, "key = ")["key"] == ("traced", "key<fry>[]")
    assert kinds(shown, "big = ")["big"][0] == "mixed"
    assert all(len(name.text) <= 150 for found in shown.rows for name in found.names)
    assert kinds(shown, "return")["W"] == ("static", "float32[3,4] [[1. ... 1.] ... [1. ... 1.]]")


def test_a_lambda_is_found_among_others_on_its_line():
    fns = [lambda x: jnp.sin(x), lambda x: (lambda y: jnp.cos(y))(x) if x is not None else x, lambda x: x]
    shown = [show_lines(fn, 1.0) for fn in fns]
    assert [found.rows[0].primitives for found in shown] == [{"sin": 1}, {"cos": 1}, {}]
    assert kinds(shown[1], "fns") == {"x": ("traced", "float32[] weak"), "y (lambda)": ("traced", "float32[] weak")}


def test_the_previous_trace_function_comes_back_and_no_tracer_is_kept():
    def mine(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(mine)
    try:
        show_lines(norm, jnp.ones((2, 3)), 1)
        assert sys.gettrace() is mine
        show_lines(branches, 1.0)
        with pytest.raises(ZeroDivisionError):
            show_lines(functools.partial(lambda f, x: f(x), norm, x=1 // 0))
        assert sys.gettrace() is mine
    finally:
        sys.settrace(before)
    with jax.checking_leaks():
        show_lines(with_inner, jnp.ones(3))


def test_functions_without_lines_are_refused_in_one_sentence():
    scope: dict = {}
    exec("def made(x): return x", scope)
    with pytest.raises(ValueError, match=r"`show_lines` cannot read the source of `made`: write the function in"):
        show_lines(scope["made"], 1.0)
    with pytest.raises(TypeError, match=r"`show_lines` needs a function written in Python, but `max` is not"):
        show_lines(max, 1, 2)
    with pytest.raises(TypeError, match=r"`show_lines` needs a function written in Python, but `LineByLine` is not"):
        show_lines(LineByLine, 1.0)
    with pytest.raises(ValueError, match=r"cannot read the source of `<lambda>`: .* \(a lambda on a line of its own\)"):
        show_lines(eval("lambda x: x"), 1.0)
    with pytest.raises(TypeError, match=r"`show_lines` needs a function, but got the int 3"):
        show_lines(3)
    with pytest.raises(TypeError, match=r"cannot call `norm\(x, n\)` with 1 argument: missing"):
        show_lines(norm, 1.0)
    with pytest.raises(TypeError, match="abstract array"):
        show_lines(jitted, "a", 1, 2)


def test_results_that_are_no_arrays_do_not_matter():
    def named(x):
        return {"name": "ada", "x": x + 1}

    assert row(show_lines(named, 1.0), "return").primitives == {"add": 1}


def test_documented_print_example_tells_the_same_without_print(capsys):
    @jax.jit
    def f(x):
        print(f"x = {x}")
        return x.reshape(jnp.array(x.shape).prod())

    shown = show_lines(f, jnp.ones((2, 3)))
    assert capsys.readouterr().out.count("x = ") == 1
    found = kinds(shown, "return")
    assert found == {"x": ("traced", "float32[2,3]"), "x.shape": ("static", "(2, 3)")}
    assert "Shapes must be 1D sequences of concrete values" in row(shown, "return").error


@pytest.mark.long
def test_cells_of_a_notebook_are_named_by_number():
    cells = [
        "import jax, jax.numpy as jnp\nfrom jaxguide.tracing import show_lines",
        "def f(x):\n    n = x.ndim\n    return jnp.sin(x) * n",
        "%config InlineBackend.close_figures = True\nshow_lines(jax.jit(f), jnp.ones(3))",
    ]
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    (output,) = [o for o in notebook.cells[2].outputs if o.output_type == "execute_result"]
    text = output.data["text/plain"]
    assert text.startswith("f(x) · cell [2], line 1\n")
    assert "2      n = x.ndim" in text
    assert "makes   sin, mul" in text
    assert "cell [2], line 1" in output.data["text/html"]


def all_kinds_of_statements(x, mode, *rest, **more):
    try:
        v = int(x)
    except jax.errors.ConcretizationTypeError:
        v = 3
    with jax.named_scope("scope"):
        q = x * v
    for _i, (a, b) in enumerate([(1, 2), (3, 4)]):
        q = q + a * b
    while (n := v) > 100:
        pass
    kept = [i + 0 for i in (0, 5, 7)]
    match mode:
        case {"k": k}:
            return q * k
        case "b":
            return x
        case _:
            return q + rest[0] + more["last"], kept, n


def test_all_kinds_of_statements_are_read():
    shown = show_lines(all_kinds_of_statements, 1.0, "c", 2.0, last=3.0)
    assert shown.error is None
    assert shown.text.startswith("all_kinds_of_statements(x, mode, *rest, **more) · ")
    assert "v" not in kinds(shown, "v = int")
    assert kinds(shown, "v = 3") == {"v": ("static", "3")}
    assert row(shown, "with ").times == row(shown, "q = x * v").times == 1
    assert kinds(shown, "for _i")["b"] == ("static", "2 → 4")
    assert row(shown, "q = q + a").primitives == {"add": 2}
    assert kinds(shown, "while")["n"] == ("static", "3")
    assert row(shown, "pass").state == "not run"
    assert kinds(shown, "kept = ") == {"kept": ("static", "[0, 5, 7]")}
    assert row(shown, "case {").state == "no code"
    assert row(shown, "return q * k").state == "not run"
    assert kinds(shown, "return q + rest")["more"] == ("traced", "{'last': float32[] weak}")


def test_modules_and_functions_are_no_values():
    def plain(x):
        helper = types.SimpleNamespace(scale=2)
        with contextlib.nullcontext(3) as three:
            return jnp.sin(x) * helper.scale * three

    shown = show_lines(plain, 1.0)
    assert "jnp" not in kinds(shown, "return")
    assert "contextlib" not in kinds(shown, "with ")
    assert kinds(shown, "with ")["three"] == ("static", "3")
    assert kinds(shown, "return")["helper.scale"] == ("static", "2")
