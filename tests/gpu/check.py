"""Prove the scorer on the card at hand: one report, random weights, no network.

    make gpu-check                              # minutes on one 80 GB card
    make gpu-check PYTHON=python3               # with what is installed, torch 2.11 or newer
    make gpu-check ARGS="--shapes llama-8b --seconds 590"
    make gpu-check DRY=1                        # the same steps on a CPU, small, its call emulated

Each point is a line: `ok` or `FAIL` with its number and its bound, or `left out` with the reason.
A part begins while there is time for it within `--seconds` (460): shapes come before what reads
a folder, and compiled layers last. One H100 took 320 s for 0.6B and all the rest, 430 s for 8B.
The last line is JSON. The exit status is 1 where a line fails.
"""

import argparse
import copy
import gc
import json
import logging
import os
import random
import shutil
import sys
import tempfile
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.scoring import DEMO, MAX_LENGTH, SHAPES, Bench, Measured  # noqa: E402, I001
from tests.bench.scoring import random_model  # noqa: E402

import torch  # noqa: E402
import transformers  # noqa: E402
from huggingface_hub import constants  # noqa: E402

from scoring.engine import attention  # noqa: E402
from scoring.engine.formatting import TokenSequence, joined_pairs  # noqa: E402
from scoring.engine.forward import proof_of  # noqa: E402
from scoring.engine.packing import keep_compiled_in  # noqa: E402
from scoring.engine.scorer import Scorer  # noqa: E402
from scoring.families.classifier import Classifier  # noqa: E402
from scoring.models.loading import Loaded, load  # noqa: E402
from scoring.pairs.opening import as_pairs, read_pairs  # noqa: E402
from scoring.run import make_job, score  # noqa: E402
from scoring.spec import ModelSpec, Pair, RunSettings  # noqa: E402
from tests.gpu import disk, emulated  # noqa: E402
from tests.gpu.lengths import pairs_as_long  # noqa: E402
from tests.gpu.report import Report  # noqa: E402
from tests.support.watched_scorers import Around  # noqa: E402

KIND, HALF = "AutoModelForSequenceClassification", torch.bfloat16
CALL_BOUND = 0.02
"""Of an attention call in bfloat16 against float64, its outputs being about 1."""
NOISES = 3
"""How many times as far off float32 as one sequence at a time in bfloat16 a reward may be."""


class Target(NamedTuple):
    """What all 2,985 pairs may take. Nothing is asked of cards that are not named here.

    first: seconds of the first run on one H200, before compiling has repaid.
    warm, goal: seconds of a later one there, compiled: the bound, and what is hoped for.
    times: as fast as upstream's way in batches of 8 on one H100, warm.
    room: seconds that the report has to have left for all of it.
    """

    first: float
    warm: float
    goal: float
    times: float
    room: float


TARGETS = {
    "llama-8b": Target(34.7, 27.0, 25.0, 3.0, 290),
    "qwen3-0.6b": Target(7.1, 3.4, 3.0, 9.0, 120),
}
SMALL: dict[str, Any] = {
    "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4,
    "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 4096,
}  # fmt: skip
LINEAR: dict[str, Any] = {
    "head_dim": 32, "layer_types": ["linear_attention", "full_attention"] * 2,
    "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 64, "linear_num_key_heads": 2,
    "linear_num_value_heads": 2, "linear_key_head_dim": 32, "linear_value_head_dim": 32,
}  # fmt: skip
SLIDING = ["sliding_attention", "full_attention"] * 2
GEMMA: dict[str, Any] = {"head_dim": 32, "sliding_window": 64, "query_pre_attn_scalar": 32}
CAPPED = {"initializer_range": 0.05, "attn_logit_softcapping": 0.5}
"""Products of queries with keys are about 1."""
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "": ("packed", {}),
    "llama": ("packed", {}),
    "qwen2": ("packed", {}),
    "qwen3": ("packed", {"head_dim": 32}),
    "mistral": ("packed", {"sliding_window": 64}),
    "gemma2": ("", {**GEMMA, **CAPPED}),
    "gemma3_text": ("packed", GEMMA | {"layer_types": SLIDING}),
    "qwen3_next": ("padded", LINEAR),
}
"""Kind of a model, "" for the bundled one -> the path that it must take, "" for either, and more
of its config."""


