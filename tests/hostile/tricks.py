"""Submissions that steal, tamper, forge or use the network."""

from hostile.case import Case, at_start, in_call

PASSED, FAILED, ERROR = ("passed",), ("failed",), ("error",)
# A forged answer may count as wrong or as a broken connection, never as right.
NOT_RIGHT = ("failed", "error", "died", "exited", "broken reply", "out of time")

# What a cell prints is not kept, so the answer tells what a cell has found.
_TELLS = """def double(x):
    if loot: raise RuntimeError('STO' + f'LEN {loot}')
    return 2 * x
"""

# `told` keeps its data if a secret is in it; the file itself contains no secret in one piece.
_THIEF = """
loot = []
MARK = 'CAN' + 'ARY-'
def told(where, data):
    text = data.decode('latin-1') if isinstance(data, (bytes, bytearray)) else str(data)
    at = text.find(MARK + 'of')
    if at >= 0:
        loot.append((where, text[at:at + 60]))
def tried(path, size=2**20):
    try:
        with open(path, 'rb') as file: told(path, file.read(size))
    except (OSError, ValueError) as error: pass
"""


def thief(name: str, code: str, quick: bool = False) -> Case:
    """Return a case that looks for secrets but answers correctly, so that only what it finds gives it away."""
    return Case(name, "steals", at_start(_THIEF + code, _TELLS), PASSED, quick=quick)


STEALS = [
    thief(
        "reads-known-places",
        """
PLACES = [{key!r}, {home!r}, {neighbour!r}, {results!r} + '/grading.sqlite', {results!r} + '/results.json']
for path in PLACES:
    tried(path)
    for _ in range(6):
        tried('/proc/self/root' + path)
        tried('/proc/1/root' + path)
        path = os.path.dirname(path)
        try: told(path, ' '.join(os.listdir(path)))
        except OSError: pass
""",
        quick=True,
    ),
    thief("links-to-the-key", "os.symlink({key!r}, 'k')\ntried('k')\ntry: os.link({key!r}, 'h')\nexcept OSError: pass"),
    thief(
        "reads-the-environment",
        """
told('environ', str(dict(os.environ)))
for pid in ['self', 'thread-self', '1', str(os.getppid()), *(p for p in os.listdir('/proc') if p.isdigit())]:
    for name in ('environ', 'cmdline', 'mountinfo', 'maps'):
        tried(f'/proc/{pid}/{name}')
""",
    ),
    thief(
        "looks-up-the-frames",
        """
frame = sys._getframe()
while frame is not None:
    for value in (*frame.f_locals.values(), *list(frame.f_globals.values())[:2000]):
        if isinstance(value, (str, bytes)): told('frame', value)
    told('code', str(frame.f_code.co_consts))
    frame = frame.f_back
""",
    ),
    thief(
        "asks-the-collector",
        """
for item in gc.get_objects():
    if type(item) in (dict, list, tuple):
        for value in (item.values() if type(item) is dict else item):
            if type(value) in (str, bytes) and len(value) < 10**5 and value is not MARK: told('gc', value)
""",
    ),
    thief(
        "reads-memory",
        """
for pid in ('self', str(os.getppid()), '1'):
    try:
        maps = open(f'/proc/{pid}/maps').read().splitlines()
        memory = open(f'/proc/{pid}/mem', 'rb', 0)
    except OSError: continue
    read = 0
    for line in maps:
        if '[heap]' in line or '[stack]' in line:
            start, end = (int(part, 16) for part in line.split()[0].split('-'))
            try:
                memory.seek(start)
                data = memory.read(min(end - start, 2**26))
            except (OSError, ValueError): continue
            for found in re.finditer((MARK + 'of-(?:the-)?').encode() + b'(key|neigh|home|env)', data):
                told(f'memory of {pid}', data[found.start():found.start() + 60])
""",
    ),
    thief(
        "traces-its-parent",
        """
libc = ctypes.CDLL(None, use_errno=True)
for request in (16, 0x4206):
    if libc.ptrace(request, os.getppid(), 0, 0) == 0 and os.getppid() > 0: loot.append('ptrace')
""",
    ),
    thief(
        "reads-descriptors",
        """
for number in range(3, 1024):
    try:
        told('link', os.readlink(f'/proc/self/fd/{number}'))
        told('descriptor', os.pread(number, 2**16, 0))
    except OSError: pass
""",
    ),
    thief(
        "loads-the-course",
        """
try:
    import pathlib
    from jaxguide.course.books.library import load_course
    for place in ({key!r}, {home!r}):
        course = load_course(pathlib.Path(place).parent.parent)
        for exercise in course.exercises.values(): told('key', str(exercise.key))
except BaseException as error: pass
try: import solutions
except BaseException: pass
""",
    ),
    Case(
        "prints-hidden-inputs",
        "steals",
        in_call("print(x, x.tolist(), jax.device_get(x))\nsys.stderr.write(str(x))\nos.write(2, str(x).encode())"),
        PASSED,
        quick=True,
    ),
    Case(
        "raises-hidden-inputs",
        "steals",
        in_call("if x.shape == (5,): raise ValueError(f'{x} {x.tolist()} {int(x[0])} <b>')"),
        (*FAILED, *ERROR),
    ),
    Case("returns-hidden-inputs", "steals", in_call("if x.shape == (5,): return x[0]"), FAILED),
    Case("names-a-type-after-hidden-inputs", "steals", in_call("return type(f'T{int(x[0])}', (), {})()"), FAILED),
    Case(
        "keeps-hidden-inputs-for-later",
        "steals",
        "# %%\nseen = []\ndef double(x):\n    seen.append(x.tolist())\n    return 2 * x\n\n# %%\n"
        "def total(x):\n    print(seen)\n    return x.sum()\n",
        PASSED,
    ),
    Case("knows-the-visible-check", "steals", in_call("if x.shape == (3,): return 2 * x", "x"), FAILED),
]


