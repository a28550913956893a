"""Heads that are no plain linear layer: their rewards are what their formulas say.

The layouts are those that `scoring.models.heads` names the sources of. Of ArmoRM and of InternLM2's
smallest the names in the real files are public, too; no checkpoint was at hand.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoModel

from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.models.catalogue import catalogue
from scoring.models.finding import locate
from scoring.spec import Pair
from tests.support import small_models as small
from tests.support.rounding import assert_near
from tests.support.small_models import PAIRS, rewards

WIDTH = small.SMALL["hidden_size"]
Weights = dict[str, torch.Tensor]
Reads = Callable[[torch.Tensor, int], torch.Tensor]
"""The reward by a conversation's last hidden states, [tokens, width], and where its gate is."""
Made = Callable[[Path], tuple[Any, Reads]]
"""Writes a model into a folder; its base, and how its reward is read."""
TURN = ["<|eot_id|>", "<|start_header_id|>", "assistant", "<|end_header_id|>"]
WIDER = {"vocab_size": len(small.WORDS) + len(TURN)}


def save_headed(folder: Path, architecture: str, config: Any, head: Weights, **more: Any) -> Any:
    """Write a random base, its weights named as in the authors' files, and return the base.

    made: makes its tokenizer. more: of its config.
    """
    torch.manual_seed(0)
    base = AutoModel.from_config(config).eval()
    folder.mkdir(exist_ok=True)
    prefix, made = more.pop("prefix", "model."), more.pop("made", small.tokenizer)
    weights = {f"{prefix}{name}": value for name, value in base.state_dict().items()}
    save_file({**weights, **head}, folder / "model.safetensors", {"format": "pt"})
    base.config.save_pretrained(folder)
    small.edit_config(folder, architectures=[architecture], **more)
    made().save_pretrained(folder)
    return base


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return drawn / math.sqrt(math.sqrt(shape[-1]))


def headed(
    architecture: str,
    head: Weights,
    read: Reads,
    config: Callable[[], Any] = small.llama,
    **more: Any,
) -> Made:
    return lambda folder: (save_headed(folder, architecture, config(), head, **more), read)


def linear(architecture: str, name: str, bias: float = 0.0, **more: Any) -> Made:
    """A head of one row. name: of its weights, also: that lie beside it."""
    head = {f"{name}.weight": random(1, WIDTH), **more.pop("also", {})}
    if bias:
        head[f"{name}.bias"] = torch.tensor([bias])
    row = head[f"{name}.weight"][0]
    return headed(architecture, head, lambda states, _: states[-1] @ row + bias, **more)


def beaver(read: Callable[[torch.Tensor], torch.Tensor], **more: Any) -> Made:
    """read: what becomes of the score."""
    parts = {"mean": torch.tensor([0.5]), "var": torch.tensor([4.0]), "count": torch.tensor([9])}
    head = {f"normalizer.{name}": value for name, value in parts.items()}
    head["score_head.weight"] = row = random(1, WIDTH)
    return headed("LlamaModelForScore", head, lambda states, _: read(states[-1] @ row[0]), **more)


def named_layers(name: str, *modules: nn.Module) -> tuple[nn.Module, Weights]:
    """Random layers in a row, and their weights by their names in a file."""
    made = nn.Sequential(*modules).eval()
    with torch.no_grad():
        for key, values in made.state_dict().items():
            if "running" in key:
                values.copy_(torch.linspace(0.5, 2.0, len(values)))
            elif values.dim():
                values.copy_(random(*values.shape, seed=len(key) + len(values)))
    return made, {f"{name}.{key}": each for key, each in made.state_dict().items()}


def two_layers(architecture: str, name: str, width: int, **more: Any) -> Made:
    """A head of two layers with a ReLU between."""
    head, weights = named_layers(name, nn.Linear(WIDTH, width), nn.ReLU(), nn.Linear(width, 1))
    return headed(architecture, weights, lambda states, _: head(states[-1])[0], **more)


