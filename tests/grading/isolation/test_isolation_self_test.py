"""Test that the self-test notices a layer that does nothing, and that each of its attempts does notice something."""

import os
import sys
from collections.abc import Callable, Iterator

import pytest
from needs import lacks

from jaxguide.grading.isolation import MEDIUM, PROCESS, STRONG, IsolationError, Tier, find_tier, self_test, tier_search

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the layers need Linux")

# What to put in the place of a layer, the tier that it belongs to, and what then gets through the whole tier.
IDLE = "lambda *_, **__: None"
BROKEN = {
    "seccomp": (f"enter.seccomp.filter_calls = {IDLE}", STRONG, "fork, trace a process"),
    "rlimits": (f"rlimits.limit = {IDLE}", STRONG, "write a large file"),
    "mounts": (f"enter.mounts.enter = enter.landlock.restrict_files = {IDLE}", STRONG, "read the key, write outside"),
    "landlock": (f"enter.landlock.restrict_files = {IDLE}", MEDIUM, "read the key, write outside"),
}
WITHOUT_SECCOMP = "fork, connect on the machine, trace a process, signal another, change a mode"


@pytest.fixture
def break_self_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def break_it(code: str) -> None:
        code = f"from jaxguide.grading.isolation import enter, rlimits; {code}; main()"
        monkeypatch.setattr(tier_search, "_BOOT", tier_search._BOOT.replace(" main()", code))
        forget()

    def forget() -> None:
        tier_search._strong.cache_clear()
        tier_search._found.cache_clear()

    yield break_it
    forget()


def needs(name: str) -> Tier:
    try:
        return find_tier(name)
    except IsolationError as error:
        lacks(str(error))


@pytest.mark.parametrize("layer", BROKEN)
def test_a_layer_that_does_nothing_lowers_the_tier_and_says_what_got_through(
    layer: str, break_self_test: Callable[[str], None]
) -> None:
    code, name, through = BROKEN[layer]
    reads_as_root = needs(name).reads_as_root
    break_self_test(code)
    tier = tier_search._whole(name, reads_as_root)
    (reply,) = tier_search._replies([(tier, [one.name for one in tier.layers])])
    assert tier_search._leak(reply) == f"not prevented: {through}"
    with pytest.raises(IsolationError, match="not prevented: ") as caught:
        find_tier(name)
    assert f"The best that holds is `{find_tier().name}`" in str(caught.value)
    assert find_tier().name != name
    assert name == MEDIUM or any("not prevented: " in why for why in find_tier().reasons)


def test_without_seccomp_the_best_tier_asks_for_trust(break_self_test: Callable[[str], None]) -> None:
    needs(MEDIUM)
    break_self_test(BROKEN["seccomp"][0])
    tier = find_tier()
    assert tier.name == PROCESS
    assert tier.asks_for_trust
    assert f"seccomp: not prevented: {WITHOUT_SECCOMP}" in tier.reasons


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can stay root")
def test_root_that_stays_root_is_refused(break_self_test: Callable[[str], None]) -> None:
    break_self_test(f"enter.privileges.become = {IDLE}")
    with pytest.raises(IsolationError, match=r"Grading runs as root .*not prevented: be root"):
        find_tier(MEDIUM)


def test_a_self_test_that_does_not_run_leaves_no_tier_but_process(break_self_test: Callable[[str], None]) -> None:
    break_self_test("raise SystemExit('broken')")
    if os.geteuid() == 0:
        with pytest.raises(IsolationError, match="the self-test did not run: broken"):
            find_tier()
    else:
        assert find_tier().name == PROCESS


def test_a_tier_that_hides_what_python_needs_is_not_used(break_self_test: Callable[[str], None]) -> None:
    needs(STRONG)
    break_self_test(
        "import importlib.util, pathlib; numpy = pathlib.Path(importlib.util.find_spec('numpy').origin).parent; "
        "enter.visible_paths.touching = lambda hidden, readable: [*hidden, numpy]"
    )
    with pytest.raises(IsolationError, match="honest code cannot: read python"):
        find_tier(STRONG)


def test_each_attempt_notices_something_in_these_tests() -> None:
    made = {attempt for attempts in self_test.PREVENTED.values() for attempt in attempts}
    noticed = ", ".join(["be root", WITHOUT_SECCOMP, *(through for _code, _name, through in BROKEN.values())])
    assert {attempt.__name__.replace("_", " ") for attempt in made} == set(noticed.split(", "))
