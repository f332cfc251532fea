"""Test that each layer alone prevents the attempts it must, and that these succeed without layers."""

import os
import sys
from collections.abc import Callable

import kernel_attempts
import pytest
from kernel_attempts import MUST_FAIL
from kernel_probe import try_layers
from needs import lacks

from jaxguide.grading.isolation.tier import MEDIUM, NAMES, NEEDED, PROCESS, STRONG, IsolationError, Tier
from jaxguide.grading.isolation.tier_search import alone, find_tier

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the layers need Linux")

PAIRS = [(layer, attempt.__name__) for layer, attempts in MUST_FAIL.items() for attempt in attempts]
# What some systems refuse to unprivileged users anyway.
NEEDS_ROOT = {"be_root", "hold_a_capability", "mount_something", "load_bpf", "watch_page_faults", "keep_a_key"}
NEEDS_ROOT |= {"watch_performance", "set_up_io_uring"}


@pytest.fixture(scope="module")
def inside() -> dict[str, dict]:
    replies = try_layers([(alone(layer), [layer]) for layer in MUST_FAIL])
    return dict(zip(MUST_FAIL, replies, strict=True))


@pytest.fixture(scope="module")
def nowhere() -> dict:
    (reply,) = try_layers([(Tier(STRONG, ()), list(MUST_FAIL))])
    return reply


def skip_unless_it_holds(layer: str) -> None:
    if not any(found.name == layer and found.holds for found in find_tier(PROCESS).layers):
        lacks(f"a machine where this layer holds: {layer}")


@pytest.mark.parametrize(("layer", "attempt"), PAIRS)
def test_a_layer_alone_prevents_what_it_must(inside: dict[str, dict], layer: str, attempt: str) -> None:
    skip_unless_it_holds(layer)
    assert inside[layer]["error"] is None
    assert inside[layer]["fails"][attempt] != ""


@pytest.mark.parametrize("attempt", dict.fromkeys(attempt for _layer, attempt in PAIRS))
def test_without_any_layer_the_attempt_comes_through(nowhere: dict, attempt: str) -> None:
    if attempt in NEEDS_ROOT and os.geteuid() != 0:
        pytest.skip("some systems refuse this to unprivileged users")
    assert nowhere["error"] is None
    assert nowhere["fails"][attempt] == ""


@pytest.mark.parametrize("layer", MUST_FAIL)
def test_a_layer_alone_leaves_honest_code_what_it_needs(inside: dict[str, dict], layer: str) -> None:
    skip_unless_it_holds(layer)
    hindered = {name: how for name, how in inside[layer]["works"].items() if how}
    if layer == "ordinary user" and set(hindered) == {"read_python"}:
        pytest.skip("Python is in a folder that only root can read")
    assert hindered == {}


def test_a_python_in_somebodys_home_keeps_the_mount_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_unless_it_holds("mount namespace")
    for folder in ("/home", "/boot"):
        monkeypatch.syspath_prepend(folder)
    (reply,) = try_layers([(alone("mount namespace"), ["mount namespace"])])
    assert reply["error"] is None
    assert {attempt for attempt, how in reply["fails"].items() if not how} == set()


# Layers to switch off, and the attempt that then gets through all the others.
GAPS = [
    (("seccomp",), "fork"),
    (("seccomp",), "open_a_socket"),
    (("seccomp",), "make_memory_files"),
    (("seccomp",), "outlive_its_parent"),
    (("seccomp",), "hide_what_it_holds_open"),
    (("rlimits",), "open_many_files"),
    (("rlimits",), "take_much_memory"),
    (("rlimits", "mount namespace"), "fill_the_scratch"),
    (("seccomp", "ipc namespace"), "find_shared_memory"),
    (("landlock", "mount namespace"), "read_the_key"),
    (("landlock", "mount namespace"), "list_the_root"),
]


@pytest.mark.parametrize(("off", "attempt"), GAPS)
def test_every_layer_of_strong_is_needed(off: tuple[str, ...], attempt: str) -> None:
    tier = usable(STRONG)
    layers = NEEDED[STRONG]
    rest = [layer for layer in tier.layers if layer.name not in off]
    with_all, without = try_layers([(tier, layers), (Tier(tier.name, tuple(rest), tier.reads_as_root), layers)])
    assert with_all["fails"][attempt] != ""
    assert without["error"] is None
    assert without["fails"][attempt] == ""


@pytest.mark.parametrize("name", NAMES)
def test_all_layers_of_a_tier_together_prevent_everything_and_hinder_nothing(name: str) -> None:
    tier = usable(name)
    used = [layer for layer in MUST_FAIL if tier.uses(layer)]
    (reply,) = try_layers([(tier, used)])
    assert reply["error"] is None
    assert {attempt for attempt, how in reply["fails"].items() if not how} == set()
    assert {honest: how for honest, how in reply["works"].items() if how} == {}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_medium_prevents_everything_with_older_versions_of_landlock(version: int) -> None:
    tier = usable(MEDIUM)
    # Without another user, the hidden file belongs to the user of the attempts.
    tier = Tier(MEDIUM, tuple(layer for layer in tier.layers if layer.name != "ordinary user"))
    used = [layer for layer in MUST_FAIL if tier.uses(layer)]
    (reply,) = try_layers([(tier, used)], landlock_version=version)
    assert reply["error"] is None
    assert {attempt for attempt, how in reply["fails"].items() if not how} == set()
    assert {honest: how for honest, how in reply["works"].items() if how} == {}


def usable(name: str) -> Tier:
    try:
        return find_tier(name)
    except IsolationError as error:
        lacks(str(error))


def test_every_attempt_is_of_some_layer() -> None:
    made: set[Callable] = {attempt for of_layer in MUST_FAIL.values() for attempt in of_layer} | set(
        kernel_attempts.MUST_WORK
    )
    takes_targets = {
        value
        for name, value in vars(kernel_attempts).items()
        if callable(value)
        and getattr(value, "__module__", "") == kernel_attempts.__name__
        and not isinstance(value, type)
        if not name.startswith("_")
    }
    assert takes_targets - made == {kernel_attempts.root}
