"""Display results as the cards that students read: after `check`, as text, HTML and JSON, and in a summary."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxguide.base.clean import clean
from jaxguide.base.render.card import STATELESS, CardFace, Item, Items, Part, Prose
from jaxguide.base.render.card_view import CardView
from jaxguide.course.cards.content import BEHIND, counts_of, exercise_badge, face_of, is_prediction
from jaxguide.course.cards.shown import result_from_plain, result_to_plain
from jaxguide.course.cards.student_view import for_student
from jaxguide.course.verdict import ExerciseResult, Verdict

__all__ = ["BEHIND", "Card", "for_student", "result_from_plain", "result_to_plain", "summary_card"]

# Not application/json: JupyterLab would show a JSON tree instead of the HTML.
JSON_TYPE = "application/vnd.jaxguide.result+json"


class Card(CardView):
    """One exercise's result, for a terminal, a notebook or a program.

    A card shows the student's view: of a hidden check, only its verdict, fact, idea, kind of input and misconceptions.
    With `reveal`, it shows everything, for instructors. `cases` maps names of checks to lines to show below them. With
    `verbose`, a terminal shows what a notebook folds away. `more` is shown below a pass.
    """

    def __init__(
        self,
        result: ExerciseResult,
        reveal: bool = False,
        cases: Mapping[str, list[str]] | None = None,
        verbose: bool = False,
        more: Sequence[Part] = (),
    ):
        shown = tuple(more) if result.verdict is Verdict.PASSED else ()
        super().__init__(face_of(result, reveal, cases or {}, shown), unfolded=verbose)
        self.result, self.reveal = result, reveal

    def plain(self) -> dict[str, Any]:
        """Return the card's result as JSON data."""
        return result_to_plain(self.result if self.reveal else for_student(self.result))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {**super()._repr_mimebundle_(), JSON_TYPE: self.plain()}


def summary_card(results: Sequence[ExerciseResult]) -> CardView:
    """Return a card with one line for each result, and the number of exercises that passed."""
    items = []
    for result in results:
        is_counted = result.verdict is not Verdict.NOT_ATTEMPTED and not is_prediction(result)
        counts = f" · {counts_of(result)}" if is_counted else ""
        items.append(Item(exercise_badge(result), clean(result.name, 60) + counts))
    done = sum(result.verdict is Verdict.PASSED for result in results)
    waiting = sum(result.verdict is Verdict.NOT_ATTEMPTED for result in results)
    said = f"{done} of {len(results)} exercises done."
    said += f" {waiting} not started." if waiting else ""
    return CardView(CardFace(STATELESS, "", parts=(Items(tuple(items)), Prose(said))))
