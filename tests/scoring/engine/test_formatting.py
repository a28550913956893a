"""Pairs as tokens: by whose template, cut where, and what their sides share."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from scoring.engine.formatting import (
    DEFAULT_MAX_TOKENS,
    UPSTREAM_LONGEST,
    Formatter,
    Prepared,
    TokenSequence,
    UpstreamFormatter,
    joined_pairs,
    named_templates,
    shared_prefix,
)
from scoring.engine.scorer import check_tokens
from scoring.errors import KnownError
from scoring.spec import Message, Pair, RunSettings

WORDS = [
    *("<pad>", "<unk>", "<s>", "</s>", "Human", "Assistant", ":", "user", "one", "two", "three"),
    *("System", "assistant", "system", "four"),
]
BOS, EOS = WORDS.index("<s>"), WORDS.index("</s>")
WITH_BOS = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}: "
    "{{ message['content'] }}{{ eos_token }}{% endfor %}"
)
PAIR = Pair("s:1", "s", "one", "two three", "three")
TURNS = Pair(
    *("s:2", "s", "a transcript that no model sees", "three", "four"),
    turns=(
        Message("system", "four"),
        Message("user", "one"),
        Message("assistant", "two"),
        Message("user", "three one"),
    ),
)
WITHOUT_BOS = WITH_BOS.replace("{{ bos_token }}", "")
IDS = st.lists(st.integers(0, 2), max_size=8).map(tuple)


def tokenizer(
    template: str | None, adds: str = "bos", pad: str | None = "<pad>", *, has_ends: bool = True
) -> PreTrainedTokenizerFast:
    """One of whole words. adds: what its post-processor puts around every text, as Llama's does."""
    words = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single={"nothing": "$A", "bos": "<s> $A", "both": "<s> $A </s>"}[adds],
        special_tokens=[("<s>", BOS), ("</s>", EOS)],
    )
    ends = {"bos_token": "<s>", "eos_token": "</s>"} if has_ends else {}
    unknown = {"unk_token": "<unk>", "pad_token": pad}
    made = PreTrainedTokenizerFast(tokenizer_object=words, **unknown, **ends)
    made.chat_template = template
    return made


def formatter(template: str | None, **settings: object) -> Formatter:
    return Formatter(tokenizer(template), 100, RunSettings(**settings))  # type: ignore[arg-type]


def prepared(used: Formatter, pair: Pair = PAIR) -> Prepared:
    (one,) = used.prepare([pair])
    return one


def words(ids: tuple[int, ...]) -> list[str]:
    return [WORDS[token] for token in ids]


def test_a_conversation_is_what_its_template_writes_with_one_bos_or_none() -> None:
    """Though this tokenizer adds a BOS to every text; of turns no transcript is shown."""
    own, fallback = formatter(WITH_BOS), formatter(None)
    assert own.tokenizer("one").input_ids[0] == BOS
    bare = Formatter(tokenizer(None, has_ends=False), 100, RunSettings())
    turns = "four </s> user : one </s> assistant : two </s> user : three one </s> assistant : three"
    said = "System : four Human : one Assistant : two Human : three one Assistant : three"
    for used, pair, text in (
        (own, PAIR, "<s> user : one </s> assistant : two three </s>"),
        (formatter(WITHOUT_BOS), PAIR, "user : one </s> assistant : two three </s>"),
        (own, TURNS, f"<s> system : {turns} </s>"),
        (fallback, TURNS, f"<s> {said} </s>"),
        (bare, PAIR, "Human : one Assistant : two three"),
    ):
        assert words(prepared(used, pair).chosen.ids) == text.split()
    assert fallback.template.startswith("fallback:")
    [asked] = fallback.encode([PAIR.messages], ask=True)
    assert words(tuple(asked)) == ["<s>", "Human", ":", "one", "Assistant", ":"]


def test_many_conversations_keep_their_order() -> None:
    numbers = [["one", "two", "three", "four"][n * 7 % 4] for n in range(300)]
    pairs = [Pair(f"s:{n}", "s", "one", word, "two") for n, word in enumerate(numbers)]
    tokens = formatter(WITH_BOS).prepare(pairs)
    assert [each.pair for each in tokens] == pairs
    assert [WORDS[each.chosen.ids[-2]] for each in tokens] == numbers
    assert formatter(WITH_BOS).prepare([]) == []


