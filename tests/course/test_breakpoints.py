"""Test breakpoints that take their commands from a list, and the one that stops at a value that is not finite."""

import builtins
import cmd
import io
import pdb
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo import normalised_hlo
from jax import lax
from needs import first_of

from jaxguide.course.breakpoints import breakpoint_if_nonfinite, scripted_breakpoints
from jaxguide.debug import capture

RAN_OUT = "(jdb) c  [typed by `scripted_breakpoints`: no command was left]"


@jax.jit
def product(x):
    y, z = jnp.sin(x), jnp.cos(x)
    jax.debug.breakpoint()
    return y * z


def answers(transcript):
    """Return the debugger's answers, without prompts, commands, greetings and source."""
    return [line for line in str(transcript).splitlines() if line.startswith(("Array", "(Array", "***"))]


def test_the_transcript_is_what_a_terminal_shows():
    with scripted_breakpoints(["p x", "p y", "p z", "pp y*z", "w", "l", "c"]) as transcript:
        assert product(2.0) == pytest.approx(-0.37840125)
    *dialogue, (_, listing) = [part.split("\n", 1) for part in str(transcript).removesuffix("(jdb) c").split("(jdb) ")]
    assert dialogue[:5] == [
        ["Entering jdb:", ""],
        ["p x", "Array(2., dtype=float32)\n"],
        ["p y", "Array(0.9092974, dtype=float32)\n"],
        ["p z", "Array(-0.41614684, dtype=float32)\n"],
        ["pp y*z", "Array(-0.37840125, dtype=float32)\n"],
    ]
    assert dialogue[5][1].startswith("Traceback:\n")
    assert "->      jax.debug.breakpoint()\n" in listing
    assert str(transcript).endswith("(jdb) c")
    assert repr(transcript) == str(transcript)
    assert (transcript.stops, transcript.unused) == (1, ())


def test_commands_go_over_all_breakpoints_one_after_the_other():
    def body(x):
        jax.debug.breakpoint(ordered=True)
        return x

    with scripted_breakpoints(["p x", "c", "c", "p x", "c"]) as transcript:
        lax.map(body, jnp.arange(3))
    assert answers(transcript) == ["Array(0, dtype=int32)", "Array(2, dtype=int32)"]
    assert transcript.stops == 3


def test_answers_are_what_was_printed_after_each_command():
    with scripted_breakpoints(["p x", "w", "c", "p x + 1"]) as transcript:
        product(1.0), product(2.0)
    first, where, *others = transcript.answers
    assert first == "Array(1., dtype=float32)"
    assert where.startswith("Traceback:")
    assert others == ["", "Array(3., dtype=float32)", ""]


def test_when_commands_run_out_every_breakpoint_is_continued_and_it_is_said():
    with scripted_breakpoints(["p x"]) as transcript:
        product(1.0)
        product(2.0)
    assert str(transcript).splitlines() == [
        "Entering jdb:",
        "(jdb) p x",
        "Array(1., dtype=float32)",
        RAN_OUT,
        "Entering jdb:",
        RAN_OUT,
    ]
    assert transcript.stops == 2


def test_commands_that_no_breakpoint_asked_for_are_told():
    with scripted_breakpoints(iter(["c", "p x"])) as transcript:
        product(1.0)
    assert transcript.unused == ("p x",)
    with scripted_breakpoints(["c"]) as transcript:
        pass
    assert (str(transcript), transcript.stops, transcript.unused) == ("", 0, ("c",))


def test_wrong_expressions_and_wrong_commands_are_answered_by_the_debugger():
    with scripted_breakpoints(["p nothing", "frobnicate", "p 1/0", "d", "c"]) as transcript:
        product(1.0)
    assert "*** NameError: name 'nothing' is not defined" in str(transcript)
    assert "*** NameError: name 'frobnicate' is not defined" in str(transcript)
    assert "*** ZeroDivisionError: division by zero" in str(transcript)
    assert "(jdb) d\nAt bottommost frame.\n> " in str(transcript)