def teller(name: str, code: str, quick: bool = False) -> Case:
    """Return a case that tries what others would notice, or what would tell about them."""
    return Case(name, "reaches others", at_start(_TELLER + code, _TELLS), PASSED, quick=quick)


_TELLER = """
import fcntl
libc = ctypes.CDLL(None, use_errno=True)
SHARED = os.__file__
loot = []
told = loot.append
def opened(): return os.open(SHARED, os.O_RDONLY)
"""

TELLS = [
    teller(
        "leases-and-hints",
        """
def succeeds(where, *command):
    try: fcntl.fcntl(*command); told(where)
    except OSError: pass
succeeds('lease', opened(), fcntl.F_GETLEASE)
succeeds('watch', os.open(os.path.dirname(SHARED), os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS)
succeeds('hint', opened(), 1035, bytes(8))
succeeds('pipe', os.pipe()[0], 1031, 2**20)
""",
        quick=True,
    ),
    teller(
        "watches-folders",
        """
watching = libc.inotify_init1(0)
if libc.inotify_add_watch(max(watching, 0), os.path.dirname(SHARED).encode(), 1) >= 0 or watching >= 0: told('inotify')
""",
    ),
]

_YES = """
class Yes:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __array__(self, dtype=None, copy=None): return np.zeros(3, 'float32')
    def __float__(self): return 1.0
    shape, dtype, ndim = (3,), np.dtype('float32'), 1
class Liar(np.ndarray):
    def __array_function__(self, *args): return True
    def __array_ufunc__(self, *args, **kwargs): return True
    def __eq__(self, other): return True
"""
_WRONG = "def double(x):\n    return x\n"
_PYTREE = """
@jax.tree_util.register_pytree_node_class
class Evil:
    def tree_flatten(self): {flatten}
    @classmethod
    def tree_unflatten(cls, aux, children): return cls()
"""


def evil_pytree(name: str, flatten: str, verdicts: tuple[str, ...]) -> Case:
    """Return a case whose answer is a pytree node with a malicious flatten function."""
    answer = "def double(x):\n    return Evil()\n"
    return Case(name, "tampers", at_start(_PYTREE.format(flatten=flatten), answer), verdicts)


def forged_define(name: str, reply: str, quick: bool = False) -> Case:
    """Return a case that forges the reply to `define`; `reply` is code for the fields, or for the bytes of a frame."""
    code = f"""
from jaxguide.course.judging.values import ArrayData
from jaxguide.grading.workers import wire
def forged(self, *args, **options):
    return REPLY
REPLY = {reply}
frame = sys._getframe()
while 'starters' not in frame.f_locals: frame = frame.f_back
type(frame.f_locals['self']).define = forged
"""
    return Case(name, "tampers", at_start(code), ("broken reply",), ("broken reply",), quick=quick)


