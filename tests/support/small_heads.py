"""Small models whose heads are no plain linear layer, and their formulas written out.

The layouts are those that `scoring.models.heads` names the sources of. Of ArmoRM and of InternLM2's
smallest the names in the real files are public, too; no checkpoint was at hand.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoModel

from scoring.engine.formatting import Prepared
from tests.support import small_models as small
from tests.support.small_models import (
    SMALL,
    WORDS,
    config_of,
    gemma2,
    letters_tokenizer,
    llama,
    tokenizer,
)

WIDTH = SMALL["hidden_size"]
Weights = dict[str, torch.Tensor]
Reads = Callable[[torch.Tensor, int], torch.Tensor]
"""The reward by a conversation's last hidden states, [tokens, width], and where its gate is."""
Made = Callable[[Path], tuple[Any, Reads]]
"""Writes a model into a folder; its base, and how its reward is read."""
TURN = ["<|eot_id|>", "<|start_header_id|>", "assistant", "<|end_header_id|>"]
WIDER = {"vocab_size": len(WORDS) + len(TURN)}


def save_headed(
    folder: Path, architecture: str, config: Any, head: Weights, made: Any = None, **more: Any
) -> Any:
    """Write a random base, its weights named as in the authors' files, and return the base."""
    torch.manual_seed(0)
    base = AutoModel.from_config(config).eval()
    folder.mkdir(exist_ok=True)
    prefix = more.pop("prefix", "model.")
    weights = {f"{prefix}{name}": value for name, value in base.state_dict().items()}
    save_file({**weights, **head}, folder / "model.safetensors", {"format": "pt"})
    base.config.save_pretrained(folder)
    small.edit_config(folder, architectures=[architecture], **more)
    (made or tokenizer()).save_pretrained(folder)
    return base


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return drawn / math.sqrt(math.sqrt(shape[-1]))


def by_row(head: torch.Tensor) -> Reads:
    return lambda states, _: (states[-1] * head[0]).sum()


def named_layers(name: str, *modules: nn.Module) -> tuple[nn.Module, Weights]:
    """Random layers in a row, and their weights by their names in a file; of one, by its own."""
    made = nn.Sequential(*modules).eval()
    with torch.no_grad():
        for key, values in made.state_dict().items():
            if "running" in key:
                values.copy_(torch.linspace(0.5, 2.0, len(values)))
            elif values.dim():
                values.copy_(random(*values.shape, seed=len(key) + len(values)))
    kept = (made if len(made) > 1 else made[0]).state_dict()
    return made, {f"{name}.{key}": each for key, each in kept.items()}


def headed(
    architecture: str,
    name: str,
    config: Callable[[], Any] = llama,
    *modules: nn.Module,
    made: Callable[[], Any] = tokenizer,
    also: Weights | None = None,
    **more: Any,
) -> Made:
    """A head of layers; by default one row. also: weights beside it, more: of the config."""

    def write(folder: Path) -> tuple[Any, Reads]:
        head, weights = named_layers(name, *(modules or [nn.Linear(WIDTH, 1, bias=False)]))
        weights |= also or {}
        base = save_headed(folder, architecture, config(), weights, made(), **more)
        return base, lambda states, _: head(states[-1])[0]

    return write


def beaver(read: Callable[[torch.Tensor], torch.Tensor], **more: Any) -> Made:
    """read: what becomes of the score."""
    parts = {"mean": torch.tensor([0.5]), "var": torch.tensor([4.0]), "count": torch.tensor([9])}
    also = {f"normalizer.{name}": value for name, value in parts.items()}

    def write(folder: Path) -> tuple[Any, Reads]:
        base, score = headed("LlamaModelForScore", "score_head", also=also, **more)(folder)
        return base, lambda states, at: read(score(states, at))

    return write


def principle(folder: Path) -> tuple[Any, Reads]:
    rows = random(9643, WIDTH)
    asking = small.TEMPLATE.replace("'</s>'", "'w59' if add_generation_prompt else '</s>'")
    made = tokenizer(asking, others={"Yes": 9642, "No": 2822})
    config, head = llama(vocab_size=len(rows)), {"lm_head.weight": rows}
    base = save_headed(folder, "LlamaForCausalLM", config, head, made)
    return base, by_row(rows[9642:] - rows[2822])


def nemotron(folder: Path) -> tuple[Any, Reads]:
    rows = random(SMALL["vocab_size"], WIDTH)
    return save_headed(folder, "LlamaForCausalLM", llama(), {"lm_head.weight": rows}), by_row(rows)


