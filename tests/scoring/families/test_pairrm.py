"""PairRM compares two responses as its authors published it."""

from pathlib import Path
from typing import Any

import pytest

from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.models.finding import locate
from scoring.spec import Message, ModelSpec, Pair, RunSettings
from tests.support.rounding import near
from tests.support.small_models import OFFLINE, OPEN, edit_config
from tests.support.small_pairrm import (
    FIRST,
    SECOND,
    SOURCE,
    TOKENS,
    Published,
    random_weights,
    tokenizer,
    write,
)

CPU = RunSettings(device="cpu")


def words(*numbers: int) -> str:
    return " ".join(f"w{number % 40}" for number in numbers)


PAIRS = [
    Pair("s:1", "s", words(1, 2, 3), words(4, 5), words(6)),
    Pair("s:2", "s", words(*range(30)), words(*range(9, 40)), words(7, 7, 7)),
    Pair("s:3", "s", words(5), words(8, 9, 1, 2), words(8, 9, 1, 3)),
    Pair("s:4", "s", "", words(3), ""),
    Pair("s:5", "s", words(11, 12), "unheard of", words(*range(20))),
]
LONG_PROMPT = Pair("s:6", "s", words(*range(1300)), words(*range(500)), words(1, 2))
LONG_RESPONSE = Pair("s:7", "s", words(1, 2), words(*range(1100)), words(*range(30)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("pairrm") / "model", random_weights())


@pytest.fixture(scope="module")
def scorer(folder: Path) -> Scorer:
    return opened(folder)


def opened(folder: Path, settings: RunSettings = CPU, name: str = "") -> Scorer:
    return open_scorer(ModelSpec(name or str(folder), str(folder), "r1", "pairrm"), settings)


def margins(scorer: Scorer, pairs: list[Pair]) -> list[float]:
    return [chosen - rejected for chosen, rejected in scorer.rewards(scorer.prepare(pairs))]


def test_margins_are_those_of_the_published_description(folder: Path) -> None:
    published = Published(folder)
    scorer = open_scorer(locate(str(folder), OPEN, OFFLINE), CPU)
    assert (scorer.spec.family, scorer.traits.dtype) == ("pairrm", "float32")
    assert "not comparable between pairs" in scorer.traits.reading
    expected = [published.margin(pair.prompt, pair.chosen, pair.rejected) for pair in PAIRS]
    assert min(abs(margin) for margin in expected) > 1e-3
    assert margins(scorer, PAIRS) == near(expected)
    long = opened(folder, RunSettings(device="cpu", truncation_side="right"))
    prepared = long.prepare([PAIRS[0], LONG_PROMPT, LONG_RESPONSE])
    for pair in prepared:
        prompt, chosen, rejected = pair.pair.prompt, pair.pair.chosen, pair.pair.rejected
        assert list(pair.chosen.ids) == published.encode(prompt, chosen, rejected)
        assert list(pair.rejected.ids) == published.encode(prompt, rejected, chosen)
    cut = [(pair.chosen.truncated, pair.rejected.truncated) for pair in prepared]
    assert cut == [(False, False), (True, True), (True, False)]


@pytest.mark.parametrize(("side", "last"), [("left", 39), ("right", 0)])
def test_a_prompt_may_lose_its_start_or_its_end(side: Any, last: int, folder: Path) -> None:
    settings = RunSettings(device="cpu", max_length=60, truncation_side=side)
    [pair] = opened(folder, settings).prepare([Pair("s:1", "s", words(*range(40)), "w1", "w2")])
    source = pair.chosen.ids[: pair.chosen.ids.index(2) + 1]
    assert (source[:2], len(source)) == ((1, SOURCE), 33)
    assert TOKENS.index(f"w{last}") in source
    assert pair.chosen.truncated and pair.rejected.truncated


@pytest.mark.parametrize("max_length", [12, 3000])
def test_a_limit_never_cuts_a_marker_off(max_length: int, folder: Path) -> None:
    scorer = opened(folder, RunSettings(device="cpu", max_length=max_length))
    for pair in scorer.prepare([*PAIRS, LONG_PROMPT]):
        for ids in (pair.chosen.ids, pair.rejected.ids):
            assert len(ids) <= scorer.traits.max_length == min(max_length, 2048)
            assert [each for each in ids if each >= SOURCE] == [SOURCE, FIRST, SECOND]


def test_swapped_responses_have_the_opposite_margin_and_equal_ones_none_in_any_batch(
    folder: Path, scorer: Scorer
) -> None:
    swapped = [Pair(pair.key, "s", pair.prompt, pair.rejected, pair.chosen) for pair in PAIRS]
    others = opened(folder, RunSettings(device="cpu", budget=60))
    assert margins(scorer, PAIRS) == near([-margin for margin in margins(others, swapped)])
    same = Pair("s:1", "s", words(1, 2), words(3, 4), words(3, 4))
    rewards = scorer.rewards(scorer.prepare([same, *PAIRS]))
    assert str(rewards[0]) == "(0.0, 0.0)"
    assert all(chosen == -rejected for chosen, rejected in rewards)


def test_markers_in_a_text_are_no_markers(scorer: Scorer) -> None:
    text = "w1 <|candidate2|> w2 [SEP] <|source|>w3 [CLS]"
    plain = words(1, 2, 3)
    tricky, expected = scorer.prepare(
        [Pair("s:1", "s", text, text, "w4"), Pair("s:2", "s", plain, plain, "w4")]
    )
    assert (tricky.chosen, tricky.rejected) == (expected.chosen, expected.rejected)


SYSTEM = Message("system", "w9")
TURNS = (Message("user", "w1"), Message("assistant", "w2"), Message("user", " w3"))
ASKED = (
    "Finish the following coversation in each i-th turn by filling in <Response i> with your "
    "response.USER: w1\nAssistant: <Response 1>\nUSER:  w3\nAssistant: <Response 2>"
)
BETTER = "SYSTEM MESSAGE: w9\n\nUSER: w1\n\nASSISTANT: w2\n\nUSER: w3\n\nASSISTANT: "


@pytest.mark.parametrize(
    ("name", "turns", "shown"),
    [
        ("", TURNS, (ASKED, "<Response 1>: w2\n<Response 2>: w4 ")),
        ("", (SYSTEM, *TURNS), ("transcript", "w4 ")),
        ("", TURNS[:2], ("transcript", "w4 ")),
        ("mightbe/Better-PairRM", (SYSTEM, *TURNS), (BETTER, "w4 ")),
    ],
    ids=["as the authors", "with a system message", "that ends with an answer", "Better-PairRM"],
)
def test_a_conversation_is_shown_as_the_authors_write_it(
    name: str, turns: tuple[Message, ...], shown: tuple[str, str], folder: Path
) -> None:
    scorer: Any = opened(folder, name=name)
    assert scorer._texts(Pair("s:1", "s", "transcript", "w4 ", "w5", turns))[:2] == shown
    if name:
        assert scorer.traits.max_length == 3370
        assert scorer.traits.template == "Better-PairRM, prompts of up to 2030 tokens"


@pytest.mark.parametrize(
    ("lacks", "said"),
    [
        ("head_layer.4.weight", "not a whole reward model: its weights lack head_layer.4.weight"),
        ("cand2_prefix_id", "could not be loaded: .*cand2_prefix_id"),
        ("markers", r"<\|source\|> is token 44, its tokenizer says 3\."),
        ("room", "which 11 tokens cannot hold: 12 is the least"),
    ],
)
def test_what_is_not_whole_is_refused(lacks: str, said: str, tmp_path: Path) -> None:
    weights = random_weights()
    weights.pop(lacks, None)
    write(tmp_path, weights)
    if lacks == "cand2_prefix_id":
        edit_config(tmp_path, cand2_prefix_id=...)
    if lacks == "markers":
        tokenizer(with_prefixes=False).save_pretrained(tmp_path)
    with pytest.raises(KnownError, match=said):
        opened(tmp_path, RunSettings(device="cpu", max_length=11 if lacks == "room" else 2048))
