"""Test that cells and exports bind in a worker the names that they bind in a real IPython shell."""

import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxguide.code import as_ipython as reading
from jaxguide.code.as_ipython import as_ipython, logical_lines
from jaxguide.grading.intake.submission import Submission, decoded, parse_submission
from jaxguide.grading.workers.worker_process import WorkerProcess

ANSWER = "def unit_rows(x):\n    n = abs(x)\n    return x / n\n"
PROMPTS = ">>> import math\n>>> def unit_rows(x):\n...     return x\n"


@dataclasses.dataclass(frozen=True)
class Row:
    """A file, the names that it binds, and why IPython binds others, if it does.

    Args:
        name: what the row is about.
        cells: a notebook's cells, or the text of a Python file, which IPython gets as one cell.
        binds: the names that the file binds, separated by spaces.
        beyond: why IPython binds other names; '' if it binds the same.
    """

    name: str
    cells: list[str] | str
    binds: str = "unit_rows"
    beyond: str = ""

    @property
    def path(self) -> Path:
        return Path("hw.py" if isinstance(self.cells, str) else "hw.ipynb")

    @property
    def content(self) -> bytes:
        if isinstance(self.cells, str):
            return self.cells.encode()
        cells = [{"cell_type": "code", "source": source.splitlines(True)} for source in self.cells]
        return json.dumps({"cells": cells}).encode()


