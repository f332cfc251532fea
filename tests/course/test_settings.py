"""Test what `course.toml` says: it is read as written, and each mistake is one sentence with file and line."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from jaxguide.cli import main
from jaxguide.course.books.folders import topics
from jaxguide.course.books.library import load_course, read_outline
from jaxguide.course.exercise import AuthorError
from jaxguide.course.limits import Limits
from jaxguide.course.settings import CourseSettings, read_settings, write_settings

WHOLE = """\
title = "JAX für alle"
lessons = ["tiny"]
files = ["data/a.txt"]
x64 = true
devices = 4

[limits]
cpu = "5s"
total-cpu = 120
memory = "1.5GB"
wall-factor = 2.5

[environment]
SURVEY = "spring"
"""

MISTAKES = {
    "no TOML": ('title = "x\nlessons = []\n', 1, "this is not TOML: "),
    "an unknown setting": (
        'title = "x"\nlesson = ["tiny"]\n',
        2,
        "there is no setting `lesson`. Did you mean `lessons`?",
    ),
    "an unknown table": ('title = "x"\n[limit]\ncpu = 3\n', 2, "there is no setting `limit`. Did you mean `limits`?"),
    "an identity with a space": ('identity = "my course"\n', 1, "`identity` must be small letters, digits and hyphens"),
    "an identity that leads elsewhere": ('identity = "../x"\n', 1, "`identity` must be small letters"),
    "the identity of another": ('identity = "jaxguide"\n', 1, "is the identity of the course that comes with jaxguide"),
    "a title that is no text": ("title = 3\n", 1, "`title` must be a line of text such as"),
    "lessons that are no list": ('\nlessons = "tiny"\n', 2, "`lessons` must be a list of texts such as"),
    "a lesson that is no text": ('lessons = ["tiny", 3]\n', 1, 'but got ["tiny", 3]'),
    "a lesson without a book": (
        'lessons = [\n  "tinny",\n]\n',
        2,
        "there is no book `tinny.py` in exercises/. Did you mean `tiny`?",
    ),
    "a lesson listed twice": ('lessons = ["tiny",\n "tiny"]\n', 1, '`lessons` lists "tiny" twice'),
    "files that are no list": ('files = "a.txt"\n', 1, "`files` must be a list of texts"),
    "a file that is not there": ('files = [\n "a.txt",\n "b.txt"]\n', 3, "there is no file `b.txt` in exercises/"),
    "a hidden file": ('files = [".secret"]\n', 1, "`.secret` begins with a dot"),
    "a book as a file": ('files = ["tiny.py"]\n', 1, "`tiny.py` would be taken for a lesson"),
    **{
        f"a name that leads elsewhere: {name}": (
            f"files = ['{name}']\n",
            1,
            f"`{name}` is not the name of a file below",
        )
        for name in (
            "../solutions/tiny.py",
            "/etc/passwd",
            "a/../a.txt",
            "./a.txt",
            "C:/a.txt",
            "..\\a.txt",
            "a//b",
            "",
        )
    },
    "a link that leads out": ('files = ["link.txt"]\n', 1, "`link.txt` is a link that leads out of exercises/"),
    "no requirement": ('requirements = ["optax>>2"]\n', 1, '"optax>>2" is not a requirement such as `optax>=0.2`'),
    "x64 that is no bool": ('x64 = "yes"\n', 1, "`x64` must be true, false or a list of lessons such as"),
    "x64 of no lesson": ('x64 = [\n"tinny"]\n', 2, "there is no book `tinny.py` in exercises/. Did you mean `tiny`?"),
    "no devices": ("devices = 0\n", 1, "`devices` must be a whole number from 1 to 64, but got 0"),
    "devices that are true": ("devices = true\n", 1, "`devices` must be a whole number"),
    "a variable that is no text": ("[environment]\nA = 3\n", 2, "`A` must be a text"),
    "a variable without a name": ('[environment]\n"A B" = "c"\n', 2, "`A B` cannot be the name"),
    "a variable that is a setting": (
        '[environment]\nJAX_ENABLE_X64 = "1"\n',
        2,
        "`JAX_ENABLE_X64` cannot be set here; use the setting `x64`",
    ),
    "a variable of the grader": ('[environment]\nPYTHONPATH = "."\n', 2, "because graders set it"),
    "limits that are no table": ('limits = "cpu=3"\n', 1, "`limits` must be a table with lines such as"),
    "an unknown limit": ("[limits]\ncpus = 3\n", 2, "There is no limit `cpus`. Did you mean `cpu`?"),
    "a limit of another kind": ("[limits]\ncpu = true\n", 2, "`cpu` must be a number, or a text such as"),
    "a limit out of its range": ('[limits]\nidle = "1s"\ncpu = "0.01s"\n', 3, "The limit `cpu` must be from 0.1 s to"),
    "dropped without a table": ('dropped = ["old"]\n', 1, "`dropped` must be a table with lines such as old_name ="),
    "dropped for no name": ("[dropped]\nold = 1\n", 1, "`dropped` must be a table"),
    "limits that contradict": ("[limits]\ncpu = 700\n", 1, "is above `total-cpu`"),
}


def test_it_is_read_as_written(tiny: Path) -> None:
    (tiny / "exercises" / "data").mkdir()
    (tiny / "exercises" / "data" / "a.txt").touch()
    (tiny / "course.toml").write_text(WHOLE, "utf-8")
    limits = Limits(cpu_s=5.0, total_cpu_s=120.0, memory_bytes=3 * 2**29, wall_factor=2.5)
    assert read_settings(tiny) == CourseSettings(
        title="JAX für alle",
        lessons=("tiny",),
        files=("data/a.txt",),
        x64=True,
        devices=4,
        environment={"SURVEY": "spring"},
        limits=limits,
    )
    assert read_outline(tiny).settings == read_settings(tiny)


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        "",
        '[dropped]\nold = "new"\n"größe" = ""\n',
        'identity = "a-1"\n[environment]\nA = "\\"\\\\\\u007F\\tü\\U0001F600"\n',
    ],
)
def test_what_is_written_is_read_as_the_same(tiny: Path, text: str) -> None:
    (tiny / "exercises" / "data").mkdir()
    (tiny / "exercises" / "data" / "a.txt").touch()
    (tiny / "course.toml").write_text(text, "utf-8")
    settings = read_settings(tiny)
    (tiny / "course.toml").write_text(write_settings(settings), "utf-8")
    assert read_settings(tiny) == settings


@pytest.mark.parametrize(
    ("line", "said"),
    [('old = "new"', "`old` is replaced by `new`, but there"), ('NAME = ""', "`NAME` is dropped, but is still")],
)
def test_what_is_dropped_is_no_exercise_and_what_has_replaced_it_is_one(tiny: Path, line: str, said: str) -> None:
    name = next(iter(read_outline(tiny).exercises))
    (tiny / "course.toml").write_text(f'[dropped]\nold = "{name}"\nolder = ""\n')
    assert load_course(tiny).settings.dropped == {"old": name, "older": ""}
    (tiny / "course.toml").write_text(f"[dropped]\n{line.replace('NAME', name)}\n")
    for load in (read_outline, load_course):
        with pytest.raises(AuthorError, match=said.replace("NAME", name)):
            load(tiny)


def test_without_it_all_settings_are_defaults(tiny: Path) -> None:
    assert read_settings(tiny) == load_course(tiny).settings == CourseSettings()


@pytest.mark.parametrize(("text", "line", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_sentence_with_file_and_line(tiny: Path, text: str, line: int, said: str) -> None:
    (tiny / "exercises" / "a.txt").touch()
    (tiny / "exercises" / "link.txt").symlink_to(tiny / "solutions" / "tiny.py")
    (tiny / "course.toml").write_text(text)
    with pytest.raises(AuthorError) as caught:
        read_settings(tiny)
    assert str(caught.value).startswith(f"{tiny / 'course.toml'}:{line}: "), caught.value
    assert said in caught.value.message
    assert "\n" not in caught.value.message


def test_what_cannot_be_read_is_told(tiny: Path) -> None:
    (tiny / "course.toml").write_bytes(b"\xff")
    with pytest.raises(AuthorError, match=r"course\.toml:1: cannot be read: "):
        load_course(tiny)


def test_a_mistake_ends_a_command_with_status_3_but_names_are_still_completed(tiny: Path) -> None:
    (tiny / "course.toml").write_text("lesson = []\n")
    done = CliRunner().invoke(main, ["list", "--course", str(tiny)])
    assert (done.exit_code, "course.toml:1: there is no setting `lesson`." in done.stderr) == (3, True)
    assert topics(tiny) == ["tiny"]