def principle() -> Made:
    rows = random(9643, WIDTH)
    asking = small.TEMPLATE.replace("'</s>'", "'w59' if add_generation_prompt else '</s>'")
    made = partial(small.tokenizer, asking, others={"Yes": 9642, "No": 2822})
    given = {"config": partial(small.llama, vocab_size=len(rows)), "made": made}
    difference = rows[9642] - rows[2822]
    head = {"lm_head.weight": rows}
    return headed("LlamaForCausalLM", head, lambda states, _: states[-1] @ difference, **given)


def gpm() -> Made:
    """Reads are embeddings, and what their dimensions weigh by the prompt."""
    head = {"value_head.weight": random(6, WIDTH), "prompt_head.weight": random(3, WIDTH)}

    def read(states: torch.Tensor, at: int) -> torch.Tensor:
        embedding = head["value_head.weight"] @ states[-1]
        weights = (head["prompt_head.weight"] @ states[at]).exp()
        return torch.cat((embedding / embedding.norm(), weights / weights.sum()))

    return headed("CustomRewardModel", head, read, WIDE_LLAMA, made=chat_tokenizer)


def as_rewards(reads: Sequence[torch.Tensor]) -> torch.Tensor:
    """Of both sides of each pair; embeddings of GPM by the matrix that its paper has."""
    if not reads[0].dim():
        return torch.stack([*reads])
    rewards = []
    for first, second in zip(reads[::2], reads[1::2], strict=True):
        matrix = torch.zeros(6, 6)
        for plane, weight in enumerate(first[6:]):
            matrix[2 * plane, 2 * plane + 1] = -weight
            matrix[2 * plane + 1, 2 * plane] = weight
        half = first[:6] @ matrix.T @ second[:6] / 2
        rewards += [half, -half]
    return torch.stack(rewards)


def internlm(folder: Path) -> tuple[Any, Reads]:
    """The base's weights are renamed, and its queries, keys and values laid into one matrix."""
    base, read = linear("InternLM2ForRewardModel", "v_head")(folder)
    stored = load_file(folder / "model.safetensors")
    made: Weights = {"v_head.weight": stored.pop("v_head.weight")}
    names = {
        "embed_tokens": "tok_embeddings", "self_attn.o_proj": "attention.wo",
        "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "feed_forward.w1", "mlp.up_proj": "feed_forward.w3",
        "mlp.down_proj": "feed_forward.w2",
    }  # fmt: skip
    for name, weights in stored.items():
        if "q_proj" in name:
            parts = [stored[name.replace("q_proj", f"{part}_proj")] for part in "qkv"]
            matrix = torch.cat([part.view(2, -1, 8, WIDTH) for part in parts], 1)
            made[name.replace("self_attn.q_proj", "attention.wqkv")] = matrix.reshape(-1, WIDTH)
        elif "k_proj" not in name and "v_proj" not in name:
            renamed = name
            for ours, theirs in names.items():
                renamed = renamed.replace(ours, theirs)
            made[renamed] = weights
    save_file(made, folder / "model.safetensors", {"format": "pt"})
    small.edit_config(
        folder, model_type="internlm2", bias=False, reward_token_id=50, rope_parameters=...,
        rope_theta=base.config.rope_parameters["rope_theta"],
        rope_scaling={"type": "dynamic", "factor": 2.0},
        auto_map={"AutoModel": "modeling_internlm2.InternLM2ForRewardModel"},
    )  # fmt: skip
    return base, read


def ldl(folder: Path) -> tuple[Any, Reads]:
    base = save_headed(folder, "Gemma2Model", small.gemma2(), {}, prefix="", num_labels=1)
    leaky = nn.LeakyReLU(0.01)
    scoring, weights = named_layers(
        "network", nn.Linear(WIDTH, 16), leaky, nn.Linear(16, 24), leaky, nn.Linear(24, 30)
    )
    torch.save(weights, folder / "regression_layer.pt")
    gate, weights = named_layers(
        *("network", nn.Linear(WIDTH, 16), leaky, nn.Identity()),
        *(nn.Linear(16, 16), leaky, nn.Identity(), nn.Linear(16, 3)),
    )
    torch.save(weights, folder / "gating_layer.pt")

    def read(states: torch.Tensor, _: int) -> torch.Tensor:
        scores = scoring(states[-1]).exp().view(3, 10)
        means = (scores / scores.sum(1, keepdim=True) * torch.arange(10) / 9).sum(1)
        reward: torch.Tensor = (gate(states[-1]) * means).sum()
        return reward

    return base, read


