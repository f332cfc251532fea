"""Test what is heard of running code: the same events from `sys.monitoring` as from `sys.settrace`."""

import os
import random
import sys
import threading
import time

import pytest

from jaxguide.tracing.code_events import Untraced, _Traced, code_events


def statements(n):
    while n > 0: n -= 1  # fmt: skip # noqa: E701
    for i in range(2): n += i  # fmt: skip # noqa: E701
    pairs = [
        (i, j)
        for i in range(2)
        for j in range(2)
    ]  # fmt: skip
    try:
        raise ValueError
    except ValueError:
        n = 3
    for i in range(2):
        n += i
    with threading.Lock():
        n += len(list(numbers())) + len(pairs)
    return n


def numbers():
    yield 1
    yield 2


def raises():
    fails()


def fails():
    raise KeyError


WATCHED = {function.__code__ for function in (statements, numbers, raises, fails)}


def is_watched(frame):
    return frame.f_code in WATCHED


def events_of(make, run):
    """Return the events of a run, with opcodes counted as one if several follow each other."""
    found = []

    def hears(frame, event):
        one = (event, frame.f_code.co_name, frame.f_lineno)
        if found[-1:] != [one] or event != "opcode":
            found.append(one)

    with make(hears):
        run()
    return found


def run_all():
    statements(3)
    with pytest.raises(KeyError):
        raises()


@pytest.mark.parametrize("opcodes", [False, True])
def test_monitoring_and_settrace_hear_the_same(opcodes):
    def is_code(_code):
        return opcodes

    monitored = events_of(lambda hears: code_events(is_watched, hears, opcodes=is_code), run_all)
    traced = events_of(lambda hears: _Traced(is_watched, hears, is_code, None), run_all)
    assert [one for one in monitored if one[0] != "exception"] == [one for one in traced if one[0] != "exception"]
    assert {one for one in monitored if one[0] == "exception"} <= set(traced)
    assert [event for event, name, _line in monitored if name == "fails" and event != "opcode"] == [
        "call",
        "line",
        "exception",
        "return",
    ]


def test_nothing_of_other_threads_is_heard():
    assert events_of(lambda hears: code_events(is_watched, hears), lambda: in_a_thread(statements, 3)) == []


def in_a_thread(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()


def test_blocks_nest_and_each_hears_its_own():
    outer, inner, innermost = [], [], []
    with code_events(is_watched, lambda frame, event: outer.append(event)):
        with code_events(is_watched, lambda frame, event: inner.append(event)):
            with code_events(is_watched, lambda frame, event: innermost.append(event)):
                list(numbers())
            list(numbers())
        list(numbers())
    assert innermost[:2] == ["call", "line"]
    assert inner[-len(innermost) :] == innermost
    assert outer[-len(innermost) :] == innermost
    assert events_of(lambda hears: code_events(is_watched, hears), lambda: list(numbers()))  # tools were given back


def test_calls_of_c_functions_are_heard_in_watched_code_and_once_in_other_code():
    def watched():
        return [time.time() for _ in range(3)], random.SystemRandom().getrandbits(8)

    heard = []
    inside = {watched.__code__, *(code for code in watched.__code__.co_consts if hasattr(code, "co_code"))}
    with code_events(
        lambda frame: frame.f_code in inside,
        lambda frame, event: None,
        calls=lambda frame, called, is_inside: heard.append((called, is_inside)),
    ):
        watched()
    assert [one for one in heard if one[0] is time.time] == [(time.time, True)] * 3
    assert (os.urandom, False) in heard


def test_what_was_traced_before_is_traced_again_after():
    def mine(frame, event, argument):
        return None

    before = sys.gettrace()
    sys.settrace(mine)
    try:
        with Untraced():
            assert sys.gettrace() is None
        with code_events(is_watched, lambda frame, event: None):
            assert sys.gettrace() is not mine
        assert sys.gettrace() is mine
    finally:
        sys.settrace(before)
