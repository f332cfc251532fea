"""`results.json` follows its schema, holds everything, and is read back to the same reports."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from made_class import EVIL, SECRET, made_class

from jaxguide.course.card import clean
from jaxguide.course.verdict import STAGES, Kind, Verdict
from jaxguide.grading.batch import BatchResult
from jaxguide.grading.reports import NoResults, to_plain, write_reports
from jaxguide.grading.reports.document import FORMAT, SCHEMA, feedback_stems, from_plain, read_document, to_text
from jaxguide.grading.result import State


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json.loads(SCHEMA.read_text("utf-8"))


def test_the_schema_is_one(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("tier", ["strong", "process", ""])
def test_results_follow_the_schema(schema: dict[str, Any], tier: str) -> None:
    jsonschema.Draft202012Validator(schema).validate(json.loads(to_text(made_class(tier))))
    jsonschema.Draft202012Validator(schema).validate(to_plain(BatchResult([])))


def test_the_schema_refuses_what_is_not_as_it_says(schema: dict[str, Any]) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    for change in ({"format": "jaxguide-results/1"}, {"seed": "7"}, {"extra": 1}, {"complete": None}):
        assert not validator.is_valid({**to_plain(made_class()), **change}), change


def test_the_schema_knows_every_word_that_can_stand_there(schema: dict[str, Any]) -> None:
    words = schema["$defs"]
    assert set(words["verdict"]["enum"]) >= set(Verdict)
    assert set(words["state"]["enum"]) == set(State)
    assert set(words["check"]["properties"]["kind"]["enum"]) == set(Kind)
    assert set(words["check"]["properties"]["stage"]["enum"]) == set(STAGES)
    assert schema["properties"]["format"]["const"] == FORMAT


def test_no_mark_is_null_and_never_zero() -> None:
    plain = to_plain(made_class())
    students = {one["student"]: one for one in plain["students"]}
    submissions = {one["student"]: one for one in plain["submissions"]}
    assert (students["Fay"]["score"], students["Fay"]["marks"]["dropout_rows"]) == (None, None)
    assert students["Fay"]["marks"]["two_samples"] is not None
    assert submissions["Fay"]["score"] is None
    assert next(e for e in submissions["Fay"]["exercises"] if e["name"] == "dropout_rows")["score"] is None
    assert (students["Nobody"]["state"], students["Nobody"]["score"]) == ("absent", None)
    assert set(students["Nobody"]["marks"].values()) == {None}
    assert students[clean(EVIL)]["state"] == "unreadable"
    assert students["Bo"]["marks"]["random_walk"] == 3.0


def test_the_instructor_reads_what_hidden_checks_saw_and_no_control_characters() -> None:
    text = to_text(made_class())
    assert SECRET in text
    assert not {c for c in text if ord(c) < 32} - {"\n"}
    assert "\u202e" not in text


def test_the_same_batch_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (
        {file.name: file.read_bytes() for file in write_reports(made_class(), tmp_path / name)} for name in "ab"
    )
    assert first == second


def test_reports_made_from_results_json_are_the_same(tmp_path: Path) -> None:
    files = write_reports(made_class(), tmp_path / "a")
    batch = read_document(tmp_path / "a" / "results.json")
    write_reports(batch, tmp_path / "b")
    for file in files:
        again = tmp_path / "b" / file.relative_to(tmp_path / "a")
        assert again.read_bytes() == file.read_bytes(), file


@pytest.mark.parametrize("content", ["[", "[]", '{"format": "jaxguide-results/1"}', '{"format": "jaxguide-results/2"}'])
def test_what_is_no_results_document_is_refused_in_a_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(content)
    with pytest.raises(NoResults, match=r"no JSON|Grade again"):
        read_document(path)


def test_a_damaged_document_is_refused() -> None:
    plain = to_plain(made_class())
    del plain["submissions"][0]["exercises"][0]["checks"][0]["kind"]
    with pytest.raises(NoResults, match="damaged"):
        from_plain(plain)


def test_every_student_has_files_of_their_own() -> None:
    stems = feedback_stems(["Ada", "ada", "a/b", "a b", "..", "\x1b[31m", "ada-2"])
    assert len({stem.casefold() for stem in stems.values()}) == len(stems)
    assert all("/" not in stem and stem.strip(".") for stem in stems.values())