def test_the_call_stack_can_be_walked():
    def inner(k):
        jax.debug.breakpoint()
        return k

    @jax.jit
    def outer(w):
        return inner(w + 1)

    with scripted_breakpoints(["p k", "u", "p w", "d", "p k", "help p", "c"]) as transcript:
        outer(20.0)
    assert answers(transcript) == [f"Array({n}., dtype=float32)" for n in (21, 20, 21)]
    assert "return inner(w + 1)" in str(transcript)
    assert "Evaluates and prints the value of an expression" in str(transcript)


def test_the_programs_own_prints_go_where_they_go(capsys):
    def f(x):
        jax.debug.print("x = {}", x, ordered=True)
        jax.debug.breakpoint(ordered=True)
        return x

    with scripted_breakpoints(["l", "c"]) as transcript:
        jax.jit(f)(1.0)
        print("printed")
    assert capsys.readouterr().out == "x = 1.0\nprinted\n"
    assert "x = 1.0" not in str(transcript)


@pytest.mark.parametrize("outside", ["capture", "script"])
def test_it_goes_with_a_capture_in_either_order(outside):
    def run():
        product(1.0)
        print("printed")

    if outside == "capture":
        with capture() as lines, scripted_breakpoints(["u", "c"]) as transcript:
            run()
    else:
        with scripted_breakpoints(["u", "c"]) as transcript, capture() as lines:
            run()
    assert lines == ["printed"]
    assert str(transcript).startswith("Entering jdb:\n(jdb) u\n")


def test_what_an_expression_prints_is_part_of_the_transcript():
    with scripted_breakpoints(["p print(6 * 7)", "c"]) as transcript:
        product(1.0)
    assert str(transcript).splitlines()[1:4] == ["(jdb) p print(6 * 7)", "42", "None"]


def test_command_loops_of_others_ask_their_user(monkeypatch):
    class Shell(cmd.Cmd):
        def default(self, line):
            return True

    asked = []
    monkeypatch.setattr(builtins, "input", lambda prompt: (asked.append(prompt), "leave")[1])
    with scripted_breakpoints(["c"]) as transcript:
        Shell().cmdloop()
    assert asked == ["(Cmd) "]
    assert transcript.stops == 0


def test_of_nested_scripts_the_innermost_types():
    with scripted_breakpoints(["p x", "c", "p x", "c"]) as outer:
        product(1.0)
        with scripted_breakpoints(["p x", "c"]) as inner:
            product(2.0)
        product(3.0)
    assert answers(inner) == ["Array(2., dtype=float32)"]
    assert answers(outer) == ["Array(1., dtype=float32)", "Array(3., dtype=float32)"]


def test_everything_is_put_back_when_an_exception_leaves_the_block():
    before = (cmd.Cmd.cmdloop, builtins.input, sys.stdin, sys.stdout)
    kept = []

    def block():
        with scripted_breakpoints(["p x", "c"]) as transcript:
            kept.append(transcript)
            product(1.0)
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        block()
    assert answers(kept[0]) == ["Array(1., dtype=float32)"]
    assert (cmd.Cmd.cmdloop, builtins.input, sys.stdin, sys.stdout) == before


def test_other_debuggers_are_left_alone():
    own = io.StringIO()

    def f(x):
        jax.debug.breakpoint(backend="cli", stdin=io.StringIO("p x\nc\n"), stdout=own)
        return x

    shown = io.StringIO()
    with scripted_breakpoints(["p x"]) as transcript:
        jax.jit(f)(1.0)
        pdb.Pdb(stdin=io.StringIO("p 6 * 7\nc\n"), stdout=shown, nosigint=True, readrc=False).run("pass")
    assert "Array(1., dtype=float32)" in own.getvalue()
    assert "42" in shown.getvalue()
    assert (transcript.stops, transcript.unused) == (0, ("p x",))


PROGRAM = """
import jax, jax.numpy as jnp
from jaxguide.course.breakpoints import scripted_breakpoints

@jax.jit
def f(x):
    jax.debug.breakpoint()
    return x

with scripted_breakpoints(["p x", "c"]) as transcript:
    f(1.0); f(2.0)
print(transcript)
"""


