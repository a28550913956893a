"""Heads that are no plain linear layer, with random weights, against their formulas written out.

The layouts are those that `scoring.models.heads` names the sources of. Of ArmoRM and of InternLM2's
smallest the names in the real files are public, too; no checkpoint was at hand.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoTokenizer,
    GPTNeoXConfig,
    Qwen2Config,
    Qwen2Tokenizer,
)

from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.models.finding import locate
from scoring.spec import Pair, as_objects
from tests.scoring.families.test_classifier import (
    CPU,
    PACKED,
    PAIRS,
    SMALL,
    TEMPLATE,
    gemma,
    gemma2,
    llama,
    mistral,
    token_ids,
    tokenizer,
)
from tests.scoring.families.test_encoders import letters
from tests.scoring.models.test_finding import OFFLINE, OPEN, edit_config
from tests.support.rounding import assert_near

WIDTH = SMALL["hidden_size"]
Weights = dict[str, torch.Tensor]
Reads = Callable[[torch.Tensor, int], torch.Tensor]
"""The reward by a conversation's last hidden states, [tokens, width], and where its gate is."""
TURN = ["<|eot_id|>", "<|start_header_id|>", "assistant", "<|end_header_id|>"]


def save(folder: Path, architecture: str, config: Any, head: Weights, **more: Any) -> Any:
    """A base with random weights, as the authors' files name them; the base itself."""
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


def linear(name: str, also: Weights | None = None) -> Weights:
    return {name: random(1, WIDTH), **(also or {})}


def by_row(head: torch.Tensor, bias: float = 0.0) -> Reads:
    def read(states: torch.Tensor, _: int) -> torch.Tensor:
        value: torch.Tensor = (states[-1] * head[0]).sum() + bias
        return value

    return read


def beaver(folder: Path, **more: object) -> tuple[Any, Weights]:
    head = linear(
        "score_head.weight",
        also={
            "normalizer.mean": torch.tensor([0.5]),
            "normalizer.var": torch.tensor([4.0]),
            "normalizer.count": torch.tensor([9]),
        },
    )
    return save(folder, "LlamaModelForScore", llama(), head, **more), head


def reward(folder: Path) -> tuple[Any, Reads]:
    base, head = beaver(folder, score_type="reward")
    return base, by_row(head["score_head.weight"])


def normalised(folder: Path) -> tuple[Any, Reads]:
    base, head = beaver(folder, score_type="reward", do_normalize=True)
    plain = by_row(head["score_head.weight"])
    return base, lambda states, at: (plain(states, at) - 0.5) / (2 + 1e-8)


def cost(folder: Path) -> tuple[Any, Reads]:
    base, head = beaver(folder, score_type="cost", do_normalize=True)
    plain = by_row(head["score_head.weight"])
    return base, lambda states, at: -plain(states, at) / (2 + 1e-8)


def ultra(folder: Path) -> tuple[Any, Reads]:
    head = linear("regression_head.weight")
    base = save(folder, "LlamaRewardModel", llama(), head)
    return base, by_row(head["regression_head.weight"])


def eurus(folder: Path) -> tuple[Any, Reads]:
    head = linear("regression_head.weight")
    code = {"AutoModel": "modeling_eurus_rm.EurusRewardModel"}
    base = save(folder, "EurusRewardModel", mistral(), head, auto_map=code)
    return base, by_row(head["regression_head.weight"])


def ziya(folder: Path) -> tuple[Any, Reads]:
    head = linear("value_head.weight")
    code = {"AutoModelForSequenceClassification": "modeling_llama_rm.LlamaRewardModel"}
    base = save(folder, "LlamaRewardModel", llama(), head, auto_map=code)
    return base, by_row(head["value_head.weight"])


def starling(folder: Path) -> tuple[Any, Reads]:
    head = linear("v_head.weight")
    base = save(
        folder, "LlamaForSequenceClassification", llama(num_labels=2), head, prefix="transformer."
    )
    return base, by_row(head["v_head.weight"])


def oasst(folder: Path) -> tuple[Any, Reads]:
    head = linear("out_proj.weight", {"out_proj.bias": torch.tensor([0.25])})
    base = save(
        *(folder, "GPTNeoXRewardModel", GPTNeoXConfig(**SMALL), head),
        prefix="gpt_neox.",
        model_type="gpt_neox_reward_model",
        pooling="last",
    )
    return base, by_row(head["out_proj.weight"], 0.25)


