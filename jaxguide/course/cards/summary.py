"""Summarize the results of several exercises."""

from collections.abc import Sequence

from jaxguide.base.clean import clean
from jaxguide.base.render.card import STATELESS, CardFace, Item, Items, Prose
from jaxguide.base.render.card_view import CardView
from jaxguide.course.cards.content import counts_of, exercise_badge, is_prediction
from jaxguide.course.verdict import ExerciseResult, Verdict


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