NO_SUCH_MAGIC = "IPython stops at a magic that it does not know, which the student may have loaded"
ROWS = [
    # a01: shell commands
    Row("shell-continued", ["!pip install -q \\\n    jax \\\n    flax\n" + ANSWER]),
    Row("shell-continued-at-the-end", [ANSWER + "!pip install \\\n  jax"]),
    Row("shell-with-quotes-and-brackets", ["!echo don't ( [ '''\n" + ANSWER]),
    Row(
        "shell-in-blocks",
        [("if True:\n    !ls\n    a = 1\nelse:\n    !ls\nfor i in [1]:\n    !!ls\n") + ANSWER],
        "a i unit_rows",
    ),
    Row("shell-alone-in-a-block", ["if True:\n    !ls\n" + ANSWER]),
    Row(
        "shell-assigned",
        [("files = !ls \\\n  -l\nfor f in files:\n    raise ValueError\n") + ANSWER],
        "files unit_rows",
    ),
    Row("shell-assigned-with-quotes", ["files = !echo it's (\nn = len(files)\n" + ANSWER], "files n unit_rows"),
    Row(
        "shell-output-is-used",
        [("f = !ls\ng = '\\n'.join(f), f.n, f.s.split(), f.grep('x'), sorted(f)\n") + ANSWER],
        "f g unit_rows",
    ),
    Row(
        "shell-in-a-function",
        [("def unit_rows(x):\n    !ls\n    files = !ls\n    return files\ny = unit_rows(1)")],
        "unit_rows y",
    ),
    Row("two-exclamation-marks", ["!!ls -l\n" + ANSWER]),
    Row("interpolated", ["a = 1\n!echo {a} $a {'x'}\n" + ANSWER], "a unit_rows"),
    # a02: strings and statements of files
    Row(
        "docstring-then-shell",
        ('def unit_rows(x):\n    """Scale.\n\nA row of zeros stays.\n    """\n    return x\n\n\n!nvidia-smi\n'),
    ),
    Row("prose-in-a-string", ANSWER + '\n\n"""A wrong try:\n\ndef wrong(x):\n    return x\n\n"""\n\n!nvidia-smi\n'),
    Row(
        "assigned-string",
        ("text = '''\n\ndef wrong(x): ...\n\n%time y = 1\n!ls\n'''\n\n!ls\n") + ANSWER,
        "text unit_rows",
    ),
    Row("open-bracket-over-empty-lines", "a = [\n\n1,\n\n2]\n\n!ls\n" + ANSWER, "a unit_rows"),
    Row(
        "decorator-far-from-its-function",
        "def d(f):\n    globals()[f'decorated_{f.__name__}'] = f\n    return f\n\n"
        "@d\n\n# a comment\n\n" + ANSWER + "\n!ls\n",
        "d decorated_unit_rows unit_rows",
    ),
    Row(
        "else-after-an-empty-line",
        ("if 0:\n    a = 1\n\nelse:\n    b = 2\n\ntry:\n    1/0\n\nexcept ZeroDivisionError:\n    c = 1\n\n!ls\n")
        + ANSWER,
        "b c unit_rows",
    ),
    Row("string-with-markers", 'a = """\n# %%\n!ls\n"""\n!ls\n' + ANSWER, "a unit_rows"),
    Row("f-string", ["a = f'''\n!ls\n{1 +\n1}\n%time b = 1\n'''\n!ls\n" + ANSWER], "a unit_rows"),
    Row("magic-in-a-valid-string", ['a = """\n%time b = 1\n!ls\nwhat?\n"""\n' + ANSWER], "a unit_rows"),
    Row("magic-in-a-string-above-a-magic", [('a = """\n%time b = 1\n!ls\nwhat?\n"""\n%pwd\n') + ANSWER], "a unit_rows"),
    Row("remainder", ["a = 7\nb = (a\n     % 2)\nc = a \\\n    % 2\n!ls\n" + ANSWER], "a b c unit_rows"),
    # a03: cell magics
    Row("unknown-cell-magic", ["%%snakeviz\n" + ANSWER], beyond=NO_SUCH_MAGIC),
    Row(
        "package-of-colab",
        ["from google.colab import drive, files\ndrive.mount('/content')\nimport google.colab.userdata\n" + ANSWER],
        "drive files google unit_rows",
        beyond="its package is on Colab alone",
    ),
    Row("unknown-cell-magic-with-options", ["%%scalene --cpu x=1\n\n" + ANSWER], beyond=NO_SUCH_MAGIC),
    Row("unknown-above-known", ["%%memray\n%%time\n!ls\n" + ANSWER], beyond=NO_SUCH_MAGIC),
    Row("time", ["%%time\n" + ANSWER]),
    Row("time-below-empty-lines", ["\n\n%%time\n\n" + ANSWER]),
    Row(
        "time-below-a-comment",
        ["# mine\n%%time\n" + ANSWER],
        beyond="IPython takes the first line alone for a cell magic",
    ),
    Row("capture", ["%%capture\n" + ANSWER]),
    Row(
        "capture-a-name", ["%%capture out --no-stderr\n" + ANSWER, "out.show()\nn = len(out.stdout)"], "n out unit_rows"
    ),
    Row("capture-above-time", ["%%capture\n%%time\n!ls\n" + ANSWER]),
    Row("prun", ["%%prun -q -l 3\n" + ANSWER]),
    Row("timeit-binds-nothing", ["%%timeit -n1 -r1\n" + ANSWER], ""),
    Row("bash", ["%%bash\n" + ANSWER, "a = 1"], "a"),
    Row("bash-with-a-name", ["%%bash --out o\nls", "a = o"], "a o"),
    Row("sh", ["%%sh\nb=1"], ""),
    Row("html", ["%%html\n<b>a = 1</b>"], ""),
    Row("capitals", ["%%HTML\na = 1", "%%SVG\n<svg/>"], ""),
    Row("writefile", ["%%writefile x.py\n" + ANSWER], ""),
    Row("script", ["%%script false\na = 1"], ""),
    Row("exclamation-marks", ["%%!\nls", "%%sx\nls", "%%system\nls"], ""),
    # a04: indentation and prompts
    Row("indented", ["    import math\n\n\n    def unit_rows(x):\n        return x\n"], "math unit_rows"),
    Row("indented-with-shell", ["\n    !ls\n    def unit_rows(x):\n        !ls\n        return x\n"]),
    Row("indented-with-tabs", ["\timport math\n\tdef unit_rows(x):\n\t\treturn x"], "math unit_rows"),
    Row("doctest-prompts", [PROMPTS], "math unit_rows"),
    Row("doctest-prompts-with-shell", [">>> !ls\n" + PROMPTS], "math unit_rows"),
    Row(
        "ipython-prompts",
        [("In [1]: import math\n\nIn [2]: def unit_rows(x):\n   ...:     return x\n   ...: ")],
        "math unit_rows",
    ),
    Row("ipython-prompts-with-magic", ["In [3]: %time a = 1\n"], "a"),
    Row("prompts-in-a-file", PROMPTS, "math unit_rows"),
    # a05: await
    Row("await", ["import asyncio\nawait asyncio.sleep(0)\n" + ANSWER], "asyncio unit_rows"),
    Row("await-and-shell", [("import asyncio\n!ls\na = await asyncio.sleep(0, 3)\n") + ANSWER], "a asyncio unit_rows"),
    Row(
        "async-for-and-with",
        [
            (
                "import contextlib\nasync def g():\n    yield 1\n"
                "@contextlib.asynccontextmanager\nasync def m():\n    yield 2\n"
                "async for a in g(): pass\nasync with m() as b: pass\n"
                "c = [i async for i in g()]\n"
            )
            + ANSWER
        ],
        "a b c contextlib g m unit_rows",
    ),
    Row(
        "one-loop-for-all-cells",
        [
            ("import asyncio\nasync def f(): return 1\nt = asyncio.ensure_future(f())\nawait asyncio.sleep(0)"),
            "a = await t",
        ],
        "a asyncio f t",
    ),
    Row("await-below-a-magic", [("%%capture\nimport asyncio\nawait asyncio.sleep(0)\n") + ANSWER], "asyncio unit_rows"),
    Row("return-outside-of-a-function", [ANSWER + "a = 1\nreturn a\nc = 1", "b = 1"], "a b unit_rows"),
    Row(
        "future",
        ["from __future__ import annotations\na = 1", "def unit_rows(x: none): ..."],
        "a annotations unit_rows",
    ),
    Row(
        "await-in-a-file",
        "import asyncio\nawait asyncio.sleep(0)\n" + ANSWER + "await asyncio.sleep(0)\na = 1\n",
        "a asyncio unit_rows",
    ),
    Row(
        "await-fails-in-a-file",
        "a = 1\nb = await a\nc = 2\n",
        "a c",
        "Python runs the rest of a file, IPython nothing below an error",
    ),
    # a06: the shell itself
    Row(
        "get-ipython",
        [("ip = get_ipython()\nip.run_line_magic('matplotlib', 'inline') if 0 else None\n") + ANSWER],
        "ip unit_rows",
    ),
    Row(
        "get-ipython-imported",
        [("from IPython import get_ipython\nip = get_ipython()\nip.run_line_magic('pwd', '')\n") + ANSWER],
        "ip unit_rows",
    ),
    Row(
        "get-ipython-of-the-module",
        [("import IPython\nIPython.get_ipython().run_line_magic('pwd', '')\n") + ANSWER],
        "IPython unit_rows",
    ),
    Row(
        "get-ipython-of-core",
        [("from IPython.core.getipython import get_ipython as shell\nshell().system('ls')\n") + ANSWER],
        "shell unit_rows",
    ),
    Row(
        "shell-is-configured",
        [
            (
                "ip = get_ipython()\nip.config.InlineBackend.rc = {}\n"
                "ip.events.register('post_execute', print)\n"
                "ip.events.unregister('post_execute', print)\n"
                "ip.user_ns['a_b'] = ip.user_ns.get('x')\ndel ip.user_ns['a_b']\n"
            )
            + ANSWER
        ],
        "ip unit_rows",
    ),
    Row(
        "display",
        [
            (
                "from IPython.display import HTML, Image, Markdown, clear_output, display as show\n"
                "from IPython import display as d\nshow(HTML('a'), 1)\nd.display(2)\n"
                "clear_output()\n"
            )
            + ANSWER
        ],
        "HTML Image Markdown clear_output d show unit_rows",
    ),
    Row(
        "own-magic",
        [
            (
                "from IPython.core.magic import register_line_magic\n"
                "@register_line_magic\ndef mine(line):\n    return line\n%mine x\n"
            )
            + ANSWER
        ],
        "mine register_line_magic unit_rows",
    ),
    # Line magics
    Row("line-magic", ["%pwd\n%precision 3\n" + ANSWER]),
    Row("unknown-line-magic", ["%snakeviz f()\n" + ANSWER], beyond=NO_SUCH_MAGIC),
    Row("time-binds", ["%time a = 1\n%time f = lambda x: x\n" + ANSWER], "a f unit_rows"),
    Row("time-of-statements", ["%time a = 1; b = 2\n%time for i in [1]: c = i"], "a b c i"),
    Row("time-assigned", [("a = %time 1 + 1\nif a != 2: raise ValueError\nb = %time lambda x: x\nc = b(1)")], "a b c"),
    Row("time-in-a-block", ["if True:\n    %time a = 1"], "a"),
    Row("timeit-line-binds-nothing", ["%timeit -n1 -r1 a = 1\n" + ANSWER]),
    Row("timeit-assigned", ["t = %timeit -n1 -r1 -q -o 1\nbest = t.best"], "best t"),
    Row("prun-binds", ["%prun -q -l 5 a = 1\n" + ANSWER], "a unit_rows"),
    Row("magic-assigned", ["a = %pwd\n" + ANSWER], "a unit_rows"),
    Row("magic-over-two-lines", ["%precision \\\n  3\n" + ANSWER]),
    Row("help", ["len?\n?len\nlen??\n%time?\n" + ANSWER]),
    Row("help-alone", ["?", "a = 1"], "a"),
    Row(
        "autocall",
        [("def f(*a):\n    global said\n    said = a\n,f a b\n") + ANSWER, ";f a b\nc = said", "/f 1 2\nd = said"],
        "c d f said unit_rows",
    ),
    Row("magic-without-percent-alone", ["cd .", "pip install flax", "time a = 1", ANSWER], "a unit_rows"),
    Row("magic-without-percent-and-code", ["pip install flax\na = 1", "b = 2"], "b"),
    Row("not-a-magic", ["retrun 1", "a = 1"], "a"),
    Row("semicolons", ["%time a = 1;\nb = 2;"], "a b"),
    Row("many-magics", ["%precision\n" * 60 + "a = 1", "b = 2"], "a b"),
    # Exports
    Row(
        "export",
        (
            "#!/usr/bin/env python\n# coding: utf-8\n\n# In[1]:\n\n\n"
            "get_ipython().run_line_magic('pwd', '')\nget_ipython().system('ls')\n"
            "f = get_ipython().getoutput('ls')\n\n\n# In[2]:\n\n\n"
        )
        + ANSWER,
        "f unit_rows",
    ),
    Row(
        "export-of-a-cell-magic",
        f"# In[1]:\n\n\nget_ipython().run_cell_magic('time', '', {ANSWER!r})\n\n\n# In[2]:\n\n\na = 1\n",
        "a unit_rows",
    ),
    Row(
        "export-of-bash",
        f"# In[1]:\n\n\nget_ipython().run_cell_magic('bash', '', {ANSWER!r})\n\n\n# In[2]:\n\n\na = 1\n",
        "a",
    ),
    Row(
        "export-of-time",
        ("get_ipython().run_line_magic('time', 'a = 1')\nb = get_ipython().run_line_magic('time', '2')\n"),
        "a b",
    ),
    Row(
        "cells-in-a-file",
        "# %%\n%time a = 1\n# %%\n%%time\n" + ANSWER + "# %%\n%%bash\nb=1\n",
        "a unit_rows",
        "each cell of the file is one of IPython's",
    ),
]
_SETS = "import builtins; builtins.known = frozenset(globals())"
_CLEARS = "for name in frozenset(globals()) - known: del globals()[name]\nglobals().pop('name', None)"
_TELLS = "raise ValueError(' '.join(sorted(n for n in frozenset(globals()) - known if not n.startswith('_'))))"


