"""How fast a classifier is scored, beside the ways in use.

Every way goes from text to rewards on the host, tokenizing included, with the same weights, on the
same pairs, in this one process. What the ways differ in is how many tokens they compute: upstream
pads to the longest of a batch in the dataset's order and computes each prompt twice; sorting spares
most of the padding; packs have none and compute what a pair's sides share once.

    python tests/bench/scoring.py --pairs filtered.parquet --per-subset 10       # CPU, demo model
    python tests/bench/scoring.py --pairs filtered.parquet --shape qwen3-0.6b    # a GPU
    python tests/bench/scoring.py --writing 16            # judges' answers, in two ways

Random weights of a real shape serve: speed does not depend on the weights.
"""

import argparse
import gc
import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import scoring  # noqa: F401, E402, I001 - before torch
import torch  # noqa: E402
import transformers  # noqa: E402

from scoring.families.classifier import Classifier  # noqa: E402
from scoring.models.loading import Loaded, load  # noqa: E402
from scoring.pairs.opening import as_pairs, read_pairs  # noqa: E402
from scoring.run import make_job, score  # noqa: E402
from scoring.spec import ModelSpec, Pair, RunSettings  # noqa: E402

DEMO = ROOT / "assets" / "demo"
MAX_LENGTH = 2048
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if torch.cuda.is_available() else torch.float32

KEYS: tuple[str, ...] = ("hidden_size", "intermediate_size", "num_hidden_layers")
KEYS += ("num_attention_heads", "num_key_value_heads", "max_position_embeddings")
SHAPES: dict[str, dict[str, Any]] = {
    "qwen3-0.6b": dict(zip(KEYS, (1024, 3072, 28, 16, 8, 40960), strict=True))
    | {"model_type": "qwen3", "head_dim": 128},
    "llama-8b": dict(zip(KEYS, (4096, 14336, 32, 32, 8, 8192), strict=True))
    | {"model_type": "llama", "rope_theta": 500000.0},
}
_WRITER = dict(zip(KEYS, (64, 192, 2, 4, 1, 2048), strict=True)) | {"model_type": "qwen2"}


class Measured(NamedTuple):
    """One way, once.

    processor: seconds of all threads together. gigabytes: peak memory over the weights, None on a
    CPU.
    """

    seconds: float
    processor: float
    tokens: int
    gigabytes: float | None


