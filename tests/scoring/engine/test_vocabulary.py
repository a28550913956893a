"""Log-probabilities are the model's own, or it is refused."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from scoring.engine import vocabulary
from scoring.engine.vocabulary import Vocabulary, check_vocabulary
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.spec import ModelSpec, RunSettings
from tests.support.rounding import assert_near
from tests.support.small_language_models import ARCHITECTURES, save_tiny

IDS = [5, 77, 8000, 2, 5, 5, 1023, 41, 3, 900, 17]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = save_tiny(tmp_path_factory.mktemp("model"), request.param, 0)
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def hidden_of(model: Any) -> torch.Tensor:
    hidden: torch.Tensor = model.base_model(torch.tensor([IDS])).last_hidden_state[0]
    return hidden


@pytest.mark.parametrize("rows_at_once", [1, 4, 1024])
def test_tokens_have_the_models_own_log_probabilities(
    rows_at_once: int, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "_ROWS", rows_at_once)
    targets, labels = torch.tensor([*IDS[1:], 4000]), [8191, 0, 41]
    own = model(torch.tensor([IDS])).logits[0].double().log_softmax(1)
    hidden, used = hidden_of(model), Vocabulary(model)
    expected = own.gather(1, targets[:, None])[:, 0]
    assert expected.max() - expected.min() > 1
    got = used.target_log_probs(hidden, targets)
    assert got.dtype == torch.float32
    assert_near(got, expected)
    assert_near(used.label_log_probs(hidden, labels), own[:, labels])
    none = used.target_log_probs(hidden[:0], torch.empty(0, dtype=torch.int64))
    assert (none.shape, none.dtype) == ((0,), torch.float32)
    check_vocabulary(model, used, IDS, "the model")


def test_in_half_precision_the_products_are_summed_in_float32(model: Any) -> None:
    half = AutoModelForCausalLM.from_config(model.config, dtype=torch.bfloat16).eval()
    half.load_state_dict(model.state_dict())
    hidden = hidden_of(half)
    assert hidden.dtype == torch.bfloat16
    got = Vocabulary(half).label_log_probs(hidden, range(8192))
    wide = deepcopy(half).float()
    assert got.dtype == torch.float32
    assert_near(got, Vocabulary(wide).label_log_probs(hidden.float(), range(8192)))


def scaled(_: Any, __: Any, output: Any) -> None:
    """What a model may do to its logits that is not known here."""
    output.logits = output.logits * 1.5


def capped(_: Any, __: Any, output: Any) -> None:
    """Something else."""
    output.logits = torch.tanh(output.logits)


@pytest.mark.parametrize(
    ("spread", "dtype", "change"), [(0.2, torch.float32, capped), (0.001, torch.bfloat16, scaled)]
)
def test_a_way_that_is_not_known_is_refused_though_no_token_is_likely(
    spread: float, dtype: torch.dtype, change: Any, tmp_path: Path
) -> None:
    folder = save_tiny(tmp_path, "qwen3", 0, initializer_range=spread)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    check_vocabulary(model, Vocabulary(model), IDS, "the model")
    model.register_forward_hook(change)
    with pytest.raises(KnownError, match="the model computes its probabilities in a way of"):
        check_vocabulary(model, Vocabulary(model), IDS, "the model")


@pytest.mark.parametrize("family", ["logprob-sum", "judge"])
def test_every_family_of_language_models_makes_sure(
    family: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_tiny(tmp_path, "cohere", 0)
    spec = ModelSpec("a cohere", folder, "", family)
    settings = RunSettings(device="cpu", dtype="float32")
    assert open_scorer(spec, settings).spec == spec
    monkeypatch.setattr(Vocabulary, "label_log_probs", lambda *_: torch.zeros(1))
    with pytest.raises(KnownError, match="a cohere computes its probabilities in a way of"):
        open_scorer(spec, settings)
