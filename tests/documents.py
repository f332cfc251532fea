"""Split the pages for readers (README, CONTRIBUTING and docs) into blocks, commands, links and inline code."""

import dataclasses
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)(.*)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (.+\.(?:py|toml))\n")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block: its language and its text."""

    language: str
    text: str

    @property
    def file(self) -> str:
        """The path on the first line of a Python or TOML block, or '' if there is none."""
        found = _FILE.match(self.text) if self.language in ("python", "toml") else None
        return found[1] if found else ""


@dataclasses.dataclass(frozen=True)
class Command:
    """A command in a console block, and the output shown below it."""

    line: str
    shown: str


@dataclasses.dataclass(frozen=True)
class Link:
    """A link or an image."""

    is_image: bool
    text: str
    target: str


def name(page: Path) -> str:
    """Return a page's name: its path in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Return a page's fenced blocks.

    Raises:
        ValueError: a fence has a form that this module does not support.
    """
    text = page.read_text("utf-8")
    found = [Block(*parts) for parts in _BLOCK.findall(text)]
    if len(_FENCE.findall(text)) != 2 * len(found):
        raise ValueError(f"{name(page)}: write blocks as ```language, at the start of a line")
    return found


def commands(page: Path) -> list[Command]:
    """Return the commands in a page's console blocks, in order."""
    found: list[Command] = []
    for line in (line for block in blocks(page) if block.language == "console" for line in block.text.splitlines()):
        if line.startswith("$ "):
            found.append(Command(line[2:].partition("  #")[0].strip(), ""))
        else:
            found[-1] = dataclasses.replace(found[-1], shown=f"{found[-1].shown}{line}\n")
    return found


def files() -> dict[str, str]:
    """Return the files shown on any page, by path."""
    shown = [block for page in PAGES for block in blocks(page) if block.file]
    return {block.file: block.text.partition("\n")[2] for block in shown}


def program(page: Path) -> str:
    """Join a page's Python blocks that name no path into one program; '' if there are none."""
    return "\n".join(block.text for block in blocks(page) if block.language == "python" and not block.file)


def prose(page: Path) -> str:
    """Return a page's text without its fenced blocks."""
    return _BLOCK.sub("", page.read_text("utf-8"))


def links(page: Path) -> list[Link]:
    """Return a page's links and images."""
    return [Link(bool(mark), text, target) for mark, text, target in _LINK.findall(prose(page))]


def inline_code(page: Path) -> list[str]:
    """Return the inline code on a page, which is the text between single backticks."""
    return _CODE.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub generates them."""
    heads = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
