import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    DebertaV2Config,
    GPT2Config,
    LlamaConfig,
    PreTrainedModel,
    RobertaConfig,
)

from scoring.errors import KnownError
from scoring.families.classifier import Classifier
from scoring.models import RewardModel
from scoring.spec import Pair, RunSettings
from tests.conftest import DEMO_MODEL

LENGTHS = [1, 2, 5, 9, 9, 17, 3, 1]


def sequences(vocabulary: int, lengths: list[int] = LENGTHS) -> list[tuple[int, ...]]:
    """Random tokens; some of them are 0 and 2, which the models pad and end with."""
    torch.manual_seed(0)
    return [(*torch.randint(0, vocabulary, (length - 1,)).tolist(), 2) for length in lengths]


def one_at_a_time(model: Any, given: list[tuple[int, ...]]) -> list[float]:
    """Rewards as transformers itself computes them, without padding and without a batch."""
    with torch.inference_mode():
        return [model(input_ids=torch.tensor([ids])).logits[0, 0].item() for ids in given]


@pytest.fixture(scope="module")
def plain() -> Any:
    """The demo model as anyone would load it."""
    model = AutoModelForSequenceClassification.from_pretrained(DEMO_MODEL, dtype=torch.float32)
    return model.eval()


@pytest.fixture(scope="module")
def demo_sequences(demo_model: RewardModel, demo_pairs: list[Pair]) -> list[tuple[int, ...]]:
    formatter = demo_model.formatter(RunSettings())
    by_length = sorted(demo_pairs, key=lambda pair: len(pair.prompt + pair.chosen))
    tokens = [formatter.tokenize(pair) for pair in by_length[::40]]
    return [ids for pair in tokens for ids in (pair.chosen, pair.rejected)]


def test_rewards_are_those_of_plain_transformers(
    demo_model: RewardModel, demo_sequences: list[tuple[int, ...]], plain: Any
) -> None:
    rewards = Classifier(demo_model.model, 0, 8192).rewards(demo_sequences)
    expected = one_at_a_time(plain, demo_sequences)
    assert max(expected) - min(expected) > 0.5  # they differ by more than any tolerance
    assert rewards == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("batch_tokens", [1, 700, 5000, 10**9])
def test_the_batch_does_not_change_a_reward(
    batch_tokens: int, demo_model: RewardModel, demo_sequences: list[tuple[int, ...]]
) -> None:
    few = demo_sequences[:6]
    alone = [Classifier(demo_model.model, 0, 8192).rewards([ids])[0] for ids in few]
    together = Classifier(demo_model.model, 0, batch_tokens).rewards(few)
    assert together == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("pad", [0, 2, 77])
def test_the_padding_token_is_never_read(pad: int, demo_model: RewardModel, plain: Any) -> None:
    given = sequences(8192)
    expected = one_at_a_time(without_pad(plain), given)
    assert Classifier(demo_model.model, pad, 8192).rewards(given) == pytest.approx(
        expected, abs=1e-5
    )


def test_equal_sequences_get_exactly_equal_rewards(demo_model: RewardModel) -> None:
    first, second, *others = sequences(8192)
    given = [first, *others, second, first, *others[::-1], second]
    rewards = Classifier(demo_model.model, 0, 60).rewards(given)
    assert len(set(rewards)) == len(set(given))
    assert rewards == [rewards[given.index(ids)] for ids in given]


def test_no_sequences_have_no_rewards(demo_model: RewardModel) -> None:
    assert Classifier(demo_model.model, 0, 8192).rewards([]) == []


def test_nothing_of_a_reward_is_kept_for_backpropagation(demo_model: RewardModel) -> None:
    rewards = Classifier(demo_model.model, 0, 8192).rewards([(5, 2)])
    assert [type(reward) for reward in rewards] == [float]


class NoMemory(torch.nn.Module):
    """Stands for a device whose memory is full, which no test can bring about."""

    base_model_prefix = "model"
    device = torch.device("cpu")

    def forward(self, **inputs: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")


def test_lack_of_memory_is_told_with_what_did_not_fit() -> None:
    with pytest.raises(KnownError, match="2 sequences of up to 3 tokens do not fit in the memory"):
        Classifier(NoMemory(), 0, 8192).rewards([(1, 2, 3), (4, 5)])


SMALL: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
    "num_labels": 1,
    "initializer_range": 0.3,
}


def llama() -> LlamaConfig:
    """Padded with the token that ends every conversation, as most of its kind are."""
    return LlamaConfig(**SMALL, pad_token_id=2, eos_token_id=2, bos_token_id=1)


def gpt2() -> GPT2Config:
    return GPT2Config(
        vocab_size=50,
        n_embd=32,
        n_layer=2,
        n_head=2,
        n_positions=64,
        num_labels=1,
        initializer_range=0.3,
        pad_token_id=None,
        eos_token_id=2,
        bos_token_id=2,
    )


def bert() -> BertConfig:
    return BertConfig(**SMALL, pad_token_id=0)


def roberta() -> RobertaConfig:
    return RobertaConfig(**SMALL, pad_token_id=1, bos_token_id=0, eos_token_id=2)


def deberta() -> DebertaV2Config:
    return DebertaV2Config(
        **SMALL,
        pad_token_id=0,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_buckets=8,
    )


def without_pad(model: PreTrainedModel) -> Any:
    """The model, told of no padding: it then reads the last token, and takes one at a time."""
    alone: Any = copy.deepcopy(model)
    alone.config.pad_token_id = None
    return alone


@pytest.mark.parametrize("config", [llama, gpt2, bert, roberta, deberta])
def test_other_architectures_score_as_they_do_one_at_a_time(config: Callable[[], Any]) -> None:
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_config(config()).eval()
    # A pad inside the text would be masked by some encoders, on their own account.
    given = [(*(max(token, 3) for token in ids[:-1]), 2) for ids in sequences(50)]
    expected = one_at_a_time(without_pad(model), given)
    assert len({round(reward, 3) for reward in expected}) >= len(set(given)) - 1
    pad = model.config.pad_token_id
    for batch_tokens in (1, 20, 8192):
        rewards = Classifier(model, pad or 0, batch_tokens).rewards(given)
        assert rewards == pytest.approx(expected, abs=1e-5)
