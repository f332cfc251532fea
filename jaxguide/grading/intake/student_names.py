"""Students' names: read them in one form, compare them, tell them apart, and match them with the class list."""

import collections
import contextlib
import dataclasses
import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from jaxguide.base.clean import clean, name_as_seen

ID_KINDS = {
    "email": "email",
    "login": "login",
    "sid": "SID",
    "canvas_id": "Canvas ID",
    "moodle_id": "Moodle participant",
    "github": "GitHub",
}
"""The kinds of ids by which learning platforms know students, and their columns in `grades.csv`."""
# It tells students of the same name apart, but no platform knows anyone by it.
SUBMISSION = "submission"
# How programs on Windows and macOS may have written a name that an archive does not mark as UTF-8 (cp437).
_OTHER_CODINGS = ("utf-8", "cp1252", "cp850", "mac_roman", "gb18030", "shift_jis", "euc_kr", "big5", "cp1251", "cp866")
_NUMBERS = ("sid", "canvas_id", "moodle_id")
_HIDDEN = re.compile(r" \([^)]*\\[xuU][0-9a-f]{2}[^)]*\)$")
# Shorter numbers in file names are more likely those of exercises or weeks.
_SHORTEST_NUMBER = 4
# What a class list identifies students by, besides their ids.
_NAME, _LETTERS, _ANY_ID = "name", "letters", "any id"

Key = tuple[str, tuple[str, ...]]
"""What is equal for files of the same students: their names, and the ids that tell them from others."""


@dataclasses.dataclass(frozen=True)
class Person:
    """A student, as an export or the class list names them, with ids by kind, see `ID_KINDS`."""

    name: str
    ids: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The id that tells students of the same name apart, or ''."""
        return next((self.ids[kind] for kind in (*reversed(ID_KINDS), SUBMISSION) if self.ids.get(kind)), "")

    @property
    def known_ids(self) -> dict[str, str]:
        """The ids by which learning platforms know the student."""
        return {kind: self.ids[kind] for kind in ID_KINDS if self.ids.get(kind)}


@dataclasses.dataclass(frozen=True)
class Owner:
    """Whose a file is, as far as its export or its place says: one student, a group, or () if that is not known."""

    people: tuple[Person, ...] = ()
    group: str = ""

    @classmethod
    def of(cls, name: str, ids: dict[str, str] | None = None, group: str = "") -> "Owner":
        """Return one student, whose name and group are written anyhow."""
        return cls((Person(as_read(name), ids or {}),), as_read(group))

    def known_or(self, other: "Owner") -> "Owner":
        """Return this owner if its people are known, or else another."""
        return self if self.people else other

    @property
    def name(self) -> str | None:
        """The students' names as one, or None if they are not known."""
        return joined([person.name for person in self.people]) or None

    @property
    def is_exported(self) -> bool:
        """Whether a learning platform named them, and not a student who chose a name for a file."""
        return any(person.ids for person in self.people)

    @property
    def key(self) -> Key:
        """What is equal for files of the same students."""
        return name_key(self.name or ""), tuple(person.identity for person in self.people)


NO_ONE = Owner()
"""Whose a file is if nothing says so."""


def joined(names: Iterable[str]) -> str:
    """Return the names of a group's members as one.

    >>> joined(["Ada Byron", "Bob Lee"])
    'Ada Byron + Bob Lee'
    """
    return " + ".join(names)


def as_read(name: str) -> str:
    r"""Return a name in the one form in which names are kept: composed letters (NFC), and only what people see.

    >>> as_read("Jose\u0301 \u200b ") == "Jos\u00e9"
    True
    """
    return clean(name_as_seen(unicodedata.normalize("NFC", name)), 100).strip()


def name_key(name: str) -> str:
    r"""Return what is equal for names that look alike, in capitals or not.

    >>> name_key("JOSE\u0301") == name_key("Jos\u00e9")
    True
    """
    return unicodedata.normalize("NFC", as_read(name).casefold())


