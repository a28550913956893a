"""Small random models as PairRM was published, and what its card describes."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoTokenizer, DebertaV2Config, DebertaV2Model, PreTrainedTokenizerFast

from tests.support.small_models import SMALL

TOKENS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *(f"w{n}" for n in range(40))]
PREFIXES = ["<|source|>", "<|candidate1|>", "<|candidate2|>", "<|candidate|>"]
SOURCE, FIRST, SECOND, _ = range(len(TOKENS), len(TOKENS) + 4)
WIDTH = SMALL["hidden_size"]
SHAPE: dict[str, Any] = {
    **SMALL,
    "vocab_size": len(TOKENS) + len(PREFIXES),
    "position_buckets": 16,
    "relative_attention": True,
    "position_biased_input": False,
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "norm_rel_ebd": "layer_norm",
    "type_vocab_size": 0,
}
"""Beside `SMALL`, as the published config has it."""


def tokenizer(*, with_prefixes: bool = True) -> PreTrainedTokenizerFast:
    """Whole words, [CLS] and [SEP] around every text, the prefixes added as the authors did."""
    known = Tokenizer(models.WordLevel({word: n for n, word in enumerate(TOKENS)}, "[UNK]"))
    known.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    known.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]"}
    fast = PreTrainedTokenizerFast(tokenizer_object=known, **special, sep_token="[SEP]")
    if with_prefixes:
        fast.add_tokens(PREFIXES)
    return fast


def random_weights() -> dict[str, torch.Tensor]:
    """Named as those of the published checkpoint."""
    torch.manual_seed(0)
    encoder = DebertaV2Model(DebertaV2Config(**SHAPE)).state_dict()
    return {
        **{f"pretrained_model.{name}": weight.clone() for name, weight in encoder.items()},
        "head_layer.1.weight": torch.randn(WIDTH, 2 * WIDTH) / 4,
        "head_layer.1.bias": torch.randn(WIDTH),
        "head_layer.4.weight": torch.randn(1, WIDTH),
        "head_layer.4.bias": torch.randn(1),
    }


def write(folder: Path, weights: dict[str, torch.Tensor], **changes: object) -> Path:
    """Into a folder. changes: of its config."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        **SHAPE,
        "model_type": "deberta-v2",
        "architectures": ["DebertaV2PairRM"],
        "n_tasks": 1,
        "source_prefix_id": SOURCE,
        "cand1_prefix_id": FIRST,
        "cand2_prefix_id": SECOND,
        "cand_prefix_id": SECOND + 1,
        **changes,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    tokenizer().save_pretrained(folder)
    return folder


class Published:
    """What the model card describes, one sequence at a time."""

    def __init__(self, folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        start = "pretrained_model."
        self.head = {name: weight for name, weight in weights.items() if "head" in name}
        self.encoder: Any = DebertaV2Model(DebertaV2Config(**SHAPE)).eval()
        self.encoder.load_state_dict(
            {name[len(start) :]: each for name, each in weights.items() if name.startswith(start)}
        )
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)

    def encode(self, source: str, first: str, second: str) -> list[int]:
        ids: list[int] = self._part(PREFIXES[0] + source, 1224)
        room = (1224 + 2 * 412 - len(ids)) // 2
        return ids + self._part(PREFIXES[1] + first, room) + self._part(PREFIXES[2] + second, room)

    def margin(self, source: str, chosen: str, rejected: str) -> float:
        return self._logit(source, chosen, rejected) - self._logit(source, rejected, chosen)

    def _part(self, text: str, room: int) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, max_length=room, truncation=True)
        return ids

    @torch.inference_mode()
    def _logit(self, source: str, first: str, second: str) -> float:
        ids = self.encode(source, first, second)
        hidden = self.encoder(torch.tensor([ids])).last_hidden_state[0]
        about = [hidden[ids.index(prefix)] for prefix in (SOURCE, FIRST, SECOND)]
        left, right = (self._head(torch.cat([about[0], each])) for each in about[1:])
        return (left - right).item()

    def _head(self, pooled: torch.Tensor) -> torch.Tensor:
        inner = torch.tanh(
            self.head["head_layer.1.weight"] @ pooled + self.head["head_layer.1.bias"]
        )
        return self.head["head_layer.4.weight"] @ inner + self.head["head_layer.4.bias"]