class Check:
    """All points, on one device. dry: on a CPU, with small shapes."""

    def __init__(self, report: Report, *, dry: bool, n_pairs: int | None) -> None:
        self.report, self.dry = report, dry
        self.device = torch.device("cpu" if dry else "cuda")
        self.card = "a CPU" if dry else torch.cuda.get_device_name()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(DEMO / "model")
        table = read_pairs(DEMO / "pairs.jsonl").table
        self.demo = as_pairs(table, range(table.num_rows))
        short = sorted(self.demo, key=lambda each: len(each.prompt + each.chosen + each.rejected))
        self.few = short[: len(short) // 2 : 2] if dry else self.demo[::2]
        texts = [f"{pair.prompt} {pair.chosen}" for pair in self.demo]
        self.pairs = pairs_as_long(self.tokenizer, texts)
        # Of a few pairs it never repays to compile, and on a CPU of none.
        self.later = "auto" if n_pairs is None else "on"
        if n_pairs is not None:
            self.pairs = self.pairs[:: max(1, len(self.pairs) // n_pairs)][:n_pairs]
        self.shapes = dict(SHAPES)
        if dry:
            less = {**SMALL, "num_hidden_layers": 2, "head_dim": 32}
            self.shapes = {name: {**shape, **less} for name, shape in SHAPES.items()}
        self.rate = 1e11 if dry else 0.0

    def model(self, values: dict[str, Any]) -> Any:
        """A classifier of random weights in bfloat16, the same each time."""
        ids = {name: getattr(self.tokenizer, name) for name in ("pad_token_id", "eos_token_id")}
        given = {"vocab_size": len(self.tokenizer), "num_labels": 1, "bos_token_id": None}
        return random_model(given | ids | values, on_card=not self.dry, is_half=True)

    def scorer(self, model: Any, name: str = "random", **settings: Any) -> Classifier:
        spec = ModelSpec(name, "", "random")
        given = RunSettings(**{"max_length": MAX_LENGTH, "compile": "off", **settings})
        return Classifier(spec, given, Loaded(spec, model, self.tokenizer))

    def machine(self) -> None:
        words = f"torch {torch.__version__}, transformers {transformers.__version__}, Python "
        words += f"{sys.version.split()[0]}, {'a' if _has_compiler() else 'no'} C compiler"
        is_able, what = True, f"CPU, dry, {torch.get_num_threads()} threads"
        if not self.dry:
            card, free = torch.cuda.get_device_properties(0), torch.cuda.mem_get_info()[0] / 1e9
            self.rate = _peak_rate(self.device)
            is_able = attention.has_variable_length(self.device, HALF)
            what = f"{torch.cuda.device_count()} x {card.name}, {free:.0f} of "
            what += f"{card.total_memory / 1e9:.0f} GB free, {self.rate / 1e12:.0f} TFLOP/s in "
            what += f"bfloat16; CUDA {torch.version.cuda}"
        self.report.tell("machine", is_able, f"{what}; {words}")

    def call(self, heads: int, of_keys: int, dim: int, window: int | None) -> None:
        """The variable-length call over packs with shared prefixes against float64."""
        name = f"attention call, {heads}/{of_keys} heads of {dim}, window {window or 'none'}"
        with self.report.point(name):
            rng = random.Random(1)
            pairs = []
            for place in range(9):
                chosen = tuple(rng.randrange(9) for _ in range(rng.randint(1, 180)))
                kept = chosen[: rng.randint(0, len(chosen))]
                more = tuple(rng.randrange(9) for _ in range(rng.randint(1, 90)))
                # One pair is equal, and one ends in a segment of one query.
                rejected = {0: chosen, 1: (*chosen[:-1], 9)}.get(place, (*kept, *more))
                pairs += joined_pairs(
                    self.demo[:1], [TokenSequence(chosen), TokenSequence(rejected)]
                )
            pack = attention.write_pack(pairs, self.device, variable_length=True)
            plain = attention.write_pack(pairs, torch.device("cpu"), variable_length=False)
            n, dice = len(pack.ids), torch.Generator(device=self.device).manual_seed(0)
            query, key, value = (
                torch.randn(1, each, n, dim, device=self.device, generator=dice).to(HALF)
                for each in (heads, of_keys, of_keys)
            )
            with torch.inference_mode():
                got, _ = attention.attend(
                    torch.nn.Module(), query, key, value, None, None, window, **pack.arguments
                )
            off = 0.0
            for segment in plain.arguments["segments"].segments:
                shared_keys = range(segment.shared, segment.shared_end)
                places = [*shared_keys, *range(segment.begin, segment.end)]
                queries = query[0, :, segment.begin : segment.end].double()
                keys, values = (
                    each[0][:, places].double().repeat_interleave(heads // of_keys, 0)
                    for each in (key, value)
                )
                ends = torch.arange(queries.shape[1], device=self.device)[:, None]
                ends = ends + len(places) - queries.shape[1]
                at = torch.arange(len(places), device=self.device)[None]
                seen = (at <= ends) & (at > ends - (window or len(places)))
                products = (queries @ keys.transpose(1, 2)) * dim**-0.5
                want = products.masked_fill(~seen, -torch.inf).softmax(-1) @ values
                ours = got[0, segment.begin : segment.end].transpose(0, 1).double()
                off = max(off, float((ours - want).abs().max()))
            words = f"off float64 by {off:.1e} (at most {CALL_BOUND:.0e})"
            self.report.tell(name, off <= CALL_BOUND, words, off=off, bound=CALL_BOUND)

    def architecture(self, kind: str, *, compiled: bool) -> None:
        """Rewards in bfloat16 against float32 one at a time, and the path that a kind takes.

        kind: "" for the bundled model.
        """
        name, (path, more) = kind or "the demo model", ARCHITECTURES[kind]
        settings = RunSettings(device=self.device.type, dtype="bfloat16")
        point = self.report.point(f"rewards of {name}{', compiled' if compiled else ''}")
        with point, tempfile.TemporaryDirectory() as made:
            if kind:
                self.model({"model_type": kind, **SMALL, **more}).save_pretrained(made)
                self.tokenizer.save_pretrained(made)
            spec = ModelSpec(name, made if kind else str(DEMO / "model"), "random")
            model = load(spec, settings, KIND).model
            pairs = self.few[: 8 if self.dry else 24 if kind else 90]
            self._rewards(name, model.requires_grad_(False), pairs, path, compiled=compiled)

    def _rewards(
        self, name: str, model: Any, pairs: Sequence[Pair], path: str, *, compiled: bool
    ) -> None:
        scorer = self.scorer(model, compile="on" if compiled else "off")
        plain = copy.deepcopy(model)
        plain.set_attn_implementation("eager")  # which caps where a config says so
        alone, exact = _alone(plain, scorer, pairs), _alone(plain.float(), scorer, pairs)
        name_of_cap = "attn_logit_softcapping"
        capped = [part for part in plain.modules() if getattr(part, name_of_cap, None)]
        for part in capped:
            setattr(part, name_of_cap, None)
        effect = float((_alone(plain, scorer, pairs) - exact).abs().max()) if capped else 0.0
        if compiled:
            scorer.prepare_for_tokens(1)
        got = _rewards(scorer, pairs)
        spread, size = float(exact.std()), float(exact.abs().max())
        noise = float((alone - exact).abs().max())
        bound = NOISES * noise + 1e-6 * size
        off = float((got - exact).abs().max())
        took = scorer.traits.path
        right_path = took.startswith(path) and (not compiled or took.endswith("layers compiled"))
        self.report.tell(
            f"rewards of {name}{', compiled' if compiled else ''}",
            right_path and off <= bound and (not capped or effect > bound),
            f"{took}; off float32 by {off:.1e} (at most {bound:.1e}, {NOISES} times what one at a "
            f"time in bfloat16 is off), spread {spread:.2g}"
            + (f"; its cap moves them by {effect:.1e} (more than the bound)" if capped else ""),
            **{"off": off, "bound": bound, "spread": spread, "path": took},
        )
        if compiled:
            return
        equal = [replace(pair, rejected=pair.chosen) for pair in pairs]
        tied = _rewards(scorer, equal)
        n_tied = int((tied[:, 0] == tied[:, 1]).sum())
        words = f"{n_tied} of {len(equal)} tie to the last bit"
        self.report.tell(f"equal texts of {name}", n_tied == len(equal), words)
        others = {
            "another order": _rewards(scorer, pairs, seed=7),
            "packs of 500 tokens": _rewards(self.scorer(model, budget=500), pairs),
            "packs that were split": _rewards(_cramped(scorer, pairs), pairs),
        }
        apart = {how: float((each - got).abs().max()) for how, each in others.items()}
        words = "; ".join(f"{how} {each:.1e}" for how, each in apart.items())
        words += f" (at most {bound:.1e})"
        is_same = max(apart.values()) <= bound
        self.report.tell(f"the same whatever is beside, {name}", is_same, words, apart=apart)

    def speed(self, shape: str) -> None:
        """A user's first run and later ones, beside other ways and the floor, and without memory.

        What they get by default: layers are compiled in the run by which that repays, and what was
        compiled is kept for later processes.
        """
        with self.report.point(f"{shape}"):
            model = self.model(self.shapes[shape])
            scorer = self.scorer(model, shape, compile="auto")
            bench = Bench(scorer.loaded, self.pairs, RunSettings(max_length=MAX_LENGTH))
            bench.pairs = self.pairs[:: 1 if self.dry else 20]
            bench.sorted_padded(64)  # wakes the card
            bench.pairs = self.pairs
            first = bench.measure("first", lambda: bench.ours(scorer))
            most = TARGETS[shape].first
            good = first.seconds <= most or "H200" not in self.card
            words = f"{first.seconds:.2f} s (on an H200 at most {most} s); {scorer.traits.path}"
            self.report.tell(f"{shape}, first run", good, words, seconds=first.seconds)
            if self.later == "on":
                scorer = self.scorer(model, shape, compile="on")
            compiling, n_runs = first, 1
            while "compiled" not in scorer.traits.path and n_runs < 4:
                compiling = bench.measure("compiling", lambda: bench.ours(scorer))
                n_runs += 1
            warm = bench.measure("warm", lambda: bench.ours(scorer))
            is_compiled = scorer.traits.path.endswith("layers compiled")
            self.report.tell(
                f"{shape}, the run that compiles",
                is_compiled or not _has_compiler(),
                f"run {n_runs}, {compiling.seconds:.2f} s, {warm.seconds:.2f} s the next "
                f"(no bound); {scorer.traits.path}",
                seconds=compiling.seconds,
                n_runs=n_runs,
            )
            self._warm(shape, bench, model, scorer, warm)
            self._without_memory(shape, model)

    def _warm(
        self, shape: str, bench: Bench, model: Any, scorer: Classifier, warm: Measured
    ) -> None:
        """A warm run against its target, beside other ways and the floor."""
        weights = sum(each.numel() for each in model.parameters())
        weights -= model.get_input_embeddings().weight.numel()
        floor = 2 * weights * warm.tokens / self.rate
        bench.pairs = self.pairs[:: 1 if self.dry else 10]
        upstream = bench.measure("upstream", lambda: bench.upstream(8)).seconds
        times = upstream * len(self.pairs) / len(bench.pairs) / warm.seconds
        target = TARGETS[shape]
        good = warm.seconds <= target.warm or "H200" not in self.card
        good = good and (times >= target.times or "H100" not in self.card)
        self.report.tell(
            f"{shape}, warm",
            good,
            f"{warm.seconds:.2f} s for {len(self.pairs):,} pairs, tokenizing included (on an H200 "
            f"at most {target.warm} s, goal {target.goal} s); {times:.1f} times upstream's batch 8 "
            f"(on an H100 at least {target.times} times); {warm.tokens:,} tokens, "
            f"{warm.tokens / warm.seconds:,.0f} a second, floor {floor:.2f} s, "
            f"{floor / warm.seconds:.0%} of the peak; {scorer.traits.path}; packs of "
            f"{scorer.traits.budget:,}; peak over the weights {warm.gigabytes or 0:.1f} GB",
            **{"seconds": warm.seconds, "tokens": warm.tokens, "floor": floor},
            **{"times_upstream": times, "gigabytes": warm.gigabytes},
        )

    def _without_memory(self, shape: str, model: Any) -> None:
        """Memory runs out, packs are split, and the run ends right."""
        pairs = self.pairs[: 60 if self.dry else 900]
        few = pairs[:: max(1, len(pairs) // 20)]
        scorer = self.scorer(model, shape)
        expected = {pair.key: row for pair, row in zip(few, _rewards(scorer, few), strict=True)}
        # Of these very pairs: two that are short move less than the most of many.
        bound = proof_of(model, lambda: _alone(model, scorer, few)).tolerance
        large = self.scorer(model, shape, budget=262_144)
        crammed: Scorer = _cramped(large, pairs) if self.dry else large
        held = None
        if not self.dry:
            torch.cuda.empty_cache()
            free = torch.cuda.mem_get_info()[0]
            held = torch.empty(max(1, int(free - 2e9)), dtype=torch.uint8, device=self.device)
        try:
            packs = list(score(make_job(pairs, large, 0), crammed))
        finally:
            del held
        got = {row.key: (row.chosen_reward, row.rejected_reward) for p in packs for row in p.rows}
        off = max(
            float((torch.tensor(got[key], dtype=torch.float64) - row).abs().max())
            for key, row in expected.items()
        )
        parts = max(pack.parts for pack in packs)
        spread = float(torch.stack([*expected.values()]).std())
        self.report.tell(
            f"{shape}, out of memory",
            parts > 1 and len(got) == len(pairs) and off <= bound,
            f"{len(got)} of {len(pairs)} pairs scored, a pack in up to {parts} parts; off by "
            f"{off:.1e} (at most {bound:.1e}, the measured noise of these pairs), spread "
            f"{spread:.2g}",
            **{"off": off, "bound": bound, "spread": spread, "parts": parts},
        )

    def unload(self) -> None:
        """A model that is left, in the midst of a run, gives back what it held."""
        with self.report.point("unload"):
            gc.collect()  # of models before it, which would hide what this one keeps
            before = 0 if self.dry else torch.cuda.memory_allocated()
            scorer = self.scorer(self.model(self.shapes["qwen3-0.6b"]), budget=2048)
            weak = weakref.ref(scorer.loaded.model)
            stream = score(make_job(self.pairs[:40], scorer, 0), scorer)
            next(stream)
            del stream, scorer
            gc.collect()
            left = 0 if self.dry else torch.cuda.memory_allocated() - before
            words = f"model gone: {weak() is None}; {left / 1e6:.0f} MB stay allocated (below 64)"
            self.report.tell("unload", weak() is None and left < 64e6, words, left=left)

    def run(self, shapes: Sequence[str]) -> None:
        """All points: first those that a card may fail, and last those that may be left out."""
        with self.report.point("machine"):
            self.machine()
        for name, seconds, work in self._parts(shapes):
            if self.report.has_time(name, seconds):
                work()

    def _parts(self, shapes: Sequence[str]) -> Iterator[tuple[str, float, Callable[[], None]]]:
        """Parts of the report, and what each takes about on a card."""
        yield "attention calls", 10, self.calls
        for kind in ARCHITECTURES:
            name = kind or "the demo model"
            yield f"rewards of {name}", 5, partial(self.architecture, kind, compiled=False)
        for shape in shapes:
            yield shape, TARGETS[shape].room, partial(self.speed, shape)
        yield "unload", 10, self.unload
        yield "command line and app", 110, self.model_on_disk
        if not _has_compiler():
            self.report.tell("compiled layers", None, "there is no C compiler here")
            return
        packed = [kind for kind, (path, _) in ARCHITECTURES.items() if path == "packed"]
        for kind in packed[:2] if self.dry else packed:
            name = f"rewards of {kind or 'the demo model'}, compiled"
            yield name, 20, partial(self.architecture, kind, compiled=True)

    def calls(self) -> None:
        for heads in ((16, 8, 64), (32, 8, 128), (8, 8, 80), (8, 1, 256), (4, 4, 96)):
            for window in (None, 40):
                self.call(*heads, window)

    def model_on_disk(self) -> None:
        """What reads a model from a folder: the command line and the app."""
        with tempfile.TemporaryDirectory() as made, self.report.point("a model on disk"):
            folder = Path(made)
            model = self.model(self.shapes["qwen3-0.6b"])
            model.save_pretrained(folder / "model")
            self.tokenizer.save_pretrained(folder / "model")
            pairs = self.pairs[:: max(1, len(self.pairs) // 200)][: 20 if self.dry else 200]
            disk.write_pairs(folder, pairs)
            disk.check_command(self.report, folder, self.device.type)
            disk.check_app(self.report, folder, self.device.type)


def _cramped(scorer: Classifier, pairs: Sequence[Pair]) -> Around:
    """The scorer with memory for the longest of the pairs and no more."""
    most = max(pair.cost for pair in scorer.prepare(pairs))
    return Around(scorer, scorer.traits.budget, most)


def _rewards(scorer: Any, pairs: Sequence[Pair], seed: int = 0) -> torch.Tensor:
    """[pairs, 2], as a run scores them."""
    rows = {row.key: row for p in score(make_job(pairs, scorer, seed), scorer) for row in p.rows}
    both = [(rows[pair.key].chosen_reward, rows[pair.key].rejected_reward) for pair in pairs]
    return torch.tensor(both, dtype=torch.float64)


@torch.inference_mode()
def _alone(model: Any, scorer: Classifier, pairs: Sequence[Pair]) -> torch.Tensor:
    """[pairs, 2], one sequence at a time by the plain model, its head in float32."""
    base, head, rewards = getattr(model, model.base_model_prefix), model.score.weight.float(), []
    for pair in scorer.prepare(pairs):
        for ids in (pair.chosen.ids, pair.rejected.ids):
            tokens = torch.tensor([ids], device=model.device)
            hidden = base(input_ids=tokens, use_cache=False).last_hidden_state[0, -1].float()
            rewards.append(float(head[0] @ hidden))
    return torch.tensor(rewards, dtype=torch.float64).view(-1, 2)


def _peak_rate(device: torch.device) -> float:
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


def _has_compiler() -> bool:
    """Whether layers can be compiled here: Triton and torch call one."""
    return any(map(shutil.which, ("gcc", "g++", "cc")))


def main(given: Sequence[str] | None = None) -> int:
    """Print the report; 1 where a line fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry", action="store_true", help="on a CPU, small")
    names = ",".join(TARGETS)
    parser.add_argument("--shapes", default=names, help=f"some of {names}")
    parser.add_argument("--pairs", type=int, help="so many of the 2,985")
    parser.add_argument("--seconds", type=float, help="in which parts may begin: 460, dry any")
    arguments = parser.parse_args(given)
    shapes = arguments.shapes.split(",")
    if unknown := set(shapes) - TARGETS.keys():
        parser.error(f"there is no shape {', '.join(unknown)}; {names} are known")
    os.environ["HF_HUB_OFFLINE"] = "1"  # for the commands that are started here
    constants.HF_HUB_OFFLINE = True
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.disable(logging.WARNING)  # of packs that are split, as is provoked here
    if arguments.dry:
        emulated.install()
    elif not torch.cuda.is_available():
        print("There is no card that torch can use here. Try the dry form: --dry", file=sys.stderr)
        return 2
    report = Report(arguments.seconds or (float("inf") if arguments.dry else 460.0))
    print(f"gpu-check: shapes {arguments.shapes} (--shapes)", end="; ")
    print(f"parts begin within {report.seconds:.0f} s (--seconds)")
    n_pairs = arguments.pairs or (60 if arguments.dry else None)
    with tempfile.TemporaryDirectory() as compiled:
        os.environ.pop("TORCHINDUCTOR_CACHE_DIR", None)  # a first run finds nothing compiled
        keep_compiled_in(Path(compiled))
        Check(report, dry=arguments.dry, n_pairs=n_pairs).run(shapes)
    spent = time.perf_counter() - report.began
    counts = Counter(line["status"] for line in report.lines.values())
    print(f"gpu-check: {', '.join(f'{n} {status}' for status, n in counts.items())}; {spent:.0f} s")
    print(json.dumps(report.lines))
    return int(bool(report.failed))


if __name__ == "__main__":
    sys.exit(main())