@pytest.fixture(scope="module")
def in_ipython() -> dict[str, str]:
    rows = [[row.cells] if isinstance(row.cells, str) else row.cells for row in ROWS]
    program = Path(__file__).with_name("real_shell.py")
    done = subprocess.run([sys.executable, program], input=json.dumps(rows), capture_output=True, text=True, check=True)
    return {row.name: " ".join(names) for row, names in zip(ROWS, json.loads(done.stdout), strict=True)}


@pytest.fixture(scope="module")
def in_worker() -> Iterator[Callable[[Row], str]]:
    worker = WorkerProcess()

    def run(source: str, **options: bool) -> str:
        reply = worker.request("define", cell=1, source=source, exercises=[], starters=[], **options)
        return str((reply["failed"] or {"message": ""})["message"])

    def names(row: Row) -> str:
        run(_CLEARS)
        for cell in parse_submission(row.path, row.content).cells:
            if cell.tree is not None:
                run(cell.source, may_await=row.path.suffix == ".ipynb")
        return run(_TELLS)

    run(_SETS)
    yield names
    worker.kill()


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_worker_binds_what_ipython_binds(
    row: Row, in_ipython: dict[str, str], in_worker: Callable[[Row], str]
) -> None:
    assert in_worker(row) == row.binds
    assert (in_ipython[row.name] == row.binds) is not bool(row.beyond)


