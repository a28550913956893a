"""Reward models whose head is no plain linear layer, or is called otherwise, without their code.

Each head takes the last hidden state of a conversation, and a gated one that at the end of its
prompt, too, so that packs serve it as they serve any classifier. Importing this does not import
torch. Sources; those of upstream, which copies the authors' code, lie in rewardbench/models of
allenai/reward-bench:

- beaver: PKU-Alignment/safe-rlhf; beaver.py.
- regression (UltraRM, Eurus): openbmb.py; the model card's own.
- two layers (INF-ORM, WorldPM): inform.py; vLLM's qwen2_rm.py.
- ziya: its modeling_llama_rm.py. starling: starling.py, of the model card.
- oasst: LAION-AI/Open-Assistant, reward_model.py; openassistant.py.
- grm: YangRui2015/Generalizable-Reward-Model, grm_utils.py; grm.py.
- internlm: InternLM/xtuner, modeling_internlm2_reward. Llama with other names, and one matrix for
  queries, keys and values.
- ldl: ldlreward.py. The mean of ten classes, of a mix of distributions.
- gated (ArmoRM, QRM): ArmoRM's modeling_custom.py; qrm.py. Many rewards, the means of quantiles in
  QRM, weighted by a gate that sees the prompt.
- quantile (QRM-Gemma-2 and v2): as gated, with other places in `gating.layers`. Not by its authors'
  files, which were not at hand, but by what others wrote from them.
- acecode: TIGER-AI-Lab/AceCoder, rm_utils.py. TRL's value head, as GRM's of one layer.
- athene: the cards of Nexusflow/Athene-RM-8B and 70B. Its token stands behind the conversation.
- nemotron: the cards of NVIDIA's Llama-Nemotron-70B-Reward models. Language models whose first
  vocabulary item is the reward; the one with a principle is asked whether a response satisfies it.
- gpm: general-preference/general-preference-model, gpm_example_usage.py. Reads both responses: by
  how much the first is preferred is a skew-symmetric product of two embeddings, whose dimensions
  are weighted by what it makes of the prompt. Gemma's GPM puts its EOS in place of a newline, and
  is not here; of several turns, its authors' script takes the first for the prompt, not all.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.errors import KnownError
from scoring.spec import Family, ModelSpec

if TYPE_CHECKING:
    from torch import Tensor, nn


class HeadedModel:
    """A model with a head of its own, by default one linear layer, beside a base of transformers.

    architectures: in config.json, of models that have this head.
    name_parts: in small letters, of models whose config names another architecture.
    reading: what the reward is, in words.
    base, parts: the base and the head's layers by their names in the weights' files; these keep
        float32 if they are stored in it.
    base_type: of the base, if the config names one that transformers does not have.
    ending: the token that every sequence has to end with; None for any.
    turn: the text before a response, at whose beginning a gate is read; "" if there is none.
    question: asked by the user behind each conversation, and read where its answer would begin.
    tokens: ids that the reward is read at, or of -> how the tokenizer has to call them.
    family: "pairrm" if a reward is half of the margin over the other response.
    """

    architectures: tuple[str, ...] = ()
    name_parts: tuple[str, ...] = ()
    reading = "its head at the last token"
    base = "model"
    parts: tuple[str, ...] = ()
    has_bias = False
    base_type = ""
    ending: int | None = None
    turn = ""
    question = ""
    tokens: Mapping[int, str] = {}
    family: Family = "classifier"

    def add_head(self: Any, config: Any) -> None:
        """Add the layers, named as in the weights' files."""
        from torch import nn

        setattr(self, self.parts[0], nn.Linear(config.hidden_size, 1, bias=self.has_bias))

    def rewards_of(self: Any, rows: Tensor, gates: Tensor) -> Tensor:
        """[rows, 1]: rewards of last hidden states, [rows, width], with those at their gates.

        rows: of each pair the chosen response's and then the rejected one's.
        """
        scores: Tensor = getattr(self, self.parts[0])(rows)
        return scores

    @classmethod
    def config_of(cls, folder: str) -> Any:
        """The config of the base, as transformers knows it."""
        from transformers import AutoConfig

        if cls.base_type:
            return AutoConfig.for_model(**{**_config(folder), "model_type": cls.base_type})
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)

    @classmethod
    def weights_of(cls, folder: str, config: Any) -> dict[str, Tensor] | None:
        """A folder's weights by the names of the base; None if they are stored by these."""
        return None

    def add_files(self: Any, folder: str) -> None:
        """Add layers that lie in files of their own."""

    @classmethod
    def model_class(cls, config_class: Any) -> Any:
        """The class with this head over the base of a config, or a `KnownError` without one."""
        from transformers import MODEL_MAPPING, PreTrainedModel

        base_class = MODEL_MAPPING[config_class]
        shared = next(
            each for each in base_class.__mro__ if each.__name__.endswith("PreTrainedModel")
        )
        if shared is PreTrainedModel:
            raise KnownError(f"{base_class.__name__} is not a base that a head can be put on here.")

        def begin(self: Any, config: Any) -> None:
            shared.__init__(self, config)
            setattr(self, cls.base, base_class(config))
            self.add_head(config)
            self.post_init()

        own = {"__init__": begin, "base_model_prefix": cls.base}
        own["_keep_in_fp32_modules_strict"] = {*cls.parts}
        return type(cls.__name__, (cls, shared), own)


