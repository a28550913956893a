"""Colours of code: of all six languages, and of nothing for longer than a moment."""

import pytest

from explorer.data.datacard import data_card
from explorer.reader.colours import LONGEST_COLOURED, colours

LANGUAGES = {card.name: card.language for card in data_card().subsets if card.language}


def coloured(code: str, language: str) -> list[tuple[str, str]]:
    return [(code[start:end], colour) for (start, end), colour in colours(code, language).items()]


@pytest.mark.parametrize("language", LANGUAGES.values())
def test_each_language_has_keywords_strings_numbers_and_comments(language: str) -> None:
    sign = "#" if language == "Python" else "//"
    code = f'return f(12, "word") {sign} why\n'
    found = {colour: words for words, colour in coloured(code, language)}
    assert {"keyword", "string", "number", "comment"} <= found.keys()
    assert (found["keyword"].strip(), found["string"], found["number"]) == (
        "return",
        '"word"',
        "12",
    )


def test_text_without_a_language_and_long_code_stay_plain() -> None:
    assert colours("return 1", "") == {}
    assert colours("1;" * LONGEST_COLOURED, "Java") == {}
