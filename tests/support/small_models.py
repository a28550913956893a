"""Small random classifiers of many architectures, whose tokenizer knows whole words alone."""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    PreTrainedTokenizerFast,
    Qwen2Tokenizer,
)

from scoring.engine.scorer import Scorer
from scoring.families import open_scorer
from scoring.hub.access import Hub
from scoring.models.finding import ModelPolicy
from scoring.spec import Message, ModelSpec, Pair, RunSettings
from tests.conftest import DEMO_MODEL

OPEN = ModelPolicy(DEMO_MODEL)
CLOSED = ModelPolicy(DEMO_MODEL, local_folders=False)
OFFLINE = Hub(offline=True)
CPU = RunSettings(device="cpu", dtype="float32")
PACKED = "packed, shared prefixes computed once"
WHOLE = "padded: its rewards come from the whole model"
WORDS = ["<pad>", "<unk>", "<s>", "</s>", *(f"w{n}" for n in range(4, 60))]
PAD, BOS, EOS = 0, 2, 3
LIMIT = 200
TEMPLATE = "{% for message in messages %}{{ message['content'] + ' ' }}{% endfor %}{{ '</s>' }}"
ENDLESS = TEMPLATE.replace("{{ '</s>' }}", "")
"""Nothing after the response, so that one sequence can be the start of the other."""
DOUBLED = "{{ bos_token }} " + TEMPLATE
"""Two BOS, where the tokenizer writes one, too."""
LETTERS = [*"wnoAHacdehijklmprstu0123456789:<>|/", "\u0120", "\u010a"]

SMALL: dict[str, Any] = {
    "vocab_size": len(WORDS), "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 256, "num_labels": 1,
    "initializer_range": 0.2, "pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS,
}  # fmt: skip
KEYS: dict[str, Any] = {"num_key_value_heads": 2}
GROUPED: dict[str, Any] = {**KEYS, "head_dim": 8}
WINDOWS = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
LATENT: dict[str, Any] = {
    "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8, "v_head_dim": 8, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "n_group": 1, "topk_group": 1, "moe_intermediate_size": 16,
}  # fmt: skip
LINEAR: dict[str, Any] = {
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_key_heads": 2, "linear_num_value_heads": 2,
    "linear_key_head_dim": 8, "linear_value_head_dim": 8,
}  # fmt: skip
VISION = {
    "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "image_size": 28, "patch_size": 14,
}  # fmt: skip
DEEP_VISION = {"depth": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 16}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": KEYS,
    "qwen2": KEYS,
    "qwen3": GROUPED,
    "olmo2": KEYS,
    "phi3": KEYS,
    "starcoder2": KEYS,
    "stablelm": KEYS,
    "mistral": {**KEYS, "sliding_window": 5},
    "gemma3_text": {**GROUPED, **WINDOWS},
    "gemma3": {
        "text_config": {**SMALL, **GROUPED, "pad_token_id": None}, "vision_config": VISION,
        "mm_tokens_per_image": 4, "image_token_index": 1, "boi_token_index": 1,
        "eoi_token_index": 1, "num_labels": 1,
    },
    "gemma": {"num_key_value_heads": 1, "head_dim": 8},
    "phi": {},
    "gpt2": {"pad_token_id": None},
    "gpt_neox": {},
    "qwen2_moe": {**KEYS, **EXPERTS, "shared_expert_intermediate_size": 16},
    "qwen3_moe": {**GROUPED, **EXPERTS},
    "mixtral": {**KEYS, "num_local_experts": 4},
    "gemma2": {**GROUPED, **WINDOWS, "attn_logit_softcapping": 1.0},
    "gpt_oss": {**GROUPED, **WINDOWS, "num_local_experts": 4},
    "deepseek_v3": {**LATENT, "first_k_dense_replace": 1},
    "deepseek_v2": {**LATENT, "head_dim": 8},
    "bloom": {},
    "mpt": {"n_heads": 4, "n_layers": 2, "d_model": 32},
    "falcon": {"alibi": True},
    "qwen3_5_text": {**GROUPED, **LINEAR},
    "qwen3_5": {
        "text_config": {**SMALL, **GROUPED, **LINEAR}, "vision_config": DEEP_VISION, "num_labels": 1
    },
    "qwen3_next": {**GROUPED, **LINEAR, **EXPERTS, "shared_expert_intermediate_size": 16},
    "jamba": {
        **KEYS, "attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 2,
        "mamba_d_state": 4, "use_mamba_kernels": False,
    },
    "bert": {},
    "modernbert": {},
    "roberta": {"pad_token_id": 1},
    "deberta-v2": {
        "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8
    },
}  # fmt: skip
"""What each architecture has beside `SMALL`, or in its place where its config is nested."""


def config_of(kind: str, **changes: Any) -> Any:
    """A small one of an architecture of `ARCHITECTURES`."""
    own = ARCHITECTURES[kind]
    common = {} if "text_config" in own else SMALL
    return AutoConfig.for_model(kind, **{**common, **own, **changes})


llama, mistral, gemma, gemma2, phi, gpt2, bloom, bert, roberta = (
    partial(config_of, kind)
    for kind in ("llama", "mistral", "gemma", "gemma2", "phi", "gpt2", "bloom", "bert", "roberta")
)
gemma3 = partial(config_of, "gemma3_text")


