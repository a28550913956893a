"""Pairs as tokens: by whose template, cut where, and what their sides share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from scoring.engine.formatting import (
    DEFAULT_MAX_TOKENS,
    Formatter,
    Prepared,
    TokenSequence,
    UpstreamFormatter,
    conversations,
    joined_pairs,
    named_templates,
    shared_prefix,
)
from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.spec import Message, Pair, RunSettings
from tests.conftest import DEMO_MODEL
from tests.support.plain_words import BOS, WITH_BOS, WORDS, words_tokenizer

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
IDS = st.lists(st.integers(0, 2), max_size=8).map(tuple)


def formatter(template: str | None, **settings: object) -> Formatter:
    tokenizer = words_tokenizer(template, bos_token="<s>", eos_token="</s>")
    return Formatter(tokenizer, 100, RunSettings(**settings))  # type: ignore[arg-type]


def prepared(used: Formatter, pair: Pair = PAIR) -> Prepared:
    (one,) = used.prepare([pair])
    return one


def words(ids: tuple[int, ...]) -> list[str]:
    return [WORDS[token] for token in ids]


@pytest.mark.parametrize("template", [WITH_BOS, None])
def test_there_is_one_bos_though_template_and_tokenizer_both_add_it(template: str | None) -> None:
    tokenizer = words_tokenizer(template, bos_token="<s>", eos_token="</s>")
    assert tokenizer("one").input_ids[0] == BOS  # the trap that is set
    tokens = prepared(Formatter(tokenizer, 100, RunSettings()))
    for ids in (tokens.chosen.ids, tokens.rejected.ids):
        assert (ids[0], ids.count(BOS)) == (BOS, 1)
    assert (tokens.chosen.start, tokens.rejected.start) == (0, 0)
    without = prepared(formatter(WITH_BOS.replace("{{ bos_token }}", "")))
    assert BOS not in without.chosen.ids


BOTH = {"bos_token": "<s>", "eos_token": "</s>"}


@pytest.mark.parametrize(
    ("pair", "special", "expected"),
    [
        (PAIR, BOTH, "<s> Human : one Assistant : two three </s>"),
        (PAIR, {}, "Human : one Assistant : two three"),
        (
            *(TURNS, BOTH),
            "<s> System : four Human : one Assistant : two Human : three one "
            "Assistant : three </s>",
        ),
    ],
)
def test_the_fallback_is_used_and_said_where_there_is_no_template(
    pair: Pair, special: dict[str, str], expected: str
) -> None:
    used = Formatter(words_tokenizer(None, **special), 100, RunSettings())
    assert words(prepared(used, pair).chosen.ids) == expected.split()
    assert used.template.startswith("fallback:")
    [asked] = formatter(None).encode([PAIR.messages], ask=True)
    assert words(tuple(asked)) == ["<s>", "Human", ":", "one", "Assistant", ":"]


def test_several_turns_are_messages_and_their_transcript_is_not_shown() -> None:
    tokens = prepared(formatter(WITH_BOS), TURNS)
    turns = ["system : four", "user : one", "assistant : two", "user : three one"]
    for response, ids in (("three", tokens.chosen.ids), ("four", tokens.rejected.ids)):
        text = "<s> " + " </s> ".join([*turns, f"assistant : {response}"]) + " </s>"
        assert words(ids) == text.split()
    assert tokens.shared == tokens.chosen.ids.index(WORDS.index("three"), -2)


def test_many_conversations_keep_their_order_and_a_prompt_of_one_message_is_the_users() -> None:
    numbers = [["one", "two", "three", "four"][n * 7 % 4] for n in range(300)]
    pairs = [Pair(f"s:{n}", "s", "one", word, "two") for n, word in enumerate(numbers)]
    tokens = formatter(WITH_BOS).prepare(pairs)
    assert [each.pair for each in tokens] == pairs
    assert [WORDS[each.chosen.ids[-2]] for each in tokens] == numbers
    assert {WORDS[each.rejected.ids[-2]] for each in tokens} == {"two"}
    assert formatter(WITH_BOS).prepare([]) == []
    assert conversations([PAIR, TURNS]) == [
        [Message("user", "one"), Message("assistant", "two three")],
        [Message("user", "one"), Message("assistant", "three")],
        [*TURNS.turns, Message("assistant", "three")],
        [*TURNS.turns, Message("assistant", "four")],
    ]


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no such roles') }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ 'a' + 1 }}",
        "{{ '' }}",
    ],
)
def test_a_template_that_fails_is_told_in_a_sentence(template: str) -> None:
    with pytest.raises(KnownError, match="The model's chat template fails: "):
        prepared(formatter(template))


def test_without_a_default_template_there_is_an_error() -> None:
    tokenizer = words_tokenizer(None, eos_token="</s>")
    tokenizer.chat_template = {"rag": WITH_BOS, "tool_use": WITH_BOS}
    with pytest.raises(KnownError):
        prepared(Formatter(tokenizer, 100, RunSettings()))


def test_truncation_keeps_the_end_or_the_start_of_each_side_and_says_so() -> None:
    """What is shared is counted after the cut."""
    whole = prepared(formatter(WITH_BOS))
    assert not whole.chosen.truncated and whole.shared > 4
    left = prepared(formatter(WITH_BOS, max_length=4, truncation_side="left"))
    right = prepared(formatter(WITH_BOS, max_length=4, truncation_side="right"))
    assert (left.chosen.ids, left.chosen.truncated) == ((BOS, *whole.chosen.ids[-3:]), True)
    assert (right.chosen.ids, right.chosen.truncated) == (whole.chosen.ids[:4], True)
    assert left.shared == shared_prefix(left.chosen.ids, left.rejected.ids) < 4
    assert (right.chosen, right.shared, right.cost) == (right.rejected, 4, 4)
    shorter = len(whole.rejected.ids)
    assert shorter == len(whole.chosen.ids) - 1
    tokens = prepared(formatter(WITH_BOS, max_length=shorter))
    assert (tokens.chosen.truncated, tokens.rejected.truncated) == (True, False)
    assert len(tokens.chosen.ids) == len(tokens.rejected.ids) == shorter


@pytest.mark.parametrize(
    ("model_limit", "asked", "expected"),
    [
        (4096, 100, 100),
        (4096, 5000, 4096),
        (2**62, None, DEFAULT_MAX_TOKENS),
        (2**62, 30_000, 30_000),
    ],
)
def test_the_smallest_limit_holds(model_limit: int, asked: int | None, expected: int) -> None:
    tokenizer = words_tokenizer(WITH_BOS)
    settings = RunSettings(max_length=asked)
    assert Formatter(tokenizer, model_limit, settings).max_length == expected


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
    assert (tokens.shared, tokens.chosen.start, tokens.rejected.start) == (0, 1, 0)
    assert (tokens.chosen.truncated, tokens.rejected.truncated) == (False, True)
    first = TokenSequence((1, 2, 3))
    assert Prepared(PAIR, first, TokenSequence((1, 2, 4, 5)), 2).cost == 5
    assert (Prepared(PAIR, first, first, 3).cost, Prepared(PAIR).cost) == (3, 1)


def test_the_demo_models_text_is_what_its_template_says_and_white_space_stays(
    demo_scorer: Scorer,
) -> None:
    (tokens,) = demo_scorer.prepare([PAIR])
    used = Formatter(AutoTokenizer.from_pretrained(DEMO_MODEL), 4096, RunSettings())
    assert tokens == prepared(used)
    assert used.tokenizer.decode(tokens.chosen.ids) == (
        "<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\ntwo three<|im_end|>"
    )
    texts = ["text", " text", "text ", "text\n", "\ttext"]
    ids = {prepared(used, Pair("s:1", "s", "p", text, "")).chosen for text in texts}
    assert len(ids) == len(texts)


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
    written = {
        name: formatter(WITH_BOS, chat_template=name).render([turns])[0]
        for name in named_templates()
    }
    assert written == SAID


def test_a_named_template_goes_before_the_tokenizers_own_and_asks_the_assistant_to_speak() -> None:
    """The conversation without its answer is how that with an answer begins."""
    used = formatter(WITH_BOS, chat_template="mistral")
    assert used.render([PAIR.answered("three")]) == ["[INST] one [/INST] three</s>"]
    assert used.template.startswith("mistral:")
    for name in SAID.keys() - {"raw"}:
        used = formatter(None, chat_template=name)
        [asked] = used.encode([PAIR.messages], ask=True)
        [whole] = used.encode([PAIR.answered(PAIR.chosen)])
        assert whole[: len(asked)] == asked
        assert (asked[0], whole[0]) == (BOS, BOS)
    [ids] = formatter(None, chat_template="raw").encode([[Message("user", "<s> one")]])
    assert words(tuple(ids)) == ["<s>", "one"]  # no second BOS


def test_an_unknown_template_names_those_that_are_known() -> None:
    for kind in (UpstreamFormatter, Formatter):
        with pytest.raises(KnownError, match=r"no chat template 'Tulu'; raw, tulu, .* known"):
            kind(words_tokenizer(None), 100, RunSettings(chat_template="Tulu"))


def test_as_upstream_the_tokenizers_own_template_goes_before_the_one_that_is_named() -> None:
    """A template is named by its text."""
    settings = RunSettings(chat_template="tulu", upstream_compatible=True)
    own, other = formatter(WITH_BOS).template, formatter(WITH_BOS + " ").template
    assert own.startswith("own:") and own != other
    for template, named in ((WITH_BOS, own), (None, "tulu:")):
        tokenizer = words_tokenizer(template, bos_token="<s>", eos_token="</s>")
        used = UpstreamFormatter(tokenizer, 100, settings).template
        assert used.startswith(named) and used.endswith(", as run_rm.py")