def two_layers(folder: Path, architecture: str, config: Any) -> tuple[Any, Reads]:
    head = {
        "score.0.weight": random(WIDTH, WIDTH),
        "score.0.bias": torch.linspace(-1, 1, WIDTH),
        "score.2.weight": random(1, WIDTH, seed=2),
        "score.2.bias": torch.tensor([0.25]),
    }
    base = save(folder, architecture, config, head, num_labels=1)

    def read(states: torch.Tensor, _: int) -> torch.Tensor:
        inner = (head["score.0.weight"] @ states[-1] + head["score.0.bias"]).clamp(min=0)
        return head["score.2.weight"][0] @ inner + head["score.2.bias"][0]

    return base, read


def qwen2() -> Qwen2Config:
    return Qwen2Config(**{**SMALL, "vocab_size": 300}, num_key_value_heads=2)


def save_letters(folder: Path) -> None:
    """A tokenizer as Qwen 2 has it."""
    pieces = Qwen2Tokenizer(vocab=letters("<pad>", "<unk>", "<s>", "</s>"), merges=[])
    pieces.chat_template = TEMPLATE
    pieces.save_pretrained(folder)


def inform(folder: Path) -> tuple[Any, Reads]:
    return two_layers(folder, "INFORMForSequenceClassification", llama())


def worldpm(folder: Path) -> tuple[Any, Reads]:
    made = two_layers(folder, "Qwen2ForRewardModel", qwen2())
    save_letters(folder)
    return made


def acecode(folder: Path) -> tuple[Any, Reads]:
    head = linear("v_head.summary.weight", {"v_head.summary.bias": torch.tensor([0.5])})
    unused = {"lm_head.weight": random(300, WIDTH)}
    base = save(folder, "Qwen2ForCausalRM", qwen2(), {**head, **unused})
    save_letters(folder)
    return base, by_row(head["v_head.summary.weight"], 0.5)


def athene(folder: Path) -> tuple[Any, Reads]:
    head = linear("v_head.weight")
    config = llama(vocab_size=128_004)
    base = save(folder, "CustomAutoModelForSequenceClassification", config, head)
    tokenizer(others={"<|reserved_special_token_1|>": 128_003}).save_pretrained(folder)
    return base, by_row(head["v_head.weight"])


def nemotron(folder: Path) -> tuple[Any, Reads]:
    rows = random(SMALL["vocab_size"], WIDTH)
    base = save(folder, "LlamaForCausalLM", llama(), {"lm_head.weight": rows})
    return base, by_row(rows)


def principle(folder: Path) -> tuple[Any, Reads]:
    rows = random(9643, WIDTH)
    config = llama(vocab_size=len(rows))
    base = save(folder, "LlamaForCausalLM", config, {"lm_head.weight": rows})
    asking = TEMPLATE.replace("'</s>'", "'w59' if add_generation_prompt else '</s>'")
    tokenizer(asking, others={"Yes": 9642, "No": 2822}).save_pretrained(folder)
    return base, by_row(rows[9642:] - rows[2822])


def gpm(folder: Path) -> tuple[Any, Reads]:
    """Reads are embeddings, and what their dimensions weigh by the prompt."""
    head = {"value_head.weight": random(6, WIDTH), "prompt_head.weight": random(3, WIDTH)}
    base = save(folder, "CustomRewardModel", llama(**WIDER), head)
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


def grm(config: Any, **kind: object) -> Callable[[Path], tuple[Any, Reads]]:
    def made(folder: Path) -> tuple[Any, Reads]:
        if kind.get("vhead_layer_type") == "linear":
            head = linear("v_head.summary.weight", {"v_head.summary.bias": torch.tensor([0.5])})
            read = by_row(head["v_head.summary.weight"], 0.5)
        else:
            head = {
                "v_head.summary.0.weight": random(24, WIDTH),
                "v_head.summary.0.bias": torch.linspace(-1, 1, 24),
                "v_head.summary.2.weight": random(1, 24, seed=2),
                "v_head.summary.2.bias": torch.tensor([0.25]),
            }

            def read(states: torch.Tensor, _: int) -> torch.Tensor:
                first, bias, second, last = head.values()
                return second[0] @ (first @ states[-1] + bias).clamp(min=0) + last[0]

        return save(folder, "GRewardModel", config(), head, **kind), read

    return made


def internlm(folder: Path) -> tuple[Any, Reads]:
    """The base's weights are renamed, and its queries, keys and values laid into one matrix."""
    reward_token = 50
    head = linear("v_head.weight")
    base = save(folder, "InternLM2ForRewardModel", llama(), head)
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
        "rope_scaling": {"type": "dynamic", "factor": 2.0}, "reward_token_id": reward_token,
        "auto_map": {"AutoModel": "modeling_internlm2.InternLM2ForRewardModel"},
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    return base, by_row(head["v_head.weight"])


