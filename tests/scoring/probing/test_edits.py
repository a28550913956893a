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
)
from scoring.spec import Pair

CODE = "    total = 0\n    for x in xs:\n        total += x\n    return total\n"
TEXTS = st.text(alphabet="aB.!? \n`*_#->[]()$\\|~1。你\ud7ff", max_size=60)


@given(TEXTS)
def test_an_edit_changes_something_or_does_not_apply(text: str) -> None:
    assert "".join(part.text for part in parts(text)) == text
    assert "".join(block.text for block in blocks(text)) == text
    for name in EDITS:
        made = edited(name, text)
        assert made is None or (made != text and made.strip())


@pytest.mark.parametrize(
    ("name", "text", "made"),
    [
        ("cut", "One. Two.", "One."),
        ("cut", 'He said "no." She left.', 'He said "no."'),
        ("cut", "Dr. Who met Mr. Bean. They spoke.", "Dr. Who met Mr. Bean."),
        ("cut", "It is 3.5 kg, i.e. heavy. Lift it.", "It is 3.5 kg, i.e. heavy."),
        ("cut", "好的。没问题！", "好的。"),
        ("cut", "Text. More.\n\n---\n", "Text."),
        ("cut", "Look. Run it:\n```\nx.y. Z\n```\n", "Look.\n\n```\nx.y. Z\n```\n"),
        ("plain", "a **b** and *c* and ***d***, ~~gone~~", "a b and c and d, gone"),
        ("plain", "**use `a*b` now**", "use a*b now"),
        ("plain", "- a\n  * b\n+ [x] c\n2. d", "a\nb\nc\n2. d"),
        ("plain", '[words](https://e.org/a_(b) "t") ![alt](x.png) so', "words alt so"),
        ("plain", "| a | b |\n|---|:-:|\n| 1 | 2 |\n", "a  b\n1  2\n"),
        ("plain", "Run:\n```sh\n# no title\n**x**\n```\nDone.", "Run:\n# no title\n**x**\nDone."),
        ("plain", r"5 \* 3", "5 * 3"),
        ("polite", "Figs.\n```\nx\n```", f"{POLITE}\n\nFigs.\n```\nx\n```"),
        ("refusal", "Figs.", f"{REFUSAL}\n\nFigs."),
        *(("longer", text, f"{text}\n\n{FILLER}") for text in ("é é", "- a\n", "```\nx\n```")),
        ("upper", "Call `len(x)` on $y$ or \\(z\\).", "CALL `len(x)` ON $y$ OR \\(z\\)."),
        ("upper", "\\alpha; see https://e.org/a.", "\\alpha; SEE https://e.org/a."),
        ("upper", "Run\n```py\nx = 1\n```\nso", "RUN\n```py\nx = 1\n```\nSO"),
    ],
)
def test_an_edit_changes_what_it_says_and_nothing_else(
    name: EditName, text: str, made: str
) -> None:
    assert edited(name, text) == made
    if name in {"polite", "refusal", "upper"}:
        assert edited(name, made) is None, "it would be there twice"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *((name, text) for name in EDITS for text in ("", " \n\t", CODE)),
        *(("cut", text) for text in ("One.", "Dr. Who", "Run it:\n```\na. B.\n```", "---")),
        ("plain", "2 * 3 * 4 = 24 and a*b*c, x**2"),
        ("plain", "$a_1 + b_1$ costs $5 or $6"),
        ("plain", r"\(x_1 * y_1 * z\) and \[ \frac{a}{b} \]"),
        ("plain", "https://e.org/a_b_c*d*"),
        ("polite", "**Certainly**, take these."),
        ("refusal", "I'm sorry, but no."),
        ("refusal", "Hm. As an AI, I have no view."),
        *((name, "これは日本語の答えです。") for name in EDITS),
        ("longer", "Run:\n```\nx = 1"),
        ("upper", "`code` https://e.org $x$"),
    ],
)
def test_what_would_change_nothing_or_be_in_the_wrong_place_does_not_apply(
    name: EditName, text: str
) -> None:
    assert edited(name, text) is None


def test_a_swap_puts_each_response_in_the_others_place() -> None:
    pair = Pair("k", "s", "p", "a", "b")
    other = swapped(pair)
    assert other == Pair("k", "s", "p", "b", "a") and swapped(other) == pair
    assert swapped(Pair("k", "s", "p", "a", "a")) is None
