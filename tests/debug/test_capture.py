"""Test captured output: the lines that a block prints, from every thread, in a terminal and in a kernel."""

import contextlib
import logging
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.course.breakpoints import scripted_breakpoints
from jaxguide.debug import capture, recording


def test_prints_of_python_and_jax_come_in_order():
    @jax.jit
    def f(x):
        jax.debug.print("in {}", x)
        jax.debug.callback(lambda v: print("callback", v), x)
        return x

    with capture() as lines:
        print("before")
        f(1.0)
        print("between")
        f(2.0)
    assert lines == ["before", "in 1.0", "callback 1.0", "between", "in 2.0", "callback 2.0"]


def test_ordered_prints_in_a_loop_keep_their_order():
    def step(x):
        jax.debug.print("x {}", x, ordered=True)
        jax.debug.print("y {}", 10 * x, ordered=True)
        return x

    with capture() as lines:
        jax.lax.map(step, jnp.arange(2))
    assert lines == ["x 0", "y 0", "x 1", "y 10"]


def test_an_exception_leaves_the_lines_and_stdout_as_they_were(capsys):
    @jax.jit
    def f(x):
        jax.debug.print("reached {}", x)
        return x

    before = sys.stdout
    lines = []

    def block():
        nonlocal lines
        with capture() as lines:
            f(1.0)
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        block()
    assert lines == ["reached 1.0"]
    assert sys.stdout is before
    print("visible")
    assert capsys.readouterr().out == "visible\n"


@pytest.mark.parametrize("jit", [jax.jit, lambda f: f])
def test_a_callback_that_raises_ends_the_block_and_keeps_the_lines(jit, caplog):
    def fail(x):
        print("failing on", x)
        raise ValueError("no")

    with capture() as lines, pytest.raises(Exception, match="no"):
        jit(lambda x: jax.debug.callback(fail, x))(3.0)
    assert lines == ["failing on 3.0"]
    with capture() as lines:
        print("works again")
    assert lines == ["works again"]


def test_the_innermost_of_nested_captures_gets_the_lines():
    with capture() as outer:
        print("a")
        with capture() as inner:
            print("b")
        print("c")
    assert outer == ["a", "c"]
    assert inner == ["b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\n\nb", ["a", "", "b"]), ("\n", [""]), ("é\t|\r\n", ["é\t|\r"])],
)
def test_lines_are_split_at_newlines_only(text, expected):
    with capture() as lines:
        print(text, end="")
    assert lines == expected


def test_parts_of_a_line_are_put_together():
    with capture() as lines:
        print("a", end="")
        print("b", "c", sep="\n", end="")
        print("d")
    assert lines == ["ab", "cd"]


def test_lines_of_other_threads_are_captured_and_not_cut():
    meet = threading.Barrier(2)

    def other():
        sys.stdout.write("other ")
        meet.wait(10)
        meet.wait(10)
        sys.stdout.write("thread\n")

    with capture() as lines:
        thread = threading.Thread(target=other)
        thread.start()
        meet.wait(10)
        print("main")
        meet.wait(10)
        thread.join()
    assert lines == ["main", "other thread"]


def test_lines_are_there_while_the_block_runs():
    with capture() as lines:
        jax.jit(lambda x: jax.debug.print("{}", x))(1)
        jax.effects_barrier()
        assert lines == ["1"]


@pytest.mark.parametrize("block", [capture, recording, lambda: scripted_breakpoints([])])
@pytest.mark.parametrize("error", [None, ValueError])
def test_callbacks_are_waited_for_before_and_at_the_end_of_a_block(block, error, monkeypatch):
    # CPU runs callbacks within the call, so none can be late in this test: only check that the block waits.
    waits, wait = [], jax.effects_barrier
    monkeypatch.setattr(jax, "effects_barrier", lambda: (waits.append(sys.stdout), wait()))

    def run():
        with block():
            waits.append("block")
            inside.append(sys.stdout)
            if error:
                raise error

    inside, outside = [], sys.stdout
    with pytest.raises(error) if error else contextlib.nullcontext():
        run()
    assert waits == [outside, "block", inside[0]]


def test_stderr_and_logging_are_not_captured(capsys):
    with capture() as lines:
        print("error", file=sys.stderr)
        logging.getLogger("test").warning("logged")
    assert lines == []
    assert "error" in capsys.readouterr().err


@pytest.mark.long
def test_it_works_where_there_is_no_stdout():
    code = (
        "import sys; sys.stdout = None\n"
        "from jaxguide.debug import capture\n"
        "with capture() as lines: print('x')\n"
        "assert sys.stdout is None\n"
        "sys.exit(lines != ['x'])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_arrays_print_as_they_do_without_capture(capsys):
    x = jnp.arange(3.0)
    show = jax.jit(lambda x: jax.debug.print("{} {x:}", x, x=x[0]))
    show(x)
    jax.effects_barrier()
    plain = capsys.readouterr().out
    with capture() as lines:
        show(x)
    assert "\n".join(lines) + "\n" == plain
    assert np.array(lines).shape == (1,)


def test_the_names_of_the_package_are_there_and_load_only_what_they_need():
    code = (
        "import sys, jaxguide.debug as debug\n"
        "assert 'jax' not in sys.modules\n"
        "debug.capture, debug.recording\n"
        "assert 'jaxguide.keys' not in sys.modules and 'jaxguide.jaxpr.interpret' not in sys.modules\n"
        "assert set(debug.__all__) == set(debug._HOMES) and all(getattr(debug, name) for name in debug.__all__)\n"
        "assert not hasattr(debug, 'nothing')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
