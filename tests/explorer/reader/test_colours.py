"""Colours of code: of all six languages, and of nothing for longer than a moment."""

import pytest

from explorer.data.datacard import data_card
from explorer.reader.colours import LONGEST_COLOURED, colours

LANGUAGES = {card.name: card.language for card in data_card().subsets if card.language}


@pytest.mark.parametrize("language", LANGUAGES.values())
def test_each_language_has_keywords_strings_numbers_and_comments(language: str) -> None:
    code = f'return f(12, "word") {"#" if language == "Python" else "//"} why\n'
    found = {kind: code[start:end] for (start, end), kind in colours(code, language).items()}
    assert {"keyword", "string", "number", "comment"} <= found.keys()
    assert (found["keyword"].strip(), found["string"]) == ("return", '"word"')


def test_text_without_a_language_and_long_code_stay_plain() -> None:
    assert colours("return 1", "") == colours("1;" * LONGEST_COLOURED, "Java") == {}
