"""Read code as IPython would: shell lines and magics do nothing, and the Python around and below them counts."""

import ast
import contextlib
import dataclasses
import functools
import keyword
import re
import tokenize
from collections.abc import Iterator
from typing import Any

# Cell magics whose cell is not Python, or runs elsewhere and binds nothing. Python below any other magic counts.
_NOT_PYTHON = frozenset(
    re.findall(
        r"\S+",
        """
        ! ai ask bash bigquery cmake cmd code_wrap configure cpp csh css cu cuda cypher dot file fish fortran gcc go gpp
        graphql graphviz html java javascript js json jsx julia kotlin ksh latex lua markdown matlab md mermaid node
        octave perl php plantuml powershell prolog pwsh pypy python python2 python3 r ruby rust sas scala script sh
        shell skip sparql spark sql stata svg swift sx system tikz timeit ts typescript wolfram writefile yaml zsh
        """,
    )
)
# Line magics and aliases that IPython takes without their `%` if nothing else is in the cell.
_WITHOUT_PERCENT = frozenset(
    re.findall(
        r"\w+",
        """
        alias alias_magic autoawait autocall automagic bookmark cat cd clear code_wrap colors conda config connect_info
        cp debug dhist dirs doctest_mode ed edit env gui hist history killbgscripts ldir less lf lk ll load load_ext
        loadpy logoff logon logstart logstate logstop ls lsmagic lx macro magic mamba man matplotlib micromamba mkdir
        more mv notebook page pastebin pdb pdef pdoc pfile pinfo pinfo2 pip popd pprint precision prun psearch psource
        pushd pwd pycat pylab qtconsole quickref recall rehashx reload_ext rep rerun reset reset_selective rm rmdir run
        save sc set_env sx system tb time timeit unalias unload_ext uv who who_ls whos xdel xmode
        """,
    )
)
# The line magics that run a statement in the user's namespace, after these options.
_TIMED = ("time", "prun")
_OPTIONS = re.compile(r"(?:--no-raise-error\s+|-[qr]+\s+|-[DTls]\s*\S+\s+)*")
# IPython searches a line for `?` in time that grows with the square of its length.
LINE_LIMIT = 10_000
MAGICS_LIMIT = 500  # as in IPython, which runs no cell that has more
_DEEPEST = 20  # cell magics, one below the other
# How often code after a bracket that is never closed is read again.
_RECOVERIES = 10
UNREADABLE = (SyntaxError, ValueError, MemoryError, RecursionError)


@dataclasses.dataclass(frozen=True)
class CellCode:
    """The Python of a cell.

    Args:
        python: its Python, with the cell's line numbers. What IPython would do for shell lines and magics is still
            asked of `get_ipython()`.
        magics: the shell lines and magics.
        not_python: the magic and the text of each part that is not Python, as below `%%bash`.
        is_too_much: whether it has more magics, or longer ones, than are read.
    """

    python: str
    magics: tuple[str, ...] = ()
    not_python: tuple[tuple[str, str], ...] = ()
    is_too_much: bool = False


def is_python(source: str) -> bool:
    """Return whether Python can parse code, or fails for another reason than its syntax."""
    try:
        ast.parse(source)
    except UNREADABLE as error:
        return not isinstance(error, SyntaxError)
    return True


def as_ipython(source: str) -> CellCode:
    """Return what IPython would run of a cell. What Python can parse is left alone.

    >>> as_ipython("%time x = 1\\n!pip install \\\\\\n    jax\\ny = 2").python
    "x = 1\\nget_ipython().system('pip install     jax')\\n\\ny = 2"
    >>> as_ipython("%%bash\\nls").not_python
    (('%%bash', 'ls\\n'),)
    """
    if "\0" in source:
        return CellCode(source)
    return _exported(source) if is_python(source) else _transformed(source)


@functools.cache
def _manager() -> Any:
    from IPython.core.inputtransformer2 import TransformerManager  # takes 0.1 to 0.3 s, and few files need it

    return TransformerManager()