def _linear(part: str, **attributes: Any) -> type[HeadedModel]:
    return type("LinearHead", (HeadedModel,), {"parts": (part,), **attributes})


class _Beaver(HeadedModel):
    architectures = ("LlamaForScore", "LlamaModelForScore")
    parts = ("score_head", "normalizer")

    def add_head(self: Any, config: Any) -> None:
        import torch
        from torch import nn

        self.has_bias = bool(getattr(config, "bias", False))
        super().add_head(config)
        self.normalizer = nn.Module()
        for name, value in (("mean", torch.zeros(1)), ("var", torch.ones(1))):
            given = getattr(config, name, None)
            self.normalizer.register_buffer(
                name, value if given is None else torch.tensor(given, dtype=value.dtype)
            )
        self.normalizer.register_buffer("count", torch.zeros(1, dtype=torch.long))
        self.is_cost = getattr(config, "score_type", "reward") == "cost"
        self.is_normal = bool(getattr(config, "do_normalize", False))
        self.reading = "minus its cost" if self.is_cost else "its score at the last token"

    def rewards_of(self: Any, rows: Tensor, gates: Tensor) -> Tensor:
        scores: Tensor = self.score_head(rows)
        if self.is_normal:
            mean, var = self.normalizer.mean.float(), self.normalizer.var.float()
            scores = (scores if self.is_cost else scores - mean) / (var.sqrt() + 1e-8)
        return -scores if self.is_cost else scores