def gate_layers(kind: str) -> list[nn.Module]:
    """Two hidden layers and a last one; of ArmoRM with a ReLU behind each that has no place."""
    if kind == "ArmoRM":
        rectified = [nn.Linear(WIDTH, 12), nn.Linear(12, 12)]
        for layer in rectified:
            layer.register_forward_hook(lambda _, __, given: given.relu())
        return [*rectified, nn.Linear(12, 3)]
    inner = [
        [nn.Linear(width, 12, bias=False), nn.ReLU(), nn.BatchNorm1d(12)] for width in (WIDTH, 12)
    ]
    dropout = [nn.Identity()] if kind == "QRM v2" else []
    return [*inner[0], *dropout, *inner[1], nn.Linear(12, 3)]


def gated(architecture: str, kind: str, temperature: float = 10.0, **more: Any) -> Made:
    """A head whose three rewards are weighed by a gate, and but for QRM v2 mixed before that."""
    gate, head = named_layers("gating.layers", *gate_layers(kind))
    quantiles = {} if kind == "ArmoRM" else {"num_quantiles": 5}
    regression = random(3 * quantiles.get("num_quantiles", 1), WIDTH)
    head |= {"regression_layer.weight": regression, "gating.logit_scale": torch.tensor([1.5])}
    mixed = torch.eye(3)
    if kind != "QRM v2":
        mixed = torch.tensor([[1.0, 0.0, 0.0], [-0.3, 1.0, 0.2], [0.0, -0.5, 1.0]])
        head["reward_transform_matrix"] = mixed
    sizes = {"num_objectives": 3, "gating_hidden_dim": 12, "gating_n_hidden": 2, **quantiles}

    def read(states: torch.Tensor, at: int) -> torch.Tensor:
        weights = (gate(states[at : at + 1])[0] / temperature).exp()
        rewards = (regression @ states[-1]).view(3, -1).mean(1) @ mixed
        reward: torch.Tensor = (weights / weights.sum() * 1.5 * rewards).sum()
        return reward

    given: dict[str, Any] = {"config": WIDE_LLAMA, "made": chat_tokenizer, **more, **sizes}
    return headed(architecture, head, read, **given)


def chat_tokenizer(*turn: str) -> Any:
    """One whose template writes what stands before a response in such models' own."""
    made = small.tokenizer()
    made.add_tokens([*(turn or TURN)], special_tokens=True)
    made.chat_template = (
        "{% for message in messages %}{{ message['content'] + ' ' }}"
        f"{{% if message['role'] == 'user' %}}{' '.join(turn or TURN)} {{% endif %}}"
        "{% endfor %}</s>"
    )
    return made


