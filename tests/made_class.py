"""A made-up class to test reports with: every state, every verdict, and text that tries to inject markup."""

from pathlib import Path
from typing import Any

import numpy as np

from jaxguide.course.verdict import CheckResult, ErrorInfo, ExerciseResult, Kind, Verdict, score
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.similarity import SimilarGroup
from jaxguide.grading.batch.submission_result import CellFact, CellState, State, SubmissionResult
from jaxguide.grading.intake.instructor_tables import Override

EVIL = "</pre><script>alert(1)</script>\x1b[31m\u202e\"&<b> =cmd|' /C calc'!A0"
SECRET = "float32[5] [0.4127, -1.6]"

EXERCISES = {
    "two_samples": ("Draw twice from one `key`", 2.0, "One key gives one draw: split it first.", "one_key_for_both"),
    "dropout_rows": ("Dropout that differs by row", 3.0, "Each row needs a key of its own.", "one_key_for_all_rows"),
    "random_walk": ("A random walk under `scan`", 3.0, "Carry the key through the loop.", "key_made_in_the_loop"),
    "guess_shape": ("What shape comes out?", 1.0, "vmap adds an axis.", ""),
    "train_step": ("A training step that traces once", 2.0, "Shapes decide about traces.", "python_number_in_jit"),
}
SAYS = {
    "one_key_for_both": "Both draws use the same key, so that they are the same number.",
    "one_key_for_all_rows": "The rows share one key, so that every row drops the same columns.",
}
FIRST = [
    *("Ada", "Bo", "Chi", "Dag", "Eva", "Fay", "Gus", "Hal", "Ida", "Jon", "Kai", "Lea", "Mia"),
    *("Ned", "Oda", "Pia", "Quy", "Ron", "Sue", "Tim", "Una", "Val", "Wim", "Xia", "Yan", "Zoe"),
]
VERSIONS = {"python": "3.12.3", "jax": "0.12.0", "jaxlib": "0.12.0", "numpy": "2.3.1", "jaxguide": "0.1.0"}


def check(name: str, verdict: Verdict, *, hidden: bool = False, kind: Kind = Kind.VALUE, **more: object) -> CheckResult:
    """Return the result of a check with this verdict."""
    stage = "traces" if kind is Kind.OBSERVED else "value"
    fact = "It holds for any input." if hidden else f"It is right where {name.replace('_', ' ')}."
    known = {"name": name, "fact": fact, "stage": stage, "kind": kind, "weight": 1.0, "hidden": hidden}
    return CheckResult(**{**known, "verdict": verdict, "required": kind is Kind.VALUE, **more})  # type: ignore[arg-type]


def exercise(name: str, verdict: Verdict, hidden_fails: bool = False) -> ExerciseResult:
    """Return the result of an exercise with this verdict."""
    title, points, idea, wrong = EXERCISES[name]
    failed: dict[str, Any] = {
        "message": "The values differ from the expected ones by up to 1.3.",
        "call": f"{name}(key<fry>[] [7 9])",
        "got": "float32[3] [0.1, 0.1, 0.1]",
        "expected": "float32[3] [0.1, -0.7, 1.2]",
        "idea": idea,
        "misconceptions": (wrong,) if wrong else (),
        "says": (SAYS.get(wrong, wrong.replace("_", " ")),) if wrong else (),
    }
    secret = {**failed, "got": SECRET, "expected": "float32[5] [9.75, 0.25]", "call": f"{name}({SECRET})"}
    passed, left = Verdict.PASSED, Verdict.NOT_CHECKED
    checks = [check("three_numbers", passed), check("any_numbers", passed, hidden=True)]
    checks.append(check("traces_once", passed, kind=Kind.OBSERVED))
    if hidden_fails:
        checks[1] = check("any_numbers", Verdict.FAILED, hidden=True, **secret)
    elif verdict is Verdict.FAILED:
        checks = [check("three_numbers", verdict, **failed), check("any_numbers", left, hidden=True)]
        checks.append(check("traces_once", left, kind=Kind.OBSERVED))
    elif verdict is Verdict.PARTLY_RIGHT:
        checks[2] = check("traces_once", Verdict.FAILED, kind=Kind.OBSERVED, **failed)
    elif verdict is Verdict.ERROR:
        error = ErrorInfo("TypeError", "unsupported operand", 12, "return key + 1")
        said = "Your code raised TypeError: unsupported operand"
        checks = [check("three_numbers", verdict, error=error, message=said), check("any_numbers", left, hidden=True)]
    elif verdict is Verdict.OUT_OF_TIME:
        said = "It computed for more than 30 s."
        checks = [check("three_numbers", verdict, message=said), check("any_numbers", left, hidden=True)]
    elif verdict in (Verdict.NOT_ATTEMPTED, Verdict.NOT_CHECKED):
        checks = [check("three_numbers", left), check("any_numbers", left, hidden=True)]
    return ExerciseResult(name, title, "random_numbers", points, verdict, score(points, checks), checks)