def gpm(folder: Path) -> tuple[Any, Reads]:
    """Reads are embeddings, and what their dimensions weigh by the prompt."""
    head = {"value_head.weight": random(6, WIDTH), "prompt_head.weight": random(3, WIDTH)}
    made = chat_tokenizer("llama")
    base = save_headed(folder, "CustomRewardModel", llama(**WIDER), head, made)

    def read(states: torch.Tensor, at: int) -> torch.Tensor:
        embedding = head["value_head.weight"] @ states[-1]
        weights = (head["prompt_head.weight"] @ states[at]).exp()
        return torch.cat((embedding / embedding.norm(), weights / weights.sum()))

    return base, read


def formula_rewards(prepared: Sequence[Prepared], base: Any, read: Reads) -> torch.Tensor:
    """Of both sides of each pair, by a head's formula; of GPM by the matrix that its paper has."""
    with torch.inference_mode():
        reads = [
            read(base(input_ids=torch.tensor([side.ids])).last_hidden_state[0], -side.tail)
            for pair in prepared
            for side in pair.sides
        ]
    if not reads[0].dim():
        return torch.stack(reads)
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
    base, read = headed("InternLM2ForRewardModel", "v_head")(folder)
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
            queries, keys, values = (
                stored[name.replace("q_proj", f"{part}_proj")].view(2, -1, 8, WIDTH)
                for part in "qkv"
            )
            matrix = torch.cat((queries, keys, values), 1).reshape(-1, WIDTH)
            made[name.replace("self_attn.q_proj", "attention.wqkv")] = matrix
        elif "k_proj" not in name and "v_proj" not in name:
            renamed = name
            for ours, theirs in names.items():
                renamed = renamed.replace(ours, theirs)
            made[renamed] = weights
    save_file(made, folder / "model.safetensors", {"format": "pt"})
    own_code = {"AutoModel": "modeling_internlm2.InternLM2ForRewardModel"}
    small.edit_config(
        folder, model_type="internlm2", bias=False, auto_map=own_code, reward_token_id=50,
        rope_parameters=..., rope_theta=base.config.rope_parameters["rope_theta"],
        rope_scaling={"type": "dynamic", "factor": 2.0},
    )  # fmt: skip
    return base, read


def ldl(folder: Path) -> tuple[Any, Reads]:
    base = save_headed(folder, "Gemma2Model", gemma2(), {}, prefix="", num_labels=1)
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


def two_layers(width: int) -> list[nn.Module]:
    return [nn.Linear(WIDTH, width), nn.ReLU(), nn.Linear(width, 1)]


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


def gated(
    architecture: str, config: Any, kind: str, temperature: float, *, is_mixed: bool = True
) -> Made:
    """A head whose three rewards are weighed by a gate. is_mixed: by a matrix before that."""

    def write(folder: Path) -> tuple[Any, Reads]:
        gate, head = named_layers("gating.layers", *gate_layers(kind))
        quantiles = {} if kind == "ArmoRM" else {"num_quantiles": 5}
        regression = random(3 * quantiles.get("num_quantiles", 1), WIDTH)
        head |= {"regression_layer.weight": regression, "gating.logit_scale": torch.tensor([1.5])}
        head |= {"reward_transform_matrix": MIXED} if is_mixed else {}
        sizes = {"num_objectives": 3, "gating_hidden_dim": 12, "gating_n_hidden": 2, **quantiles}
        shape = config()
        made = chat_tokenizer(shape.model_type)
        base = save_headed(folder, architecture, shape, head, made, **sizes)

        def read(states: torch.Tensor, at: int) -> torch.Tensor:
            weights = (gate(states[at][None])[0] / temperature).exp()
            rewards = (regression @ states[-1]).view(3, -1).mean(1)
            rewards = rewards @ MIXED if is_mixed else rewards
            reward: torch.Tensor = (weights / weights.sum() * 1.5 * rewards).sum()
            return reward

        return base, read

    return write


def chat_tokenizer(kind: str) -> Any:
    """One whose template writes what stands before a response in such models' own."""
    made = tokenizer()
    turn = TURN if kind == "llama" else ["<end_of_turn>", "<start_of_turn>", "model"]
    made.add_tokens(turn, special_tokens=True)
    made.chat_template = (
        "{% for message in messages %}{{ message['content'] + ' ' }}"
        f"{{% if message['role'] == 'user' %}}{' '.join(turn)} {{% endif %}}{{% endfor %}}</s>"
    )
    return made


