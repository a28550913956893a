"""How fast a classifier is scored, beside the ways in use.

Every way goes from text to rewards on the host, tokenizing included, with the same weights, on the
same pairs, in this one process. What the ways differ in is how many tokens they compute: upstream
pads to the longest of a batch in the dataset's order and computes each prompt twice; sorting spares
most of the padding; packs have none and compute what a pair's sides share once.

    python tests/bench/scoring.py --pairs filtered.parquet --per-subset 10       # CPU, demo model
    python tests/bench/scoring.py --pairs filtered.parquet --shape qwen3-0.6b    # a GPU
    python tests/bench/scoring.py --pairs filtered.parquet --shape llama-8b --ways upstream,ours
    python tests/bench/scoring.py --against ../older      # this scorer beside another checkout's

Random weights of a real shape serve: speed does not depend on the weights. The last line is JSON.
"""

import argparse
import gc
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
# Of another checkout, where this runs for `--against`.
sys.path.insert(0, sys.argv[sys.argv.index("--of") + 1] if "--of" in sys.argv else str(ROOT))

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

SHAPES: dict[str, dict[str, Any]] = {
    "qwen3-0.6b": {
        "model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072,
        "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
        "head_dim": 128, "max_position_embeddings": 40960,
    },
    "llama-8b": {
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "max_position_embeddings": 8192, "rope_theta": 500000.0,
    },
}  # fmt: skip


@dataclass(slots=True)
class Measured:
    """One way, once.

    processor: seconds of all threads together. gigabytes: peak memory over the weights, None on a
    CPU. ratio: how many times the processor time of the first way is of this one's, or on a card
    the time.
    """

    way: str
    seconds: float
    processor: float
    tokenizing: float | None
    tokens: int
    gigabytes: float | None
    ratio: float = 0.0


class Bench:
    """One model, some pairs, and the ways of scoring them."""

    def __init__(self, loaded: Loaded, pairs: Sequence[Pair], settings: RunSettings) -> None:
        self.loaded, self.pairs, self.settings = loaded, pairs, settings
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.tokens = 0
        self.model.get_input_embeddings().register_forward_hook(self._count)
        self.rewards: dict[str, torch.Tensor] = {}

    def _count(self, _: Any, inputs: tuple[torch.Tensor, ...], __: Any) -> None:
        self.tokens += inputs[0].numel()

    def texts(self, side: str) -> list[str]:
        """Conversations as the template writes them."""
        written = []
        for pair in self.pairs:
            conversation = [{"role": "user", "content": pair.prompt}]
            conversation += [{"role": "assistant", "content": getattr(pair, side)}]
            written.append(self.tokenizer.apply_chat_template(conversation, tokenize=False))
        return written

    def upstream(self, batch: int) -> torch.Tensor:
        """run_rm.py's way: the dataset's order, padded, chosen and rejected in two forwards."""
        sides = []
        for texts in (self.texts("chosen"), self.texts("rejected")):
            starts = range(0, len(texts), batch)
            sides.append(torch.cat([self._padded(texts[at : at + batch]) for at in starts]))
        return torch.stack(sides, dim=1)

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
        began = time.perf_counter()
        job = make_job(self.pairs, scorer, self.settings.seed)
        self.tokenizing = time.perf_counter() - began
        rewards = {row.key: row for pack in score(job, scorer) for row in pack.rows}
        rows = [rewards[pair.key] for pair in self.pairs]
        return torch.tensor([[row.chosen_reward, row.rejected_reward] for row in rows])

    def _padded(self, texts: list[str]) -> torch.Tensor:
        how = {"padding": True, "truncation": True, "max_length": MAX_LENGTH}
        inputs = self.tokenizer(texts, **how, return_tensors="pt").to(self.model.device)
        with torch.inference_mode():
            rewards: torch.Tensor = self.model(**inputs).logits[:, 0].float().cpu()
        return rewards

    def measure(self, name: str, way: Callable[[], torch.Tensor]) -> Measured:
        """Run one way and look at the clock, the tokens and the memory."""
        gc.collect()
        self.tokens, self.tokenizing = 0, 0.0
        cuda = self.model.device.type == "cuda"
        if cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        began, spent = time.perf_counter(), time.process_time()
        self.rewards[name] = way()
        seconds, processor = time.perf_counter() - began, time.process_time() - spent
        peak = (torch.cuda.max_memory_allocated() - before) / 1e9 if cuda else None
        return Measured(name, seconds, processor, self.tokenizing or None, self.tokens, peak)


