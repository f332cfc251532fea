"""Test README and docs: write their files, run their commands and programs, and check output, names and links."""

import doctest
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import documents
import pytest
from documents import DOCS, PAGES, README, ROOT
from needs import ON_THE_NEWEST

from jaxguide import callbacks, debug, keys, tracing
from jaxguide.cli import main
from jaxguide.course import author
from jaxguide.course.books.library import read_outline
from jaxguide.course.judging.answer import Answer
from jaxguide.course.judging.draw import Draw

# Commands that run elsewhere, and where.
ELSEWHERE = {
    "make start": ".ci/bare",
    "make test": ".ci/bare",
    "jaxguide watch": "tests/student/test_watch_in_docs.py",
    "jaxguide start --course physics.zip --workspace physics": "tests/student/test_handed_out.py",
}
STATUS = {"jaxguide check my_answers.py two_samples": 1}
# Some of what each page's program prints.
PRINTS = {
    "docs/students.md": (
        "Random numbers (random_numbers)\n  0 of 9 core exercises done · 0 of 7 more beyond it",
        "✗ Not right yet: Two independent samples (two_samples)",
        "Hint 1 of 4 · Two independent samples (two_samples)",
        "The solution of `two_samples` opens once you pass. To see it before, check 2",
        "0 of 9 core exercises done · 0 of 7 more beyond it · 0 of 35 ",
        "points · 1 hint read",
    ),
    "docs/helpers.md": (
        "argument `batch` was float32[8,3] and is now float32[5,3]",
        "harmless forward, dangerous for the gradient",
        "Keys of train_step: 3 keys made, 3 draws, 1 key reused, 1 key not used.",
        "`if` needs a known value, but `x` is traced",
        "Host calls of descend: 3 calls of 1 callback",
        "c = dot_general b table",
        "| static  _  0 → 1",
    ),
}
OTHER_OPTIONS = {"--no-deps", "--python", "--resolution", "--compile-bytecode"}  # of the tests, pip and uv
FILES = {"jaxguide.po"}  # file names that look like names of modules
IMAGES_LIMIT_BYTES = 300_000

WITH_COMMANDS = [page for page in PAGES if {one.line for one in documents.commands(page)} - {*ELSEWHERE}]
WITH_A_PROGRAM = [page for page in PAGES if documents.program(page)]

every_page = pytest.mark.parametrize("page", PAGES, ids=documents.name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files that the pages show and the repository's examples."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in documents.files().items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_the_two_commands_stand_on_top() -> None:
    assert [command.line for command in documents.commands(README)[:2]] == ["make start", "make test"]


@every_page
def test_each_block_is_run_by_a_test(page: Path) -> None:
    assert {block.language for block in documents.blocks(page)} <= {"console", "python", "text", "toml"}
    assert all(block.file for block in documents.blocks(page) if block.language == "toml")
    assert bool(documents.program(page)) == (documents.name(page) in PRINTS)
    for command in documents.commands(page):
        assert command.line in ELSEWHERE or command.line.startswith("jaxguide "), command.line
    typed = {word.strip("/") for one in PAGES for command in documents.commands(one) for word in command.line.split()}
    for block in documents.blocks(page):
        if block.file:
            assert typed & {block.file, *(parent.as_posix() for parent in Path(block.file).parents)}, block.file


def test_what_runs_elsewhere_is_shown_and_run_there() -> None:
    assert {command.line for page in PAGES for command in documents.commands(page)} >= {*ELSEWHERE, *STATUS}
    for command, where in ELSEWHERE.items():
        assert command.removeprefix("jaxguide ") in (ROOT / where).read_text(), command


@ON_THE_NEWEST
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=documents.name)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, folder: Path) -> None:
    checker = doctest.OutputChecker()
    for command in documents.commands(page):
        if command.line in ELSEWHERE:
            continue
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(command.line)],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "COLUMNS": "130"},
        )
        assert done.returncode == STATUS.get(command.line, 0), f"{command.line}\n{done.stderr}"
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert checker.check_output(command.shown, done.stdout, flags), f"{command.line}\n{done.stdout}"


