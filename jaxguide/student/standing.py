"""Tell how much of a course a student has done and what comes next: all counts and words, and the cards with them."""

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType

from jaxguide.base.render.card import STATELESS, Badge, Bar, CardFace, Item, Items, Part, Prose
from jaxguide.base.render.card_view import CardView
from jaxguide.base.text import plural
from jaxguide.course.books.outline import Lesson, Outline
from jaxguide.course.exercise import Task
from jaxguide.course.progress import ExerciseProgress, Progress
from jaxguide.student.answers_in_files import FileAnswers

ABOUT_MORE = '"More" is what goes beyond the core: do it later, or leave it.'


@dataclasses.dataclass(frozen=True)
class Counts:
    """How much of one or several lessons is done; `core` counts the exercises of the core."""

    exercises: int
    done: int
    core: int
    core_done: int
    points: float
    earned: float
    hints: int

    @property
    def share(self) -> float:
        """The share of the core that is done."""
        return self.core_done / max(1, self.core)

    @property
    def beyond(self) -> str:
        """How many exercises beyond the core are done, '' if there are none: ' · 2 of 7 more'."""
        more = self.exercises - self.core
        return f" · {self.done - self.core_done} of {more} more" if more else ""

    @property
    def worth(self) -> str:
        """The points in words: '3 of 25 points'."""
        return f"{self.earned:g} of {self.points:g} points"

    def in_short(self) -> str:
        """Return how many exercises are done: '3 of 8 done · 2 of 7 more'."""
        return f"{self.core_done} of {self.core} done{self.beyond}"

    def in_words(self) -> str:
        """Return how many exercises are done, the points, and how many hints were read."""
        core, beyond = ("core ", f"{self.beyond} beyond it") if self.beyond else ("", "")
        words = plural("{core}exercise done", "{core}exercises done", self.core, core=core)
        return " · ".join([f"{self.core_done} of {self.core} {words}{beyond}", self.worth, *_read(self.hints)])


class Position:
    """A student's place in a course, according to their recorded progress.

    Args:
        course: the course.
        progress: what the student has done.
        files: their files; only lessons with an exercise in one of them count, or all lessons if there are none.
    """

    def __init__(self, course: Outline, progress: Progress, files: Iterable[FileAnswers] = ()):
        self.course, self.progress = course, progress
        names = {name for file in files for name in file.places}
        books = list(course.books.values())
        self.books = [book for book in books if names & book.exercise_names] or books
        self.exercises: list[Task] = [exercise for book in self.books for exercise in book.exercises]

    def current(self) -> Task | None:
        """Return the exercise to work on: the student's last one if it is not done, or else the next one that is not.

        Return None if all are done.
        """
        last = self.progress.place
        at = next((e for e in self.exercises if e.name == last), None)
        return at if at is not None and not self.progress.of(at.name).passed else self.after(at)

    def after(self, exercise: Task | None) -> Task | None:
        """Return the next exercise after this one that is not done, starting over at the end of the course.

        What is core comes first. Behind an exercise that is more, however, come all others of its lesson.
        Return None if all others are done.
        """
        exercises = self.exercises
        at = next((i for i, e in enumerate(exercises) if exercise is not None and e.name == exercise.name), -1)
        here = exercise.lesson if exercise is not None and exercise.is_more else None
        waiting = self._waiting(exercises[at + 1 :] + exercises[: max(at, 0)])
        return min(waiting, key=lambda e: (here is not None and e.lesson != here, e.is_more), default=None)

    @property
    def all_done(self) -> str:
        """The sentence that all exercises of the student's lessons are done."""
        return plural("The exercise is done.", "All {count} exercises are done.", len(self.exercises))

    def _waiting(self, exercises: Iterable[Task]) -> list[Task]:
        everything = self.progress.everything()
        return [e for e in exercises if not everything.get(e.name, ExerciseProgress()).passed]

    def next_step(self, book: Lesson, last: str | None = None) -> str:
        """Return a sentence that names the exercise to do next in a lesson, and says what is open before it.

        Args:
            book: the lesson.
            last: the exercise that the student did last, which is next if it is in this lesson and not done.
        """
        waiting, last = self._waiting(book.exercises), last or self.progress.place
        core = [e for e in waiting if not e.is_more]
        here = next((e for e in book.exercises if e.name == last), None)
        here = here or next(iter(core or waiting or reversed(book.exercises)), None)
        following = here if here in waiting else self.after(here)
        if following is None:
            return self.all_done
        if following in waiting:
            said = f"Next: {following.title} (`{following.name}`)."
            left = [e for e in core if waiting.index(e) < waiting.index(following)]
        else:
            said = f"Next lesson: {self.course.book_of(following).title} (`{following.lesson}`)."
            left = core or waiting
        one = "{count} earlier exercise is not done: `{name}`."
        many = "{count} earlier exercises are not done; the first is `{name}`."
        if waiting and not core and here is not None and not here.is_more:
            said = f"The core of this lesson is done. {said}"
            one = "{count} exercise here goes beyond it: `{name}`."
            many = "{count} exercises here go beyond it; the first is `{name}`."
        return f"{said} {plural(one, many, len(left), name=left[0].name)}" if left else said

    def counts(self, books: Collection[Lesson]) -> Counts:
        """Return how much of these lessons is done."""
        everything = self.progress.everything()
        exercises = [exercise for book in books for exercise in book.exercises]
        known = [everything.get(exercise.name, ExerciseProgress()) for exercise in exercises]
        return Counts(
            exercises=len(exercises),
            done=sum(one.passed for one in known),
            core=sum(not exercise.is_more for exercise in exercises),
            core_done=sum(one.passed and not e.is_more for e, one in zip(exercises, known, strict=True)),
            points=sum(exercise.points for exercise in exercises),
            earned=sum(e.points for e, one in zip(exercises, known, strict=True) if one.passed),
            hints=sum(one.hints for one in known),
        )