def ldl(folder: Path) -> tuple[Any, Reads]:
    torch.manual_seed(2)
    sizes = {"regression_layer": (WIDTH, 16, 24, 30), "gating_layer": (WIDTH, 16, 16, 3)}
    places = {"regression_layer": (0, 2, 4), "gating_layer": (0, 3, 6)}
    base = save(folder, "Gemma2Model", gemma2(), {}, prefix="", num_labels=1)
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
) -> Callable[[Path], tuple[Any, Reads]]:
    def made(folder: Path) -> tuple[Any, Reads]:
        n = 3
        head, gate = gate_of(quantiles is not None, n, places, seed=3)
        regression = random(n * (quantiles or 1), WIDTH)
        head |= {"regression_layer.weight": regression, "gating.logit_scale": torch.tensor([1.5])}
        if matrix is not None:
            head["reward_transform_matrix"] = matrix
        more: dict[str, Any] = {"num_quantiles": quantiles} if quantiles else {}
        base = save(
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

    return made


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


WIDER = {"vocab_size": SMALL["vocab_size"] + len(TURN)}
MIXED = torch.tensor([[1.0, 0.0, 0.0], [-0.3, 1.0, 0.2], [0.0, -0.5, 1.0]])


def wider_gemma2() -> Any:
    config = gemma2()
    config.vocab_size = WIDER["vocab_size"]
    return config


KINDS = {
    "beaver": reward,
    "beaver, normalised": normalised,
    "beaver, a cost": cost,
    "ultra": ultra,
    "eurus": eurus,
    "ziya-llama-7b-reward": ziya,
    "starling-rm-34b": starling,
    "oasst": oasst,
    "inform": inform,
    "worldpm": worldpm,
    "grm, llama": grm(llama, vhead_layer_type="mlp", vhead_num_neurons=24, vhead_num_layers=1),
    "grm, gemma": grm(gemma, vhead_layer_type="linear"),
    "grm, gemma 2": grm(gemma2, vhead_num_neurons=24),
    "internlm": internlm,
    "ldl-reward": ldl,
    "acecode": acecode,
    "athene": athene,
    "nemotron-70b-reward": nemotron,
    "nemotron-70b-reward-principle": principle,
    "gpm-llama": gpm,
    "armorm": gated(
        *("LlamaForRewardModelWithGating", lambda: llama(**WIDER), (0, 1, 2), 10.0),
        matrix=MIXED,
    ),
    "qrm": gated(
        *("LlamaForRewardModelWithGating31", lambda: llama(**WIDER), (0, 3, 6), 10.0, 5),
        matrix=MIXED,
    ),
    "qrm, gemma 2": gated(
        *("Gemma2ForQuantileSequenceClassification", wider_gemma2, (0, 4, 7), 1.0, 5)
    ),
    "qrm v2": gated(
        *("LlamaForQuantileSequenceClassification", lambda: llama(**WIDER), (0, 4, 7), 1.0, 5)
    ),
}


def opened(folder: Path, **settings: Any) -> Any:
    return open_scorer(locate(str(folder), OPEN, OFFLINE), replace(CPU, **settings))


def sides(scorer: Any, pairs: Sequence[Pair] = PAIRS) -> list[tuple[tuple[int, ...], int]]:
    """Each side's tokens, and how many of the last are read."""
    return [(side.ids, side.tail) for pair in scorer.prepare(pairs) for side in pair.sides]


@pytest.mark.parametrize("kind", KINDS)
def test_a_reward_is_what_the_heads_formula_makes_of_the_last_hidden_state(
    kind: str, tmp_path: Path
) -> None:
    folder = tmp_path / kind
    base, read = KINDS[kind](folder)
    scorer = opened(folder)
    assert scorer.traits.path == PACKED
    expected = []
    with torch.inference_mode():
        for ids, tail in sides(scorer):
            states = base(input_ids=torch.tensor([ids])).last_hidden_state[0]
            expected.append(read(states, len(ids) - tail))
    got = torch.tensor(scorer.rewards(scorer.prepare(PAIRS))).flatten()
    assert_near(got, as_rewards(expected))
    assert len({*got.tolist()}) > len(PAIRS)
    assert ("minus its cost" in scorer.traits.reading) == (kind == "beaver, a cost")
    said = "not compared with its authors'" in scorer.traits.reading
    assert said == (kind in ("qrm, gemma 2", "qrm v2"))


@pytest.mark.parametrize("kind", ["nemotron-70b-reward", "nemotron-70b-reward-principle"])
def test_a_logit_is_the_one_that_nemotrons_card_has_written(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / kind
    KINDS[kind](folder)
    scorer = opened(folder)
    names = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    question = (
        "Evaluate the response to the previous prompt in terms of whether it satisfies this "
        "principle: correctness. Only answer Yes or No."
    )
    expected = []
    for pair in PAIRS:
        for response in (pair.chosen, pair.rejected):
            messages = as_objects(pair.answered(response))
            is_asked = kind.endswith("principle")
            if is_asked:
                messages.append({"role": "user", "content": question})
            ids = names.apply_chat_template(
                messages, add_generation_prompt=is_asked, return_tensors="pt"
            )
            answer = model.generate(
                **ids, max_new_tokens=1, return_dict_in_generate=True, output_scores=True
            )
            scores = answer["scores"][0][0]
            expected.append(scores[9642] - scores[2822] if is_asked else scores[0])
    got = torch.tensor(scorer.rewards(scorer.prepare(PAIRS))).flatten()
    assert_near(got, torch.stack(expected))


def test_a_question_behind_the_text_is_never_cut_off(tmp_path: Path) -> None:
    folder = tmp_path / "nemotron-70b-reward-principle"
    principle(folder)
    whole = [ids for ids, _ in sides(opened(folder))]
    end = whole[0][-20:]
    assert all(ids[-20:] == end for ids in whole)
    for how in ({"max_length": 20}, {"upstream_compatible": True, "chat_template": "tulu"}):
        assert all(ids[-20:] == end for ids, _ in sides(opened(folder, **how)))
    with pytest.raises(KnownError, match="would be cut off: leave --truncation-side out"):
        opened(folder, truncation_side="right")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("athene", r"is read at token 128,003, <\|reserved_special_token_1\|>, and its tokenizer"),
        ("nemotron-70b-reward-principle", "is read at token 9,642, Yes, and its tokenizer"),
    ],
)
def test_a_tokenizer_without_the_token_that_is_read_is_refused(
    kind: str, said: str, tmp_path: Path
) -> None:
    folder = tmp_path / kind
    KINDS[kind](folder)
    tokenizer().save_pretrained(folder)
    with pytest.raises(KnownError, match=said):
        opened(folder)


