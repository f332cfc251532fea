"""Test which exercises a test run proves: all that were edited, and a thirtieth of the course without green records."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from proof_records import ALL, PARTS, Digests, Plan, Records, course_digests, plan

from jaxguide.course.books.library import read_outline

NAMES = [f"exercise_{number}" for number in range(150)]
DIGESTS = Digests("5eed" * 16, {name: f"book of {name}" for name in NAMES})


def edited(name: str, *, digests: Digests = DIGESTS) -> Digests:
    return dataclasses.replace(digests, texts={**digests.texts, name: "another book"})


def run(records: Records, digests: Digests = DIGESTS) -> Plan:
    """Plan a run, and record it as green."""
    made = plan(digests, records)
    for name in made.chosen:
        records.write(name, digests)
    return made


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(tmp_path)


def test_eight_runs_prove_everything_once_and_then_nothing_is_due(records: Records) -> None:
    runs = [run(records) for _run in range(PARTS)]
    assert sorted(made.part or 0 for made in runs) == [*range(1, PARTS + 1)]
    assert max(len(made.chosen) for made in runs) <= -(-len(NAMES) // PARTS)
    assert sorted(name for made in runs for name in made.chosen) == sorted(NAMES)
    assert [made.recorded for made in runs] == [sum(len(one.chosen) for one in runs[:n]) for n in range(PARTS)]
    last = plan(DIGESTS, records)
    assert (last.part, last.chosen, last.recorded) == (None, (), 150)
    assert str(last) == "proof: 0 of 150 exercises; 150 had green records"


def test_the_part_is_chosen_by_the_digests_and_can_be_repeated(records: Records) -> None:
    made = plan(DIGESTS, records)
    assert made == plan(DIGESTS, records)
    assert str(made) == f"proof: part {made.part} of {PARTS}: {len(made.chosen)} of 150 exercises; 0 had green records"
    run(records)
    assert plan(DIGESTS, records).part != made.part
    assert plan(DIGESTS, records, str(made.part)).chosen == made.chosen
    firsts = {plan(dataclasses.replace(DIGESTS, common=f"{n:064x}"[::-1]), records).chosen for n in range(PARTS)}
    assert len(firsts) == PARTS


def test_what_did_not_pass_is_due_again(records: Records) -> None:
    made = plan(DIGESTS, records)
    for name in made.chosen[1:]:
        records.write(name, DIGESTS)
    again = plan(DIGESTS, records)
    assert (again.part, again.chosen) == (made.part, made.chosen[:1])


def test_an_edited_exercise_is_proven_in_every_case(records: Records) -> None:
    first = run(records)
    name = first.chosen[3]
    made = plan(edited(name), records)
    assert made.part != first.part
    assert made.changed == (name,)
    assert name in made.chosen
    assert len(made.chosen) <= 20
    assert "(1 changed)" in str(made)
    for _run in range(PARTS):
        run(records, edited(name))
    assert plan(edited(name), records).chosen == ()
    assert plan(DIGESTS, records).chosen == (name,)


def test_where_a_module_or_a_version_changed_a_part_is_due(records: Records) -> None:
    for _run in range(PARTS):
        run(records)
    newer = dataclasses.replace(DIGESTS, common="beef" * 16)
    made = plan(newer, records)
    assert (len(made.chosen), made.changed, made.recorded) == (len(NAMES) // PARTS, (), 0)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"exercise": "other"}', "\xff\x00"])
def test_a_lost_or_damaged_record_means_to_prove_again(records: Records, content: str) -> None:
    for _run in range(PARTS):
        run(records)
    assert records.folder is not None
    path = records.folder / "exercise_7.json"
    assert json.loads(path.read_text())["exercise"] == "exercise_7"
    path.write_text(content, encoding="latin-1")
    assert plan(DIGESTS, records).chosen == ("exercise_7",)
    path.unlink()
    assert plan(DIGESTS, records).chosen == ("exercise_7",)


def test_all_and_nowhere_to_write() -> None:
    records = Records(None)
    run(records)
    made = plan(DIGESTS, records, ALL)
    assert (made.part, len(made.chosen), made.recorded) == (None, 150, 0)


@pytest.mark.long
def test_exercises_share_the_digest_of_their_book_and_key_alone() -> None:
    digests = course_digests()
    assert digests.texts.keys() == read_outline().exercises.keys()
    assert len(set(digests.texts.values())) == len(read_outline().books)
    assert len(digests.common) == 64


@pytest.mark.long
def test_a_run_says_what_it_proves_and_leaves_the_rest_out(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-o", f"cache_dir={tmp_path}", "--prove=3"]
    course = Path(__file__).with_name("test_course.py")
    done = subprocess.run([*command, course], capture_output=True, text=True, cwd=course.parents[2])
    chosen = [line for line in done.stdout.splitlines() if "::test_the_exercise_is_proven[" in line]
    total = len(read_outline().exercises)
    assert len(chosen) in (total // PARTS, -(-total // PARTS))
    assert f"proof: part 3 of {PARTS}: {len(chosen)} of {total} exercises; 0 had green records" in done.stdout
    named = f"{course}::test_the_exercise_is_proven"
    done = subprocess.run([*command, named], capture_output=True, text=True, cwd=course.parents[2])
    assert done.stdout.count("::test_the_exercise_is_proven[") == total
