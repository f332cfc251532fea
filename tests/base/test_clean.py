"""What `clean` keeps of a text, and what it takes out."""

import pytest

from jaxguide.base.clean import clean, cleaned


def test_clean_keeps_words_of_every_language() -> None:
    assert clean("键\tключ é\n✓") == "键   ключ é\n✓"
    assert clean("x" * 50, limit=10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    "text", ["\x1b\x00[31mred", "\x1b]0;a\x1b[0mb\x07", "\r\r\n\n", "\ud83d\ude00", "\x1b\x1b[2J["]
)
def test_what_is_clean_stays_as_it_is(text: str) -> None:
    # Feedback is laid out from data that was cleaned before.
    assert clean(clean(text)) == clean(text)
    assert cleaned(cleaned({text: [text]})) == cleaned({text: [text]})
