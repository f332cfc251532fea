"""Test that a submission cannot read the key, other submissions or the grader's memory, whatever it tries."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from needs import lacks
from small_course import write_course

from jaxguide.course.books.library import Course
from jaxguide.course.judging.evaluate import Request
from jaxguide.grading.isolation import landlock
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.workers.worker_process import Surroundings, WorkerProcess

SECRET = "the secret of the key"

WAYS = {
    "open": "open(KEY).read()",
    "open bytes": "open(os.fsencode(KEY), 'rb').read()",
    "open relative": "(os.chdir(os.path.dirname(KEY) + '/..'), open('solutions/' + os.path.basename(KEY)).read())",
    "pathlib": "__import__('pathlib').Path(KEY).read_text()",
    "os.open": "os.read(os.open(KEY, os.O_RDONLY), 10**5)",
    "listdir": "os.listdir(os.path.dirname(KEY))",
    "scandir": "list(os.scandir(os.path.dirname(KEY)))",
    "walk": "[names for _f, _d, names in os.walk(os.path.dirname(KEY))][0]",
    "glob": "__import__('glob').glob(os.path.dirname(KEY) + '/*')[0]",
    "linecache": "__import__('linecache').getlines(KEY)[0]",
    "import by path": "load(KEY).SECRET",
    "import from sys.path": "(sys.path.insert(0, os.path.dirname(KEY)), __import__('small_numbers').SECRET)",
    "import solutions": "(sys.path.insert(0, os.path.dirname(os.path.dirname(KEY))),"
    " importlib.import_module('solutions.small_numbers').SECRET)",
    "runpy": "__import__('runpy').run_path(KEY)",
    "numpy.load": "np.load(KEY, allow_pickle=True)",
    "numpy.loadtxt": "np.loadtxt(KEY, dtype=str)",
    "numpy.fromfile": "bytes(np.fromfile(KEY, np.uint8))",
    "numpy.memmap": "bytes(np.memmap(KEY, np.uint8, 'r'))",
    "shutil": "(__import__('shutil').copy(KEY, 'stolen'), open('stolen').read())",
    "hard link": "(os.link(KEY, 'linked'), open('linked').read())",
    "symbolic link": "(os.symlink(KEY, 'linked'), open('linked').read())",
    "through proc": "open('/proc/self/root' + KEY).read()",
    "through cwd": "open('/proc/self/cwd/' + os.path.relpath(KEY)).read()",
    "ctypes": "ctypes_read(KEY)",
    "cat": "subprocess.run(['cat', KEY], capture_output=True, text=True, check=True).stdout",
    "shell": "os.popen('cat ' + KEY).read() or 1 / 0",
    "sqlite": "__import__('sqlite3').connect(KEY).execute('select * from sqlite_master').fetchall()",
    "source of a check": "inspect.getsource(load(KEY))",
}

DEEPER = {
    "another submission": "open(OTHER).read()",
    "the book": "open(KEY.replace('solutions', 'exercises')).read()",
    "the clone": "open(inspect.getfile(importlib.import_module('jaxguide'))[:-20] + 'pyproject.toml').read()",
    "the history of the clone": "os.listdir(inspect.getfile(importlib.import_module('jaxguide'))[:-20] + '.git')",
    "the grader's memory": "open(f'/proc/{os.getppid()}/mem', 'rb').read(1)",
    "the grader's environment": "open(f'/proc/{os.getppid()}/environ', 'rb').read()",
    "the grader's descriptors": "os.listdir(f'/proc/{os.getppid()}/fd')",
    "the folder of all processes": "os.listdir('/proc')",
    "home": "os.listdir('/root')",
    "the root folder": "os.listdir('/')",
    "the folder of scratches": "os.listdir(os.path.dirname(os.getcwd()))",
    "who has an account": "open('/etc/passwd').read()",
    "write into Python": "open(os.__file__, 'r+')",
    "write into jaxguide": "open(inspect.getfile(importlib.import_module('jaxguide'))[:-11] + 'evil.py', 'w')",
    "write elsewhere": "open(os.path.dirname(os.getcwd()) + '/stray', 'w')",
    "a new thread": "in_a_thread(lambda: open(OTHER).read())",
    "a thread of XLA": "in_a_callback(lambda: open(OTHER).read())",
    "a child": "in_a_child(lambda: open(OTHER).read())",
    "a signal to the grader": "os.kill(os.getppid(), 0)",
    "a connection": "__import__('socket').create_connection(('127.0.0.1', 9), 1)",
}

TOOLS = """
import ctypes, importlib, importlib.util, inspect, os, subprocess, sys, threading
import numpy as np, jax

def load(path):
    spec = importlib.util.spec_from_file_location("stolen_key", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

def ctypes_read(path):
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.open(path.encode(), 0)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "refused")
    buffer = ctypes.create_string_buffer(10**5)
    libc.read(descriptor, buffer, 10**5)
    return buffer.value

def in_a_thread(function):
    got = []
    def run():
        try: got.append(function())
        except BaseException as error: got.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(got[0], BaseException): raise got[0]
    return got[0]

def in_a_callback(function):
    got = []
    def run(x):
        try: got.append(function())
        except BaseException as error: got.append(error)
        return x
    jax.jit(lambda x: jax.pure_callback(run, x, x))(np.float32(1)).block_until_ready()
    if isinstance(got[0], BaseException): raise got[0]
    return got[0]

def in_a_child(function):
    reading, writing = os.pipe()
    if os.fork() == 0:
        try: os.write(writing, str(function()).encode())
        finally: os._exit(0)
    os.close(writing)
    got = os.read(reading, 10**5)
    if not got: raise OSError("nothing")
    return got

