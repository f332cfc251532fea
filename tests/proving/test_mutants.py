"""Test the survey of mutants on a small course with a hole in its checks: survivors, limits, records, marks."""

import ast
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny_course import edit

from jaxguide.cli import main
from jaxguide.course import requirements
from jaxguide.course.books.library import Course, load_course
from jaxguide.course.exercise import AuthorError
from jaxguide.proving.mutants import making
from jaxguide.proving.mutants import survey as survey_module
from jaxguide.proving.mutants.making import make_mutants
from jaxguide.proving.mutants.mutant_process import MutantProcess, ProcessEnded
from jaxguide.proving.mutants.mutant_records import MutantRecords, deciding_digest
from jaxguide.proving.mutants.separating import KeyComparison
from jaxguide.proving.mutants.survey import MutantOutcome, survey_mutants

CONTRACT = '"""Return twice x: float32[n] -> float32[n]."""'
DECLARED = '''"""Return twice x, also under `jax.jit`.

    Args:
        x: float32[n].

    Returns:
        float32[n], a JAX array.
    """'''


@pytest.fixture
def declared(tiny: Path) -> Path:
    """Return a course whose exercise declares its domain; no check has NaN, so that a mutant may clean it away."""
    edit(tiny, "exercises/tiny.py", CONTRACT, DECLARED)
    return tiny


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make mutants with a few operators only, whose mutants take seconds to judge."""
    names = ("zero_for_constant", "result_cleaned", "numpy_throughout", "doubled_constant", "jit_added")
    monkeypatch.setattr(making, "OPERATORS", {name: making.OPERATORS[name] for name in names})


def surveyed(folder: Path, records: MutantRecords | None = None) -> survey_module.ExerciseSurvey:
    course = load_course(folder)
    (found,) = survey_mutants(course, [course.exercise("double")], folder=folder, records=records)
    return found


def of(found: survey_module.ExerciseSurvey, operator: str) -> list[MutantOutcome]:
    return [one for one in found.outcomes if one.mutant.operator == operator]


def comparison(folder: Path) -> tuple[Course, KeyComparison]:
    course = load_course(folder)
    return course, KeyComparison(course.books["tiny"], course.exercise("double"))


def test_mutants_differ_from_right_answers_and_each_other(declared: Path) -> None:
    mutants = make_mutants(load_course(declared).exercise("double"))
    assert len({one.source for one in mutants}) == len({one.id for one in mutants}) == len(mutants) > 20
    assert {one.origin for one in mutants} == {"double", "jitted", "a_lambda"}
    assert [one.id for one in make_mutants(load_course(declared).exercise("double"))] == [one.id for one in mutants]
    assert any(one.change == "-    return 2 * x\n+    return 0 * x" for one in mutants)


def test_no_mutant_is_a_right_answer(declared: Path) -> None:
    edit(declared, "solutions/tiny.py", "    return 2 * x", "    y = 2 * x  # twice\n    return y")
    edit(declared, "solutions/tiny.py", "@jax.jit\n", "")
    edit(declared, "solutions/tiny.py", "    return x + x", "    y=(0 * x)\n    return y")
    exercise = load_course(declared).exercise("double")
    assert exercise.key is not None
    right = {ast.unparse(ast.parse(one.source)) for one in (exercise.key.answer, *exercise.key.alternatives)}
    assert "def double(x):\n    y = 0 * x\n    return y" in right
    made = [ast.unparse(ast.parse(one.source)) for one in make_mutants(exercise)]
    assert right.isdisjoint(made)


def test_a_prediction_has_no_mutants(declared: Path) -> None:
    assert make_mutants(load_course(declared).exercise("guess_shape")) == []


@pytest.mark.parametrize(
    ("body", "observed"),
    [
        ("jnp.nan_to_num(2 * x)", "the value"),
        ("np.asarray(2 * x)", "the value"),
        ("2 * x if x.ndim and x.shape[0] != 1 else x", "the value"),
        ("2 * x + 1e-6", "the value"),
        ("jnp.abs(2 * x)", "the value"),
        ("(2 * x if not isinstance(x, jax.core.Tracer) else x)", "the value under `jax.jit`"),
    ],
)
def test_an_input_tells_a_wrong_answer_from_the_key(declared: Path, body: str, observed: str) -> None:
    found = comparison(declared)[1].difference(f"def double(x):\n    return {body}\n")
    assert found is not None
    assert (found.observed, found.disputed_by) == (observed, "")
    assert found.call.startswith("double(")


@pytest.mark.parametrize(
    "body", ["x + x", "2.0 * x", "x * jnp.float32(4) / 2", "jnp.add(x, x)", "jax.jit(lambda v: v + v)(x)"]
)
def test_nothing_tells_a_right_answer_from_the_key(declared: Path, body: str) -> None:
    assert comparison(declared)[1].difference(f"def double(x):\n    return {body}\n") is None


@pytest.mark.parametrize("contract", ["Return twice x without a loop.", "Return twice x. It needs no `jax.jit`."])
def test_an_answer_that_cannot_be_traced_is_told_only_where_the_contract_has_it_traced(
    tiny: Path, contract: str
) -> None:
    edit(tiny, "exercises/tiny.py", CONTRACT, DECLARED.replace("Return twice x, also under `jax.jit`.", contract))
    edit(tiny, "solutions/tiny.py", "@answer\ndef", "@answer\n@jax.jit\ndef")
    assert comparison(tiny)[1].difference("def double(x):\n    return 2 * jnp.asarray(np.asarray(x))\n") is None


def test_where_right_answers_disagree_a_difference_is_disputed(declared: Path) -> None:
    edit(declared, "solutions/tiny.py", "return x + x", "return jnp.nan_to_num(x + x)")
    found = comparison(declared)[1].difference("def double(x):\n    return jnp.nan_to_num(2 * x)\n")
    assert found is not None
    assert found.disputed_by == "jitted"


def test_an_argument_that_is_changed_is_seen(tiny: Path) -> None:
    edit(tiny, "exercises/tiny.py", CONTRACT, '"""Double.\n\n    Args:\n        x: a NumPy array float32[n].\n    """')
    edit(tiny, "solutions/tiny.py", "lambda x: 2 * x", "lambda x: x + x")
    found = comparison(tiny)[1].difference("def double(x):\n    y = 2 * x\n    x[:] = 0\n    return y\n")
    assert found is not None
    assert found.observed == "the arguments after the call"


def test_records_are_valid_until_what_decides_changes(declared: Path, tmp_path: Path) -> None:
    records = MutantRecords(tmp_path / "records")
    course = load_course(declared)
    exercise = course.exercise("double")
    digest = deciding_digest(course, exercise)
    assert records.read(exercise, digest) == {}
    records.write(exercise, digest, {"1": {"outcome": "rejected"}})
    assert records.read(exercise, digest) == {"1": {"outcome": "rejected"}}
    (file,) = (tmp_path / "records").rglob("double.json")
    # Another exercise's answer and the author's marks decide nothing about this exercise.
    edit(declared, "solutions/tiny.py", "    return (3,)", "    return (3, )  # \n")
    edit(declared, "solutions/tiny.py", "# %% guess_shape", 'equivalent("0", because="It is.")\n\n# %% guess_shape')
    edit(declared, "solutions/tiny.py", "import alternative,", "import alternative, equivalent,")
    edit(declared, "solutions/tiny.py", "return (3, )", "return (4,)")
    assert deciding_digest(load_course(declared), exercise) == digest
    edit(declared, "exercises/tiny.py", "for n in (2, 5):", "for n in (2, 6):")
    assert deciding_digest(load_course(declared), exercise) != digest
    file.write_text("{")
    assert records.read(exercise, digest) == {}


def test_files_and_required_versions_decide_too(declared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (declared / "exercises" / "table.txt").write_text("1")
    (declared / "course.toml").write_text('files = ["table.txt"]\nrequirements = ["numpy"]\n')

    def digest() -> str:
        course = load_course(declared)
        return deciding_digest(course, course.exercise("double"))

    first = digest()
    (declared / "exercises" / "table.txt").write_text("2")
    second = digest()
    monkeypatch.setattr(requirements, "installed_version", lambda name: "0.0.1")
    monkeypatch.setattr(requirements, "need_requirements", lambda *unused: None)
    assert len({first, second, digest()}) == 3


def test_a_mark_needs_a_reason(tiny: Path) -> None:
    edit(tiny, "solutions/tiny.py", "import alternative,", "import alternative, equivalent,")
    edit(tiny, "solutions/tiny.py", "# %% guess_shape", 'equivalent("0", because=" ")\n\n# %% guess_shape')
    with pytest.raises(AuthorError, match="give the reason"):
        load_course(tiny)


@pytest.mark.long
@pytest.mark.usefixtures("few")
def test_a_hole_in_the_checks_has_survivors_with_an_input(declared: Path) -> None:
    found = surveyed(declared)
    assert found.undeclared == ""
    assert sum(found.counts()[name] for name in survey_module.OUTCOMES) == found.counts()["made"] == len(found.outcomes)
    survivors = [one for one in of(found, "result_cleaned") if one.outcome == survey_module.SURVIVING]
    assert survivors
    assert survivors[0].difference is not None
    assert re.search("nan|inf", survivors[0].difference["expected"])
    assert {one.outcome for one in of(found, "zero_for_constant")} == {survey_module.REJECTED}
    assert {one.check for one in of(found, "zero_for_constant")} == {"twice_the_input"}


@pytest.mark.long
@pytest.mark.usefixtures("few")
def test_without_a_domain_what_passes_is_not_judged_by_guessing(tiny: Path) -> None:
    found = surveyed(tiny)
    assert found.undeclared == "`x` has no line under `Args:`"
    assert found.counts()[survey_module.UNDECLARED] > 0
    assert found.counts()[survey_module.SURVIVING] == 0


@pytest.mark.long
def test_a_process_is_ended_at_its_limit_and_the_next_request_is_answered(declared: Path) -> None:
    process = MutantProcess(declared, "tiny")
    try:
        for source, why in (("while True: pass", "time"), ("import os; os._exit(3)", "died")):
            request = {"do": "judge", "exercise": "double", "source": f"def double(x):\n    {source}\n"}
            with pytest.raises(ProcessEnded, match=why):
                process.ask(request, 2.0)
        request["source"] = "def double(x):\n    return 2 * x\n"
        assert process.ask(request, 60.0)["check"] == ""
    finally:
        process.close()


@pytest.mark.long
@pytest.mark.usefixtures("few")
def test_a_survey_goes_on_where_it_was_and_marks_are_heeded_or_refused(
    declared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = ["verify", "tiny", "--mutants", "--course", str(declared), "--json"]
    first = json.loads(CliRunner().invoke(main, command).stdout)
    assert first["judged"] == first["counts"]["made"] > 4
    assert sum(row["made"] for row in first["operators"].values()) == first["counts"]["made"]
    (exercise,) = first["exercises"]
    by_outcome = {one["outcome"]: one["mutant"]["id"] for one in exercise["passing"]}
    undecided, surviving = by_outcome[survey_module.UNDECIDED], by_outcome[survey_module.SURVIVING]
    marks = "".join(
        f'equivalent("{one}", because="It doubles all the same.")\n' for one in (undecided, surviving, "0000000000")
    )
    edit(declared, "solutions/tiny.py", "# %% guess_shape", f"{marks}\n# %% guess_shape")
    edit(declared, "solutions/tiny.py", "import alternative,", "import alternative, equivalent,")
    done = CliRunner().invoke(main, command)
    again = json.loads(done.stdout)
    assert done.exit_code == 1
    assert (again["judged"], again["counts"]["equivalent"]) == (0, 1)
    refused, unknown = again["exercises"][0]["problems"]
    assert f"`{surviving}` is marked as equivalent, but the value differs for double(" in refused
    assert "`0000000000` is marked as an equivalent mutant of `double`, but no such mutant is made" in unknown


@pytest.mark.usefixtures("few")
def test_what_a_busy_machine_stalls_is_neither_rejected_nor_kept(
    declared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(self: MutantProcess, request: dict[str, str], limit_s: float) -> dict[str, object]:
        if request["do"] == "judge" and "0 * x" in request["source"]:
            raise ProcessEnded("stalled")
        return {
            "check": "twice_the_input" if "2 * x" not in request["source"] else "",
            "why": "",
            "cpu_s": 0.1,
            "difference": None,
        }

    monkeypatch.setattr(MutantProcess, "ask", ask)
    records = MutantRecords(tmp_path / "records")
    found = surveyed(declared, records)
    stalled = [one for one in found.outcomes if one.outcome == survey_module.NOT_JUDGED]
    assert [one.mutant.operator for one in stalled] == ["zero_for_constant", "zero_for_constant"]
    course = load_course(declared)
    kept = records.read(course.exercise("double"), deciding_digest(course, course.exercise("double")))
    assert kept.keys() == {one.mutant.id for one in found.outcomes if one not in stalled} | {"prepared"}


@pytest.mark.usefixtures("few")
def test_a_key_that_is_rejected_is_a_problem_and_marks_wait_for_what_was_not_judged(
    declared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, *_others) = make_mutants(load_course(declared).exercise("double"))
    edit(declared, "solutions/tiny.py", "import alternative,", "import alternative, equivalent,")
    mark = f'equivalent("{first.id}", because="It is.")\n\n# %% guess_shape'
    edit(declared, "solutions/tiny.py", "# %% guess_shape", mark)

    def ask(self: MutantProcess, request: dict[str, str], limit_s: float) -> dict[str, object]:
        if request["source"] == first.source:
            raise ProcessEnded("stalled")
        return {"check": "", "why": "", "cpu_s": 0.1, "difference": None}

    monkeypatch.setattr(MutantProcess, "ask", ask)
    found = surveyed(declared)
    assert ([one.outcome for one in found.outcomes].count(survey_module.NOT_JUDGED), found.problems) == (1, [])

    monkeypatch.setattr(MutantProcess, "ask", lambda *unused: {"check": "twice_the_input", "why": "No.", "cpu_s": 1.0})
    found = surveyed(declared)
    (problem,) = found.problems
    assert (found.outcomes, problem.path.name) == ([], "tiny.py")
    assert "the key's answer to `double` is rejected (twice_the_input), so no mutant was judged: No." in str(problem)


@pytest.mark.long
def test_a_lesson_that_does_not_load_in_the_process_is_a_problem(declared: Path) -> None:
    only_here = "import multiprocessing\n\nassert multiprocessing.parent_process() is None\nfrom jaxguide.course.author"
    edit(declared, "exercises/tiny.py", "from jaxguide.course.author", only_here)
    done = CliRunner().invoke(main, ["verify", "tiny", "--mutants", "--course", str(declared)])
    assert (done.exit_code, done.exception.__class__) == (1, SystemExit), done.output
    assert "answer to `double` ended (died), so no mutant was judged" in " ".join(done.output.split())
