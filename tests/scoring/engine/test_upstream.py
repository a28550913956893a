"""Tokens as run_rm.py makes them, against its few lines written out here."""

from typing import Any

import pytest
from tokenizers import processors

from scoring.engine.formatting import TokenSequence, UpstreamFormatter
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
    # About as long as may be, by each template and with all that stands around it.
    *(Pair(f"s:{n}", "s", "one", "two", "two" + " one" * n) for n in range(2032, 2048)),
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


def as_upstream(made: Any, pair: Pair, response: str) -> tuple[list[int], list[int], bool]:
    """Input ids and attention mask of one text in run_rm.py, and whether it cuts it."""
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
    return ids, mask, len(made(text).input_ids) > 2048


def whole(side: TokenSequence) -> tuple[list[int], list[int], bool]:
    """The same of a prepared side: a masked BOS stands before those that start at 1."""
    ids, start = list(side.ids), side.start
    return [BOS] * start + ids, [0] * start + [1] * len(ids), side.truncated


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
    used = UpstreamFormatter(tokenizer(template, adds, pad), 10**9, COMPATIBLE)
    for pair, ours in zip(PAIRS, used.prepare(PAIRS), strict=True):
        theirs = tokenizer(template, adds, pad)
        for side, response in zip(ours.sides, (pair.chosen, pair.rejected), strict=True):
            assert whole(side) == as_upstream(theirs, pair, response)


def test_nothing_but_a_cut_on_the_left_can_be_asked_for() -> None:
    settings = RunSettings(upstream_compatible=True, truncation_side="right")
    with pytest.raises(KnownError, match=r"run_rm\.py cuts on the left"):
        UpstreamFormatter(tokenizer(WITH_BOS), 10**9, settings)
