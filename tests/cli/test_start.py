"""Test that `jaxguide start` creates the workspace, says so, and runs JupyterLab on it until it is stopped."""

import importlib.util
import re
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from lab_server import StartedLab, free_port
from needs import ON_THE_NEWEST

from jaxguide import compat
from jaxguide.cli import start as start_module
from jaxguide.course.books.folders import course_folders

LESSON = "random_numbers.ipynb"


def status_of(address: str) -> int:
    try:
        with urllib.request.urlopen(address, timeout=30) as answer:
            status: int = answer.status
            return status
    except urllib.error.HTTPError as error:
        return error.code


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("localhost", port)) == 0


@ON_THE_NEWEST
@pytest.mark.timeout(300)
def test_it_serves_the_workspace_until_ctrl_c_and_keeps_what_is_the_students(tmp_path: Path) -> None:
    with StartedLab(tmp_path) as lab:
        assert status_of(f"{lab.address}/lab/workspaces/jaxguide/tree/index.md?token={lab.token}") == 200
        assert status_of(f"{lab.address}/api/contents/{LESSON}?token={lab.token}") == 200
        assert status_of(f"{lab.address}/api/contents/{LESSON}") == 403
        assert (lab.workspace / LESSON).read_bytes() == (course_folders().notebooks / LESSON).read_bytes()
        assert lab.stop() == 0
    said = lab.said()
    assert re.search(rf"{LESSON} +new$", said, re.MULTILINE)
    assert "JupyterLab has stopped." in said
    assert "Traceback" not in said
    assert not is_listening(lab.port)

    (lab.workspace / LESSON).write_text("mine")
    with StartedLab(tmp_path) as lab:
        assert (lab.workspace / LESSON).read_text() == "mine"
    assert re.search(rf"{LESSON} +yours, kept as it is$", lab.said(), re.MULTILINE)
    assert re.search(r"autodiff\.ipynb +already there, unchanged$", lab.said(), re.MULTILINE)
    assert not (lab.workspace / "random_numbers.py").exists()


@ON_THE_NEWEST
@pytest.mark.timeout(300)
def test_a_home_folder_that_cannot_be_written_is_none_of_its_business(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with StartedLab(tmp_path, home=tmp_path / "file" / "home") as lab:
        assert status_of(f"{lab.address}/lab?token={lab.token}") == 200
        assert lab.stop() == 0
    assert "Your home folder is not writable" in lab.said()


@pytest.mark.timeout(300)
@ON_THE_NEWEST
def test_a_port_that_is_taken_is_an_error(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        lab = StartedLab(tmp_path)
        lab.port = other.getsockname()[1]
        with pytest.raises(AssertionError, match="gave no address"):
            lab.__enter__()
    assert lab.process.wait() in (1, -9)
    assert str(lab.port) in lab.said()
    assert "JupyterLab ended with status 1." in lab.said()


def test_without_jupyterlab_one_sentence_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = CliRunner().invoke(start_module.start, ["--workspace", str(tmp_path / "mine"), "--no-browser"])
    assert result.exit_code == 1
    assert '-m pip install "jaxguide[notebook]"' in result.stderr
    assert len(result.stderr.splitlines()) == 1
    laid = {path.name for path in (tmp_path / "mine").iterdir()}
    assert {"index.md", LESSON} < laid, "lessons must be there even without JupyterLab"


def test_a_workspace_has_the_index_and_the_notebooks_and_plain_files_for_the_asking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    def laid(*options: str) -> set[str]:
        CliRunner().invoke(start_module.start, ["--workspace", str(tmp_path / "mine"), *options])
        return {path.name for path in (tmp_path / "mine").iterdir()}

    lessons = {path.stem for path in course_folders().exercises.glob("*.py")}
    notebooks = {f"{lesson}.ipynb" for lesson in lessons}
    assert laid() == {"index.md"} | notebooks
    assert laid("--py") == {"index.md"} | notebooks | {f"{lesson}.py" for lesson in lessons}


def test_a_workspace_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    result = CliRunner().invoke(start_module.start, ["--workspace", str(tmp_path / "file" / "mine"), "--no-browser"])
    assert result.exit_code == 1
    assert result.stderr.startswith("The workspace could not be created: ")
    assert len(result.stderr.splitlines()) == 1


def test_kernels_get_the_flag_that_cures_debug_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=true")
    monkeypatch.setattr(compat, "print_flag", lambda version: "--cure=1")
    server = start_module._Server(tmp_path, False, free_port(), "localhost")
    assert server.environment()["XLA_FLAGS"].split() == ["--xla_cpu_multi_thread_eigen=true", "--cure=1"]


def test_the_token_is_on_no_command_line(tmp_path: Path) -> None:
    server = start_module._Server(tmp_path, False, None, "localhost")
    assert server.token
    assert not any(server.token in word for word in server.command)
