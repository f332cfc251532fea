"""Test the catalogue: how facts are found, templates filled in and fixes made, and that no entry hides another."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explain_cases import CASES
from failing import failure, program, settings_kept

from jaxguide.compat.error_texts import Phrase
from jaxguide.explain import catalogue, explain, knowledge, probes
from jaxguide.explain.catalogue import Code, Either, Entry, Swap, Words, entry
from jaxguide.explain.explanation import Explanation

PHRASE = Phrase(TypeError, r"got incompatible shapes for broadcasting: (?P<one>\S+), (\S+)\.")
SUM = """
x, y = jnp.ones(3), jnp.ones(2)
z = (x * 2) + y  # <--
"""


@pytest.fixture(autouse=True)
def rules_restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kept = list(catalogue.RULES)
    monkeypatch.setattr(knowledge, "rules_may_raise", True)
    yield
    catalogue.RULES[:] = kept


def said(file: Path, source: str = SUM, **given: Any) -> Explanation | None:
    """Explain a failure with one entry alone."""
    words: dict[str, Any] = {"x": probes.operand(1), "title": "t", "why": "w", "what": "", "fixes": ["Do it."]}
    catalogue.RULES.clear()
    entry("kind", PHRASE, **{**words, **given})
    return explain(failure(program(source), file))


TEMPLATES = {
    "{x} {x.shape} {x.shape[0]} {x.ndim} {x.dtype} {x.type} {x.name}": "y (2,) 2 1 float32 ArrayImpl y",
    "{left} {left.shape}": "x * 2 (3,)",
    "{x.is_here}": "`y` is an array float32[2] here.",
    "{one} {g2}": "(3,) (2,)",
    "{node} in {statement}": "(x * 2) + y in z = (x * 2) + y",
    "{jnp} {np} {lax} {random}": "jnp np lax jax.random",
    "{half}, {{}}": "0.5, {}",
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_names_facts(template: str, tmp_path: Path) -> None:
    explanation = said(tmp_path / "student.py", what=template, half=lambda facts: facts["x"].shape[0] / 4)
    assert explanation is not None
    assert explanation.what == TEMPLATES[template]


def test_the_first_of_several_templates_counts_whose_facts_are_known(tmp_path: Path) -> None:
    explanation = said(tmp_path / "student.py", what=("{call}", "{library}", "{x}", "{left}"))
    assert explanation is not None
    assert explanation.what == "y"


@pytest.mark.parametrize("given", [{"why": "{call}"}, {"x": probes.call}, {"when": lambda facts: facts["call"]}])
def test_a_fact_that_is_not_known_silences_the_entry(given: dict[str, Any], tmp_path: Path) -> None:
    assert said(tmp_path / "student.py", **given) is None


def test_a_name_that_no_probe_finds_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="nobody"):
        said(tmp_path / "student.py", why="{nobody}")


FIXES: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "a template in place of an expression": (
        {"fixes": [Swap("Cut `{left}`.", left="{left.atom}[:2]")]},
        [("Cut `x * 2`.", "z = ((x * 2)[:2]) + y")],
    ),
    "two at once": ({"fixes": [Swap("Swap.", left="{x}", x="{left.atom}")]}, [("Swap.", "z = (y) + (x * 2)")]),
    "a fact that is not known": ({"fixes": [Swap("Call.", x="{call}"), "Do it."]}, [("Do it.", "")]),
    "a condition": ({"fixes": [Words("No.", when=probes.knows("call")), "Yes."]}, [("Yes.", "")]),
    "the first of several": (
        {"fixes": [Either(Swap("Call.", x="{call}"), Code("Show.", "{x}.T"), "Not this.")]},
        [("Show.", "y.T")],
    ),
    "otherwise": ({"fixes": [Swap("Call.", x="{call}")], "otherwise": ["Else."]}, [("Else.", "")]),
    "not otherwise": ({"fixes": ["Do it."], "otherwise": ["Else."]}, [("Do it.", "")]),
    "computed": ({"fixes": [lambda facts: facts.scene.advice(f"{facts['x']}!")]}, [("y!", "")]),
}


@pytest.mark.parametrize("name", FIXES)
def test_fixes_are_made_of_facts(name: str, tmp_path: Path) -> None:
    given, expected = FIXES[name]
    explanation = said(tmp_path / "student.py", **given)
    assert explanation is not None
    assert [(fix.sentence, fix.code) for fix in explanation.fixes] == expected


def test_without_any_fix_nothing_is_said(tmp_path: Path) -> None:
    assert said(tmp_path / "student.py", fixes=[Swap("Call.", x="{call}")]) is None


def test_a_tuple_in_place_of_the_body_of_a_lambda_gets_parentheses(tmp_path: Path) -> None:
    source = "f = lambda x, y: x + y\nf(jnp.ones(3), jnp.ones(2))"
    explanation = said(tmp_path / "student.py", source, fixes=[Swap("Both.", node="{left}, {x}")])
    assert explanation is not None
    assert explanation.fixes[0].code == "f = lambda x, y: (x, y)"


@pytest.mark.long
def test_no_entry_hides_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Try every entry on every case: one that could explain some and is never the first is hidden by another kind."""
    entries = [rule for _phrase, rule in catalogue.RULES if isinstance(rule, Entry)]
    first, behind = set[int](), dict[int, str]()
    for number, case in enumerate(CASES):
        with settings_kept():
            able = _able_to_explain(failure(case.program, tmp_path / f"student_{number}.py"))
        first |= {id(rule) for rule in able[:1]}
        behind |= {id(rule): case.name for rule in able[1:] if isinstance(rule, Entry) and rule.kind != case.kind}
    hidden = {(rule.kind, behind[id(rule)]) for rule in entries if id(rule) in behind and id(rule) not in first}
    never = sorted({rule.kind for rule in entries if id(rule) not in first | set(behind)})
    with capsys.disabled():
        print("\nOf these kinds, some entries are reached on no case:", ", ".join(never))
    assert hidden == set()


def _able_to_explain(error: BaseException) -> list[Any]:
    """Return the rules that explain an error, in their order."""
    scene = knowledge.Scene(error)
    if scene.spot.source is None or scene.spot.node is None:
        return []
    of_jax, able = scene.is_of_jax(), []
    for phrase, rule in catalogue.RULES:
        found = phrase.match(error)
        if found is not None and (of_jax or not phrase.shared) and rule(scene, found) is not None:
            able.append(rule)
    return able
