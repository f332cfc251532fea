"""Test that the session of `jaxguide watch` in the docs begins like one in a real terminal."""

import doctest
from pathlib import Path

import documents
import pytest
from needs import ON_THE_NEWEST

pytest.importorskip("termios", reason="it needs a Unix terminal")

from pseudo_terminal import PseudoTerminal

PAGE = documents.DOCS / "students.md"


@ON_THE_NEWEST
def test_a_session_begins_as_the_docs_show(tmp_path: Path) -> None:
    (shown,) = [command.shown for command in documents.commands(PAGE) if command.line == "jaxguide watch"]
    with PseudoTerminal("watch", folder=tmp_path) as terminal:
        seen = terminal.see("0 of")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(shown, f"{seen}\n", flags), seen
