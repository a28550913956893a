"""Tokens as run_rm.py makes them, against its few lines written out here."""

from dataclasses import replace
from typing import Any

import pytest
from tokenizers import processors

from scoring.engine.formatting import UPSTREAM_LONGEST, Prepared, UpstreamFormatter
from scoring.errors import KnownError
from scoring.spec import Message, Pair, RunSettings
from tests.support.plain_words import BOS, EOS, WITH_BOS, words_tokenizer

WITHOUT_BOS = WITH_BOS.replace("{{ bos_token }}", "")
COMPATIBLE = RunSettings(upstream_compatible=True)
LONG = "one two three " * 900
PAIRS = [
    Pair("s:1", "s", "one", "two three", "three"),
    Pair("s:2", "s", "one", "two", "two three four"),
    Pair("s:3", "s", "one", "two", "two"),
    Pair("s:4", "s", "one", LONG, "two"),
    Pair("s:5", "s", LONG, "two", "three one"),
    Pair("s:6", "s", "one", "", "two"),
    Pair(
        *("s:7", "s", "a transcript", "two", "three"),
        turns=(Message("user", "one"), Message("assistant", "two"), Message("user", "four")),
    ),
]


def tokenizer(template: str | None, adds: str = "bos", pad: str | None = "<pad>") -> Any:
    """adds: what its post-processor puts around every text."""
    made = words_tokenizer(template, bos_token="<s>", eos_token="</s>")
    single = {"nothing": "$A", "bos": "<s> $A", "both": "<s> $A </s>"}[adds]
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=[("<s>", BOS), ("</s>", EOS)]
    )
    made.pad_token = pad
    return made


def as_upstream(made: Any, pair: Pair, response: str) -> tuple[list[int], list[int]]:
    """Input ids and attention mask of one text in run_rm.py."""
    made.truncation_side = "left"
    if made.pad_token_id is None:
        made.pad_token_id = made.eos_token_id
    messages = [{"role": role, "content": content} for role, content in pair.messages]
    messages.append({"role": "assistant", "content": response})
    if made.chat_template is not None:
        text = made.apply_chat_template(messages, tokenize=False)
    else:
        # add_eos_token = True; the tokenizer's own ends stay
        begins = made("one").input_ids[0] == BOS
        made.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>" if begins else "$A </s>",
            special_tokens=[("<s>", BOS), ("</s>", EOS)],
        )
        # fastchat's "tulu": nothing but the role where a message is empty
        text = "".join(
            f"<|{each['role']}|>\n" + (f"{each['content']}\n" if each["content"] else "")
            for each in messages
        )
    inputs = made([text], truncation=True, max_length=2048, padding=True)
    (ids,), (mask,) = inputs.input_ids, inputs.attention_mask
    if ids[:2] == [made.bos_token_id, made.bos_token_id]:
        mask[0] = 0
    return ids, mask


def whole(ids: tuple[int, ...], start: int) -> tuple[list[int], list[int]]:
    """The same of a prepared side: a masked BOS stands before those that start at 1."""
    return [BOS] * start + list(ids), [0] * start + [1] * len(ids)


def prepared(made: Any, pairs: list[Pair] = PAIRS, limit: int = 10**9) -> list[Prepared]:
    return UpstreamFormatter(made, limit, COMPATIBLE).prepare(pairs)


@pytest.mark.parametrize(
    ("template", "adds", "pad"),
    [
        (WITH_BOS, "bos", "<pad>"),
        (WITH_BOS, "nothing", None),
        (WITHOUT_BOS, "both", "<pad>"),
        (None, "nothing", "<pad>"),
        (None, "bos", None),
        (None, "both", None),
    ],
)
def test_tokens_and_what_is_masked_are_upstreams(
    template: str | None, adds: str, pad: str | None
) -> None:
    for pair, ours in zip(PAIRS, prepared(tokenizer(template, adds, pad)), strict=True):
        theirs = tokenizer(template, adds, pad)
        for side, response in zip(ours.sides, (pair.chosen, pair.rejected), strict=True):
            assert whole(side.ids, side.start) == as_upstream(theirs, pair, response)


@pytest.mark.parametrize(("template", "over"), [(WITH_BOS, 1), (WITH_BOS, 0), (WITHOUT_BOS, 1)])
def test_the_limit_counts_the_specials(template: str, over: int) -> None:
    """`one` so often that the text has 2048 tokens, one less or one more."""
    (short,) = prepared(tokenizer(template), [Pair("s:1", "s", "one", "two", "two")])
    more = UPSTREAM_LONGEST - len(short.chosen.ids) - short.chosen.start + over
    pair = Pair("s:1", "s", "one", "two", "two" + " one" * more)
    (ours,) = prepared(tokenizer(template), [pair])
    theirs = as_upstream(tokenizer(template), pair, pair.rejected)
    assert whole(ours.rejected.ids, ours.rejected.start) == theirs
    assert len(ours.rejected.ids) + ours.rejected.start == UPSTREAM_LONGEST + min(0, over)
    assert (ours.chosen.truncated, ours.rejected.truncated) == (False, over > 0)


def test_text_is_cut_on_the_left_and_nothing_else_can_be_asked_for() -> None:
    settings = RunSettings(upstream_compatible=True, max_length=6)
    made = tokenizer(WITHOUT_BOS)
    (ours,) = UpstreamFormatter(made, 10**9, settings).prepare(
        [Pair("s:1", "s", "one two three", "two three one", "one")]
    )
    expected = ["<s>", ":", "two", "three", "one", "</s>"]
    assert made.convert_ids_to_tokens(ours.chosen.ids) == expected
    with pytest.raises(KnownError, match=r"run_rm\.py cuts on the left"):
        UpstreamFormatter(made, 10**9, replace(settings, truncation_side="right"))


def test_the_models_own_limit_holds_where_it_is_less() -> None:
    for limit, length in ((10**9, 2048), (512, 512)):
        used = UpstreamFormatter(tokenizer(WITH_BOS), limit, COMPATIBLE)
        assert used.max_length == len(used.prepare([PAIRS[3]])[0].chosen.ids) == length