def test_what_ipython_knows_is_known() -> None:
    source = (
        "import json; from IPython.core.interactiveshell import InteractiveShell; shell = InteractiveShell()\n"
        "print(json.dumps([*shell.magics_manager.lsmagic()['line'], *dict(shell.alias_manager.aliases)]))"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) - reading._WITHOUT_PERCENT == set()


def read(*cells: str, name: str = "hw.ipynb") -> Submission:
    row = Row("", list(cells) if name.endswith(".ipynb") else "".join(cells))
    return parse_submission(Path(name), row.content)


def test_lines_keep_their_numbers() -> None:
    source = "\n\n%%time\n\n!pip install \\\n  a \\\n  b\nx = !ls\n1 / 0\ndef f(:"
    (cell,) = read(source).cells
    assert cell.source.split("\n")[8:] == ["1 / 0", "def f(:"]
    assert cell.error is not None
    assert cell.error.line == 10
    assert cell.magics == ["%%time", "!pip install a b", "x = !ls"]
    assert read("x = !ls (\na = 1").cells[0].magics == ["x = !ls ("]
    labels = [cell.label for cell in read("a = 1\n\n!ls \\\n -l\nb = (\n\ndef f(): ...\n", name="hw.py").cells]
    assert labels == ["line 1", "line 3", "line 5", "line 7"]


