"""LoRA adapters as TRL and peft leave them, merged into the base that they were trained on.

The head lies among the adapter's weights (`modules_to_save`), in a file of its own as LLaMA-Factory
writes it, or in the base. Importing this does not import torch.
"""

import json
import re
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from statistics import mode
from typing import Any

from scoring.errors import KnownError, shown
from scoring.spec import ModelSpec

CONFIG = "adapter_config.json"
WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
HEADS = ("value_head.safetensors", "value_head.bin")
_NARROWER = ("exclude_modules", "layers_to_transform", "layers_pattern")
_COMPARED = ("r", "rank_pattern", "target_modules", "modules_to_save", *_NARROWER)
_READ = frozenset((
    *_COMPARED, "lora_alpha", "alpha_pattern", "lora_bias", "bias", "fan_in_fan_out", "use_rslora",
    "use_dora",
))  # fmt: skip
"""Options that a LoRA config may set."""
_TRAINING = frozenset((
    "auto_mapping", "base_model_name_or_path", "corda_config", "ensure_weight_tying", "eva_config",
    "inference_mode", "init_lora_weights", "loftq_config", "lora_dropout", "lora_ga_config",
    "megatron_core", "peft_type", "peft_version", "qalora_group_size", "revision",
    "runtime_config", "task_type",
))  # fmt: skip
"""Options without meaning after training, or read elsewhere; all others change the model."""
_HEAD = re.compile(r"\.(score|classifier)(\.\w+)*\.weight$(?<!lora_[AB].weight)")
_LORA = re.compile(r"base_model\.model\.(?P<layer>.+)\.lora_(?:embedding_)?A(?:\.weight)?")
_PLAIN = re.compile(r"[\w.]{1,200}")
_STARTS = (True, False, None, "gaussian", "eva", "orthogonal")
"""Ways to begin training that leave the base as it was."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """The config of an adapter. base: as its author typed it, with its revision."""

    base: str
    options: dict[str, Any]


def is_adapter(names: Collection[str]) -> bool:
    """Whether these files are an adapter's, and no whole model's."""
    return CONFIG in names and "config.json" not in names and any(map(names.__contains__, WEIGHTS))


def read_adapter(folder: Path, name: str) -> Adapter:
    """Read the config of an adapter, or raise a `KnownError` if it is of a kind not merged here."""
    try:
        values = dict(json.loads((folder / CONFIG).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise KnownError(f"{name} could not be read: its {CONFIG} is no JSON object.") from error
    if values.get("peft_type") != "LORA":
        raise KnownError(
            f"{name} is an adapter of kind {shown(str(values.get('peft_type')))}; LoRA is read "
            "here. Merge it into its base, and give the merged model."
        )
    changed = {key for key, value in values.items() if value and key not in _READ | _TRAINING}
    if values.get("init_lora_weights", True) not in _STARTS:
        changed.add("init_lora_weights")
    if changed:
        raise KnownError(
            f"{name} is an adapter whose {CONFIG} sets {shown(min(changed))}, which is not read "
            "here. Merge it into its base, and give the merged model."
        )
    base, revision = (values.get(key) or "" for key in ("base_model_name_or_path", "revision"))
    if not isinstance(base, str) or not isinstance(revision, str):
        raise KnownError(f"{name} could not be read: its {CONFIG} names no base as text.")
    options = {key: value for key, value in values.items() if key in _READ and value is not None}
    alphas = options.get("alpha_pattern") or {}
    if not isinstance(alphas, dict) or not all(map(_PLAIN.fullmatch, alphas)):
        raise KnownError(
            f"{name} is an adapter whose alpha_pattern has expressions, and names of layers are "
            "read here. Merge it into its base, and give the merged model."
        )
    return Adapter(f"{base}@{revision}" if base and revision else base, options)


def load_weights(folder: Path, names: Collection[str] = WEIGHTS) -> dict[str, Any]:
    """The weights in the first of these files that is there."""
    from transformers.modeling_utils import load_state_dict

    path = next((folder / name for name in names if (folder / name).is_file()), None)
    return load_state_dict(path, map_location="cpu") if path else {}


def label_count(weights: Mapping[str, Any], config: Any) -> int:
    """Labels of the head that an adapter or its base has. config: of the base."""
    heads = [weights[name] for name in sorted(weights) if _HEAD.search(name)]
    if heads:
        return int(heads[-1].shape[0])
    has_head = any("SequenceClassification" in each for each in config.architectures or ())
    return int(config.num_labels) if has_head else 1


def merge(model: Any, weights: Mapping[str, Any], adapter: ModelSpec, info: dict[str, Any]) -> Any:
    """The base with an adapter's weights added, and its head.

    Raises a `KnownError` if the weights do not fit the base, or are not whole.

    weights: as of `load_weights`. info: of transformers, when the base was loaded; what the
        adapter brings is no longer missing in it, nor of another shape.
    """
    import torch
    from peft import LoraConfig, PeftModel, set_peft_model_state_dict

    folder, name = Path(adapter.folder), adapter.name
    options = read_adapter(folder, name).options
    saved = [
        each
        for each in options.get("modules_to_save") or ()
        if any(f".{each}." in key for key in weights)
    ]
    try:
        layers = {layer for layer, _ in model.named_modules()}
        config = LoraConfig(**_by_weights(options, weights, layers, name))
        config.modules_to_save = saved or None
        adapted = PeftModel(model, config)
        found: Any = set_peft_model_state_dict(adapted, weights)
    except KnownError:
        raise
    except Exception as error:  # a stranger's config makes peft raise anything
        raise _misfit(name, " ".join(str(error).split())[:300]) from error
    lacking = sorted(each for each in found.missing_keys if "lora_" in each)
    if lacking or found.unexpected_keys:
        what, keys = ("lacks", lacking) if lacking else ("has", found.unexpected_keys)
        raise _misfit(name, f"it {what} {shown(keys[0])}")
    merged = adapted.merge_and_unload()
    if head := load_weights(folder, HEADS):
        linear = torch.nn.Linear(merged.score.in_features, 1, dtype=merged.dtype)
        linear.load_state_dict({key.rpartition(".")[2]: each for key, each in head.items()})
        merged.score = linear.to(merged.device)
        saved.append("score")
    for kind in ("missing_keys", "mismatched_keys"):
        names = {each if isinstance(each, str) else each[0]: each for each in info[kind]}
        info[kind] = {each for key, each in names.items() if key.split(".")[0] not in saved}
    return merged


def _misfit(name: str, why: str) -> KnownError:
    return KnownError(
        f"The adapter {name} does not fit its base: {why}. Give the base that it was trained on "
        "(--ref-model)."
    )


def _by_weights(
    options: Mapping[str, Any], weights: Mapping[str, Any], layers: Set[str], name: str
) -> dict[str, Any]:
    """A LoRA config's options with the layers and ranks of the weights that are there.

    The config's own are expressions and numbers of a stranger's, which can take any time and
    memory; they are only compared with these. layers: of the base.
    """
    ranks = {
        found["layer"]: int(tensor.shape[0])
        for key, tensor in weights.items()
        if (found := _LORA.fullmatch(key))
    }
    if foreign := sorted(ranks.keys() - layers):
        raise _misfit(name, f"it has weights of {shown(foreign[0])}")
    values = {key: value for key, value in options.items() if key not in _COMPARED}
    targets = options.get("target_modules")
    if isinstance(targets, list) and not any(map(options.get, _NARROWER)):
        ends = tuple(f".{each}" for each in targets)
        lacking = sorted(each for each in layers - ranks.keys() if f".{each}".endswith(ends))
        if lacking:
            raise _misfit(name, f"it lacks weights of {shown(lacking[0])}")
    known = {options.get("r"), *dict(options.get("rank_pattern") or {}).values()}
    if others := sorted({*ranks.values()} - known):
        raise _misfit(name, f"it has weights of rank {others[0]}, which its config does not have")
    usual = mode(ranks.values()) if ranks else 1
    rare = {re.escape(layer): rank for layer, rank in ranks.items() if rank != usual}
    return values | {"r": usual, "rank_pattern": rare, "target_modules": [*ranks]}
