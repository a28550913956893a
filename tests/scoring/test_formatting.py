import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from scoring.errors import KnownError
from scoring.formatting import FALLBACK_TEMPLATE, LONGEST, Formatter
from scoring.models import RewardModel
from scoring.spec import Pair, RunSettings

WORDS = ["<pad>", "<unk>", "<s>", "</s>", "Human", "Assistant", ":", "user", "one", "two", "three"]
BOS, EOS = WORDS.index("<s>"), WORDS.index("</s>")
WITH_BOS = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}: "
    "{{ message['content'] }}{{ eos_token }}{% endfor %}"
)
PAIR = Pair("s:1", "s", "one", "two three", "three")


def words_tokenizer(template: str | None, **special: str) -> PreTrainedTokenizerFast:
    """A tokenizer of whole words that adds a BOS of its own to every text, as Llama's does."""
    words = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", BOS)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", **special
    )
    tokenizer.chat_template = template
    return tokenizer


def formatter(template: str | None, **settings: object) -> Formatter:
    tokenizer = words_tokenizer(template, bos_token="<s>", eos_token="</s>")
    return Formatter(tokenizer, 100, RunSettings(**settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("template", [WITH_BOS, None])
def test_there_is_one_bos_though_template_and_tokenizer_both_add_it(template: str | None) -> None:
    tokenizer = words_tokenizer(template, bos_token="<s>", eos_token="</s>")
    assert tokenizer("one").input_ids[0] == BOS  # the trap that is set
    tokens = Formatter(tokenizer, 100, RunSettings()).tokenize(PAIR)
    for ids in (tokens.chosen, tokens.rejected):
        assert (ids[0], ids.count(BOS)) == (BOS, 1)


def test_a_template_without_bos_gets_none() -> None:
    tokens = formatter(WITH_BOS.replace("{{ bos_token }}", "")).tokenize(PAIR)
    assert BOS not in tokens.chosen


def test_the_fallback_is_used_and_said_where_there_is_no_template() -> None:
    used = formatter(None)
    words = [WORDS[token] for token in used.tokenize(PAIR).chosen]
    assert words == ["<s>", "Human", ":", "one", "Assistant", ":", "two", "three", "</s>"]
    assert used.template.startswith("fallback:")


def test_the_fallback_does_without_bos_and_eos() -> None:
    tokens = Formatter(words_tokenizer(None), 100, RunSettings()).tokenize(PAIR)
    assert [WORDS[token] for token in tokens.rejected] == [
        *("Human", ":", "one", "Assistant", ":", "three")
    ]


def test_the_template_is_named_by_its_text() -> None:
    own, other = formatter(WITH_BOS), formatter(WITH_BOS + " ")
    assert own.template.startswith("own:")
    assert own.template == formatter(WITH_BOS).template != other.template
    assert formatter(FALLBACK_TEMPLATE).template == formatter(None).template.replace(
        "fallback", "own"
    )


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no such roles') }}",
        "{% for broken",
        "{{ messages.nothing.deeper }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ 1 / 0 }}",
        "{{ 'a' + 1 }}",
        "{{ messages[0]['content'].index('never there') }}",
    ],
)
def test_a_template_that_fails_is_told_in_a_sentence(template: str) -> None:
    with pytest.raises(KnownError, match="The model's chat template fails: "):
        formatter(template).tokenize(PAIR)


def test_the_templates_own_words_are_passed_on() -> None:
    with pytest.raises(KnownError, match="no such roles"):
        formatter("{{ raise_exception('no such roles') }}").tokenize(PAIR)


def test_named_templates_without_a_default_are_told_in_a_sentence() -> None:
    tokenizer = words_tokenizer(None, eos_token="</s>")
    tokenizer.chat_template = {"rag": WITH_BOS, "tool_use": WITH_BOS}
    with pytest.raises(KnownError):
        Formatter(tokenizer, 100, RunSettings()).tokenize(PAIR)


def test_truncation_keeps_the_end_or_the_start() -> None:
    whole = formatter(WITH_BOS).tokenize(PAIR)
    assert not whole.chosen_truncated
    left = formatter(WITH_BOS, max_length=4, truncation_side="left").tokenize(PAIR)
    right = formatter(WITH_BOS, max_length=4, truncation_side="right").tokenize(PAIR)
    assert (left.chosen, left.chosen_truncated) == (whole.chosen[-4:], True)
    assert (right.chosen, right.chosen_truncated) == (whole.chosen[:4], True)


def test_each_side_says_for_itself_whether_it_was_cut() -> None:
    whole = formatter(WITH_BOS).tokenize(PAIR)
    shorter = len(whole.rejected)
    assert shorter < len(whole.chosen)
    tokens = formatter(WITH_BOS, max_length=shorter).tokenize(PAIR)
    assert (tokens.chosen_truncated, tokens.rejected_truncated) == (True, False)
    assert len(tokens.chosen) == len(tokens.rejected) == shorter


@pytest.mark.parametrize(
    ("model_limit", "asked", "expected"),
    [
        (4096, None, 4096),
        (4096, 100, 100),
        (4096, 5000, 4096),
        (2**62, None, LONGEST),
        (2**62, 10**9, LONGEST),
    ],
)
def test_the_smallest_limit_holds(model_limit: int, asked: int | None, expected: int) -> None:
    tokenizer = words_tokenizer(WITH_BOS)
    settings = RunSettings(max_length=asked)
    assert Formatter(tokenizer, model_limit, settings).max_length == expected


def test_white_space_and_special_looking_text_is_not_stripped(demo_model: RewardModel) -> None:
    used = demo_model.formatter(RunSettings())
    texts = ["text", " text", "text ", "text\n", "\ttext"]
    ids = {used.tokenize(Pair("s:1", "s", "p", text, "")).chosen for text in texts}
    assert len(ids) == len(texts)


def test_the_demo_models_text_is_what_its_template_says(demo_model: RewardModel) -> None:
    tokens = demo_model.formatter(RunSettings()).tokenize(PAIR)
    assert demo_model.tokenizer.decode(tokens.chosen) == (
        "<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\ntwo three<|im_end|>"
    )