HOME = os.getcwd()

def attempt(way, key, other):
    os.chdir(HOME)
    try:
        got = eval(way, {**globals(), "KEY": key, "OTHER": other})
    except BaseException as error:
        return f"refused: {type(error).__name__}"
    return f"got: {str(got)[:3000]}"
"""


def _worker(course: Course, other: Path) -> WorkerProcess:
    if find_isolation().missing:
        lacks("; ".join(find_isolation().missing))
    worker = WorkerProcess(Surroundings((course.folders.solutions, other)))
    failed = worker.request("define", cell=1, source=TOOLS, exercises=["attempt"], starters=[])["failed"]
    assert failed is None
    return worker


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("others") / "bob.py"
    path.write_text(SECRET)
    return path


@pytest.fixture(scope="module")
def confined(course: Course, other: Path) -> Iterator[WorkerProcess]:
    worker = _worker(course, other)
    yield worker
    worker.kill()


def attempt(worker: WorkerProcess, way: str, course: Course, other: Path) -> str:
    key = str(course.folders.solutions / "small_numbers.py")
    reply = worker.request("ask", name="attempt", request=Request((), "value", (((way, key, str(other)), {}),)))
    assert "value" in reply, reply
    return reply["value"]


def test_the_key_is_there_to_be_read(course: Course) -> None:
    assert SECRET in (course.folders.solutions / "small_numbers.py").read_text()


@pytest.mark.parametrize("way", WAYS)
def test_it_cannot_read_the_key(confined: WorkerProcess, course: Course, other: Path, way: str) -> None:
    assert attempt(confined, WAYS[way], course, other).startswith("refused")


@pytest.mark.parametrize("way", DEEPER)
def test_it_reaches_nothing_else(confined: WorkerProcess, course: Course, other: Path, way: str) -> None:
    assert attempt(confined, DEEPER[way], course, other).startswith("refused")


WORKS = {
    "plot": "[(plot.plot([1, 2]), plot.savefig('a.png')) for plot in [importlib.import_module('matplotlib.pyplot')]]",
    "scipy": "__import__('scipy.stats').stats.norm.cdf(0.0)",
    "scratch": "(open('note', 'w').write('x'), os.makedirs('a/b'), os.rename('note', 'a/b/n'), os.listdir('.'))",
    "temporary": "__import__('tempfile').NamedTemporaryFile().write(b'x')",
    "threads": "in_a_thread(lambda: 3)",
    "callback": "in_a_callback(lambda: 3)",
    "asyncio": "__import__('asyncio').run(__import__('asyncio').sleep(0))",
    "print": "jax.jit(lambda x: jax.debug.print('{}', x))(1.0)",
    "late imports": "[importlib.import_module(n) for n in ('jax.scipy.stats', 'jax.experimental.sparse', 'scipy.fft')]",
    "time zones": "__import__('zoneinfo').ZoneInfo('Europe/Zurich') if os.path.exists('/usr/share/zoneinfo') else 0",
    "processors": "os.cpu_count()",
    "flat name": "open(os.devnull, 'w').write('x')",
}


@pytest.mark.parametrize("way", WORKS)
def test_honest_code_works_inside(confined: WorkerProcess, course: Course, other: Path, way: str) -> None:
    assert attempt(confined, WORKS[way], course, other).startswith("got")


def test_nothing_of_the_graders_environment_is_there(
    course: Course, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", SECRET)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    worker = _worker(course, other)
    try:
        got = attempt(worker, "(dict(os.environ), sys.path, sys.argv, os.getcwd())", course, other)
        assert SECRET not in got
        assert "PYTHONPATH" not in got
    finally:
        worker.kill()


IN_A_WHEEL = """
import sys
from pathlib import Path
import jaxguide
from jaxguide.course.judging.evaluate import Request
from jaxguide.grading.workers.worker_process import Surroundings, WorkerProcess

folder = Path(jaxguide.__file__).parent / "_course"
assert "installed" in str(folder), folder
worker = WorkerProcess(Surroundings((folder / "solutions",)))
source = Path(sys.argv[1]).read_text()
assert worker.request("define", cell=1, source=source, exercises=["attempt"], starters=[])["failed"] is None
ways = {
    "key": "open(KEY).read()",
    "list": "os.listdir(os.path.dirname(KEY))",
    "import": "importlib.import_module('jaxguide._course.solutions.small_numbers')",
    "late import": "importlib.import_module('jaxguide.course.judging.draw').Draw(0, 'a', 'b')",
    "late jax": "importlib.import_module('jax.experimental.sparse')",
}
for name, way in ways.items():
    call = ((way, str(folder / "solutions" / "small_numbers.py"), ""), {})
    print(name, worker.request("ask", name="attempt", request=Request((), "value", (call,)))["value"].split(":")[0])
worker.kill()
"""


@pytest.mark.long
def test_the_key_inside_an_installed_package_is_kept_too(tmp_path: Path) -> None:
    if find_isolation().missing:
        lacks("; ".join(find_isolation().missing))
    installed = tmp_path / "installed"
    package = Path(landlock.__file__).parents[2]
    shutil.copytree(package, installed / "jaxguide", ignore=shutil.ignore_patterns("__pycache__"))
    (installed / "jaxguide" / "_course").mkdir()
    write_course(installed / "jaxguide" / "_course")
    (tmp_path / "tools.py").write_text(TOOLS)
    command = [sys.executable, "-c", IN_A_WHEEL, str(tmp_path / "tools.py")]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    expected = ["key refused", "list refused", "import refused", "late import got", "late jax got"]
    assert done.stdout.splitlines() == expected