def test_a_template_that_fails_is_told_in_a_sentence() -> None:
    for template in ("{{ raise_exception('no') }}", "{{ ''.__class__.__mro__ }}", "{{ '' }}"):
        with pytest.raises(KnownError, match="The model's chat template fails: "):
            prepared(formatter(template))


def test_truncation_keeps_the_end_or_the_start_of_each_side_and_says_so() -> None:
    """What is shared is counted after the cut."""
    whole = prepared(formatter(WITH_BOS))
    shorter = len(whole.rejected.ids)
    assert not whole.chosen.truncated and whole.shared > 4 and len(whole.chosen.ids) == shorter + 1
    left = prepared(formatter(WITH_BOS, max_length=4, truncation_side="left"))
    right = prepared(formatter(WITH_BOS, max_length=4, truncation_side="right"))
    assert (left.chosen.ids, left.chosen.truncated) == ((BOS, *whole.chosen.ids[-3:]), True)
    assert (right.chosen.ids, right.chosen.truncated) == (whole.chosen.ids[:4], True)
    assert left.shared == shared_prefix(left.chosen.ids, left.rejected.ids) < 4
    assert (right.chosen, right.shared, right.cost) == (right.rejected, 4, 4)
    tokens = prepared(formatter(WITH_BOS, max_length=shorter))
    assert [side.truncated for side in tokens.sides] == [True, False]
    assert [len(side.ids) for side in tokens.sides] == [shorter, shorter]
    classified = tokenizer(f"<s>{WITHOUT_BOS}", has_ends=False)
    classified.add_special_tokens({"cls_token": "<s>"})
    cut = prepared(Formatter(classified, 4, RunSettings(truncation_side="left")))
    assert (cut.chosen.ids[0], cut.chosen.truncated) == (BOS, True)


def test_the_smallest_limit_holds() -> None:
    for kind, model_limit, asked, expected in (
        (Formatter, 4096, 5000, 4096),
        (Formatter, 2**62, None, DEFAULT_MAX_TOKENS),
        (Formatter, 2**62, 30_000, 30_000),
        (UpstreamFormatter, 512, None, 512),
        (UpstreamFormatter, 2**62, None, UPSTREAM_LONGEST),
    ):
        used = kind(tokenizer(WITH_BOS), model_limit, RunSettings(max_length=asked))
        assert used.max_length == expected


