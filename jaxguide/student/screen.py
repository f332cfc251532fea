"""Show a session in a terminal: the task, the last verdict and what a key asked for, above the state and the keys."""

import signal
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.control import Control
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment, Segments
from rich.text import Text

from jaxguide.base.clean import clean
from jaxguide.base.render.card import STATELESS, CardFace, Prose
from jaxguide.base.render.card_view import CardView
from jaxguide.base.render.terminal import Layout
from jaxguide.base.text import plural
from jaxguide.course.books.outline import Lesson, Outline
from jaxguide.course.books.statement import joined_lines
from jaxguide.course.exercise import Task
from jaxguide.student.keyboard import DOWN, PAGE_DOWN, PAGE_UP, UP
from jaxguide.student.standing import ABOUT_MORE

Lines = list[list[Segment]]
_WIDEST = 120
_FEW_LINES = 5  # of a task: its lesson, its title, its name, the beginning of what it asks, and that there is more

KEYS = {
    "n": ("next", "Go to the next exercise that is not done."),
    "h": ("hint", "Read one more hint. It costs no points."),
    "s": ("solution", "Read the solution, once it is open."),
    "l": ("list", "List the lessons, and the exercises of this one."),
    "t": ("", "Read the whole task."),
    "r": ("reset", "Empty the function. Your answer is kept in another file."),
    "x": ("", "Stop the check that is running."),
    "?": ("help", "Show this list."),
    "q": ("quit", "Leave. What you have done is kept."),
    "Enter": ("", "Close what a key has shown."),
    "Space": ("", "Scroll down one page. Page Up and the arrow keys scroll, too."),
}
"""Each key with its name in the line of keys, if it is always there, and with what it does."""