MIXED = torch.tensor([[1.0, 0.0, 0.0], [-0.3, 1.0, 0.2], [0.0, -0.5, 1.0]])
ATHENE = "<|reserved_special_token_1|>"
QWEN2 = partial(config_of, "qwen2", vocab_size=300)
WIDE_LLAMA, WIDE_GEMMA2 = partial(llama, **WIDER), partial(gemma2, **WIDER)
HEADS: dict[tuple[str, str], Made] = {
    ("Beaver", "llama"): beaver(lambda score: score, score_type="reward"),
    ("Beaver, normalised", "llama"): beaver(
        lambda score: (score - 0.5) / (2 + 1e-8), score_type="reward", do_normalize=True
    ),
    ("Beaver, a cost", "llama"): beaver(
        lambda score: -score / (2 + 1e-8), score_type="cost", do_normalize=True
    ),
    ("UltraRM", "llama"): headed("LlamaRewardModel", "regression_head"),
    ("Eurus-RM", "mistral"): headed(
        "EurusRewardModel", "regression_head", small.mistral,
        auto_map={"AutoModel": "modeling_eurus_rm.EurusRewardModel"},
    ),
    ("Ziya", "llama"): headed(
        "LlamaRewardModel", "value_head",
        auto_map={"AutoModelForSequenceClassification": "modeling_llama_rm.LlamaRewardModel"},
    ),
    ("Starling", "llama"): headed(
        "LlamaForSequenceClassification", "v_head", partial(llama, num_labels=2),
        prefix="transformer.",
    ),
    ("OpenAssistant", "gpt_neox"): headed(
        "GPTNeoXRewardModel", "out_proj", partial(config_of, "gpt_neox"), nn.Linear(WIDTH, 1),
        prefix="gpt_neox.", model_type="gpt_neox_reward_model", pooling="last",
    ),
    ("AceCode", "qwen2"): headed(
        "Qwen2ForCausalRM", "v_head.summary", QWEN2, nn.Linear(WIDTH, 1), made=letters_tokenizer,
        also={"lm_head.weight": random(300, WIDTH)},
    ),
    ("Athene", "llama"): headed(
        "CustomAutoModelForSequenceClassification", "v_head", partial(llama, vocab_size=128_004),
        made=partial(tokenizer, others={ATHENE: 128_003}),
    ),
    ("INF-ORM", "llama"): headed(
        "INFORMForSequenceClassification", "score", llama, *two_layers(WIDTH), num_labels=1
    ),
    ("WorldPM", "qwen2"): headed(
        "Qwen2ForRewardModel", "score", QWEN2, *two_layers(WIDTH), num_labels=1,
        made=letters_tokenizer,
    ),
    ("GRM", "llama"): headed(
        "GRewardModel", "v_head.summary", llama, *two_layers(24),
        vhead_layer_type="mlp", vhead_num_neurons=24, vhead_num_layers=1,
    ),
    ("GRM", "gemma2"): headed(
        "GRewardModel", "v_head.summary", gemma2, *two_layers(24), vhead_num_neurons=24
    ),
    ("GRM", "gemma"): headed(
        "GRewardModel", "v_head.summary", small.gemma, nn.Linear(WIDTH, 1),
        vhead_layer_type="linear",
    ),
    ("InternLM2", "internlm2"): internlm,
    ("LDL", "gemma2"): ldl,
    ("Nemotron", "llama"): nemotron,
    ("Nemotron-Principle", "llama"): principle,
    ("GPM", "llama"): gpm,
    ("ArmoRM", "llama"): gated("LlamaForRewardModelWithGating", WIDE_LLAMA, "ArmoRM", 10.0),
    ("QRM", "llama"): gated("LlamaForRewardModelWithGating31", WIDE_LLAMA, "QRM", 10.0),
    ("QRM v2", "gemma2"): gated(
        "Gemma2ForQuantileSequenceClassification", WIDE_GEMMA2, "QRM v2", 1.0, is_mixed=False
    ),
    ("QRM v2", "llama"): gated(
        "LlamaForQuantileSequenceClassification", WIDE_LLAMA, "QRM v2", 1.0, is_mixed=False
    ),
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


def write_headed(folder: Path, head: str, built: str) -> tuple[Path, Any, Reads]:
    """A model with a head in a folder of its name, its base, and how its reward is read."""
    home = folder / NAMES.get(head, "model")
    return home, *HEADS[head, built](home)