def tokenizer(
    template: str = TEMPLATE, pad: str | None = "<pad>", others: Mapping[str, int] | None = None
) -> PreTrainedTokenizerFast:
    """Whole words and nothing else, so that a test knows the tokens without asking."""
    names = {word: n for n, word in enumerate(WORDS)}
    words = Tokenizer(models.WordLevel({**names, **(others or {})}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="<unk>", pad_token=pad, bos_token="<s>",
        eos_token="</s>", model_max_length=LIMIT,
    )  # fmt: skip
    made.chat_template = template
    return made


def letters_tokenizer(template: str = TEMPLATE) -> Any:
    """As models of Qwen 2 and 3.5 are always given, of letters, whatever their files say."""
    known = ["<pad>", "<unk>", "<s>", "</s>", *LETTERS]
    made = Qwen2Tokenizer(vocab={each: n for n, each in enumerate(known)}, merges=[])
    made.chat_template = template
    return made


def tokenizer_for(config: Any, template: str = TEMPLATE) -> Any:
    """That of whole words, where such a model can be given one."""
    is_qwen = config.model_type in ("qwen2", "qwen3_5")
    return letters_tokenizer(template) if is_qwen else tokenizer(template)


def save(
    folder: Path,
    config: Any,
    made: Any = None,
    scale: float = 1,
    auto: Any = AutoModelForSequenceClassification,
    seed: int = 0,
) -> Path:
    """Write a random classifier with its tokenizer, or a model of another auto class.

    scale: of a classifier's head, so that rewards lie apart.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = auto.from_config(config)
    for weights in model.parameters():
        if not weights.isfinite().all():
            torch.nn.init.normal_(weights, std=0.2)
    bias = getattr(model.get_output_embeddings(), "bias", None)
    if bias is not None:
        torch.nn.init.normal_(bias)
    head: Any = getattr(model, "score", None) or getattr(model, "classifier", None)
    if scale != 1:
        getattr(head, "out_proj", head).weight.data.mul_(scale)
    model.save_pretrained(folder)
    (made or tokenizer_for(config)).save_pretrained(folder)
    return folder


def edit_config(folder: Path, file: str = "config.json", **changes: object) -> None:
    """Change fields of a model's config, or of another file; `...` takes one away."""
    path = folder / file
    values = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    kept = {name: value for name, value in values.items() if value is not ...}
    path.write_text(json.dumps(kept), encoding="utf-8")


def plain(folder: Path, attention: str = "eager") -> Any:
    """The model with its attention written out; told of no padding, it reads the last token."""
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, dtype=torch.float32, attn_implementation=attention
    )
    model.config.get_text_config().pad_token_id = model.config.pad_token_id = None
    return model.eval()


def token_ids(pair: Pair) -> list[list[int]]:
    """Of both conversations in `TEMPLATE`, told from the words."""
    prompt = " ".join(message.content for message in pair.messages)
    return [
        [*(WORDS.index(word) for word in f"{prompt} {response}".split()), EOS]
        for response in (pair.chosen, pair.rejected)
    ]


def one_at_a_time(model: Any, sequences: Iterable[Sequence[int]]) -> torch.Tensor:
    """[sequences, labels]: a model's logits."""
    with torch.inference_mode():
        rows = [model(input_ids=torch.tensor([ids])).logits[0] for ids in sequences]
    return torch.stack(rows)


def logits_of(folder: Path, pairs: Sequence[Pair]) -> torch.Tensor:
    """[pairs, 2, labels], by plain transformers."""
    sequences = [ids for pair in pairs for ids in token_ids(pair)]
    return one_at_a_time(plain(folder), sequences).view(len(pairs), 2, -1)


def opened(folder: Path, settings: RunSettings = CPU, **spec: Any) -> Scorer:
    """The scorer of a model in a folder. spec: as of `ModelSpec`."""
    return open_scorer(ModelSpec("small", str(folder), "test", **spec), settings)


def rewards(scorer: Scorer, pairs: Sequence[Pair]) -> torch.Tensor:
    """[pairs, 2]: chosen and rejected."""
    return torch.tensor(scorer.rewards(scorer.prepare(pairs)))


def some_pairs() -> list[Pair]:
    """Of all lengths and kinds: what a pair's sides may have in common, and what they may lack."""
    rng = random.Random(0)

    def words(n: int) -> str:
        return " ".join(rng.choice(WORDS[4:]) for _ in range(n))

    prompt, answer = words(8), words(6)
    turns = (Message("user", words(4)), Message("assistant", words(9)), Message("user", words(3)))
    texts: list[tuple[str, str, str]] = [
        *((words(n), words(n), words(2 * n)) for n in (3, 10, 20)),
        (prompt, answer, f"{answer} {words(5)}"),  # chosen a prefix of rejected, but for the end
        (prompt, f"{answer} {words(7)}", answer),
        (prompt, f"{answer} {words(2)}", f"{answer} {words(9)}"),
        (prompt, answer, answer),  # a tie
        (prompt, "", words(4)),
        (prompt, words(3), ""),
        (prompt, words(1), words(1)),  # one token
        (words(30), words(1), words(25)),
        (words(30), words(25), words(1)),
        (words(60), words(80), words(70)),
        (words(2), words(1), words(100)),
        (words(9), "w9 </s>", "w9 </s> </s>"),  # the end within, which may be the padding
    ]
    pairs = [Pair(f"s:{n}", "s", *each) for n, each in enumerate(texts)]
    return [*pairs, Pair("s:turns", "s", "a transcript", words(5), words(2), turns=turns)]


PAIRS = some_pairs()