@pytest.mark.parametrize(
    "source",
    [
        "a = 1",
        "  ",
        "'''\n!ls\n'''",
        "a\\\n% b",
        "get_ipython().system('ls')",
        "# !ls",
        "await f()",
        "a\0b",
        "a = 1 \x0c",
    ],
)
def test_what_python_can_parse_is_left_alone(source: str) -> None:
    assert as_ipython(source) == reading.CellCode(source)


@pytest.mark.parametrize(
    "text",
    [
        "def wrong(:\n\n" + ANSWER,
        "a = (1,\n\n" + ANSWER,
        "b = 1\nc = 'abc\n" + ANSWER,
        "b = 1\n  c = 2\n" + ANSWER,
        "b = 1\nawait b\n" + ANSWER,
        "b = 1\nreturn b\n" + ANSWER,
        "b = 1__0\n" + ANSWER,
        "# %%\nb = (\n# %%\n\n" + ANSWER,
        ANSWER + "c = '''abc\n\ndef wrong(x): ...\n",
    ],
)
def test_an_error_in_one_statement_does_not_break_others(text: str) -> None:
    cells = read(text, name="hw.py").cells
    assert sum("unit_rows" in cell.defines for cell in cells if cell.tree is not None) == 1
    assert not any("wrong" in cell.defines for cell in cells if cell.tree is not None)
    for cell in cells:
        first = len(cell.source) - len(cell.source.lstrip("\n"))
        lines = cell.source.split("\n")
        assert text.split("\n")[first : len(lines)] == lines[first:]