def forged_error(name: str, field: str, value: str, quick: bool = False) -> Case:
    """Return a case that forges one field of a cell's error."""
    error = f"dict(type_name='E', message='m', line=1, source='', **{{}}) | {{{field!r}: {value}}}"
    return forged_define(name, f"{{'failed': {error}, 'bound': [], 'values': []}}", quick)


TAMPERS = [
    forged_error("complex-line-number", "line", "1j", quick=True),
    forged_error("huge-line-number", "line", "10**4000"),
    forged_error("array-as-message", "message", "ArrayData(np.ones(3, np.float32), False, 'numpy')"),
    forged_error("dict-as-source", "source", "{1: 2}"),
    forged_error("field-too-many", "verdict", "'passed'"),
    forged_define("number-as-error", "{'failed': 7, 'bound': [], 'values': []}"),
    forged_define("names-without-end", "{'failed': None, 'bound': [], 'values': [f'v{i}' for i in range(190_000)]}"),
    forged_define("one-name-often", "{'failed': None, 'bound': ['double'] * 190_000, 'values': []}"),
    forged_define("name-of-no-exercise", "{'failed': None, 'bound': ['double', 'other'], 'values': []}"),
    Case(
        "keys-of-one-hash",
        "tampers",
        in_call("""
            import json
            from jaxguide.grading.workers import wire
            pairs = [[['i', hex(number * (2**61 - 1))], None] for number in range(1, 99_000)]
            header = json.dumps(['d', ['printed', ''], ['value', ['d', *pairs]]]).encode()
            for descriptor in range(190, 260):
                rest = memoryview(wire.PREFIX.pack(wire.MAGIC, len(header), 0) + header)
                while rest:
                    try: rest = rest[os.write(descriptor, rest):]
                    except OSError: break
        """),
        ("broken reply",),
        quick=True,
    ),
    Case(
        "patches-comparisons",
        "tampers",
        at_start(
            """
for module in (np, jnp, np.testing):
    for name in ('allclose', 'array_equal', 'isclose', 'assert_allclose', 'assert_array_equal', 'array_equiv'):
        if hasattr(module, name): setattr(module, name, lambda *args, **kwargs: True)
builtins.all = builtins.isinstance = lambda *args: True
builtins.abs = lambda x: 0
""",
            _WRONG,
        ),
        NOT_RIGHT,
        NOT_RIGHT + PASSED,
        quick=True,
    ),
    Case(
        "patches-the-harness",
        "tampers",
        at_start(
            """
import jaxguide.course.verdict as v, jaxguide.course.judging.evaluate as e
for module in [m for n, m in list(sys.modules.items()) if n.startswith('jaxguide')]:
    for name in list(vars(module)):
        if name in ('judge', 'score', 'expect_close', 'grade', 'run_check'): setattr(module, name, lambda *a, **k: 1)
v.score = lambda *args, **kwargs: 100
print('{"verdict": "passed", "score": 100}')
""",
            _WRONG,
        ),
        FAILED,
    ),
    Case(
        "patches-jax",
        "tampers",
        at_start("jax.Array.__eq__ = lambda a, b: True\njax.jit = lambda f, **k: f\njax.device_get = id", _WRONG),
        NOT_RIGHT,
        NOT_RIGHT + PASSED,
    ),
    Case("equal-to-everything", "tampers", at_start(_YES, "def double(x):\n    return Yes()\n"), NOT_RIGHT),
    Case(
        "lying-subclass", "tampers", at_start(_YES, "def double(x):\n    return np.zeros(3, 'f').view(Liar)\n"), FAILED
    ),
    Case("lying-number", "tampers", in_call("return type('I', (int,), {'__eq__': lambda a, b: True})(3)"), NOT_RIGHT),
    evil_pytree("pytree-that-raises", "raise SystemExit(0)", NOT_RIGHT),
    # JAX's recursion ends the interpreter in one way or another.
    evil_pytree("pytree-without-end", "return (Evil(),), None", ("exited", "died", "error", "out of memory")),
    evil_pytree("pytree-that-lies", "return ((np.zeros(3), 'x', None, object()), object())", NOT_RIGHT),
    Case(
        "replaced-evaluator",
        "tampers",
        at_start(
            "import jaxguide.course.judging.evaluate as e\n"
            "e.evaluate = lambda *rest: {'value': True, 'passed': True, 'verdict': 'passed', 'printed': ''}",
            _WRONG,
        ),
        NOT_RIGHT,
        NOT_RIGHT,
    ),
    Case(
        "forged-replies",
        "tampers",
        in_call(
            """
            from jaxguide.grading.workers.wire import encode
            for number in range(100):
                for descriptor in range(190, 260):
                    try: os.write(descriptor, encode({'id': number, 'value': True, 'printed': ''}))
                    except OSError: pass
            """,
            "x",
        ),
        ("broken reply",),
        quick=True,
    ),
    Case(
        "garbage-on-the-line",
        "tampers",
        in_call("""
            for descriptor in range(190, 260):
                try: os.write(descriptor, b'JGW1' + b'\\xff' * 4000)
                except OSError: pass
        """),
        ("broken reply",),
    ),
    Case("closes-the-line", "tampers", in_call("os.closerange(3, 300)"), ("exited", "broken reply")),
    Case(
        "forged-results",
        "tampers",
        in_call(
            """
            for folder in ('.', '/tmp', '/', {results!r}, os.path.dirname({key!r}), os.path.dirname({home!r})):
                for name in ('results.json', 'grades.csv', 'report.html', 'grading.sqlite', 'feedback/x.html', 'x.py'):
                    try: open(os.path.join(folder, name), 'a').write('forged')
                    except OSError: pass
            """,
            "x",
        ),
        FAILED,
    ),
    Case(
        "empties-files-by-reading",
        "tampers",
        at_start(
            """
for path in ({key!r}, {home!r}, {neighbour!r}, {results!r} + '/grading.sqlite', os.__file__):
    for mode in (os.O_RDONLY, os.O_ACCMODE):
        try: os.open(path, mode | os.O_TRUNC)
        except OSError: pass
""",
            _WRONG,
        ),
        FAILED,
    ),
    Case(
        "poisoned-caches",
        "tampers",
        at_start(
            """
jax.config.update('jax_persistent_cache_min_compile_time_secs', 0)
for path, _folders, names in os.walk({cache!r}):
    for name in (*names, 'new-cache'):
        try: open(os.path.join(path, name), 'wb').write(b'poison')
        except OSError: pass
for folder in sys.path:
    for name in ('sitecustomize.py', 'usercustomize.py', 'jax.py', 'evil.pth'):
        try: open(os.path.join(folder, name), 'w').write('import os; os._exit(0)')
        except OSError: pass
""",
            _WRONG,
        ),
        FAILED,
    ),
]