def test_a_head_that_compares_is_of_a_family_that_does(tmp_path: Path) -> None:
    folder = tmp_path / "gpm-llama"
    gpm(folder)
    scorer = opened(folder, dtype="bfloat16")
    assert scorer.spec.family == "pairrm"
    assert scorer.traits.dtype == "float32"
    assert "not comparable between pairs" in scorer.traits.reading
    swapped = [replace(pair, chosen=pair.rejected, rejected=pair.chosen) for pair in PAIRS]
    ours, theirs = (
        torch.tensor(scorer.rewards(scorer.prepare(pairs))) for pairs in (PAIRS, swapped)
    )
    assert_near(ours.flip(1), theirs)


@pytest.mark.parametrize("kind", ["armorm", "qrm", "gpm-llama"])
def test_a_gate_is_read_where_the_response_is_about_to_begin(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / kind
    KINDS[kind](folder)
    scorer = opened(folder)
    names = scorer.formatter.tokenizer
    for ids, tail in sides(scorer):
        assert names.convert_ids_to_tokens(list(ids[len(ids) - tail :][:4])) == TURN
    # Cut off on the left, the gate is gone, and the pair has no reward; a shorter one has.
    short = Pair("s:1", "s", "w4", "w5", "w6")
    long = Pair("s:2", "s", "w4", "w5", " ".join(["w6"] * 30))
    scorer = opened(folder, max_length=12)
    (known, other) = scorer.rewards(scorer.prepare([short, long]))
    assert all(map(torch.isfinite, torch.tensor(known))), known
    assert torch.tensor(other).isnan().tolist() == [kind == "gpm-llama", True]
    with pytest.raises(KnownError, match=r"which 4 tokens leave no room for\. .*--max-length"):
        opened(folder, max_length=4)
    tokenizer().save_pretrained(folder)
    with pytest.raises(KnownError, match=r"read up to '<\|eot_id\|>.*does not write"):
        opened(folder)


def test_a_head_stays_in_float32_where_the_model_does_not(tmp_path: Path) -> None:
    KINDS["qrm"](tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    model = open_scorer(
        locate(str(tmp_path), OPEN, OFFLINE), replace(CPU, dtype="bfloat16")
    ).loaded.model  # type: ignore[attr-defined]
    assert model.dtype == torch.bfloat16
    for name, value in model.state_dict().items():
        if not name.startswith("model."):
            assert torch.equal(value, stored[name]), name


@pytest.mark.parametrize("kind", ["armorm", "internlm", "nemotron-70b-reward-principle"])
def test_a_head_that_wants_more_than_a_last_token_has_no_reward_after_each(
    kind: str, tmp_path: Path
) -> None:
    KINDS[kind](tmp_path / kind)
    scorer = opened(tmp_path / kind)
    with pytest.raises(KnownError, match="has no reward after each token"):
        scorer.at_tails(scorer.prepare(PAIRS[:1])[0])


def test_a_sequence_that_is_cut_keeps_the_reward_token(tmp_path: Path) -> None:
    internlm(tmp_path)
    scorer = opened(tmp_path)
    plain = [ids for pair in PAIRS for ids in token_ids(pair)]
    assert [list(ids) for ids, _ in sides(scorer)] == [[*ids, 50] for ids in plain]
    scorer = opened(tmp_path, max_length=8)
    ends = {(len(ids), ids[-1]) for ids, _ in sides(scorer) if len(ids) > 7}
    assert ends == {(8, 50)}
    assert {ids for ids, _ in sides(opened(tmp_path, max_length=1))} == {(50,)}


def test_what_a_heads_reward_is_multiplied_by_is_told(tmp_path: Path) -> None:
    ultra(tmp_path)
    plain = opened(tmp_path)
    spec = locate(str(tmp_path), OPEN, OFFLINE, reading=(-2.0,))
    turned: Any = open_scorer(spec, CPU)
    assert turned.traits.reading == f"{plain.traits.reading}, labels weighted -2"
    once, twice = (torch.tensor(each.rewards(each.prepare(PAIRS))) for each in (plain, turned))
    assert_near(twice, -2 * once)


@pytest.mark.parametrize(
    ("kind", "tensor", "shape", "said"),
    [
        (
            "ultra",
            "regression_head.weight",
            (1, WIDTH + 1),
            "1 × 33, and its config says 1 × 32",
        ),
        ("armorm", "regression_layer.weight", (2, WIDTH), "2 × 32, and its config says 3 × 32"),
        ("ziya-llama-7b-reward", "value_head.weight", (4, WIDTH), "4 × 32, and its config says"),
        ("acecode", "v_head.summary.weight", (2, WIDTH), "2 × 32, and its config says 1 × 32"),
        ("gpm-llama", "prompt_head.weight", (2, WIDTH), "2 × 32, and its config says 3 × 32"),
        ("nemotron-70b-reward", "lm_head.weight", (1, WIDTH), "1 × 32, and its config says 60"),
    ],
)
def test_a_head_whose_weights_do_not_fit_is_refused(
    kind: str, tensor: str, shape: tuple[int, ...], said: str, tmp_path: Path
) -> None:
    folder = tmp_path / kind
    KINDS[kind](folder)
    stored = load_file(folder / "model.safetensors")
    save_file(
        {**stored, tensor: torch.zeros(shape)}, folder / "model.safetensors", {"format": "pt"}
    )
    with pytest.raises(KnownError, match=f"could not be loaded: its {tensor} is of {said}"):
        opened(folder)


def test_a_head_in_a_file_of_its_own_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "ldl-reward"
    ldl(folder)
    torch.save(
        {"network.0.weight": torch.zeros(3, 33), "network.0.bias": torch.zeros(3)},
        folder / "gating_layer.pt",
    )
    with pytest.raises(KnownError, match=r"gating_layer\.network\.0\.weight is of 3 × 33, and 32"):
        opened(folder)
    (folder / "gating_layer.pt").unlink()
    with pytest.raises(KnownError, match=r"could not be loaded: .*gating_layer\.pt"):
        opened(folder)


def test_a_head_that_is_not_among_the_weights_is_refused(tmp_path: Path) -> None:
    save(tmp_path, "LlamaRewardModel", llama(), linear("v_head.weight"))
    with pytest.raises(KnownError, match=r"its weights lack regression_head\.weight"):
        opened(tmp_path)
    folder = tmp_path / "nemotron-70b-reward"
    save(folder, "LlamaForCausalLM", llama(), {})
    with pytest.raises(KnownError, match=r"its weights lack lm_head\.weight"):
        opened(folder)


def test_a_head_that_no_such_base_is_known_for_is_refused(tmp_path: Path) -> None:
    save(tmp_path, "SomeOtherRewardModel", llama(), linear("regression_head.weight"))
    with pytest.raises(KnownError, match="SomeOtherRewardModel; sequence classifiers, causal"):
        locate(str(tmp_path), OPEN, OFFLINE)