class Bench:
    """One model, some pairs, and the ways of scoring them."""

    def __init__(self, loaded: Loaded, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.tokens = 0
        self.model.get_input_embeddings().register_forward_hook(self._count)

    def _count(self, _: Any, inputs: tuple[torch.Tensor, ...], __: Any) -> None:
        self.tokens += inputs[0].numel()

    def texts(self, side: str) -> list[str]:
        """Conversations as the template writes them."""
        said = [(pair.prompt, getattr(pair, side)) for pair in self.pairs]
        return [
            self.tokenizer.apply_chat_template(
                [{"role": "user", "content": one}, {"role": "assistant", "content": other}],
                tokenize=False,
            )
            for one, other in said
        ]

    def upstream(self, batch: int) -> torch.Tensor:
        """run_rm.py's way: the dataset's order, padded, chosen and rejected in two forwards."""
        chosen, rejected = self.texts("chosen"), self.texts("rejected")
        sides = (
            torch.cat([self._padded(texts[at : at + batch]) for at in range(0, len(texts), batch)])
            for texts in (chosen, rejected)
        )
        return torch.stack([*sides], dim=1)

    def sorted_padded(self, batch: int) -> torch.Tensor:
        """All sequences by length, padded."""
        texts = [*self.texts("chosen"), *self.texts("rejected")]
        order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
        rewards = torch.empty(len(texts))
        for start in range(0, len(texts), batch):
            places = order[start : start + batch]
            rewards[places] = self._padded([texts[place] for place in places])
        return rewards.view(2, -1).T

    def cross_encoder(self, batch: int) -> torch.Tensor:
        """sentence-transformers' CrossEncoder, which sorts by length."""
        from sentence_transformers import CrossEncoder

        device = str(self.model.device)
        encoder = CrossEncoder(str(DEMO / "model"), device=device, max_length=MAX_LENGTH)
        encoder[0].model = self.model
        # The texts have been through the model's template; a pair of them becomes messages.
        encoder[0].processor.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
        texts = [[text, ""] for side in ("chosen", "rejected") for text in self.texts(side)]
        how = {"activation_fn": torch.nn.Identity(), "convert_to_tensor": True}
        rewards: torch.Tensor = encoder.predict(texts, batch_size=batch, **how)
        return rewards.float().cpu().view(2, -1).T

    def ours(self, scorer: Classifier) -> torch.Tensor:
        """Packs, planned and scored as a run does it."""
        packs = score(make_job(self.pairs, scorer, 0), scorer)
        rewards = {row.key: row for pack in packs for row in pack.rows}
        rows = [rewards[pair.key] for pair in self.pairs]
        return torch.tensor([[row.chosen_reward, row.rejected_reward] for row in rows])

    def _padded(self, texts: list[str]) -> torch.Tensor:
        how = {"padding": True, "truncation": True, "max_length": MAX_LENGTH}
        inputs = self.tokenizer(texts, **how, return_tensors="pt").to(self.model.device)
        with torch.inference_mode():
            rewards: torch.Tensor = self.model(**inputs).logits[:, 0].float().cpu()
        return rewards

    def measure(self, way: Callable[[], torch.Tensor]) -> tuple[Measured, torch.Tensor]:
        """Run one way and look at the clock, the tokens and the memory; its rewards, too."""
        gc.collect()
        self.tokens = 0
        cuda = self.model.device.type == "cuda"
        if cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        began, spent = time.perf_counter(), time.process_time()
        rewards = way()
        seconds, processor = time.perf_counter() - began, time.process_time() - spent
        peak = (torch.cuda.max_memory_allocated() - before) / 1e9 if cuda else None
        return Measured(seconds, processor, self.tokens, peak), rewards


def run(bench: Bench, scorer: Classifier) -> None:
    """Measure the ways in turn, each beside upstream's, and print them."""
    ways: dict[str, Callable[[], torch.Tensor]] = {
        "upstream's way, batch 8": lambda: bench.upstream(8),
        "upstream's way, batch 64": lambda: bench.upstream(64),
        "sorted by length, batch 64": lambda: bench.sorted_padded(64),
        "CrossEncoder.predict, batch 64": lambda: bench.cross_encoder(64),
        "ours, first run": lambda: bench.ours(scorer),
        "ours, warm": lambda: bench.ours(scorer),
    }
    if not importlib.util.find_spec("sentence_transformers"):
        del ways["CrossEncoder.predict, batch 64"]
    if DEVICE == "cuda":
        bench.sorted_padded(64)  # wakes the card
    first: tuple[Measured, torch.Tensor] | None = None
    for name, way in ways.items():
        found, rewards = bench.measure(way)
        against, theirs = first = first or (found, rewards)
        memory = "" if found.gigabytes is None else f"{found.gigabytes:8.2f} GB"
        ratio = against.processor / found.processor
        if DEVICE == "cuda":
            ratio = against.seconds / found.seconds
        off = (rewards - theirs).abs().max().item()
        print(
            f"{name:34} {found.seconds:8.2f} s {found.processor:8.2f} processor-s "
            f"{found.tokens:10,} tokens {ratio:6.2f} x{memory}  off by at most {off:.1e}",
            flush=True,
        )


def peak_rate(device: torch.device) -> float:
    """Operations a second of a large bf16 matrix product."""
    a, b = (torch.randn(8192, 8192, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(20):
        a @ b
    torch.cuda.synchronize()
    return 20 * 2 * 8192**3 / (time.perf_counter() - began)


def compare_writing(shape: str, n: int) -> None:
    """Greedy answers in padded batches, as judges write here, beside continuous batching.

    n: questions of 60 to 300 tokens; answers end at one of 30 tokens of 2,000, or after 40.
    """
    given = {**(SHAPES[shape] if shape else _WRITER), "vocab_size": 2000}
    config = transformers.AutoConfig.for_model(**given, initializer_range=0.05)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=DTYPE).to(DEVICE).eval()
    ends = list(range(1, 31))
    how = transformers.GenerationConfig(max_new_tokens=40, eos_token_id=ends, pad_token_id=0)
    model.generation_config = how
    lengths = torch.randint(60, 300, (n,)).tolist()
    ids = [torch.randint(31, 2000, (each,)).tolist() for each in lengths]
    width = max(lengths)

    def padded() -> list[list[int]]:
        rows = torch.tensor([[0] * (width - len(each)) + each for each in ids], device=DEVICE)
        with torch.inference_mode():
            output = model.generate(rows, attention_mask=(rows > 0).long())
        return output[:, width:].tolist()  # type: ignore[no-any-return]

    def continuous() -> list[list[int]]:
        cache = {"num_blocks": n * 16, "page_size": 32, "max_batch_tokens": 2048}
        pages = transformers.ContinuousBatchingConfig(**cache)
        with torch.no_grad():  # its thread has no inference mode
            found = model.generate_batch(ids, how, continuous_batching_config=pages)
        return [each.generated_tokens for each in found.values()]

    answers = []
    for way in (padded, continuous):
        way()
        wall, processor = time.perf_counter(), time.process_time()
        found = way()
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        print(f"{way.__name__:10} {wall:8.2f} s {processor:8.2f} processor-s")
        cut = [next((at for at, id in enumerate(each) if id in ends), None) for each in found]
        answers.append([each[:end] for each, end in zip(found, cut, strict=True)])
    equal = sum(one == other for one, other in zip(*answers, strict=True))
    print(f"{equal} of {n} answers are equal, of {sum(map(len, answers[0])):,} tokens")


def random_model(shape: str) -> Loaded:
    """A classifier of this shape, or the demo model."""
    if not shape:
        spec = ModelSpec("demo", str(DEMO / "model"), "bench")
        return load(spec, RunSettings(), "AutoModelForSequenceClassification")
    tokenizer = transformers.AutoTokenizer.from_pretrained(DEMO / "model")
    values = {**SHAPES[shape], "vocab_size": len(tokenizer), "num_labels": 1}
    config = transformers.AutoConfig.for_model(**values, pad_token_id=tokenizer.pad_token_id)
    with torch.device(DEVICE):
        model = transformers.AutoModelForSequenceClassification.from_config(config, dtype=DTYPE)
    return Loaded(ModelSpec(shape, "", "random"), model.eval().requires_grad_(False), tokenizer)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=Path, default=DEMO / "pairs.jsonl")
    parser.add_argument("--per-subset", type=int, default=sys.maxsize)
    parser.add_argument("--shape", choices=SHAPES, default="")
    parser.add_argument("--writing", type=int, metavar="N", help="write N answers, in two ways")
    asked = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    if asked.writing:
        compare_writing(asked.shape, asked.writing)
        return
    table = read_pairs(asked.pairs).table
    of_subset: dict[str, list[Pair]] = {}
    for pair in as_pairs(table, range(table.num_rows)):
        of_subset.setdefault(pair.subset, []).append(pair)
    pairs = [pair for each in of_subset.values() for pair in each[: asked.per_subset]]
    loaded = random_model(asked.shape)
    bench = Bench(loaded, pairs)
    print(
        f"{loaded.spec.name}, {bench.model.dtype}, {bench.model.device}; {len(pairs)} pairs; torch "
        f"{torch.__version__}, transformers {transformers.__version__}, "
        f"{torch.get_num_threads()} threads"
    )
    settings = RunSettings(max_length=MAX_LENGTH)
    run(bench, Classifier(loaded.spec, settings, loaded))


if __name__ == "__main__":
    main()
