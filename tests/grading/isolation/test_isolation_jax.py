"""Test that honest JAX code runs under isolation, and that harmful code is limited and leaves nothing behind."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from needs import lacks

from jaxguide.course.judging.evaluate import Request
from jaxguide.grading.isolation import landlock, rlimits
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.isolation.stack import LANDLOCK, SECCOMP, Isolation
from jaxguide.grading.workers.worker_process import Surroundings, WorkerProcess

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="isolation needs Linux")


@pytest.fixture(scope="module")
def worker() -> Iterator[WorkerProcess]:
    started = start()
    yield started
    started.kill()


def start() -> WorkerProcess:
    found = find_isolation()
    return lacks("; ".join(found.missing)) if found.missing else WorkerProcess(Surroundings(isolation=found))


def run(worker: WorkerProcess, source: str) -> dict:
    """Run code as an answer does; return what it printed, and the error that it raised, if any."""
    source = f"def attempt(): exec({source!r}, globals())"
    worker.request("define", cell=1, source=source, exercises=["attempt"], starters=[])
    return worker.request("ask", name="attempt", request=Request((), "value", (((), {}),)))


WORKS = {
    "threads": """
import threading, queue, jax, jax.numpy as jnp
found = queue.Queue()
threads = [threading.Thread(target=lambda i=i: found.put(int(jax.jit(jnp.square)(i)))) for i in range(20)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sum(found.get() for _ in range(20)))
""",
    "executors": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool: print(sum(pool.map(lambda x: x * x, range(20))))
""",
    "asyncio": """
import asyncio
async def main():
    parts = await asyncio.gather(*(asyncio.to_thread(lambda i=i: i * i) for i in range(20)))
    await asyncio.sleep(0.01)
    return sum(parts)
print(asyncio.run(main()))
""",
    "matplotlib": """
import io, matplotlib.pyplot as plt
fig, ax = plt.subplots(); ax.plot([1, 2], label="$x^2$"); ax.legend(); ax.set_title("a")
plt.savefig("a.png"); plt.savefig("a.pdf"); plt.savefig(buffer := io.BytesIO(), format="svg")
print(2470 if open("a.png", "rb").read(4) == b"\\x89PNG" and buffer.tell() else 0)
""",
    "pure callback": """
import jax, jax.numpy as jnp, numpy as np
shape = jax.ShapeDtypeStruct((20,), "float32")
print(int(jax.jit(lambda x: jax.pure_callback(lambda v: np.square(v), shape, x))(jnp.arange(20.0)).sum()))
""",
    "io callback": """
import jax, jax.numpy as jnp
from jax.experimental import io_callback
total = []
jax.block_until_ready(jax.jit(lambda x: io_callback(lambda v: total.append(int(v)), None, x, ordered=True))(2470))
jax.effects_barrier(); print(total[0])
""",
    "debug": """
import jax, jax.numpy as jnp
seen = []
jax.jit(lambda x: jax.debug.callback(lambda v: seen.append(int(v)), x))(2470)
jax.effects_barrier(); print(seen[0])
""",
    "checkify": """
import jax, jax.numpy as jnp
from jax.experimental import checkify
def f(x):
    checkify.check(x > 0, "must be positive, got {x}", x=x)
    return jnp.log(x)
error, _ = jax.jit(checkify.checkify(f))(-1.0)
print(2470 if "must be positive" in error.get() else error)
""",
    "transformations": """
import jax, jax.numpy as jnp
key = jax.random.key(0)
jax.vmap(jax.grad(lambda x: jnp.sin(x) @ x))(jax.random.normal(key, (3, 4)))
jax.lax.scan(lambda c, x: (c + x, c), 0.0, jnp.arange(9.0))
jnp.linalg.svd(jnp.eye(50) + 1)
print(2470)
""",
    "files": """
import tempfile, os, pathlib, shutil
with tempfile.TemporaryDirectory() as folder:
    open(folder + "/x", "w").write("a"); os.rename(folder + "/x", folder + "/y")
    shutil.copy2(folder + "/y", folder + "/z"); shutil.copytree(folder, "copy"); pathlib.Path("copy/z").touch()
    with open("copy/z", "r+") as file: file.truncate(0)
    shutil.rmtree("copy")
print(2470 if os.cpu_count() and os.path.expanduser("~") == os.getcwd() else 0)
""",
    "files opened in many ways": """
import fcntl, mmap, os, resource
fcntl.flock(file := open("locked", "w+b"), fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.lockf(file, fcntl.LOCK_EX)
file.write(b"2470"); file.flush(); os.fsync(file.fileno()); os.set_inheritable(file.fileno(), True)
os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL); os.set_blocking(file.fileno(), True)
os.preadv(file.fileno(), [data := bytearray(4)], 0)
memory = mmap.mmap(-1, 2**22); memory.madvise(mmap.MADV_HUGEPAGE); memory.madvise(mmap.MADV_DONTNEED)
assert not os.isatty(file.fileno()) and resource.getrlimit(resource.RLIMIT_CPU)
print(data.decode())
""",
    "a database": """
import sqlite3
for mode in ("delete", "wal"):
    with sqlite3.connect(mode) as one, sqlite3.connect(mode) as other:
        one.execute(f"pragma journal_mode = {mode}"); one.execute("create table t (x)")
        one.executemany("insert into t values (?)", [(i * i,) for i in range(20)]); one.commit()
        total = other.execute("select sum(x) from t").fetchone()[0]
print(total)
""",
    "signals": """
import signal, time
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(2470)); signal.setitimer(signal.ITIMER_REAL, 0.01)
while not seen: time.sleep(0.01)
print(seen[0])
""",
}