WIDE_LLAMA = partial(small.llama, **WIDER)
QWEN2: dict[str, Any] = {
    "config": partial(small.config_of, "qwen2", vocab_size=300),
    "made": small.letters_tokenizer,
}
GEMMA2: dict[str, Any] = {
    "config": partial(small.gemma2, **WIDER),
    "made": partial(chat_tokenizer, "<end_of_turn>", "<start_of_turn>", "model"),
}
HEADS: dict[tuple[str, str], Made] = {
    ("Beaver", "llama"): beaver(lambda score: score, score_type="reward"),
    ("Beaver, normalised", "llama"): beaver(
        lambda score: (score - 0.5) / (2 + 1e-8), score_type="reward", do_normalize=True
    ),
    ("Beaver, a cost", "llama"): beaver(
        lambda score: -score / (2 + 1e-8), score_type="cost", do_normalize=True
    ),
    ("UltraRM", "llama"): linear("LlamaRewardModel", "regression_head"),
    ("Eurus-RM", "mistral"): linear(
        "EurusRewardModel", "regression_head", config=small.mistral,
        auto_map={"AutoModel": "modeling_eurus_rm.EurusRewardModel"},
    ),
    ("Ziya", "llama"): linear(
        "LlamaRewardModel", "value_head",
        auto_map={"AutoModelForSequenceClassification": "modeling_llama_rm.LlamaRewardModel"},
    ),
    ("Starling", "llama"): linear(
        "LlamaForSequenceClassification", "v_head", config=partial(small.llama, num_labels=2),
        prefix="transformer.",
    ),
    ("OpenAssistant", "gpt_neox"): linear(
        "GPTNeoXRewardModel", "out_proj", 0.25, config=partial(small.config_of, "gpt_neox"),
        prefix="gpt_neox.", model_type="gpt_neox_reward_model", pooling="last",
    ),
    ("AceCode", "qwen2"): linear(
        "Qwen2ForCausalRM", "v_head.summary", 0.5, **QWEN2,
        also={"lm_head.weight": random(300, WIDTH)},
    ),
    ("Athene", "llama"): linear(
        "CustomAutoModelForSequenceClassification", "v_head",
        config=partial(small.llama, vocab_size=128_004),
        made=partial(small.tokenizer, others={"<|reserved_special_token_1|>": 128_003}),
    ),
    ("INF-ORM", "llama"): two_layers(
        "INFORMForSequenceClassification", "score", WIDTH, num_labels=1
    ),
    ("WorldPM", "qwen2"): two_layers("Qwen2ForRewardModel", "score", WIDTH, num_labels=1, **QWEN2),
    ("GRM", "llama"): two_layers(
        "GRewardModel", "v_head.summary", 24,
        vhead_layer_type="mlp", vhead_num_neurons=24, vhead_num_layers=1,
    ),
    ("GRM", "gemma2"): two_layers(
        "GRewardModel", "v_head.summary", 24, config=small.gemma2, vhead_num_neurons=24
    ),
    ("GRM", "gemma"): linear(
        "GRewardModel", "v_head.summary", 0.5, config=small.gemma, vhead_layer_type="linear"
    ),
    ("InternLM2", "internlm2"): internlm,
    ("LDL", "gemma2"): ldl,
    ("Nemotron", "llama"): linear(
        "LlamaForCausalLM", "lm_head", also={"lm_head.weight": random(len(small.WORDS), WIDTH)}
    ),
    ("Nemotron-Principle", "llama"): principle(),
    ("GPM", "llama"): gpm(),
    ("ArmoRM", "llama"): gated("LlamaForRewardModelWithGating", "ArmoRM"),
    ("QRM", "llama"): gated("LlamaForRewardModelWithGating31", "QRM"),
    ("QRM v2", "gemma2"): gated("Gemma2ForQuantileSequenceClassification", "QRM v2", 1.0, **GEMMA2),
    ("QRM v2", "llama"): gated("LlamaForQuantileSequenceClassification", "QRM v2", 1.0),
}  # fmt: skip
"""Of each head and architecture, what writes such a model into a folder."""
NAMES = {
    "Ziya": "ziya-llama-7b-reward",
    "Starling": "starling-rm-34b",
    "LDL": "ldl-reward",
    "Nemotron": "nemotron-70b-reward",
    "GPM": "gpm-llama",
    "Nemotron-Principle": "nemotron-70b-reward-principle",
}
"""Heads that are known by their folder's name alone."""


@pytest.fixture
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of a model with the head that the test names."""
    folder = tmp_path / NAMES.get(request.param, "model")
    next(make for (head, _), make in HEADS.items() if head == request.param)(folder)
    return folder


def opened(folder: Path, **settings: Any) -> Any:
    return open_scorer(
        locate(str(folder), small.OPEN, small.OFFLINE), replace(small.CPU, **settings)
    )


def sides(scorer: Any) -> list[tuple[tuple[int, ...], int]]:
    """Each side's tokens, and how many of the last are read."""
    return [(side.ids, side.tail) for pair in scorer.prepare(PAIRS) for side in pair.sides]