def _transformed(source: str) -> CellCode:
    manager, lines = _manager(), _lines(source.lstrip("\n"))
    head = [""] * (len(source) - len(source.lstrip("\n")))
    magics: list[str] = []
    while lines and len(magics) < _DEEPEST:
        count = len(lines)
        for clean in manager.cleanup_transforms:
            lines = _lines("".join(clean(lines)).removesuffix("\n"))
        head += [""] * (count - len(lines))
        (transform,) = manager.line_transforms
        made = transform(lines)
        call = None if made == lines else _magic_call(made[0])
        if call is None:
            break
        magics.append(lines[0].strip())
        head.append(_binding(call))
        lines = lines[1:]
        if not call.is_python:
            return CellCode("\n".join(head), tuple(magics), ((f"%%{call.name}", "".join(lines)),))
    code: list[str] = []
    is_too_much = False
    for part in logical_lines(lines):
        made, text = part, " ".join(line.strip().removesuffix("\\").strip() for line in part)
        if not set("!%?,;/").isdisjoint(text):
            if len(magics) + 1 >= MAGICS_LIMIT or len(text) > LINE_LIMIT:
                is_too_much = True
            else:
                with contextlib.suppress(Exception):  # IPython 8.18 raises IndexError for `=%'''`
                    made = manager.do_token_transforms(part)
        if made != part:
            call, run = _magic_call(made[0]), _timed(made[0])
            if call is not None and run is not None:
                made, text = [run], f"%{call.name}"
            if "get_ipython()" in made[0] or call is not None:
                magics.append(text)
        code += made + ["\n"] * (len(part) - len(made))
    python = "\n".join([*head, *(["".join(code).removesuffix("\n")] if lines else [])])
    if is_python(python):
        return CellCode(python, tuple(magics))
    word = python.split(maxsplit=1)[0]
    if word in _WITHOUT_PERCENT and "\n" not in python.strip():
        return _transformed(source.replace(word, f"%{word}", 1))
    return CellCode(python, tuple(magics), is_too_much=is_too_much)


def _lines(source: str) -> list[str]:
    # Not `splitlines`: it also splits at form feeds and the like, which Python does not count as line ends.
    return [f"{line}\n" for line in source.split("\n")]


def _exported(source: str) -> CellCode:
    """Return Python with what magics such as `%time` run in the place of the calls to which an export turns them.

    Of cell magics, which run several lines, only one at the end is replaced, where no line numbers change.
    """
    code = CellCode(source)
    if "get_ipython().run_" not in source:
        return code
    try:
        tree = ast.parse(source)
    except UNREADABLE:
        return code
    lines = source.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr | ast.Assign) and (run := _timed(lines[node.lineno - 1])) is not None:
            lines[node.lineno - 1] = run
    call = _magic_call(lines[tree.body[-1].lineno - 1]) if tree.body else None
    if call is not None and call.body is not None:
        code = as_ipython(call.body) if call.is_python else CellCode("", (), ((f"%%{call.name}", call.body),))
        lines[tree.body[-1].lineno - 1 :] = [code.python, _binding(call)]
    return dataclasses.replace(code, python="\n".join(lines))


@dataclasses.dataclass(frozen=True)
class _MagicCall:
    """A call by which IPython runs a magic, and what its value is assigned to; without a body, it is a line magic."""

    targets: tuple[str, ...]
    name: str
    line: str
    body: str | None = None

    @property
    def is_python(self) -> bool:
        """Whether the body is Python that runs in the user's namespace."""
        return self.name.lower() not in _NOT_PYTHON


def _magic_call(line: str) -> _MagicCall | None:
    """Return the call in a line such as `x = get_ipython().run_line_magic('time', 'f()')`, None for other lines."""
    if "get_ipython().run_" not in line:
        return None
    try:
        (node,) = ast.parse(line.strip()).body
        call = getattr(node, "value", None)
        texts = [ast.literal_eval(one) for one in getattr(call, "args", ())]
    except UNREADABLE:
        return None
    targets = tuple(map(ast.unparse, getattr(node, "targets", ())))
    called = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
    count = {"get_ipython().run_line_magic": 2, "get_ipython().run_cell_magic": 3}.get(called)
    is_magic = len(texts) == count and all(isinstance(text, str) for text in texts)
    return _MagicCall(targets, *texts) if is_magic else None


