"""Test that the key's answers are called once for each input, however many students there are."""

import dataclasses
import threading
from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.course.books.library import Course
from jaxguide.grading.batch import references
from jaxguide.grading.batch.references import Reference, References

SOURCE = """
def double(x):
    calls.append(x)
    print("asked")
    return 2 * x
"""


@pytest.fixture
def calls(course: Course) -> Iterator[list[object]]:
    """Return the list of calls of the key's `double`, which records its arguments."""
    exercise, book = course.exercise("double"), course.book_of(course.exercise("double"))
    assert exercise.key is not None
    before, made = exercise.key.answer, []
    exercise.key.answer = dataclasses.replace(before, source=SOURCE)
    book.namespace["calls"] = made
    yield made
    exercise.key.answer = before
    del book.namespace["calls"]


def ask(course: Course, shared: References) -> Reference:
    exercise = course.exercise("double")
    found = shared.of(exercise, course.book_of(exercise))
    assert found is not None
    book = course.book_of(exercise)
    shared.names(exercise, book)["calls"] = book.namespace["calls"]
    return found


def test_the_same_input_is_computed_once(course: Course, calls: list[object]) -> None:
    shared = References()
    for _student in range(3):
        answer = ask(course, shared)
        np.testing.assert_array_equal(answer(jnp.arange(3.0)).values, [0, 2, 4])
        assert answer.log.printed == "asked\n"
    assert len(calls) == 1
    ask(course, shared)(jnp.arange(4.0))
    ask(course, shared)(np.arange(4.0))
    ask(course, shared).jit(jnp.arange(4.0))
    assert len(calls) == 4


def test_a_check_that_changes_a_value_changes_no_other_students(course: Course, calls: list[object]) -> None:
    shared = References()
    for _student in range(3):
        value = ask(course, shared)(jnp.arange(3.0))
        np.testing.assert_array_equal(value.values, [0, 2, 4])
        value.values[:] = 7


def test_what_is_kept_is_bounded(course: Course, calls: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "_MOST_BYTES", 100_000)
    shared = References()
    for number in range(20):
        ask(course, shared)(np.full(1000, number, np.float32))  # about 8 kB with its answer
    assert len(calls) == 20
    ask(course, shared)(np.full(1000, 19, np.float32))
    assert len(calls) == 20
    ask(course, shared)(np.full(1000, 0, np.float32))
    assert len(calls) == 21
    assert sum(len(asked) + len(reply) for asked, reply in shared._kept.items()) == shared._size_bytes <= 100_000


def test_threads_share_values_and_mix_up_no_output(course: Course, calls: list[object]) -> None:
    shared = References()
    wrong: list[object] = []

    def student(number: int) -> None:
        for value in range(10):
            answer = ask(course, shared)
            got = answer(np.float32(value))
            if got.values.item() != 2 * value or answer.log.printed != "asked\n":
                wrong.append((number, value, got, answer.log.printed))

    threads = [threading.Thread(target=student, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(calls) == 10