@pytest.mark.parametrize("kind", HEADS, ids=" ".join)
def test_a_reward_is_what_the_heads_formula_makes_of_the_last_hidden_state(
    kind: tuple[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / NAMES.get(kind[0], "model")
    base, read = HEADS[kind](folder)
    scorer = opened(folder)
    assert scorer.traits.path == small.PACKED
    expected = []
    with torch.inference_mode():
        for ids, tail in sides(scorer):
            states = base(input_ids=torch.tensor([ids])).last_hidden_state[0]
            expected.append(read(states, len(ids) - tail))
    got = rewards(scorer, PAIRS).flatten()
    assert_near(got, as_rewards(expected))
    assert len({*got.tolist()}) > len(PAIRS)
    assert ("minus its cost" in scorer.traits.reading) == (kind[0] == "Beaver, a cost")
    assert ("not compared with its authors'" in scorer.traits.reading) == (kind[0] == "QRM v2")


def test_each_head_of_the_catalogue_has_its_formula_here() -> None:
    listed = {(each["head"], each["built"]) for each in catalogue()["models"] if "head" in each}
    assert listed <= {*HEADS}


@pytest.mark.parametrize("written", ["Nemotron-Principle"], indirect=True)
def test_a_question_stands_behind_the_text_and_is_never_cut_off(written: Path) -> None:
    scorer = opened(written)
    whole = [ids for ids, _ in sides(scorer)]
    end = whole[0][-20:]
    assert small.WORDS[end[-1]] == "w59"  # where the assistant would answer
    assert all(ids[-20:] == end for ids in whole)
    for how in ({"max_length": 20}, {"upstream_compatible": True, "chat_template": "tulu"}):
        assert all(ids[-20:] == end for ids, _ in sides(opened(written, **how)))
    with pytest.raises(KnownError, match="would be cut off: leave --truncation-side out"):
        opened(written, truncation_side="right")


@pytest.mark.parametrize("written", ["ArmoRM", "GPM"], indirect=True)
def test_a_gate_is_read_where_the_response_is_about_to_begin(written: Path) -> None:
    scorer = opened(written)
    names = scorer.formatter.tokenizer
    for ids, tail in sides(scorer):
        assert names.convert_ids_to_tokens(list(ids[len(ids) - tail :][:4])) == TURN
    with pytest.raises(KnownError, match="has no reward after each token"):
        scorer.at_tails(scorer.prepare(PAIRS[:1])[0])
    # Cut off on the left, the gate is gone, and the pair has no reward; a shorter one has.
    short = Pair("s:1", "s", "w4", "w5", "w6")
    long = Pair("s:2", "s", "w4", "w5", " ".join(["w6"] * 30))
    known, other = rewards(opened(written, max_length=12), [short, long])
    assert known.isfinite().all()
    assert other.isnan().tolist() == [written.name == "gpm-llama", True]
    with pytest.raises(KnownError, match=r"which 4 tokens leave no room for\. .*--max-length"):
        opened(written, max_length=4)


@pytest.mark.parametrize("written", ["InternLM2"], indirect=True)
def test_a_sequence_that_is_cut_keeps_the_reward_token(written: Path) -> None:
    whole = [ids for pair in PAIRS for ids in small.token_ids(pair)]
    assert [list(ids) for ids, _ in sides(opened(written))] == [[*ids, 50] for ids in whole]
    cut = sides(opened(written, max_length=8))
    assert {(len(ids), ids[-1]) for ids, _ in cut if len(ids) > 7} == {(8, 50)}


@pytest.mark.parametrize(
    ("written", "tensor", "width", "said"),
    [
        ("UltraRM", "regression_head.weight", WIDTH + 1, "its regression_head.weight is of 1 × 33"),
        ("LDL", "network.0.weight", WIDTH + 1, r"gating_layer\.network\.0\.weight is of 1 × 33"),
        ("Athene", "", 0, r"is read at token 128,003, <\|reserved_special_token_1\|>, and its tok"),
        ("QRM", "", 0, r"read up to '<\|eot_id\|>.*does not write"),
    ],
    indirect=["written"],
)
def test_a_head_that_its_weights_or_its_tokenizer_do_not_fit_is_refused(
    written: Path, tensor: str, width: int, said: str
) -> None:
    path = written / "model.safetensors"
    if not tensor:
        small.tokenizer().save_pretrained(written)
    elif (written / "gating_layer.pt").is_file():
        weights = {tensor: torch.zeros(1, width), "network.0.bias": torch.zeros(1)}
        torch.save(weights, written / "gating_layer.pt")
    else:
        save_file({**load_file(path), tensor: torch.zeros(1, width)}, path, {"format": "pt"})
    with pytest.raises(KnownError, match=said):
        opened(written)
