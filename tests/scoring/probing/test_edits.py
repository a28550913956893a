"""One-click edits: what they change, what they leave alone, and where they do not apply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.probing.edits import (
    EDITS,
    FILLER,
    POLITE,
    REFUSAL,
    EditName,
    blocks,
    edited,
    parts,
    swapped,
    without_markdown,
)
from scoring.spec import Pair

CODE = "    total = 0\n    for x in xs:\n        total += x\n    return total\n"
TEXTS = st.text(alphabet="aB.!? \n`*_#->[]()$\\|~1。你\ud7ff", max_size=60)


def test_where_there_are_no_words_nothing_applies() -> None:
    for name in EDITS:
        for text in ["", " \n\t", CODE]:
            assert edited(name, text) is None


@given(TEXTS)
def test_an_edit_changes_something_or_does_not_apply(text: str) -> None:
    assert "".join(part.text for part in parts(text)) == text
    assert "".join(block.text for block in blocks(text)) == text
    for name in EDITS:
        made = edited(name, text)
        assert made is None or (made != text and made.strip())


# The last sentence


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("One. Two.", "One."),
        ('He said "no." She left.', 'He said "no."'),
        ("Dr. Who met Mr. Bean. They spoke.", "Dr. Who met Mr. Bean."),
        ("It is 3.5 kg, i.e. heavy. Lift it.", "It is 3.5 kg, i.e. heavy."),
        ("好的。没问题！", "好的。"),
        ("Text. More.\n\n---\n", "Text."),
        ("Look. Run it:\n```\nx.y. Z\n```\n", "Look.\n\n```\nx.y. Z\n```\n"),
    ],
)
def test_the_last_sentence_goes(text: str, left: str) -> None:
    assert edited("cut", text) == left


def test_an_only_sentence_stays() -> None:
    for text in ("One.", "Dr. Who", "Run it:\n```\na. B.\n```", "---"):
        assert edited("cut", text) is None


# Markdown


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a **bold** and *slanted* and ***both***, ~~gone~~", "a bold and slanted and both, gone"),
        ("**use `a*b` now**", "use a*b now"),
        ("- a\n  * b\n+ [x] c\n2. d", "a\nb\nc\n2. d"),
        ("[words](https://e.org/a_(b) \"t\") ![alt](x.png)", "words alt"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |\n", "a  b\n1  2\n"),
        ("Run:\n```sh\n# not a title\n**x**\n```\nDone.", "Run:\n# not a title\n**x**\nDone."),
        (r"5 \* 3", "5 * 3"),
    ],
)  # fmt: skip
def test_markdown_goes_and_its_words_stay(text: str, plain: str) -> None:
    assert without_markdown(text) == plain


def test_what_is_no_markdown_stays() -> None:
    for text in (
        "2 * 3 * 4 = 24 and a*b*c, x**2",
        "$a_1 + b_1$ costs $5 or $6",
        r"\(x_1 * y_1 * z\) and \[ \frac{a}{b} \]",
        "https://e.org/a_b_c*d*",
    ):
        assert without_markdown(text) == text
        assert edited("plain", text) is None


# What is added


def test_what_is_added_stands_before_or_after_the_text_and_is_the_same_for_every_text() -> None:
    for text in ("Short.", "- a\n- b\n", "é" * 50, "```\nx\n```"):
        made = edited("longer", text)
        assert made is not None and made.startswith(text)
        assert len(made) - len(text) == len(FILLER) + 2
    assert edited("polite", "Figs.\n```\nx\n```") == f"{POLITE}\n\nFigs.\n```\nx\n```"
    assert edited("refusal", "Figs.") == f"{REFUSAL}\n\nFigs."
    names: tuple[EditName, ...] = ("polite", "refusal", "upper")
    for name in names:
        once = edited(name, "Take the figs.")
        assert once is not None and edited(name, once) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("polite", "**Certainly**, take these."),
        ("refusal", "I'm sorry, but no."),
        ("refusal", "Hm. As an AI, I have no view."),
        *((name, "これは日本語の答えです。") for name in ("polite", "refusal", "longer")),
        ("longer", "Run:\n```\nx = 1"),
        ("upper", "これは日本語です。"),
        ("upper", "`code` https://e.org $x$"),
    ],
)
def test_what_would_be_there_twice_or_in_the_wrong_place_does_not_apply(
    name: EditName, text: str
) -> None:
    assert edited(name, text) is None


def test_capitals_leave_code_mathematics_and_addresses() -> None:
    text = "Call `len(x)` on $y$ or \\(z\\), \\alpha; see https://e.org/a.\n```py\nx = 1\n```\nso"
    made = edited("upper", text)
    assert made == (
        "CALL `len(x)` ON $y$ OR \\(z\\), \\alpha; SEE https://e.org/a.\n```py\nx = 1\n```\nSO"
    )


def test_a_swap_puts_each_response_in_the_others_place() -> None:
    pair = Pair("k", "s", "p", "a", "b")
    other = swapped(pair)
    assert other == Pair("k", "s", "p", "b", "a") and swapped(other) == pair
    assert swapped(Pair("k", "s", "p", "a", "a")) is None
