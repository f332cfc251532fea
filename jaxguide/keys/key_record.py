"""Hold the uses of a program's keys as plain data."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from jaxguide.base.plain import plain_of, read_plain
from jaxguide.base.render.prose import lines_html
from jaxguide.keys import key_cards


@dataclass(frozen=True, repr=False)
class Use:
    """One use of a key.

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
        return key_cards.use_text(self)

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

    def __repr__(self) -> str:
        return self.message  # shown by a cell that ends with `check_keys(...)`

    def _repr_html_(self) -> str:
        return key_cards.problems_card([self])


class KeyProblems(list[KeyProblem]):
    """A list of problems that a notebook shows as a card.

    >>> KeyProblems() == []
    True

    Args:
        problems: the problems.
        ignored: how many others were left out.
        cut_loops: a sentence for each loop of which only the first iterations were followed.
    """

    def __init__(self, problems: Iterable[KeyProblem] = (), ignored: int = 0, cut_loops: Iterable[str] = ()) -> None:
        super().__init__(problems)
        self.ignored = ignored
        self.cut_loops = list(cut_loops)

    def __str__(self) -> str:
        return key_cards.problems_text(self, self.ignored, self.cut_loops)

    def _repr_html_(self) -> str:
        return key_cards.problems_card(self, self.ignored, self.cut_loops)


@dataclass(frozen=True, repr=False)
class KeyUse:
    """Every use of a key in one run of a program, and the problems found.

    Args:
        uses: the uses in program order; a batched draw has one for each row.
        problems: empty if the program uses each key once.
        untraceable: the exception's text if the program could not be run; otherwise None.
        ignored: how many problems were left out because the caller asked for it.
        cut_loops: a sentence for each loop of which only the first iterations were followed.
    """

    uses: list[Use] = field(default_factory=list)
    problems: list[KeyProblem] = field(default_factory=list)
    untraceable: str | None = None
    ignored: int = 0
    cut_loops: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return key_cards.key_use_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return lines_html(str(self), "bad" if self.untraceable else key_cards.tone_of(self.problems))

    def to_plain(self) -> dict[str, Any]:
        """Return this as dict, list, str, int and None only, to cross a process boundary."""
        plain: dict[str, Any] = plain_of(self)
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "KeyUse":
        """Rebuild what `to_plain` returned."""
        found: KeyUse = read_plain(cls, plain)
        return found