@ON_THE_NEWEST
@pytest.mark.parametrize("page", WITH_A_PROGRAM, ids=documents.name)
def test_the_examples_of_a_page_run_as_one_program(page: Path, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(documents.program(page))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in PRINTS[documents.name(page)]:
        assert words in done.stdout
    for block in documents.blocks(page):
        if block.language == "text":
            assert _without_places(block.text) in _without_places(done.stdout)


def _without_places(text: str) -> str:
    return " ".join(re.sub(r"(\w+\.py, )?line \d+", "a line", text).split())  # a page breaks long lines


@pytest.mark.long
def test_the_documented_book_runs_as_a_script(folder: Path) -> None:
    book = folder / "my_course" / "exercises" / "hello.py"
    subprocess.run([sys.executable, str(book)], check=True, cwd=folder)


@every_page
def test_each_link_leads_somewhere(page: Path) -> None:
    for link in documents.links(page):
        if "://" in link.target:
            continue
        file, _hash, anchor = link.target.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link.target
        assert target.is_relative_to(ROOT), link.target
        if anchor:
            assert anchor in documents.anchors(target), link.target


def test_the_index_of_docs_lists_each_page() -> None:
    listed = {link.target for link in documents.links(DOCS / "README.md")}
    pages = {page.name for page in DOCS.glob("*.md") if not page.name.startswith("_")}
    assert pages - {"README.md"} <= listed


def test_images_are_shown_described_and_small() -> None:
    shown = [(page, link) for page in PAGES for link in documents.links(page) if link.is_image]
    assert all(len(link.text) > 50 for _page, link in shown), "an image's description must say what it shows"
    files = {path.resolve() for path in (DOCS / "images").iterdir()}
    assert files == {(page.parent / link.target).resolve() for page, link in shown}
    assert sum(path.stat().st_size for path in files) < IMAGES_LIMIT_BYTES


def test_the_table_of_lessons_is_that_of_the_course() -> None:
    row = re.compile(r"^\| (\d) \| \[`(\w+)`\]\(notebooks/(\w+).ipynb\) \|.*?\| (\d+) \|", re.MULTILINE)
    rows = row.findall(README.read_text("utf-8"))
    books = read_outline().books
    assert rows == [(str(i), n, n, str(len(b.exercises))) for i, (n, b) in enumerate(books.items(), 1)]


@every_page
def test_each_command_option_and_name_in_a_sentence_exists(page: Path) -> None:
    context = click.Context(main)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    known = set(OTHER_OPTIONS)
    for name in main.list_commands(context):
        known |= _options(main.get_command(context, name))
    for code in documents.inline_code(page):
        words = code.split()
        if words[0] == "jaxguide" and len(words) > 1:
            command = main.get_command(context, words[1])
            assert command is not None, code
            assert {word for word in words if word.startswith("--")} <= _options(command), code
        elif words[0] == "make" and len(words) > 1:
            assert words[1] in targets, code
        elif words[0] == "python" and len(words) > 1:
            assert (ROOT / words[1]).is_file(), code
        elif (found := re.match(r"(?:with |@)?(jaxguide(?:\.\w+)+)", code)) and code not in FILES:
            pkgutil.resolve_name(found[1])
        for option in re.findall(r"(?<!\S)--[a-z-]+", code):
            assert option in known, code


def _options(command: click.Command | None) -> set[str]:
    assert command is not None
    found = {"--help"} | {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    for one in command.commands.values() if isinstance(command, click.Group) else ():
        found |= _options(one)
    return found


def test_the_page_of_helpers_has_all_of_them() -> None:
    named = "\n".join(documents.inline_code(DOCS / "helpers.md"))
    for module in (callbacks, debug, keys, tracing):
        for name in module.__all__:
            if name[0].islower() or name == "KeyStream":
                assert re.search(rf"\b{module.__name__}\.{name}\b", named), name


def test_the_page_of_checks_has_all_that_authors_use() -> None:
    named = "\n".join(documents.inline_code(DOCS / "checks.md"))
    methods = [f"answer.{name}" for name in vars(Answer) if name[0] != "_"]
    methods += [f"draw.{name}" for name in vars(Draw) if name[0] != "_" and name != "hidden"]
    for name in (*author.__all__, *methods):
        assert re.search(rf"(?<!\w){re.escape(name)}\b", named), name


def test_readme_counts_the_documented_examples_that_exercises_reproduce() -> None:
    course, text = read_outline(), README.read_text()
    claimed = {example for one in course.exercises.values() for example in one.reproduces}
    assert f"The exercises reproduce {len(claimed)} examples" in text
