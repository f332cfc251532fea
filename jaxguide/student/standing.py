"""Show a student's progress in a lesson and in the whole course."""

import itertools
from collections.abc import Iterator

from jaxguide.base.render.card import STATELESS, Badge, Bar, CardFace, Item, Items, Part, Prose
from jaxguide.base.render.card_view import CardView
from jaxguide.base.text import plural
from jaxguide.course.books.outline import Lesson
from jaxguide.course.progress import ExerciseProgress
from jaxguide.student.position import Position


def standing_card(place: Position, book: Lesson) -> CardView:
    """Return the card of a student's progress in a lesson: a bar, the exercises by part, and what to do next."""
    counts = place.counts([book])
    parts = (Bar(counts.share, counts.in_words()), *_groups(place, book), Prose(place.next_step(book)))
    return CardView(CardFace(STATELESS, book.title, book.topic, parts))


def course_card(place: Position) -> CardView:
    """Return the card of a student's progress in a course: the totals, and a bar for each lesson."""
    bars = []
    for book in place.course.books.values():
        counts = place.counts([book])
        said = [book.topic, f"{counts.core_done} of {counts.core} done{counts.beyond}"]
        said += [f"{counts.earned:g} of {counts.points:g} points"]
        said += [plural("{count} hint", "{count} hints", counts.hints)] if counts.hints else []
        bars.append(Bar(counts.share, " · ".join(said)))
    total = place.counts(place.course.books.values())
    return CardView(CardFace(STATELESS, total.in_words(), parts=tuple(bars)))


def _groups(place: Position, book: Lesson) -> Iterator[Part]:
    """Yield the exercises below the heading of each part."""
    everything = place.progress.everything()
    for heading, group in itertools.groupby(book.exercises, lambda exercise: exercise.headings[:1]):
        if heading:
            yield Prose("", heading[0])
        items = []
        for exercise in group:
            done = everything.get(exercise.name, ExerciseProgress())
            said = [f"{exercise.title} (`{exercise.name}`)", exercise.worth]
            said += [plural("{count} hint", "{count} hints", done.hints)] if done.hints else []
            items.append(Item(badge_of(done), " · ".join(said)))
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