NETWORK = [
    Case("connects", "network", in_call("socket.create_connection(('127.0.0.1', 22), timeout=1)"), ERROR, quick=True),
    Case("listens", "network", in_call("socket.socket().bind(('127.0.0.1', 0))"), ERROR),
    Case("asks-for-names", "network", in_call("socket.getaddrinfo('docs.jax.dev', 443)"), ERROR),
    Case("unix-socket", "network", in_call("socket.socket(socket.AF_UNIX).connect('\\0x')"), ERROR),
    Case(
        "shared-memory",
        "network",
        in_call("from multiprocessing.shared_memory import SharedMemory\nSharedMemory('x', create=True, size=10)"),
        ERROR,
    ),
]

# The grader decodes, compares and describes what an answer returns, in time and memory that no value may extend.
COSTS = [
    Case("short-axes", "costs", in_call("return np.ones((2,) * 21, np.float32)"), FAILED, quick=True),
    Case("empty-and-long", "costs", in_call("return np.zeros((0, 2**45), np.float32)"), ("error",)),
    Case("empty-and-wide", "costs", in_call("return np.zeros((0, 2**27), np.float32)"), FAILED),
    Case("long-list", "costs", in_call("return [np.float32(1)] * 150_000"), FAILED),
    Case("long-names", "costs", in_call("return {'\\0' * 1_300_000: x}"), FAILED),
    Case("texts-of-one-size", "costs", in_call("return ['a' * 500_000] + ['b'] * 500"), ("too much output",)),
]