def _binding(call: _MagicCall) -> str:
    """Return code that binds the names to which a cell magic assigns what its cell printed."""
    names = re.findall(r"--(?:out|err|proc)(?:=|\s+)(\w+)", call.line)
    if call.name == "capture":
        names = [word for word in call.line.split() if not word.startswith("-")][:1]
    names = [name for name in names if name.isidentifier() and not keyword.iskeyword(name)]
    return " = ".join([*names, "get_ipython()"]) if names else ""


def _timed(line: str) -> str | None:
    """Return what runs in a line that IPython made of `%time x = 1`, or None if the line is another one."""
    call = _magic_call(line)
    if call is None or call.body is not None or call.name not in _TIMED:
        return None
    run = _OPTIONS.sub("", call.line, count=1).strip()
    run = " = ".join([*call.targets, f"({run or None})"]) if call.targets else run or "pass"
    return line[: len(line) - len(line.lstrip())] + run + "\n" * line.endswith("\n") if is_python(run) else None


def logical_lines(lines: list[str]) -> Iterator[list[str]]:
    """Yield the lines of code in groups that belong together: a statement, or the head of a block.

    Each empty line and each comment between them is a group. What Python's tokenizer cannot read is one, too: an
    unfinished string up to the end, an unfinished bracket up to the next code that follows an empty line.

    >>> list(logical_lines(["x = (1,\\n", "\\n", "2)\\n", "!ls \\\\\\n", "(\\n", "y\\n"]))
    [['x = (1,\\n', '\\n', '2)\\n'], ['!ls \\\\\\n', '(\\n'], ['y\\n']]
    """
    start, recoveries = 0, _RECOVERIES
    while start < len(lines):
        end, is_broken = _end_of_logical_line(lines, start, recoveries > 0)
        recoveries -= is_broken
        yield lines[start:end]
        start = end


def _end_of_logical_line(lines: list[str], start: int, recovers: bool) -> tuple[int, bool]:
    """Return where the logical line that begins at `start` ends, and whether it is unfinished."""
    text = lines[start].strip()
    if not text or text.startswith("#"):
        return start + 1, False
    if text[0] in "!%?,;/":  # no Python begins so, and what follows need not be tokens
        return _continued(lines, start), False
    rest = (lines[i] for i in range(start, len(lines)))
    depth, before, restart, opened = 0, "", 0, None
    try:
        for token in tokenize.generate_tokens(functools.partial(next, rest, "")):
            row = start + token.start[0] - 1
            if token.type == tokenize.NEWLINE:
                return start + token.end[0], False
            if before == "=" and token.string in ("!", "%") and not depth:  # `x = !ls`
                return _continued(lines, row), False
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
            if tokenize.tok_name[token.type] in ("FSTRING_START", "TSTRING_START"):  # since Python 3.12
                opened = opened or token
            elif tokenize.tok_name[token.type] in ("FSTRING_END", "TSTRING_END"):
                opened = None
            is_first = row > start and token.start[1] == 0 and not lines[row - 1].strip()
            if is_first and token.string.strip() and not restart and opened is None:
                restart = row
            before = token.string.strip() or before
    except tokenize.TokenError as error:
        message, (number, _column) = error.args
        if restart and recovers:
            return restart, True
        if re.match(r"(unexpected )?EOF|unterminated triple", message):
            return len(lines), True
        end = min(start + number, len(lines))
        if opened is not None and (quotes := opened.string[-3:]) in ('"""', "'''"):
            row, column = start + opened.start[0] - 1, opened.end[1]
            closed = (i for i in range(row, len(lines)) if quotes in lines[i][column if i == row else 0 :])
            end = max(end, next(closed, len(lines) - 1) + 1)
        return end, False
    return len(lines), True


def _continued(lines: list[str], row: int) -> int:
    """Return the end of the line and of those that a backslash adds to it."""
    while row + 1 < len(lines) and lines[row].endswith("\\\n"):
        row += 1
    return row + 1
