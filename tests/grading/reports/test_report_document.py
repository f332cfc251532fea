"""Test that `results.json` follows its schema, is complete, and gives the same reports when read back."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from made_class import EVIL, SECRET, made_class

from jaxguide.base.clean import clean
from jaxguide.course.verdict import STAGES, Kind, Verdict
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import State
from jaxguide.grading.reports import write_reports
from jaxguide.grading.reports.results_json import (
    RESULTS_FORMAT,
    SCHEMA,
    NoResults,
    feedback_stems,
    read_document,
    to_text,
)


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json.loads(SCHEMA.read_text("utf-8"))


def test_the_schema_is_one(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


def test_results_follow_the_schema(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(schema).validate(json.loads(to_text(made_class())))
    jsonschema.Draft202012Validator(schema).validate(json.loads(to_text(BatchResult([]))))


def test_the_schema_refuses_what_is_not_as_it_says(schema: dict[str, Any]) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    for change in ({"format": "jaxguide-results/2"}, {"seed": "7"}, {"extra": 1}, {"complete": None}):
        assert not validator.is_valid({**json.loads(to_text(made_class())), **change}), change


def test_the_schema_knows_every_word_that_can_stand_there(schema: dict[str, Any]) -> None:
    words = schema["$defs"]
    assert set(words["verdict"]["enum"]) >= set(Verdict)
    assert set(words["state"]["enum"]) == set(State)
    assert set(words["check"]["properties"]["kind"]["enum"]) == set(Kind)
    assert set(words["check"]["properties"]["stage"]["enum"]) == set(STAGES)
    assert schema["properties"]["format"]["const"] == RESULTS_FORMAT


def test_no_mark_is_null_and_never_zero() -> None:
    plain = json.loads(to_text(made_class()))
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


@pytest.mark.parametrize("batch", [made_class(), BatchResult([])], ids=["a class", "nobody"])
def test_the_text_is_indented_as_json_is(batch: BatchResult) -> None:
    assert to_text(batch) == json.dumps(json.loads(to_text(batch)), indent=2, ensure_ascii=False) + "\n"


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


def test_feedback_of_who_is_gone_is_removed_and_no_file_of_the_instructor(tmp_path: Path) -> None:
    batch, folder = made_class(), tmp_path / "feedback"
    write_reports(batch, tmp_path)
    before = {path.name for path in folder.iterdir()}
    mine = {"notes.txt": "For all.", "mine.html": "<p>Mine.", "mine.txt": "Mine.", "Ada.pdf": "%PDF", "Zoe.html~": ""}
    for name, text in mine.items():
        (folder / name).write_text(text)
    (folder / "old").mkdir()
    (folder / "old" / "Zoe.html").write_bytes((folder / "Zoe.html").read_bytes())
    (folder / "other.html").mkdir()
    batch.submissions = [one for one in batch.submissions if one.student != "Zoe"]
    write_reports(batch, tmp_path)
    gone = {"Zoe.html", "Zoe.txt"}
    assert {path.name for path in folder.iterdir()} == (before - gone) | set(mine) | {"old", "other.html"}
    assert (folder / "old" / "Zoe.html").is_file()
    assert {name: (folder / name).read_text() for name in mine} == mine


def test_feedback_that_an_interruption_left_is_removed_the_next_time(tmp_path: Path) -> None:
    batch = made_class()
    write_reports(batch, tmp_path)
    (tmp_path / "feedback" / "Zoe.txt").unlink()
    batch.submissions = [one for one in batch.submissions if one.student != "Zoe"]
    write_reports(batch, tmp_path)
    assert not (tmp_path / "feedback" / "Zoe.html").exists()


def test_a_class_of_nobody_removes_the_last_page(tmp_path: Path) -> None:
    write_reports(BatchResult([]), tmp_path)
    write_reports(made_class(), tmp_path)
    write_reports(BatchResult([]), tmp_path)
    assert list((tmp_path / "feedback").iterdir()) == []


@pytest.mark.parametrize("content", ["[", "[]", '{"format": "jaxguide-results/2"}', '{"format": "jaxguide-results/3"}'])
def test_what_is_no_results_document_is_refused_in_a_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(content)
    with pytest.raises(NoResults, match=r"not valid JSON|Grade again"):
        read_document(path)


@pytest.mark.parametrize("lost", [("state",), ("exercises", 0, "title"), ("exercises", 0, "checks", 0, "kind")])
def test_a_damaged_document_is_refused(tmp_path: Path, lost: tuple[str | int, ...]) -> None:
    plain = json.loads(to_text(made_class()))
    *path, name = lost
    damaged = plain["submissions"][0]
    for step in path:
        damaged = damaged[step]
    del damaged[name]
    (tmp_path / "results.json").write_text(json.dumps(plain))
    with pytest.raises(NoResults, match="damaged"):
        read_document(tmp_path / "results.json")


def test_every_student_has_files_of_their_own() -> None:
    stems = feedback_stems(["Ada", "ada", "a/b", "a b", "..", "\x1b[31m", "ada-2"])
    assert len({stem.casefold() for stem in stems.values()}) == len(stems)
    assert all("/" not in stem and stem.strip(".") for stem in stems.values())