def made_class() -> BatchResult:
    """Return a batch with every state and verdict; it is the same each time."""
    draw = np.random.default_rng(4)
    common, rare = [Verdict.PASSED, Verdict.FAILED], [Verdict.PARTLY_RIGHT, Verdict.ERROR, Verdict.NOT_ATTEMPTED]
    submissions = []
    for place, student in enumerate(FIRST):
        skill = draw.uniform(0.35, 1.0)
        results = []
        for number, name in enumerate(EXERCISES):
            chances = [skill * (1 - 0.1 * number), (1 - skill) * 0.8]
            chances += [(1 - sum(chances)) / 3] * 3
            verdict = [*common, *rare][int(draw.choice(5, p=chances))]
            results.append(exercise(name, verdict, hidden_fails=verdict is Verdict.FAILED and place % 3 == 0))
        submissions.append(_submission(student, results, place))
    submissions[3].results[4] = exercise("train_step", Verdict.OUT_OF_TIME)
    submissions[5].results[1] = exercise("dropout_rows", Verdict.NOT_CHECKED)
    submissions[5].not_graded = {"dropout_rows": f"Not graded: a check raised TypeError: {SECRET}"}
    submissions[5].state = State.NOT_GRADED
    submissions[7].results[0].checks[0].got = submissions[7].results[0].checks[0].message = EVIL
    submissions[7].results[0].checks[0].verdict = submissions[7].results[0].verdict = Verdict.FAILED
    submissions[7].repairs = [f"code cell 3: the magic or shell line `{EVIL}` was removed, not run."]
    submissions[8].cells = [
        CellFact("random_numbers", 1, "code cell 1", CellState.RAN),
        CellFact("random_numbers", 2, "code cell 2", CellState.FAILED, "NameError: jnp"),
    ]
    evil = SubmissionResult(Path(f"class/{EVIL.replace('/', '')}.ipynb"), EVIL, State.UNREADABLE)
    evil.unreadable = "The notebook is cut off: it ends in the middle, at line 3."
    old = SubmissionResult(Path("class/Ada/old.ipynb"), "Ada", State.SUPERSEDED, digest="c" * 64)
    absent = [SubmissionResult(Path(), name, State.ABSENT) for name in ("=Absent", "Nobody")]
    submissions[1].results[2].score = 3.0
    return BatchResult(
        [*submissions, evil, old, *absent],
        course_name="spring",
        course_folder="courses/spring",
        course_digest="d" * 64,
        seed=7,
        versions=VERSIONS,
        unknown=[EVIL],
        passed_over=["class/Ada/essay.pdf", "class/Ada/helper.py"],
        similar=[SimilarGroup("random_walk", ["Ada", "Bo"], 0.9, "90 % in common")],
        overrides=[Override("Bo", "random_walk", 3.0, "the idea is right", 0.0)],
    )


def _submission(student: str, results: list[ExerciseResult], place: int) -> SubmissionResult:
    return SubmissionResult(
        Path(f"class/{student}/random_numbers.ipynb"),
        student,
        digest=f"{place:064x}",
        lessons=["random_numbers"],
        results=results,
        course_digest="d" * 64,
        versions=VERSIONS,
        cpu_s=1.25,
        wall_s=2.5,
        memory_bytes=200 * 2**20,
    )