@pytest.mark.parametrize("stdin", first_of(["</dev/null", "<&-"], 1), ids=["empty", "closed"])
def test_it_needs_no_terminal(stdin, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" "$1" {stdin}', sys.executable, program], capture_output=True, text=True, timeout=120
    )
    lines = ["Entering jdb:", "(jdb) p x", "Array(1., dtype=float32)", "(jdb) c", "Entering jdb:", RAN_OUT]
    assert (done.returncode, done.stdout.splitlines()) == (0, lines), done.stderr


@pytest.mark.parametrize(
    ("commands", "error", "message"),
    [
        ("p x", TypeError, 'needs a list of debugger commands, such as `["p x", "c"]`, but got the str \'p x\'.'),
        (None, TypeError, "but got None."),
        (["p x", 3], TypeError, "but got the int 3."),
        (["p x", "q"], ValueError, "The command 'q' ends the whole program, not only the debugger: use `c`"),
        (["exit()"], ValueError, "The command 'exit()' ends"),
        (["  quit"], ValueError, "The command '  quit' ends"),
        (["EOF"], ValueError, "The command 'EOF' ends"),
        (["p x\nc"], ValueError, "The command 'p x\\nc' has more than one line"),
    ],
)
def test_wrong_commands_are_refused_in_one_sentence(commands, error, message):
    def block():
        with scripted_breakpoints(commands):
            pass

    with pytest.raises(error) as caught:
        block()
    assert message in str(caught.value)


# breakpoint_if_nonfinite


def quotient(x, y):
    z = x / y
    breakpoint_if_nonfinite(z)
    return z


def documented(x):
    is_finite = jnp.isfinite(x).all()

    def true_fn(x):
        pass

    def false_fn(x):
        jax.debug.breakpoint()

    lax.cond(is_finite, true_fn, false_fn, x)


def documented_quotient(x, y):
    z = x / y
    documented(z)
    return z


def test_the_documented_session():
    f = jax.jit(quotient)
    with scripted_breakpoints(["p x", "u", "p is_finite", "u", "p z", "p y", "c"]) as transcript:
        assert f(2.0, 1.0) == 2
        assert transcript.stops == 0
        assert f(2.0, 0.0) == np.inf
    assert answers(transcript) == [
        "Array(inf, dtype=float32)",
        "Array(False, dtype=bool)",
        "Array(inf, dtype=float32)",
        "Array(0., dtype=float32)",
    ]
    assert (transcript.stops, transcript.unused) == (1, ())


ONES = np.ones(3, np.float32)
BAD = np.array([1, 0, 1], np.float32)
TWO_BAD = np.array([[1, 0, 1], [1, 1, 0]], np.float32)
INF = "Array(inf, dtype=float32)"


def over(y):
    return quotient(jnp.float32(1), y)


STOPS = {
    "eager, finite": (over, (ONES,), []),
    "eager": (over, (jnp.float32(0),), [INF]),
    "jit, finite": (jax.jit(over), (ONES,), []),
    "jit": (jax.jit(over), (BAD,), ["Array([ 1., inf,  1.], dtype=float32)"]),
    "vmap, finite": (jax.vmap(over), (ONES,), []),
    "vmap": (jax.vmap(over), (BAD,), [INF]),
    "jit of vmap, finite": (jax.jit(jax.vmap(over)), (ONES,), []),
    "jit of vmap": (jax.jit(jax.vmap(over)), (BAD,), [INF]),
    "vmap of jit": (jax.vmap(jax.jit(over)), (BAD,), [INF]),
    "vmap of vmap": (jax.vmap(jax.vmap(over)), (TWO_BAD,), [INF, INF]),
    "vmap over columns": (
        jax.vmap(over, in_axes=1),
        (TWO_BAD,),
        ["Array([inf,  1.], dtype=float32)", "Array([ 1., inf], dtype=float32)"],
    ),
    "grad": (jax.grad(over), (0.0,), [INF]),
    "jit of vmap of grad": (jax.jit(jax.vmap(jax.grad(over))), (BAD,), [INF]),
    "grad of vmap": (jax.grad(lambda y: jax.vmap(over)(y).sum()), (BAD,), [INF]),
    "hessian": (jax.hessian(over), (0.0,), [INF]),
    "scan": (lambda ys: lax.scan(lambda c, y: (c, over(y)), 0, ys), (BAD,), [INF]),
    "vmap of scan": (jax.vmap(lambda ys: lax.scan(lambda c, y: (c, over(y)), 0, ys)), (TWO_BAD,), [INF, INF]),
    "grad of checkpoint computes twice": (jax.grad(jax.checkpoint(over)), (0.0,), [INF, INF]),
}