def run(bench: Bench, ways: Sequence[str], settings: RunSettings) -> list[Measured]:
    """Measure the ways in turn."""
    measured: list[Measured] = []

    def add(name: str, way: Callable[[], torch.Tensor], beside: int = 0) -> None:
        measured.append(bench.measure(name, way))
        _print(measured[-1], measured[beside])

    if bench.model.device.type == "cuda":
        bench.sorted_padded(64)  # wake the card
    if "upstream" in ways:
        add("upstream's way, batch 8", lambda: bench.upstream(8))
        add("upstream's way, batch 64", lambda: bench.upstream(64))
    if "sorted" in ways:
        add("sorted by length, batch 64", lambda: bench.sorted_padded(64))
    if "cross-encoder" in ways and importlib.util.find_spec("sentence_transformers"):
        add("CrossEncoder.predict, batch 64", lambda: bench.cross_encoder(64))
    if "ours" in ways:
        scorer = Classifier(bench.loaded.spec, settings, bench.loaded)
        add("ours, first run", lambda: bench.ours(scorer))
        add("ours, warm", lambda: bench.ours(scorer))
        bench.pairs = bench.pairs[:: max(1, len(bench.pairs) // 50)][:50]
        few = f"{len(bench.pairs)} pairs"
        add(f"upstream's way, batch 8, {few}", lambda: bench.upstream(8), len(measured))
        add(f"ours, warm, {few}", lambda: bench.ours(scorer), len(measured) - 1)
    return measured


def _print(each: Measured, first: Measured) -> None:
    on_card = each.gigabytes is not None
    each.ratio = first.seconds / each.seconds if on_card else first.processor / each.processor
    memory = "" if each.gigabytes is None else f"{each.gigabytes:8.2f} GB"
    tokenizing = "" if each.tokenizing is None else f"  (tokenizing {each.tokenizing:.2f} s)"
    print(
        f"{each.way:34} {each.seconds:8.2f} s {each.processor:8.2f} processor-s "
        f"{each.tokens:10,} tokens {each.ratio:6.2f} x{memory}{tokenizing}",
        flush=True,
    )


def compare(other: Path, given: Sequence[str]) -> dict[str, float]:
    """This checkout's scorer beside another's, in processes of their own, in turns.

    given: arguments for both.
    """
    best: dict[Path, float] = {}
    rewards: dict[Path, torch.Tensor] = {}
    for folder in (ROOT, other) * 3:
        command = [sys.executable, __file__, *given, "--ways", "ours", "--of", str(folder)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        told = json.loads(said.splitlines()[-1])
        (warm,) = (way for way in told["ways"] if way["way"] == "ours, warm")
        best[folder] = min(warm["processor"], best.get(folder, warm["processor"]))
        rewards[folder] = torch.tensor(told["rewards"], dtype=torch.float64)
        print(f"{folder}: {warm['processor']:.2f} processor-s, {warm['seconds']:.2f} s", flush=True)
    apart = (rewards[ROOT] - rewards[other]).abs().max().item()
    ratio = best[ROOT] / best[other]
    print(
        f"rewards differ by at most {apart:.1e}; {ratio:.3f} times the processor time of {other} "
        f"({best[ROOT]:.2f} and {best[other]:.2f} s, the best of three)"
    )
    return {"apart": apart, "ratio": ratio}


def _loaded(arguments: argparse.Namespace, settings: RunSettings) -> Loaded:
    if not arguments.shape:
        spec = ModelSpec(arguments.model.name, str(arguments.model), "bench")
        return load(spec, settings, "AutoModelForSequenceClassification")
    tokenizer = transformers.AutoTokenizer.from_pretrained(DEMO / "model")
    more = {"vocab_size": len(tokenizer), "num_labels": 1, "pad_token_id": tokenizer.pad_token_id}
    values = SHAPES[arguments.shape] | more
    on_card = torch.cuda.is_available()
    model = random_model(values, on_card=on_card, is_half=on_card)
    return Loaded(ModelSpec(arguments.shape, "", "random"), model, tokenizer)


def random_model(values: dict[str, Any], *, on_card: bool, is_half: bool) -> Any:
    """A classifier of random weights, the same each time, in bfloat16 or float32."""
    config = transformers.AutoConfig.for_model(**values)
    dtype = torch.bfloat16 if is_half else torch.float32
    torch.manual_seed(0)
    with torch.device("cuda" if on_card else "cpu"):
        model = transformers.AutoModelForSequenceClassification.from_config(config, dtype=dtype)
    return model.eval().requires_grad_(False)


def main() -> None:
    """Print the table, then one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=Path, default=DEMO / "pairs.jsonl")
    parser.add_argument("--per-subset", type=int, default=sys.maxsize)
    parser.add_argument("--model", type=Path, default=DEMO / "model")
    parser.add_argument("--shape", choices=SHAPES, default="")
    parser.add_argument("--ways", default="upstream,sorted,cross-encoder,ours")
    parser.add_argument("--budget", type=int)
    parser.add_argument("--against", type=Path, help="a checkout of another commit")
    parser.add_argument("--of", help="the checkout whose scorer is measured, by --against")
    arguments = parser.parse_args()
    if arguments.against:
        at = sys.argv.index("--against")
        given = [*sys.argv[1:at], *sys.argv[at + 2 :]]
        print(json.dumps(compare(arguments.against.resolve(), given)))
        return
    transformers.utils.logging.disable_progress_bar()
    table = read_pairs(arguments.pairs).table
    of_subset: dict[str, list[Pair]] = {}
    for pair in as_pairs(table, range(table.num_rows)):
        of_subset.setdefault(pair.subset, []).append(pair)
    pairs = [pair for each in of_subset.values() for pair in each[: arguments.per_subset]]
    settings = RunSettings(max_length=MAX_LENGTH, budget=arguments.budget)
    bench = Bench(_loaded(arguments, settings), pairs, settings)
    weights = sum(each.numel() for each in bench.model.parameters())
    weights -= bench.model.get_input_embeddings().weight.numel()
    print(
        f"{bench.loaded.spec.name}, {weights / 1e6:,.1f} M weights beside embeddings, "
        f"{bench.model.dtype}, {bench.model.device}; {len(pairs)} pairs; torch "
        f"{torch.__version__}, transformers {transformers.__version__}, "
        f"{torch.get_num_threads()} threads"
    )
    measured = run(bench, arguments.ways.split(","), settings)
    result: dict[str, Any] = {"ways": [asdict(each) for each in measured]}
    if arguments.of:
        result["rewards"] = bench.rewards["ours, warm"].tolist()
    reference = next(iter(bench.rewards.values()))
    for name, rewards in bench.rewards.items():
        if rewards.shape == reference.shape:
            apart = (rewards - reference).abs().max().item()
            print(f"{name:34} differs by at most {apart:.1e} from {measured[0].way}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