def _rectified_layers(*widths: int) -> nn.Sequential:
    from torch import nn

    layers: list[nn.Module] = []
    for width, following in pairwise(widths):
        layers += [nn.Linear(width, following), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class _TwoLayers(HeadedModel):
    architectures = ("INFORMForSequenceClassification", "Qwen2ForRewardModel")
    parts = ("score",)

    def add_head(self: Any, config: Any) -> None:
        self.score = _rectified_layers(config.hidden_size, config.hidden_size, 1)


class _Grm(HeadedModel):
    architectures: tuple[str, ...] = ("GRewardModel",)
    parts = ("v_head",)
    layers = "mlp"

    def add_head(self: Any, config: Any) -> None:
        from torch import nn

        n_inner = getattr(config, "vhead_num_layers", 1)
        inner = [getattr(config, "vhead_num_neurons", 1024)] * n_inner
        summary: nn.Module = _rectified_layers(config.hidden_size, *inner, 1)
        if getattr(config, "vhead_layer_type", self.layers) == "linear":
            summary = nn.Linear(config.hidden_size, 1)
        self.v_head = nn.Sequential(OrderedDict(summary=summary))


class _AceCode(_Grm):
    architectures = ("Qwen2ForCausalRM",)
    layers = "linear"


class _Athene(HeadedModel):
    architectures = ("AtheneForSequenceClassification", "CustomAutoModelForSequenceClassification")
    parts = ("v_head",)
    ending = 128_003
    tokens: Mapping[int, str] = {128_003: "<|reserved_special_token_1|>"}
    reading = "its head at the token that is put behind the conversation"


def _logits(rows: Tensor, weights: Tensor) -> Tensor:
    return rows.to(weights.device) @ weights.T  # of several GPUs another may have these


class _Nemotron(HeadedModel):
    name_parts: tuple[str, ...] = ("nemotron-70b-reward",)
    parts = ("lm_head",)
    reading = "the logit of the first vocabulary item at the last token"

    def add_head(self: Any, config: Any) -> None:
        from torch import nn

        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def rewards_of(self: Any, rows: Tensor, gates: Tensor) -> Tensor:
        return _logits(rows, self.lm_head.weight[:1])


class _Principle(_Nemotron):
    name_parts = ("nemotron-70b-reward-principle",)
    question = (
        "Evaluate the response to the previous prompt in terms of whether it satisfies this "
        "principle: correctness. Only answer Yes or No."
    )
    tokens: Mapping[int, str] = {9642: "Yes", 2822: "No"}
    reading = "logit of Yes minus that of No, asked for the principle of its card, correctness"

    def rewards_of(self: Any, rows: Tensor, gates: Tensor) -> Tensor:
        yes, no = self.lm_head.weight[[*self.tokens]]
        return _logits(rows, (yes - no)[None])


class _InternLM(HeadedModel):
    architectures = ("InternLM2ForRewardModel",)
    parts = ("v_head",)
    reading = "its head at the reward token"

    def add_head(self: Any, config: Any) -> None:
        super().add_head(config)
        self.ending = int(getattr(config, "reward_token_id", 92_527))

    @classmethod
    def config_of(cls, folder: str) -> Any:
        from transformers import LlamaConfig

        values = _config(folder)
        theta, scaling = values.pop("rope_theta", 10_000), values.pop("rope_scaling", None) or {}
        # A dynamic one changes nothing up to the length that the model was built for.
        kind = "linear" if scaling.get("type") == "linear" else "default"
        rope = {"rope_type": kind, "rope_theta": theta, "factor": scaling.get("factor", 1.0)}
        bias = bool(values.pop("bias", True))
        for name in ("model_type", "auto_map", "attn_implementation", "torch_dtype"):
            values.pop(name, None)
        return LlamaConfig(**{**values, "rope_parameters": rope, "attention_bias": bias})

    @classmethod
    def weights_of(cls, folder: str, config: Any) -> dict[str, Tensor]:
        from transformers.modeling_utils import load_state_dict

        found: dict[str, Tensor] = {}
        n_heads = config.num_key_value_heads
        groups = config.num_attention_heads // n_heads
        files = sorted(Path(folder).glob("*.safetensors")) or sorted(Path(folder).glob("*.bin"))
        for stored, weights in (each for path in files for each in load_state_dict(path).items()):
            name = stored
            for ours, theirs in _OF_INTERNLM.items():
                name = name.replace(theirs, ours)
            if ".wqkv." not in name:
                found[name] = weights
                continue
            # Of each head of keys: its queries, then its keys, then its values.
            heads = weights.view(n_heads, groups + 2, -1, *weights.shape[1:])
            parts = {"q": heads[:, :groups], "k": heads[:, groups], "v": heads[:, groups + 1]}
            for part, rows in parts.items():
                renamed = name.replace(".wqkv.", f".{part}_proj.")
                found[renamed] = rows.reshape(-1, *weights.shape[1:]).clone()
        return found


_OF_INTERNLM = {
    "embed_tokens": "tok_embeddings",
    "self_attn.": "attention.",
    "input_layernorm": "attention_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "feed_forward.w1",
    "mlp.down_proj": "feed_forward.w2",
    "mlp.up_proj": "feed_forward.w3",
    ".o_proj.": ".wo.",
}
"""Name of a part in Llama -> in InternLM2."""


class _Ldl(HeadedModel):
    architectures = ("LDLRewardModel27B",)
    name_parts = ("ldl-reward",)
    reading = "the mean of its distribution of scores, 0 to 1 where its weights sum to 1"

    def add_head(self: Any, config: Any) -> None:
        self.is_softmax = bool(getattr(config, "softmax", False))
        self.temperature = float(getattr(config, "temperature", 1.0))

    def add_files(self: Any, folder: str) -> None:
        import torch

        for name in ("regression_layer", "gating_layer"):
            weights = torch.load(Path(folder) / f"{name}.pt", "cpu", weights_only=True)
            layers = _dense(name, weights, self.config.hidden_size)
            setattr(self, name, layers.to(self.device).float())

    def rewards_of(self: Any, rows: Tensor, gates: Tensor) -> Tensor:
        import torch

        gate = self.gating_layer(rows)
        if self.is_softmax:
            gate = (gate / self.temperature).softmax(1)
        classes = self.regression_layer(rows).view(len(rows), gate.shape[1], -1).softmax(2)
        mixed = (gate[:, None] @ classes)[:, 0]
        means: Tensor = mixed @ torch.linspace(0, 1, mixed.shape[1], device=mixed.device)
        return means[:, None]


def _dense(name: str, weights: Mapping[str, Tensor], width: int) -> nn.Sequential:
    # With a leaky ReLU between, as these weights are numbered and shaped.
    from torch import nn

    layers: list[nn.Module] = []
    for place in sorted({int(key.split(".")[1]) for key in weights}):
        matrix = weights[f"network.{place}.weight"]
        if matrix.shape[1] != width:
            raise KnownError(
                f"The model's head does not fit: {name}.network.{place}.weight is of "
                f"{format_shape(matrix.shape)}, and {width} numbers come in."
            )
        width = matrix.shape[0]
        layer = nn.Linear(matrix.shape[1], width)
        layer.load_state_dict({"weight": matrix, "bias": weights[f"network.{place}.bias"]})
        layers += [layer, nn.LeakyReLU()]
    return nn.Sequential(*layers[:-1])


class _Gated(HeadedModel):
    architectures: tuple[str, ...] = (
        "LlamaForRewardModelWithGating",
        "LlamaForRewardModelWithGating3",
        "LlamaForRewardModelWithGating31",
    )
    parts: tuple[str, ...] = ("regression_layer", "gating", "reward_transform_matrix")
    reading = "its rewards at the last token, weighted by a gate at the end of the prompt"
    temperature = 10.0
    is_quantile = False
    n_rewards = 19

    def add_head(self: Any, config: Any) -> None:
        import torch
        from torch import nn

        if config.model_type not in _TURNS:
            raise KnownError(f"Where the gate of a {config.model_type} is read is not known here.")
        self.turn = _TURNS[config.model_type]
        width = config.hidden_size
        self.n_quantiles = getattr(config, "num_quantiles", None)
        n = getattr(config, "num_objectives", self.n_rewards)
        self.regression_layer = nn.Linear(width, n * (self.n_quantiles or 1), bias=False)
        if not self.is_quantile:
            # No parameter, for the first of these is taken for the dtype of a model.
            self.register_buffer("reward_transform_matrix", torch.eye(n))
        self.temperature = getattr(config, "gating_temperature", self.temperature)
        inner = getattr(config, "gating_hidden_dim", 1024)
        layers: list[nn.Module] = []
        for left in reversed(range(getattr(config, "gating_n_hidden", 3))):
            if self.n_quantiles is None and not self.is_quantile:
                layers += [nn.Linear(width, inner)]
            else:
                layers += [nn.Linear(width, inner, bias=False), nn.ReLU(), nn.BatchNorm1d(inner)]
            if left and self.is_quantile:
                layers += [nn.Identity()]  # where a dropout was
            width = inner
        self.gating = nn.Module()
        self.gating.layers = nn.ModuleList([*layers, nn.Linear(width, n)])
        self.gating.logit_scale = nn.Parameter(torch.ones(1))

    def rewards_of(self: Any, rows: Tensor, gates: Tensor) -> Tensor:
        *inner, last = self.gating.layers
        weights = gates
        for layer in inner:
            weights = layer(weights).relu() if self.n_quantiles is None else layer(weights)
        weights = (last(weights) / self.temperature).softmax(1) * self.gating.logit_scale
        rewards = self.regression_layer(rows).view(len(rows), weights.shape[1], -1).mean(2)
        if not self.is_quantile:
            rewards = rewards @ self.reward_transform_matrix
        scores: Tensor = (weights * rewards).sum(1, keepdim=True)
        return scores


_TURNS = {
    "llama": "<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
    "gemma2": "<end_of_turn>\n<start_of_turn>model",
}
"""Architecture -> what its template writes between a prompt and a response, but for the newlines
at its end, which may become one token with those of the response."""


class _Gpm(HeadedModel):
    name_parts = ("gpm-llama",)
    parts = ("value_head", "prompt_head")
    reading = "half of how much it is preferred to the other response; not comparable between pairs"
    family = "pairrm"
    turn = _TURNS["llama"]

    @classmethod
    def config_of(cls, folder: str) -> Any:
        from safetensors import safe_open

        config = super().config_of(folder)
        for path in Path(folder).glob("*.safetensors"):
            with safe_open(path, "pt") as file:
                if "value_head.weight" in file.keys():  # noqa: SIM118 - it is no mapping
                    config.n_planes = file.get_slice("value_head.weight").get_shape()[0] // 2
        return config

    def add_head(self: Any, config: Any) -> None:
        from torch import nn

        n_planes = getattr(config, "n_planes", 1)
        self.value_head = nn.Linear(config.hidden_size, 2 * n_planes, bias=False)
        self.prompt_head = nn.Linear(config.hidden_size, n_planes, bias=False)

    def rewards_of(self: Any, rows: Tensor, gates: Tensor) -> Tensor:
        import torch
        from torch.nn.functional import normalize

        planes = normalize(self.value_head(rows)).view(len(rows) // 2, 2, -1, 2)
        first, second = planes[:, 0], planes[:, 1].flip(2)
        products = (first * second * first.new_tensor([1, -1])).sum(2)
        halves = (products * self.prompt_head(gates[::2]).softmax(1)).sum(1) / 2
        return torch.stack((halves, 0 - halves), 1).view(-1, 1)


class _Quantile(_Gated):
    architectures = (
        "Gemma2ForQuantileSequenceClassification",
        "LlamaForQuantileSequenceClassification",
    )
    parts = ("regression_layer", "gating")
    reading = (
        f"{_Gated.reading} (the names of its head's weights were not compared with its authors')"
    )
    temperature = 1.0
    is_quantile = True
    n_rewards = 5


_HEADS: tuple[type[HeadedModel], ...] = (
    _linear("regression_head", architectures=("EurusRewardModel", "LlamaRewardModel")),
    _linear("value_head", name_parts=("ziya-llama-7b-reward",)),
    _linear("v_head", name_parts=("starling-rm-",), base="transformer"),
    _linear(
        "out_proj",
        architectures=("GPTNeoXRewardModel",),
        has_bias=True,
        base="gpt_neox",
        base_type="gpt_neox",
    ),
    *(_Beaver, _TwoLayers, _Grm, _InternLM, _Ldl, _Gated, _Quantile),
    *(_AceCode, _Athene, _Principle, _Nemotron, _Gpm),
)


def find_head(name: str, architectures: Iterable[str]) -> type[HeadedModel] | None:
    """The head of a model, by its name and the architectures in its config; None if it has none.

    >>> find_head("org/x", ["EurusRewardModel"]).parts, find_head("ldl-reward/x", [])
    (('regression_head',), None)
    """
    own, known = own_name(name), set(architectures)
    named = (head for head in _HEADS if any(part in own for part in head.name_parts))
    listed = (head for head in _HEADS if known.intersection(head.architectures))
    return next(named, None) or next(listed, None)


def own_name(name: str) -> str:
    """The name of a repository or folder in lower case, without its owner or place.

    >>> own_name("/data/Ziya/my-model/"), own_name("org/LDL-Reward@main")
    ('my-model', 'ldl-reward')
    >>> own_name("/hub/models--org--SteamSHP/snapshots/0a1b")  # as the Hub's client keeps it
    'steamshp'
    """
    path = Path(name)
    cached = path.parts[-3] if path.parts[-2:-1] == ("snapshots",) and len(path.parts) > 2 else ""
    return (cached.rpartition("--")[2] or path.name.partition("@")[0]).lower()


def architectures_of(config: Mapping[str, Any]) -> list[str]:
    """The classes that a config names."""
    return [str(kind) for kind in config.get("architectures") or ()]


def format_shape(sizes: Iterable[int]) -> str:
    """A tensor's shape in words.

    >>> format_shape((1, 4096)), format_shape(())
    ('1 × 4096', 'one number')
    """
    return " × ".join(map(str, sizes)) or "one number"


def builder_of(spec: ModelSpec) -> str | type[HeadedModel]:
    """The class of a classifier: its name in transformers, or a known head."""
    full = spec.full_model
    known = find_head(full.name, architectures_of(_config(full.folder)))
    return known or "AutoModelForSequenceClassification"


def _config(folder: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    return values