class Screen:
    """A context that shows a session on the terminal's alternate screen, and gives the terminal back as it was.

    The beginning of the task and the keys are always in view. What does not fit below the task scrolls. Where nothing
    can be redrawn, in a pipe and in some terminals, everything is printed line after line.

    Args:
        later: runs a function after the event that is being handled, since signals come at any time.
        is_terminal: whether this is a terminal, where keys are read.
    """

    def __init__(self, later: Callable[[Callable[[], None]], None], is_terminal: bool):
        self._later = later
        self._out = Console(highlight=False, markup=False, emoji=False)
        self.redraws = is_terminal and not (self._out.is_dumb_terminal or self._out.legacy_windows)
        self._cards: dict[str, list[RenderableType]] = {}  # what was told and asked, the newest first
        self._notice: list[RenderableType] = []
        self._is_old = False
        self._top = self._page = 0

    def __enter__(self) -> "Screen":
        self._out.set_alt_screen()
        self._out.show_cursor(False)
        self._frame: list[Segment] = []
        self._before: dict[int, Any] = {}
        for name, handle in (("SIGTSTP", self._suspend), ("SIGWINCH", lambda: None)):  # each event ends in a drawing
            number = getattr(signal, name, None)
            if number is not None:
                self._before[number] = signal.signal(number, lambda *unused, handle=handle: self._later(handle))
        return self

    def __exit__(self, *unused: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._out.set_alt_screen(False)
        self._out.show_cursor()

    def _suspend(self) -> None:
        """Stop as Ctrl-Z stops any program, and go on when the shell says so."""
        self.__exit__()
        signal.raise_signal(signal.Signals["SIGTSTP"])
        self.__enter__()

    def layout(self) -> Layout:
        return Layout(min(self._out.width, _WIDEST), self._out.options.ascii_only)

    def text(self, words: str, style: str = "") -> Text:
        """Return words that are safe to show."""
        return self.layout().text(clean(words), style)

    def show(self, slot: str, *shown: RenderableType, title: str = "") -> None:
        """Show sentences and cards.

        Args:
            slot: what they are: the `task`, `told` of a save, `asked` with a key, a `notice` about a key, or `passing`,
                which is only printed.
            shown: the sentences and cards; without any, the slot is empty again.
            title: what they are about, for a rule above them.
        """
        block: list[RenderableType] = [self.text(one) if isinstance(one, str) else one for one in shown]
        if not self.redraws:
            if block:
                above = [self._rule(title)] if title else []
                self._out.print("", *above, *block, sep="\n", width=self.layout().width)
        elif slot == "notice":
            self._notice = block
        elif slot == "task":
            self._cards = {} if self._is_old else {"told": self._cards.get("told", [])}
            self._top = 0
        elif slot != "passing":
            before = self._cards.pop(slot, [])
            kept = [] if slot == "asked" or self._is_old else before
            self._cards = {slot: [self._rule(title), *block, *kept] if block else [], **self._cards}
            self._is_old &= slot == "asked"
            self._top = 0

    def turn(self) -> None:
        """Let what is told next replace what was told before."""
        self._is_old = True

    def scroll(self, key: str) -> bool:
        """Scroll, and return whether it is a key for that."""
        steps = {UP: -1, DOWN: 1, PAGE_UP: 1 - self._page, PAGE_DOWN: self._page - 1, " ": self._page - 1}
        self._top += steps.get(key, 0)
        return self.redraws and key in steps

    def close(self) -> bool:
        """Remove what was asked for, and return whether there was anything."""
        self._top = 0
        return bool(self._cards.pop("asked", None))

    def draw(self, task: RenderableType, state: Text, keys: Mapping[str, str]) -> None:
        """Draw everything that changed, with what changes without being shown: the place to answer, state and keys."""
        width, height = self._out.size
        closes = {"Enter": "close"} if self._cards.get("asked") else {}
        keys = closes | {key: name for key, name in keys.items() if key not in closes}
        low = self._lines(*self._notice, state, keys_line(keys, self.layout().width))
        whole, room = self._lines(task), max(1, height - 1 - len(low))
        moved = self._lines(*(one for cards in self._cards.values() for one in cards))
        if any(isinstance(one, ExerciseText) for one in self._cards.get("asked", ())):
            still = []  # the whole task is in `moved`
        elif moved:
            still = self._cut(whole, max(room - len(moved), _FEW_LINES))
        else:
            still, moved = whole[:1], whole[1:]
        self._page = max(1, room - len(still))
        self._top = max(0, min(self._top, len(moved) - self._page))
        seen = moved[self._top : self._top + self._page]
        below = len(moved) - self._top - len(seen)
        more = plural("{count} more line: arrow keys, Space", "{count} more lines: arrow keys, Space", below)
        high = [*still, *seen, *[[]] * (self._page - len(seen)), *self._lines(self._rule(more if below else ""))]
        lines = [*high[: height - len(low)], *low][:height]
        ended = ((*Segment.adjust_line_length(line, width), Segment.line()) for line in lines)
        frame = [segment for line in ended for segment in line][:-1]
        if frame != self._frame:  # drawing the same again would remove what is selected
            self._frame = frame
            self._out.print(Control.home(), Segments(frame), end="", crop=False)

    def _rule(self, title: str = "") -> Rule:
        # Only the rule is dim: dim words are hard to read on a light background.
        line = "-" if self.layout().ascii_only else "─"  # without a title, Rich keeps what the terminal cannot show
        return Rule(self.text(title), characters=line, align="left", style="dim")

    def _lines(self, *shown: RenderableType) -> Lines:
        options = self._out.options.update(width=self.layout().width)
        return self._out.render_lines(Group(*shown), options, pad=False) if shown else []

    def _cut(self, task: Lines, most: int) -> Lines:
        """Return a task without empty lines, and its first lines only if not all fit."""
        full = [line for line in task if any(segment.text.strip() for segment in line)]
        if len(task) <= most or len(full) <= most:
            return task if len(task) <= most else full
        return [*full[: most - 1], *self._lines(self.text("… t shows the whole task"))]


def console() -> Console:
    """Return a console for the terminal, with lines that are short enough to read well."""
    found = Console(highlight=False, markup=False, emoji=False)
    found.width = min(found.width, _WIDEST)
    return found


class ExerciseText:
    """An exercise as a student reads it before the first try: lesson and part, task, and where to answer.

    Args:
        exercise: the exercise.
        book: its lesson.
        where: a sentence that says which file to write in.
        place: where to write, for a first line that stands out, such as 'arrays.py (line 12)'.
    """

    def __init__(self, exercise: Task, book: Lesson, where: str = "", place: str = ""):
        self.exercise, self.book, self.where, self.place = exercise, book, where, place

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        layout, exercise = Layout(options.max_width, options.ascii_only), self.exercise
        head = layout.text(" · ".join([self.book.title, *exercise.headings]))
        if self.place:
            place = layout.text(f" {self.place} ")
            head.truncate(max(0, layout.width - place.cell_len), overflow="ellipsis", pad=True)
            head.append_text(place).stylize("reverse")
        yield head
        yield layout.text(exercise.full_title, style="bold").append_text(layout.text(f" ({exercise.worth})"))
        yield Text("")
        yield layout.indented(layout.text(f"{exercise.name}{exercise.signature}", style="bold"))
        yield Text("")
        for line in joined_lines(exercise.contract):
            words = layout.text(line.words or " ")
            yield Padding(layout.indented(words), (0, 0, 0, line.indent), expand=False)
        if self.where:
            yield Text("")
            yield layout.text(self.where)


def help_card(course: Outline) -> CardView:
    """Return the card that says what each key does."""
    parts = [Prose(words, key) for key, (_name, words) in KEYS.items() if key != "s" or course.has_solutions]
    about = "Whenever you save a notebook or a .py file, the answers that changed in it are checked."
    if any(book.marks_core for book in course.books.values()):
        about = f"{about} {ABOUT_MORE}"
    return CardView(CardFace(STATELESS, "What each key does", parts=(*parts, Prose(about))))


def keys_line(names: Mapping[str, str], width: int) -> Text:
    """Return keys and their names, wrapped between keys only."""
    items = [f"{key} {name}".replace(" ", "\xa0") for key, name in names.items()]  # no line ends at such a space
    found = Text("\n".join(textwrap.wrap("  ".join(items), width)).replace("\xa0", " "), overflow="fold")
    found.highlight_regex(r"(^|(?<=  )|(?<=\n))\S+", "bold")
    return found
