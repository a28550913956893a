"""Small models whose heads are no plain linear layer, and their formulas written out.

The layouts are those that `scoring.models.heads` names the sources of. Of ArmoRM and of InternLM2's
smallest the names in the real files are public, too; no checkpoint was at hand.
"""

import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel

from tests.support.small_models import (
    SMALL,
    TEMPLATE,
    WORDS,
    config_of,
    edit_config,
    gemma,
    gemma2,
    letters_tokenizer,
    llama,
    mistral,
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


def save_headed(folder: Path, architecture: str, config: Any, head: Weights, **more: Any) -> Any:
    """Write a random base, its weights named as in the authors' files, and return the base."""
    torch.manual_seed(0)
    base = AutoModel.from_config(config).eval()
    folder.mkdir(exist_ok=True)
    prefix = more.pop("prefix", "model.")
    weights = {f"{prefix}{name}": value for name, value in base.state_dict().items()}
    save_file({**weights, **head}, folder / "model.safetensors", {"format": "pt"})
    base.config.save_pretrained(folder)
    edit_config(folder, architectures=[architecture], **more)
    tokenizer().save_pretrained(folder)
    return base


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return drawn / math.sqrt(math.sqrt(shape[-1]))


def by_row(head: torch.Tensor, bias: float = 0.0) -> Reads:
    return lambda states, _: (states[-1] * head[0]).sum() + bias


def linear(
    architecture: str,
    name: str,
    config: Callable[[], Any] = llama,
    bias: float = 0.0,
    made: Callable[[], Any] = tokenizer,
    also: Weights | None = None,
    **more: Any,
) -> Made:
    """A head of one row. name: of its weights, also: that lie beside it, more: of the config."""

    def write(folder: Path) -> tuple[Any, Reads]:
        head = {f"{name}.weight": random(1, WIDTH), **(also or {})}
        if bias:
            head[f"{name}.bias"] = torch.tensor([bias])
        base = save_headed(folder, architecture, config(), head, **more)
        made().save_pretrained(folder)
        return base, by_row(head[f"{name}.weight"], bias)

    return write


def beaver(read: Callable[[torch.Tensor], torch.Tensor], **more: Any) -> Made:
    """read: what becomes of the score."""
    parts = {"mean": torch.tensor([0.5]), "var": torch.tensor([4.0]), "count": torch.tensor([9])}
    also = {f"normalizer.{name}": value for name, value in parts.items()}

    def write(folder: Path) -> tuple[Any, Reads]:
        base, score = linear("LlamaModelForScore", "score_head", also=also, **more)(folder)
        return base, lambda states, at: read(score(states, at))

    return write


def layers(
    architecture: str, name: str, width: int, config: Callable[[], Any], **more: Any
) -> Made:
    """A head of two layers with a ReLU between. made: its tokenizer."""
    made = more.pop("made", tokenizer)

    def write(folder: Path) -> tuple[Any, Reads]:
        head = {
            f"{name}.0.weight": random(width, WIDTH),
            f"{name}.0.bias": torch.linspace(-1, 1, width),
            f"{name}.2.weight": random(1, width, seed=2),
            f"{name}.2.bias": torch.tensor([0.25]),
        }
        first, bias, second, last = head.values()
        base = save_headed(folder, architecture, config(), head, **more)
        made().save_pretrained(folder)
        return base, lambda states, _: second[0] @ (first @ states[-1] + bias).relu() + last[0]

    return write


def principle(folder: Path) -> tuple[Any, Reads]:
    rows = random(9643, WIDTH)
    config = llama(vocab_size=len(rows))
    base = save_headed(folder, "LlamaForCausalLM", config, {"lm_head.weight": rows})
    asking = TEMPLATE.replace("'</s>'", "'w59' if add_generation_prompt else '</s>'")
    tokenizer(asking, others={"Yes": 9642, "No": 2822}).save_pretrained(folder)
    return base, by_row(rows[9642:] - rows[2822])


def nemotron(folder: Path) -> tuple[Any, Reads]:
    rows = random(SMALL["vocab_size"], WIDTH)
    return save_headed(folder, "LlamaForCausalLM", llama(), {"lm_head.weight": rows}), by_row(rows)


def gpm(folder: Path) -> tuple[Any, Reads]:
    """Reads are embeddings, and what their dimensions weigh by the prompt."""
    head = {"value_head.weight": random(6, WIDTH), "prompt_head.weight": random(3, WIDTH)}
    base = save_headed(folder, "CustomRewardModel", llama(**WIDER), head)
    chat_tokenizer("llama").save_pretrained(folder)

    def read(states: torch.Tensor, at: int) -> torch.Tensor:
        embedding = head["value_head.weight"] @ states[-1]
        weights = (head["prompt_head.weight"] @ states[at]).exp()
        return torch.cat((embedding / embedding.norm(), weights / weights.sum()))

    return base, read


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
    config = json.loads((folder / "config.json").read_text("utf-8"))
    theta = config.pop("rope_parameters")["rope_theta"]
    config |= {
        "model_type": "internlm2", "bias": False, "rope_theta": theta,
        "rope_scaling": {"type": "dynamic", "factor": 2.0}, "reward_token_id": 50,
        "auto_map": {"AutoModel": "modeling_internlm2.InternLM2ForRewardModel"},
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    return base, read


def ldl(folder: Path) -> tuple[Any, Reads]:
    torch.manual_seed(2)
    sizes = {"regression_layer": (WIDTH, 16, 24, 30), "gating_layer": (WIDTH, 16, 16, 3)}
    places = {"regression_layer": (0, 2, 4), "gating_layer": (0, 3, 6)}
    base = save_headed(folder, "Gemma2Model", gemma2(), {}, prefix="", num_labels=1)
    head: dict[str, Weights] = {}
    for name, widths in sizes.items():
        head[name] = {}
        for at, into, out in zip(places[name], widths, widths[1:], strict=False):
            head[name] |= {
                f"network.{at}.weight": random(out, into, seed=at),
                f"network.{at}.bias": torch.linspace(-1, 1, out),
            }
        torch.save(head[name], folder / f"{name}.pt")

    def dense(row: torch.Tensor, weights: Weights) -> torch.Tensor:
        matrices = list(weights.values())
        for matrix, bias in zip(matrices[:-2:2], matrices[1:-2:2], strict=True):
            row = matrix @ row + bias
            row = torch.where(row > 0, row, 0.01 * row)
        return matrices[-2] @ row + matrices[-1]

    def read(states: torch.Tensor, _: int) -> torch.Tensor:
        scores = dense(states[-1], head["regression_layer"]).exp()
        total = torch.tensor(0.0)
        for weight, part in zip(
            dense(states[-1], head["gating_layer"]), scores.view(-1, 10), strict=True
        ):
            total = total + weight * (part / part.sum() * torch.arange(10) / 9).sum()
        return total

    return base, read


def gate_of(
    normed: bool, n: int, places: Sequence[int], seed: int
) -> tuple[Weights, Callable[[torch.Tensor], torch.Tensor]]:
    """A gate of two hidden layers as `gating.layers` numbers it, and what it gives before scaling.

    places: of the linear layers; normalisation stands two behind each but the last.
    """
    widths = (WIDTH, 12, 12, n)
    head: Weights = {}
    for depth, at in enumerate(places):
        last = depth == len(places) - 1
        head[f"gating.layers.{at}.weight"] = random(
            widths[depth + 1], widths[depth], seed=seed + at
        )
        if last or not normed:
            head[f"gating.layers.{at}.bias"] = torch.linspace(-1, 1, widths[depth + 1])
        if normed and not last:
            norm = f"gating.layers.{at + 2}"
            head |= {
                f"{norm}.weight": torch.linspace(0.5, 1.5, 12),
                f"{norm}.bias": torch.linspace(-0.5, 0.5, 12),
                f"{norm}.running_mean": torch.linspace(0.0, 0.3, 12),
                f"{norm}.running_var": torch.linspace(0.5, 2.0, 12),
                f"{norm}.num_batches_tracked": torch.tensor(7),
            }

    def gate(row: torch.Tensor) -> torch.Tensor:
        for depth, at in enumerate(places):
            row = head[f"gating.layers.{at}.weight"] @ row
            row = row + head.get(f"gating.layers.{at}.bias", torch.tensor(0.0))
            if depth == len(places) - 1:
                return row
            row = row.clamp(min=0)
            if normed:
                norm = f"gating.layers.{at + 2}"
                middle, spread = head[f"{norm}.running_mean"], head[f"{norm}.running_var"]
                row = (row - middle) / (spread + 1e-5).sqrt()
                row = row * head[f"{norm}.weight"] + head[f"{norm}.bias"]
        return row

    return head, gate


def gated(
    architecture: str,
    config: Any,
    places: Sequence[int],
    temperature: float,
    quantiles: int | None = None,
    matrix: torch.Tensor | None = None,
) -> Made:
    def write(folder: Path) -> tuple[Any, Reads]:
        n = 3
        head, gate = gate_of(quantiles is not None, n, places, seed=3)
        regression = random(n * (quantiles or 1), WIDTH)
        head |= {"regression_layer.weight": regression, "gating.logit_scale": torch.tensor([1.5])}
        if matrix is not None:
            head["reward_transform_matrix"] = matrix
        more: dict[str, Any] = {"num_quantiles": quantiles} if quantiles else {}
        base = save_headed(
            *(folder, architecture, config(), head),
            **more,
            num_objectives=n,
            gating_hidden_dim=12,
            gating_n_hidden=2,
        )
        chat_tokenizer(base.config.model_type).save_pretrained(folder)

        def read(states: torch.Tensor, at: int) -> torch.Tensor:
            weights = (gate(states[at]) / temperature).exp()
            rewards = (regression @ states[-1]).view(n, -1).mean(1)
            if matrix is not None:
                rewards = rewards @ matrix
            return (weights / weights.sum() * 1.5 * rewards).sum()

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
QWEN2: dict[str, Any] = {
    "config": partial(config_of, "qwen2", vocab_size=300),
    "made": letters_tokenizer,
}
WIDE_LLAMA, WIDE_GEMMA2 = partial(llama, **WIDER), partial(gemma2, **WIDER)
HEADS: dict[str, Made] = {
    "beaver": beaver(lambda score: score, score_type="reward"),
    "beaver, normalised": beaver(
        lambda score: (score - 0.5) / (2 + 1e-8), score_type="reward", do_normalize=True
    ),
    "beaver, a cost": beaver(
        lambda score: -score / (2 + 1e-8), score_type="cost", do_normalize=True
    ),
    "ultra": linear("LlamaRewardModel", "regression_head"),
    "eurus": linear(
        "EurusRewardModel", "regression_head", mistral,
        auto_map={"AutoModel": "modeling_eurus_rm.EurusRewardModel"},
    ),
    "ziya-llama-7b-reward": linear(
        "LlamaRewardModel", "value_head",
        auto_map={"AutoModelForSequenceClassification": "modeling_llama_rm.LlamaRewardModel"},
    ),
    "starling-rm-34b": linear(
        "LlamaForSequenceClassification", "v_head", partial(llama, num_labels=2),
        prefix="transformer.",
    ),
    "oasst": linear(
        "GPTNeoXRewardModel", "out_proj", partial(config_of, "gpt_neox"), 0.25,
        prefix="gpt_neox.", model_type="gpt_neox_reward_model", pooling="last",
    ),
    "acecode": linear(
        "Qwen2ForCausalRM", "v_head.summary", bias=0.5, **QWEN2,
        also={"lm_head.weight": random(300, WIDTH)},
    ),
    "athene": linear(
        "CustomAutoModelForSequenceClassification", "v_head", partial(llama, vocab_size=128_004),
        made=partial(tokenizer, others={ATHENE: 128_003}),
    ),
    "inform": layers("INFORMForSequenceClassification", "score", WIDTH, llama, num_labels=1),
    "worldpm": layers("Qwen2ForRewardModel", "score", WIDTH, num_labels=1, **QWEN2),
    "grm, llama": layers(
        "GRewardModel", "v_head.summary", 24, llama,
        vhead_layer_type="mlp", vhead_num_neurons=24, vhead_num_layers=1,
    ),
    "grm, gemma 2": layers("GRewardModel", "v_head.summary", 24, gemma2, vhead_num_neurons=24),
    "grm, gemma": linear(
        "GRewardModel", "v_head.summary", gemma, 0.5, vhead_layer_type="linear"
    ),
    "internlm": internlm,
    "ldl-reward": ldl,
    "nemotron-70b-reward": nemotron,
    "nemotron-70b-reward-principle": principle,
    "gpm-llama": gpm,
    "armorm": gated(
        "LlamaForRewardModelWithGating", WIDE_LLAMA, (0, 1, 2), 10.0, matrix=MIXED
    ),
    "qrm": gated(
        "LlamaForRewardModelWithGating31", WIDE_LLAMA, (0, 3, 6), 10.0, 5, matrix=MIXED
    ),
    "qrm, gemma 2": gated(
        "Gemma2ForQuantileSequenceClassification", WIDE_GEMMA2, (0, 4, 7), 1.0, 5
    ),
    "qrm v2": gated("LlamaForQuantileSequenceClassification", WIDE_LLAMA, (0, 4, 7), 1.0, 5),
}  # fmt: skip
"""Of each head, what writes a model with it into a folder of that name."""
