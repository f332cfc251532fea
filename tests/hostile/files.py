"""Submissions that are hostile as files: archives, notebooks, and text that tries to inject markup into reports."""

import io
import json
import stat
import struct
import zipfile
from collections.abc import Callable
from typing import Any

from hostile.case import DOUBLE, HONEST, TOTAL, Case, in_call

_CODE = HONEST.encode()


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    """Return a zip archive with these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def _link() -> bytes:
    member = zipfile.ZipInfo("hw.py")
    member.create_system, member.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return zipped((member, b"/etc/passwd"))


def _nested() -> bytes:
    content = zipped(("hw.py", _CODE))
    for _level in range(12):
        content = zipped(("a.zip", content))
    return content


def _encrypted() -> bytes:
    content = bytearray(zipped(("hw.py", _CODE)))
    content[6] |= 1
    content[content.rindex(b"PK\1\2") + 8] |= 1
    return bytes(content)


def _lying_size() -> bytes:
    content = bytearray(zipped(("hw.py", b"#" * 10**6)))
    struct.pack_into("<I", content, content.rindex(b"PK\1\2") + 24, 10)
    return bytes(content)


def _long_names() -> bytes:
    """Return an archive whose names would take long to examine: millions of letters, none of them printable."""
    return zipped(*((f"{number}{chr(0xA0) * 30_000}.py", b"") for number in range(190)))


def _archive(name: str, content: Callable[[], bytes], **more: Any) -> Case:
    return Case(name, "archives", content, suffix=".zip", **more)


ARCHIVES = [
    _archive("zip-slip", lambda: zipped(("../../../evil.py", _CODE)), quick=True),
    _archive("absolute-name", lambda: zipped(("/tmp/evil.py", _CODE))),
    _archive("windows-name", lambda: zipped(("C:\\evil.py", _CODE))),
    _archive("link", _link),
    _archive("bomb", lambda: zipped(("hw.py", b"\n" * 300 * 2**20))),
    _archive("archives-in-archives", _nested),
    _archive("odd-name", lambda: zipped(("<img src=x onerror=alert(1)>\x1b[31m\u202e.py", _CODE))),
    _archive("cut-archive", lambda: zipped(("hw.py", _CODE))[:60]),
    _archive("encrypted", _encrypted),
    _archive("lying-size", _lying_size),
    _archive("very-long-names", _long_names, says="The archive lists too many files"),
    _archive("many-members", lambda: zipped(*((f"{number}.py", b"") for number in range(20_000)))),
]


def notebook(*sources: Any, **more: Any) -> bytes:
    """Return a notebook with code cells of these sources."""
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}).encode()


def _notebook(name: str, content: Callable[[], bytes], *double: str, **more: Any) -> Case:
    return Case(name, "notebooks", content, double, suffix=".ipynb", **more)


NOTEBOOKS = [
    _notebook("no-json", lambda: b"{'cells': []}"),
    _notebook("cut-off", lambda: notebook(DOUBLE, TOTAL)[:-40], quick=True),
    _notebook("deep-json", lambda: b'{"cells":' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
    _notebook("huge", lambda: notebook(DOUBLE, TOTAL, more="x" * 51 * 2**20)),
    _notebook("cells-are-a-number", lambda: b'{"cells": 5}'),
    _notebook("a-list", lambda: b"[1, 2]"),
    _notebook("many-cells", lambda: notebook(*["x = 1"] * 10_000)),
    _notebook("long-cell", lambda: notebook(DOUBLE, "#" * 10**6)),
    _notebook("binary", lambda: bytes(range(256)) * 100),
    _notebook("other-encoding", lambda: notebook(DOUBLE).decode().encode("cp500")),
    _notebook("huge-number-in-json", lambda: b'{"cells": [], "n": ' + b"9" * 10**5 + b"}"),
    _notebook(
        "wrong-types", lambda: notebook(None, 5, {"a": 1}, [DOUBLE, 3, None, {}], TOTAL, metadata="no"), "passed"
    ),
    _notebook("null-bytes", lambda: notebook("x = 1\0\ndef double(x):\n    return 2 * x\n", TOTAL), "rejected"),
    _notebook("surrogates", lambda: notebook("s = '\ud800'\n" + DOUBLE, TOTAL), "passed"),
    _notebook(
        "deep-code",
        lambda: notebook(f"def double(x):\n    return {'(' * 5000}x{')' * 5000}\n", TOTAL),
        *("rejected", "error"),
    ),
    _notebook(
        "long-chain", lambda: notebook(f"def double(x):\n    return x{' + x' * 40_000}\n", TOTAL), "rejected", "error"
    ),
    _notebook("long-number", lambda: notebook(f"def double(x):\n    return {'9' * 5000}\n", TOTAL), "error"),
    _notebook("brackets", lambda: notebook(more=[[[[]]]] * 5_000_000), says="memory"),
    _notebook(
        # Python's parser needs memory that grows with the square of such a name's length.
        "long-name",
        lambda: notebook(f"import {'a.' * 95_000}a\n" + DOUBLE, TOTAL),
        "rejected",
    ),
    _notebook(
        "many-names", lambda: notebook("\n".join(f"doubl{n} = 1" for n in range(12_000)), TOTAL), "no such function"
    ),
    _notebook("many-magics", lambda: notebook(*["%a\n" * 400] * 10), says="magics"),
    _notebook("shell-lines", lambda: notebook("!touch /tmp/evil\n%run /tmp/x\n" + DOUBLE, TOTAL), "passed"),
]

_EVIL = "</pre><script>alert(1)</script>\\x1b[31m\\x1b]0;t\\x07\\u202e\\x9b<img src=x onerror=alert(1)>\\r\\0"
BREAKS_OUT = [
    Case("prints-markup", "breaks out", in_call(f"print('{_EVIL}')\nsys.stderr.write('{_EVIL}')"), ("passed",)),
    Case("raises-markup", "breaks out", in_call(f"raise ValueError('{_EVIL}')"), ("error",), quick=True),
    Case(
        "class-of-markup", "breaks out", in_call(f"raise type('{_EVIL}'.replace('\\0', ''), (Exception,), {{}})()"),
        ("error",),
    ),
    Case("returns-markup", "breaks out", in_call(f"return {{'{_EVIL}': ['{_EVIL}', x]}}"), ("failed",)),
    Case("text-that-fails", "breaks out", in_call("raise type('Bad', (Exception,), {'__str__': None})()"), ("error",)),
]  # fmt: skip
