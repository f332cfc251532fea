"""Test what is heard of running code: the same events from `sys.monitoring` as from `sys.settrace`."""

import sys
import threading

import pytest

from jaxguide.tracing import code_events as module
from jaxguide.tracing.code_events import code_events


def statements(n):
    while n > 0:
        n -= 1
    try:
        raise ValueError
    except ValueError:
        n = 3
    with threading.Lock():
        n += 1
    return n


def raises():
    fails()


def fails():
    raise KeyError


WATCHED = [function.__code__ for function in (statements, raises, fails)]


def events_of(run):
    found = []
    with code_events(WATCHED, lambda frame, event: found.append((event, frame.f_code.co_name, frame.f_lineno))):
        run()
    return found


def run_all():
    statements(3)
    with pytest.raises(KeyError):
        raises()


def test_monitoring_and_settrace_hear_the_same(monkeypatch):
    monitored = events_of(run_all)
    monkeypatch.setattr(module, "_MONITORING", None)
    traced = events_of(run_all)
    # What an exception ends has no return in `sys.monitoring`.
    assert [one for one in monitored if one[0] != "return"] == [one for one in traced if one[0] != "return"]
    assert [event for event, name, _line in monitored if name == "fails"][:3] == ["call", "line", "exception"]


def test_nothing_of_other_threads_is_heard():
    def in_a_thread():
        thread = threading.Thread(target=statements, args=(3,))
        thread.start()
        thread.join()

    assert events_of(in_a_thread) == []


def test_blocks_nest():
    outer, inner = [], []
    with code_events(WATCHED, lambda frame, event: outer.append(event)):
        with code_events(WATCHED, lambda frame, event: inner.append(event)):
            statements(1)
        statements(1)
    assert inner[:3] == ["call", "line", "line"]
    assert outer[:3] == inner[:3]
    assert events_of(run_all)  # the tool was given back


def test_what_was_traced_before_is_traced_again_after():
    def mine(frame, event, argument):
        return None

    before = sys.gettrace()
    sys.settrace(mine)
    try:
        with code_events(WATCHED, lambda frame, event: None):
            pass
        assert sys.gettrace() is mine
    finally:
        sys.settrace(before)