def standing_card(place: Position, book: Lesson, links: Mapping[str, str] = MappingProxyType({})) -> CardView:
    """Return the card of a student's progress in a lesson: a bar, the exercises by part as links, and what is next."""
    counts = place.counts([book])
    parts = (Bar(counts.share, counts.in_words()), *_groups(place, book, links), Prose(place.next_step(book)))
    return CardView(CardFace(STATELESS, book.title, book.topic, parts))


def course_card(place: Position) -> CardView:
    """Return the card of a student's progress in a course: the totals, and a bar for each lesson."""
    bars = []
    for book in place.course.books.values():
        counts = place.counts([book])
        said = [book.topic, counts.in_short(), counts.worth, *_read(counts.hints)]
        bars.append(Bar(counts.share, " · ".join(said)))
    total = place.counts(place.course.books.values())
    return CardView(CardFace(STATELESS, total.in_words(), parts=tuple(bars)))


def _read(hints: int) -> list[str]:
    return [plural("{count} hint read", "{count} hints read", hints)] if hints else []


def _groups(place: Position, book: Lesson, links: Mapping[str, str]) -> Iterator[Part]:
    """Yield the exercises below the heading of each part."""
    everything = place.progress.everything()
    for heading, group in itertools.groupby(book.exercises, lambda exercise: exercise.headings[:1]):
        if heading:
            yield Prose("", heading[0])
        items = []
        for exercise in group:
            done = everything.get(exercise.name, ExerciseProgress())
            said = [f"{exercise.title} (`{exercise.name}`)", exercise.worth, *_read(done.hints)]
            items.append(Item(badge_of(done), " · ".join(said), link=links.get(exercise.name, "")))
        yield Items(tuple(items))


def badge_of(done: ExerciseProgress) -> Badge:
    """Return a student's progress in an exercise as a glyph and a word.

    >>> badge_of(ExerciseProgress(attempts=["a"])).word
    'tried'
    """
    if done.is_right is False:
        return Badge("≠", "!", "guessed", "partly")
    if done.passed:
        return Badge("✓", "+", "done", "good")
    if done.attempts or done.hints:
        return Badge("◐", "~", "tried" if done.attempts else "begun", "partly")
    return Badge("○", "o", "new", "quiet")