@pytest.mark.parametrize("what", WORKS)
def test_honest_code_works_inside(worker: WorkerProcess, what: str) -> None:
    reply = run(worker, WORKS[what])
    assert "error" not in reply
    assert reply["printed"].split() == ["2470"]


REFUSED = {
    "signal to itself": "import os; os.kill(os.getpid(), 9)",
    "signal to its thread": "import signal, threading; signal.pthread_kill(threading.get_ident(), 15)",
    "limited time": "import resource as r; r.setrlimit(r.RLIMIT_CPU, r.getrlimit(r.RLIMIT_CPU))",
    "size of a pipe": "import fcntl, os; fcntl.fcntl(os.pipe()[0], fcntl.F_SETPIPE_SZ, 2**20)",
    "fork": "import os; os.fork()",
    "subprocess": "import subprocess; subprocess.run(['true'])",
    "shell": "import os; assert os.system('true') != 0; raise PermissionError",
    "multiprocessing": "import multiprocessing as m; m.get_context('fork').Process(target=print).start()",
    "spawn": "import multiprocessing as m; m.get_context('spawn').Process(target=print).start()",
    "socket": "import socket; socket.socket()",
    "local socket": "import socket; socket.socket(socket.AF_UNIX)",
    "name lookup": "import socket; socket.getaddrinfo('example.org', 80); socket.create_connection(('1.1.1.1', 53), 1)",
    "message to an address": "import socket; socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b'x', '/tmp/x')",
    "signal to the group": "import os; os.kill(0, 9)",
    "signal to the first": "import os; os.kill(1, 9)",
    "signal to everybody": "import os; os.kill(-1, 9)",
    "signal to the parent": "import os; os.kill(os.getppid() or 1, 9)",
    "a pipe in the scratch": "import os; os.mkfifo('pipe')",
    "raised limits": "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (10**6, 10**6))",
    "root": "import os; os.setuid(0)",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_answer_needs_is_refused_by_an_error(worker: WorkerProcess, what: str) -> None:
    reply = run(worker, REFUSED[what])
    assert reply["error"]["type_name"] in ("PermissionError", "OSError", "gaierror", "ValueError", "BlockingIOError")
    assert run(worker, "print('alive')")["printed"] == "alive\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="all workers of an ordinary user share one thread count")
def test_one_that_starts_threads_without_end_takes_none_from_the_others() -> None:
    greedy, other = start(), start()
    source = """
import threading
stop, count = threading.Event(), 0
threading.stack_size(2**16)
try:
    while count < 5000:
        threading.Thread(target=stop.wait, daemon=True).start()
        count += 1
except RuntimeError:
    print(count)
"""
    count = int(run(greedy, source)["printed"])
    assert 100 < count < rlimits.own_threads()
    assert "error" not in run(other, WORKS["threads"])
    greedy.kill()
    other.kill()


def test_a_worker_cannot_read_what_another_wrote() -> None:
    first, second = start(), start()
    run(first, "open('note', 'w').write('mine')")
    place = run(first, "import os; print(os.getcwd())")["printed"].strip()
    reply = run(second, f"print(open({place + '/note'!r}).read())")
    assert reply["error"]["type_name"] in ("PermissionError", "FileNotFoundError")
    first.kill()
    second.kill()


class WithOlderLandlock(WorkerProcess):
    """A worker on a kernel with an older version of Landlock."""

    def __init__(self, version: int, isolation: Isolation, folder: Path):
        self._version = version
        super().__init__(Surroundings(isolation=isolation, programs=folder))

    def _config(self) -> dict[str, Any]:
        return {**super()._config(), "landlock_version": self._version}


EMPTIES = """
import contextlib, ctypes, os
for mode in (os.O_RDONLY, os.O_ACCMODE, os.O_WRONLY, os.O_RDWR):
    with contextlib.suppress(OSError): os.open({path!r}, mode | os.O_TRUNC)
how = (os.O_RDONLY | os.O_TRUNC).to_bytes(8, "little") + bytes(16)
ctypes.CDLL(None).syscall(437, -100, {path!r}.encode(), how, 24)  # openat2
with contextlib.suppress(OSError): os.truncate({path!r}, 0)
print(open({path!r}).read())
"""


@pytest.mark.parametrize(
    ("version", "is_filtered"), [(1, True), (2, True), (3, True), (1, False), (2, False), (3, False)]
)
def test_no_version_of_landlock_lets_a_visible_file_be_emptied(tmp_path: Path, version: int, is_filtered: bool) -> None:
    if landlock.version() < version:
        lacks(f"a kernel with version {version} of Landlock")
    (tmp_path / "file").write_text("kept")
    # Without another user, the file belongs to the user of the worker.
    isolation = Isolation((LANDLOCK, SECCOMP) if is_filtered else (LANDLOCK,))
    worker = WithOlderLandlock(version, isolation, tmp_path)
    reply = run(worker, EMPTIES.format(path=str(tmp_path / "file")))
    worker.kill()
    # Only from version 3 on, Landlock prevents it by itself.
    kept = "kept" if is_filtered or version == 3 else ""
    assert (tmp_path / "file").read_text() == kept
    assert reply["printed"] == f"{kept}\n"
