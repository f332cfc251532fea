"""Test that all text of a session in the terminal can be translated, except names and code."""

import re
from pathlib import Path

import pytest
from made_up_language import NAME, words_outside, write_course, write_package
from needs import first_of
from two_lessons import answer

pytest.importorskip("termios", reason="it needs a Unix terminal")

from pseudo_terminal import PseudoTerminal

from jaxguide.course.books.library import Course

NAMES = {"multiply", "more", "double", "triple", "predict", "size", "quadruple", "py", "ipynb", "jaxguide"}
NAMES |= {"Array", "dtype", "float", "Esc", "SIGABRT", "SyntaxError", "workspace"}


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory, course: Course) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("catalogues")
    write_package(folder)
    write_course(folder, course.folders)
    return {"JAXGUIDE_LANG": NAME, "JAXGUIDE_CATALOGUES": str(folder)}


def left(terminal: PseudoTerminal, workspace: Path) -> set[str]:
    """Return the untranslated words in a terminal, except the workspace's path and known names."""
    text = "".join(terminal.text.replace("\n", " ").split(str(workspace)))
    return set(words_outside(re.sub(r"\s+", " ", text), NAMES))


@pytest.mark.long
def test_a_session_says_nothing_that_cannot_be_translated(
    course: Course, workspace: Path, variables: dict[str, str]
) -> None:
    file = workspace / "multiply.py"
    place = course.folders.exercises.parent
    arguments = ("watch", "--course", place, "--cpu-limit", 3, workspace)
    with PseudoTerminal(*arguments, folder=workspace.parent, columns=200, environment=variables) as terminal:
        assert "⟦Return {factor} times float32[n].⟧".format(factor="2.0") in terminal.wait_for("q quit")
        answer(file, "double", "return 3 * x")
        assert "⟦One factor for all.⟧" in terminal.wait_for("q quit")
        answer(file, "double", "import os; os.abort()")
        terminal.wait_for("q quit")
        answer(file, "double", "return 2 *")
        terminal.wait_for("q quit")
        for key, words in (("h", "How?"), ("s", "press s again"), ("l", "q quit"), ("r", "Press y for yes")):
            terminal.press(key)
            terminal.wait_for(words)
        terminal.press("n")
        terminal.wait_for("q quit")
        terminal.press("n")
        terminal.wait_for("q quit")
        answer(file, "predict_size", "return 5")
        terminal.wait_for("Press Enter to lock it")
        terminal.press("\r")
        assert "⟦JAX gives⟧" in terminal.wait_for("q quit")
        terminal.press("q")
        assert terminal.wait() == 0
        assert left(terminal, workspace) == set()


@pytest.mark.parametrize("command", first_of([["next"], ["list", "--all"], ["progress"], ["hint", "double"]], 1))
def test_a_command_says_nothing_that_cannot_be_translated(
    command: list[str], course: Course, workspace: Path, variables: dict[str, str]
) -> None:
    arguments = [*command, "--course", course.folders.exercises.parent]
    with PseudoTerminal(*arguments, folder=workspace, columns=200, environment=variables) as terminal:
        assert terminal.wait() == 0
        assert "⟦" in terminal.text
        assert left(terminal, workspace) == set()