@pytest.mark.parametrize("case", first_of(STOPS, 6))
def test_it_stops_where_a_value_is_not_finite_and_nowhere_else(case):
    fn, args, expected = STOPS[case]
    with scripted_breakpoints(["p x", "c"] * 5) as transcript:
        fn(*args)
    assert answers(transcript) == expected


def test_under_vmap_the_row_has_its_number():
    with scripted_breakpoints(["p row, x", "u", "u", "c"]) as transcript:
        jax.jit(jax.vmap(quotient))(ONES, BAD)
    assert answers(transcript) == ["(Array(1, dtype=int32), Array(inf, dtype=float32))"]
    assert "At topmost frame." in str(transcript)


def test_the_documented_code_stops_under_vmap_at_finite_rows_too():
    with scripted_breakpoints([]) as transcript:
        jax.vmap(documented_quotient)(ONES, ONES)
    assert transcript.stops == 3  # if this fails, update the docstring of `breakpoint_if_nonfinite`


@pytest.mark.parametrize(
    ("x", "stops"),
    [
        ({"a": jnp.arange(3), "b": [jnp.array([1.0, jnp.nan])], "key": 0}, 1),
        ({"a": jnp.arange(3), "b": [jnp.ones(2)]}, 0),
        (jnp.arange(3), 0),
        (jnp.array([True]), 0),
        (3, 0),
        (float("nan"), 1),
        (np.array([np.inf]), 1),
        (jnp.array([jnp.nan], jnp.bfloat16), 1),
        (jnp.array([complex(0, np.inf)]), 1),
        ((), 0),
        (None, 0),
        (jnp.zeros((0, 2)), 0),
    ],
    ids=lambda value: "" if isinstance(value, int) else str(value)[:20],
)
@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=pytest.mark.long)])
def test_pytrees_and_dtypes(x, stops, jit):
    def f(x):
        assert breakpoint_if_nonfinite(x) is None

    with scripted_breakpoints([]) as transcript:
        (jax.jit(f) if jit else f)(x)
    assert transcript.stops == stops


def test_keys_in_a_pytree_are_finite():
    keys = jax.random.split(jax.random.key(0), 3)
    with scripted_breakpoints([]) as transcript:
        breakpoint_if_nonfinite(keys)
        jax.vmap(lambda key, x: breakpoint_if_nonfinite((key, x)))(keys, np.array([1.0, np.nan, 1.0]))
    assert transcript.stops == 1


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match=r"`breakpoint_if_nonfinite` needs an array or a pytree of arrays, but got the"):
        breakpoint_if_nonfinite({"a": "nan"})


@pytest.mark.parametrize("args", [(2.0, 0.0), (ONES, BAD)], ids=["scalar", "array"])
def test_the_program_is_the_documented_one(args):
    program = normalised_hlo(quotient, *args)
    assert program == normalised_hlo(documented_quotient, *args)
    assert "callback" in program


def test_for_integers_nothing_is_in_the_program():
    def checked(x):
        breakpoint_if_nonfinite(x)
        return x + 1

    def plain(x):
        return x + 1

    assert normalised_hlo(checked, 1) == normalised_hlo(plain, 1)


def test_a_large_batch_compiles_in_one_loop_over_rows():
    # JAX's documented recipe unrolls the rows, which takes a minute for 1000 of them.
    def size(n):
        return normalised_hlo(jax.vmap(quotient), np.ones(n, np.float32), np.ones(n, np.float32)).count("custom-call(")

    assert size(50) == size(5) == 1