@given(IDS, IDS, IDS)
def test_the_shared_prefix_is_the_longest_that_leaves_each_side_a_token(
    start: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    """Also where one is the beginning of the other."""
    chosen, rejected = (*start, *first) or (3,), (*start, *second) or (3,)
    shared = shared_prefix(chosen, rejected)
    if chosen == rejected:
        assert shared == len(chosen)
        return
    assert chosen[:shared] == rejected[:shared]
    least = min(len(chosen), len(rejected))
    assert shared_prefix((), ()) == 0
    assert shared < least
    assert shared == least - 1 or chosen[shared] != rejected[shared]


def test_sides_that_start_at_different_positions_share_nothing_and_cost_their_tokens() -> None:
    chosen, rejected = TokenSequence((2, 8, 9), start=1), TokenSequence((2, 8, 10), True)
    (tokens,) = joined_pairs([PAIR], [chosen, rejected])
    assert (tokens.shared, tokens.chosen, tokens.rejected) == (0, chosen, rejected)
    first = TokenSequence((1, 2, 3))
    assert Prepared(PAIR, first, TokenSequence((1, 2, 4, 5)), 2).cost == 5
    assert (Prepared(PAIR, first, first, 3).cost, Prepared(PAIR).cost) == (3, 1)


def test_the_largest_token_must_have_a_row() -> None:
    made = [Prepared(PAIR, TokenSequence((0, 9)), TokenSequence((3, 2)))]
    for vocabulary in (None, 10):
        check_tokens(made, vocabulary, "m")
    with pytest.raises(KnownError, match=r"gives token 9, and its weights know 9 tokens"):
        check_tokens(made, 9, "m")


SAID = {
    "raw": "QAQ2A2",
    "tulu": "<|user|>\nQ\n<|assistant|>\nA\n<|user|>\nQ2\n<|assistant|>\nA2\n",
    "pku-align": "BEGINNING OF CONVERSATION: USER: Q ASSISTANT: A USER: Q2 ASSISTANT: A2 ",
    "openbmb": "User: Q\n\nAssistant: A\n\nUser: Q2\n\nAssistant: A2\n\n",
    "Ziya": "\n\nHuman: Q\n\nAssistant: A\n\nHuman: Q2\n\nAssistant: A2\n\n",
    "oasst_pythia": "<|prompter|>Q<|endoftext|><|assistant|>A<|endoftext|>"
    "<|prompter|>Q2<|endoftext|><|assistant|>A2<|endoftext|>",
    "mistral": "[INST] Q [/INST] A</s>[INST] Q2 [/INST] A2</s>",
    "llama-2": "[INST] Q [/INST] A </s><s>[INST] Q2 [/INST] A2 </s><s>",
    "Robin": "A chat between a curious human and an artificial intelligence assistant. The "
    "assistant gives helpful, detailed, and polite answers to the human's questions.\n"
    "###Human:\nQ\n###Assistant:\nA\n###Human:\nQ2\n###Assistant:\nA2\n",
    "Yi-34b-chat": "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n"
    "<|im_start|>user\nQ2<|im_end|>\n<|im_start|>assistant\nA2<|im_end|>\n",
}
"""What fastchat and upstream's chattemplates.py wrote for two turns, when they were run."""


def test_named_templates_write_what_fastchat_writes() -> None:
    turns = [Message("user", "Q"), Message("assistant", "A")]
    turns += [Message("user", "Q2"), Message("assistant", "A2")]
    assert {
        name: formatter(WITH_BOS, chat_template=name).render([turns])[0]
        for name in named_templates()
    } == SAID


def test_a_named_template_asks_the_assistant_to_speak_and_writes_no_second_bos() -> None:
    """The conversation without its answer is how that with an answer begins."""
    for name in SAID.keys() - {"raw"}:
        used = formatter(None, chat_template=name)
        [asked] = used.encode([PAIR.messages], ask=True)
        [whole] = used.encode([PAIR.answered(PAIR.chosen)])
        assert used.template.startswith(f"{name}:")
        assert whole[: len(asked)] == asked and asked[0] == BOS
    [ids] = formatter(None, chat_template="raw").encode([[Message("user", "<s> one")]])
    assert words(tuple(ids)) == ["<s>", "one"]


def test_as_upstream_the_tokenizers_own_template_goes_before_the_one_that_is_named() -> None:
    """A template is named by its text."""
    settings = RunSettings(chat_template="tulu", upstream_compatible=True)
    own, other = formatter(WITH_BOS).template, formatter(WITH_BOS + " ").template
    assert own.startswith("own:") and own != other
    for template, named in ((WITH_BOS, own), (None, "tulu:")):
        used = UpstreamFormatter(tokenizer(template), 100, settings).template
        assert used.startswith(named) and used.endswith(", as run_rm.py")
    with pytest.raises(KnownError, match=r"run_rm\.py cuts on the left"):
        UpstreamFormatter(tokenizer(None), 100, replace(settings, truncation_side="right"))


# Tokens as run_rm.py makes them, against its few lines written out here.

COMPATIBLE = RunSettings(upstream_compatible=True)
LONG = "one two three " * 900
UPSTREAM_PAIRS = [
    PAIR,
    Pair("s:3", "s", "one", "two", "two"),
    Pair("s:4", "s", "one", LONG, "two"),
    Pair("s:5", "s", LONG, "two", "three one"),
    Pair("s:6", "s", "one", "", "two"),
    TURNS,
    # About as long as may be, by each template and with all that stands around it.
    *(Pair(f"s:{n}", "s", "one", "two", "two" + " one" * n) for n in range(2032, 2048)),
]


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


def as_masked(side: TokenSequence) -> tuple[list[int], list[int], bool]:
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
    for pair, ours in zip(UPSTREAM_PAIRS, used.prepare(UPSTREAM_PAIRS), strict=True):
        theirs = tokenizer(template, adds, pad)
        for side, response in zip(ours.sides, (pair.chosen, pair.rejected), strict=True):
            assert as_masked(side) == as_upstream(theirs, pair, response)
