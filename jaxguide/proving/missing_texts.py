"""Find out which texts an exercise lacks that students read beyond its task."""

from collections.abc import Iterator

from jaxguide.course.exercise import Exercise


def missing_texts(exercise: Exercise) -> Iterator[str]:
    """Yield a sentence for each text that an exercise lacks; its key, if it has one, must be loaded."""
    name, key = exercise.name, exercise.key
    if exercise.is_prediction:
        if not exercise.why:
            yield f"the prediction `{name}` does not say why JAX gives its answer; say it in `@reveal(why=...)`"
        if not exercise.shows:
            yield f"the prediction `{name}` has no code that shows its answer; write it in `@reveal(shows=...)`"
        return
    if key is not None and not key.answer.notice:
        yield f"the answer to `{name}` does not say what to notice; say it in `@answer(notice=...)`"
    if key is not None and not key.answer.another_way:
        yield f"the answer to `{name}` does not say what another way costs; say it in `@answer(another_way=...)`"
