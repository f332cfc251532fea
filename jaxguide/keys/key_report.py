"""Hold what a check of a program's keys found, as plain data: each use of a key, and the problems."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxguide.base.plain import plain_of, read_plain
from jaxguide.base.render import Picture
from jaxguide.base.render.prose import lines_html
from jaxguide.base.text import plural


@dataclass(frozen=True, repr=False)
class Use:
    """One use of a key.

    >>> Use("draw", (0, 7), "fry", 3, "x = jax.random.normal(key)", "normal")
    normal from key 0:7, line 3: x = jax.random.normal(key)

    Args:
        kind: 'draw', 'split', 'fold_in', 'seed' or 'clone'.
        bits: the key's words, as `jax.random.key_data` gives them; for a seed, the words of the key that it made.
        impl: the key's implementation, such as 'fry' (threefry) or 'rbg'.
        line: the line number in the user's file or cell; None if JAX does not know it.
        source: the text of that line.
        sampler: for a draw, the sampler's name in `jax.random`, such as 'normal'.
        data: the number folded in, or the seed, if it is a single number.
        count: how many keys a split made.
    """

    kind: str
    bits: tuple[int, ...]
    impl: str
    line: int | None = None
    source: str | None = None
    sampler: str | None = None
    data: int | None = None
    count: int | None = None

    def __str__(self) -> str:
        key = "key " + ":".join(f"{word:x}" for word in self.bits)
        done = {
            "draw": f"{self.sampler or 'draw'} from {key}",
            "split": f"split of {key} into {self.count}",
            "fold_in": f"fold_in of {self.data} into {key}",
            "seed": f"{key} from the seed {self.data}",
        }.get(self.kind, f"{self.kind} of {key}")
        where = "" if self.line is None else f", line {self.line}"
        return f"{done}{where}{f': {self.source}' if self.source else ''}"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class KeyProblem:
    """A mistake with a key, and the two lines that cause it.

    Args:
        kind: 'drawn_twice', 'parent_used_after_split', 'parent_used_after_fold', 'split_twice',
            'fold_twice_same_data', 'split_and_fold_mixed', 'same_key_for_all_rows' or 'seed_built_twice'.
        message: one sentence for a beginner.
        first_line, second_line: the lines of the first and the second use; equal if one line ran twice.
        first_source, second_source: their text; if a statement spans several lines, the whole statement.
        first_file, second_file: the file's name or the notebook cell, such as 'lesson.py' or 'cell [2]'.
        name: the key's name in the student's code, such as 'key' or 'keys[0]'; None if it has none.
        package: the installed package that used the key twice of its own accord, and the lines are of the call that
            led there; None if the code is the student's.
    """

    kind: str
    message: str
    first_line: int | None = None
    second_line: int | None = None
    first_source: str | None = None
    second_source: str | None = None
    first_file: str | None = None
    second_file: str | None = None
    name: str | None = None
    package: str | None = None

    def __str__(self) -> str:
        return self.message

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return KeyReport(problems=[self])._repr_html_()


@dataclass(repr=False)
class KeyReport:
    """What a program does with its keys; iterating gives the problems, and it is true if there are any.

    >>> len(KeyReport()), bool(KeyReport())
    (0, False)

    Args:
        uses: the uses in program order; a batched draw has one for each row.
        problems: empty if the program uses each key once.
        untraceable: for an answer that could not be run, the exception's text; otherwise None.
        ignored: how many problems were left out because the caller asked for it.
        cut_loops: a sentence for each loop of which only the first iterations were followed.
    """

    uses: list[Use] = field(default_factory=list)
    problems: list[KeyProblem] = field(default_factory=list)
    untraceable: str | None = None
    ignored: int = 0
    cut_loops: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[KeyProblem]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def __post_init__(self) -> None:
        self.draw: Callable[[], Picture] | None = None  # not a field: it does not cross a process boundary

    @functools.cached_property
    def tree(self) -> Picture:
        """A picture of which keys are made from which, what is drawn from each, and which are used twice."""
        if self.draw is None:
            raise ValueError("Only the report that `check_keys` returns has a tree.")
        return self.draw()

    def __str__(self) -> str:
        if self.untraceable is not None:
            return f"The program could not be run: {self.untraceable}"
        counted = plural("{count} problem with keys", "{count} problems with keys", len(self))
        ignored = plural(", {count} ignored", ", {count} ignored", self.ignored) if self.ignored else ""
        title = f"{counted if self else '✓ No problem with keys'}{ignored}."
        return "\n".join([title, *self.marked_lines()])

    __repr__ = __str__

    def marked_lines(self) -> Sequence[str]:
        """Return a line for each problem, and one for each loop that was followed only in part."""
        return [*(f"✗ {problem}" for problem in self.problems), *(f"○ {sentence}" for sentence in self.cut_loops)]

    def _repr_html_(self) -> str:
        theirs = all(problem.package for problem in self.problems)  # a problem inside a package is not the student's
        found = "partly" if theirs else "bad"
        return lines_html(str(self), "bad" if self.untraceable else found if self else "good")

    def to_plain(self) -> dict[str, Any]:
        """Return this as dict, list, str, int and None only, to cross a process boundary; the tree is left out."""
        plain: dict[str, Any] = plain_of(self)
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "KeyReport":
        """Rebuild what `to_plain` returned."""
        found: KeyReport = read_plain(cls, plain)
        return found