def letters(name: str) -> str:
    """Return a name's letters and digits alone, which platforms keep where they drop accents, blanks and apostrophes.

    >>> letters("O'Connor, Aoife"), letters("José Núñez")
    ('oconnoraoife', 'josenunez')
    """
    plain = unicodedata.normalize("NFKD", name.casefold())
    return "".join(char for char in plain if char.isalnum())


@dataclasses.dataclass(frozen=True)
class ClassList:
    """The students of a class, found by name or by id.

    Args:
        people: the students; their names are unique.
        groups: name of a student -> name of their group, for work that is handed in by groups.
        platform: the learning platform whose headings its table has, '' if none.
        column: the columns that the names come from.
        left_out: the names in rows that are not of students.

    >>> aoife = ClassList((Person("O'Connor, Aoife", {"canvas_id": "10233"}), Person("Lee, Bob"))).find("Aoife OConnor")
    >>> aoife.name, aoife.ids
    ("O'Connor, Aoife", {'canvas_id': '10233'})
    """

    people: tuple[Person, ...] = ()
    groups: Mapping[str, str] = dataclasses.field(default_factory=dict)
    platform: str = ""
    column: str = ""
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str]) -> "ClassList":
        """Return a class list of nothing but names."""
        return cls(tuple(Person(name) for name in dict.fromkeys(names)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (_NAME, name_key(name)) in self._index

    def find(self, name: str, ids: Mapping[str, str] | None = None) -> Person | None:
        """Return the only student whom an id, a name or the letters of a name fit, or None."""
        for kind, value in (ids or {}).items():
            if found := self._index.get((kind, _id_key(value))):
                return _only(found)
        fitting = next(filter(None, map(self._index.get, _keys(name))), [])
        # Another number of the same kind is another student's of the same name.
        numbers = {kind: value for kind, value in (ids or {}).items() if kind in _NUMBERS}
        return _only([p for p in fitting if all(_id_key(p.ids.get(k, v)) == _id_key(v) for k, v in numbers.items())])

    def group_of(self, owner: Owner) -> tuple[Person, ...]:
        """Return the members of the group that an owner belongs to or names, or ()."""
        named = [self.groups[person.name] for person in owner.people if person.name in self.groups]
        said = {letters(name) for name in (owner.group, owner.name or "")} - {""}
        for group in () if named else self.groups.values():
            named += [group] if said & {before + letters(group) for before in ("", "group", "team")} else []
        return tuple(person for person in self.people if named and self.groups.get(person.name) == named[0])

    @functools.cached_property
    def _index(self) -> dict[tuple[str, str], list[Person]]:
        """The students by kind and text of what identifies them."""
        found = collections.defaultdict[tuple[str, str], list[Person]](list)
        for person in self.people:
            keys = {(_NAME, name_key(person.name)), *((_LETTERS, order) for order in _orders(person.name))}
            keys |= {(kind, _id_key(value)) for kind, value in person.ids.items() if value}
            said = {one for value in person.known_ids.values() for one in (value, value.partition("@")[0])}
            keys |= {(_ANY_ID, name_key(one)) for one in said if not one.isdecimal() or len(one) >= _SHORTEST_NUMBER}
            for key in keys:
                found[key].append(person)
        return dict(found)


def _keys(name: str) -> Iterator[tuple[str, str]]:
    """Yield the kinds and texts under which a class list may have a name, the surest first."""
    yield from ((_NAME, name_key(name)), (_ANY_ID, name_key(name)), (_LETTERS, letters(name)))
    for coding in _OTHER_CODINGS if not name.isascii() else ():
        with contextlib.suppress(UnicodeError):
            yield _NAME, name_key(name.encode("cp437").decode(coding))
    for start, char in enumerate(name):
        if char == "-":  # a repository of GitHub Classroom is called `homework-LOGIN`
            yield "github", _id_key(name[start + 1 :])


def _id_key(value: str) -> str:
    return name_key(value).lstrip("0")  # which spreadsheets drop


def _only(people: Sequence[Person]) -> Person | None:
    return people[0] if len(people) == 1 else None


def _orders(name: str) -> set[str]:
    """Return the letters of a name, family name first or last, and as written."""
    words = [word for word in map(letters, name.replace(",", " ").split()) if word]
    return {"".join(words[start:] + words[:start]) for start in range(len(words))}


def resolved_owners(owners: Sequence[Owner], roster: ClassList) -> list[Owner]:
    """Return owners whose people have the class list's names and ids, or else names that tell them apart.

    >>> owners = [Owner((Person("Blue-Bob Lee", {"moodle_id": "7"}),)), Owner((Person("Eve"),))]
    >>> [owner.name for owner in resolved_owners(owners, ClassList((Person("Lee, Bob"),)))]
    ['Lee, Bob', 'Eve']
    """
    owners = [_without_group(owner, roster) for owner in owners]
    written = [person for owner in owners for person in owner.people]
    listed = [roster.find(person.name, person.ids) for person in written]
    # Several students of one name, of whom the list has only one: no one knows which.
    claims: dict[str, set[str]] = {}
    for person, found in zip(written, listed, strict=True):
        if found is not None and not found.ids.items() & person.ids.items() and person.identity:
            claims.setdefault(found.name, set()).add(person.identity)
    listed = [None if found and len(claims.get(found.name, ())) > 1 else found for found in listed]
    others = [person for person, found in zip(written, listed, strict=True) if found is None]
    names = iter(told_apart([*others, *roster.people]))
    people = iter(
        Person(next(names), person.ids) if found is None else Person(found.name, {**person.known_ids, **found.ids})
        for person, found in zip(written, listed, strict=True)
    )
    return [Owner(tuple(next(people) for _person in owner.people), owner.group) for owner in owners]


def _without_group(owner: Owner, roster: ClassList) -> Owner:
    """Return an owner without a group's name in front of the student's, if only so the class list knows the student."""
    for person in owner.people if len(owner.people) == 1 else ():
        if "moodle_id" in person.ids and roster.find(person.name, person.ids) is None:
            for place, char in enumerate(person.name):
                if char == "-" and roster.find(person.name[place + 1 :]) is not None:
                    return Owner((Person(person.name[place + 1 :], person.ids),), person.name[:place])
    return owner


def told_apart(people: Sequence[Person]) -> list[str]:
    """Return names of students, followed by an id if several students have the same name.

    >>> told_apart([Person("Ada", {"sid": "12"}), Person("Bob", {"sid": "7"}), Person("ada", {"sid": "13"})])
    ['Ada (12)', 'Bob', 'ada (13)']
    """
    several = collections.Counter(name for name, _id in {(name_key(one.name), one.identity) for one in people})
    is_shared = [one.identity and several[name_key(one.name)] > 1 for one in people]
    return [f"{p.name} ({p.identity})" if shared else p.name for p, shared in zip(people, is_shared, strict=True)]


def told_apart_by_sight(names: Sequence[str]) -> list[str]:
    r"""Return names as people see them; one that would look like another student's shows what is hidden in it.

    >>> told_apart_by_sight(["ada", "a\u200bda", "bob\ufeff", "bob\ufeff"])
    ['ada', 'ada (a\\u200bda)', 'bob', 'bob']
    """
    plain: dict[str, str] = {}
    for name in sorted(set(names), key=lambda name: (name_as_seen(name) != name, name)):
        plain.setdefault(name_key(name), name.casefold())
    shown = []
    for name in names:
        hidden = name.casefold() not in (plain[name_key(name)], name_key(name))
        written = name.encode("unicode_escape").decode("ascii")
        shown.append(f"{name_as_seen(name)} ({written})" if hidden else name_as_seen(name))
    return shown


def shows_hidden(name: str) -> bool:
    """Return whether `told_apart_by_sight` has added what is hidden in a name."""
    return _HIDDEN.search(name) is not None