def test_endless_magics_are_refused_soon() -> None:
    started = time.process_time()
    for source in ("%a\n" * 60_000, "a" * 190_000 + " b?\n", "!" + "x" * 190_000, "%%a\n" * 5_000 + "("):
        (cell,) = read(source).cells
        assert cell.error is not None or cell.rejected
    assert read("x = (\n\n" * 5_000, name="hw.py").cells[-1].error is not None
    said = read("%a\n" * 501).cells[0].rejected
    assert said == "It contains 500 magics and shell lines or more, or one with more than 10000 characters."
    assert time.process_time() - started < 30


CODES = [
    ANSWER,
    "import math\n\n" + ANSWER + "a = '''\nb\n'''\n",
    "!ls\n%time c = 1\n" + ANSWER,
    "é = 1\n" + ANSWER,
]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_surrounds_code_does_not_change_what_it_defines(data: st.DataObject) -> None:
    code = data.draw(st.sampled_from(CODES))
    kinds = ["indented", "plain"] if "'''" in code else ["indented", "plain", "doctest", "ipython"]
    kind = data.draw(st.sampled_from(kinds))
    lines, indent = code.strip("\n").split("\n"), ""
    before, after = (data.draw(st.lists(st.sampled_from(["", " ", "\t"]), max_size=3)) for _side in range(2))
    if kind == "doctest":
        lines, before = [f"{'...' if line[:1] in ('', ' ') else '>>>'} {line}" for line in lines], []
    elif kind == "ipython":
        lines, before = [f"{'   ...: ' if i else 'In [12]: '}{line}" for i, line in enumerate(lines)], []
    elif kind == "indented":
        indent = data.draw(st.sampled_from([" ", "    ", "\t", "  \t"]))
        lines = [indent + line for line in lines]
    text = data.draw(st.sampled_from(["\n", "\r\n", "\r"])).join([*before, *lines, *after])
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"]))
    if encoding == "latin-1":
        text = text if kind in ("indented", "plain") else code
        content, name = f"{indent}# -*- coding: {encoding} -*-\n{text}".encode(encoding), "hw.py"
    else:
        plain = {"cells": [{"cell_type": "code", "source": text}]}
        content, name = json.dumps(plain, ensure_ascii=False).encode(encoding), "hw.ipynb"
    cells = parse_submission(Path(name), content).cells
    assert [cell.error for cell in cells] == [None] * len(cells)
    assert frozenset[str]().union(*(cell.defines for cell in cells)) == read(code).cells[0].defines


PIECES = [*"()[]{}'\"\\#@:=!%?\n\n\n ", "'''", '"""', "f'''{", "def f(", "\nx", "!ls ", "%time "]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_no_line_is_lost(pieces: list[str]) -> None:
    text = "".join(pieces)
    lines = [f"{line}\n" for line in text.split("\n")]
    assert [line for part in logical_lines(lines) for line in part] == lines
    code = as_ipython(text)
    assert code.python.count("\n") >= text.rstrip().count("\n") or code.not_python
    cells = parse_submission(Path("hw.py"), text.encode()).cells if text.strip() else []
    assert all(cell.source.count("\n") <= text.count("\n") for cell in cells)


@pytest.mark.parametrize(
    ("content", "text", "encoding"),
    [
        ("é = 1\r\nb".encode("utf-16"), "é = 1\nb", "utf-16"),
        (b"\xfe\xff" + "é".encode("utf-16-be"), "é", "utf-16"),
        ("é".encode("utf-8-sig"), "é", "utf-8-sig"),
        ("é".encode("utf-32"), "é", "utf-32"),
        ("# coding: latin-1\né".encode("latin-1"), "# coding: latin-1\né", "iso-8859-1"),
        ("#é\n# vim: fileencoding=cp1252\né".encode("cp1252"), "#é\n# vim: fileencoding=cp1252\né", "cp1252"),
        ("# coding: latin-1\né".encode("utf-8-sig"), "# coding: latin-1\né", "utf-8-sig"),
    ],
)
def test_files_are_read_by_mark_or_declaration(content: bytes, text: str, encoding: str) -> None:
    assert decoded(PurePath("hw.py"), content) == (text, encoding)
