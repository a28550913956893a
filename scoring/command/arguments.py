"""What can be said on the command line."""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from scoring.hub.access import DEFAULT_DATASET, parse_hub_id
from scoring.models.catalogue import board_models
from scoring.results.files import REFERENCE_FREE
from scoring.results.reproduction import RESULTS, RUN_RM_DTYPE, RUN_RM_LENGTH, board_settings
from scoring.spec import FAMILIES, Dtype, Family, JudgePrompt, LabelWeights, RunSettings

EPILOG = """\
examples:
  python -m scoring --model org/reward-model --pairs allenai/reward-bench:filtered --out my-run
  python -m scoring --model ./checkpoint --pairs pairs.jsonl --subset hep-python --out my-run
  python -m scoring --model org/policy --ref-model org/sft --family dpo --pairs demo --out my-run
  python -m scoring --model org/chat-model --family judge --url http://localhost:8000/v1 \\
      --pairs demo --out my-run
  python -m scoring --model longer --pairs demo --out floor
  python -m scoring --reproduce OpenAssistant/reward-model-deberta-v3-large-v2 --out again
  python -m scoring --model demo --pairs generations.jsonl --best-of --out ranked
  torchrun --nproc-per-node 4 -m scoring --model org/reward-model --pairs demo --out my-run

OUT holds run.json (what was run), rewards*.jsonl (every pair), and, when the run is finished,
eval-set/ and eval-set-scores/ (of a prior set, pref-sets/ and pref-sets-scores/) in the layout of
upstream's results dataset. Rows may have any number of chosen and rejected responses; those of
RewardBench 2 are scored by its rules. With --best-of, no response is right: best-of-n/ has their
rewards in upstream's layout, and best-of-n.jsonl a line a prompt: rewards, ranks, which is best.

exit codes: 0 finished; 1 failed, with a message; 2 wrong arguments; 3 finished, but not what is
published, for no reason that is known (--reproduce); 130 stopped by Ctrl-C. What was scored stays
on disk in every case: go on with --resume.
"""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A command line, taken apart; see `--help` for each."""

    model: str
    pairs: str
    reproduce: str
    published: str
    out: Path
    settings: RunSettings
    family: Family | None
    ref_model: str
    tokenizer: str
    url: str
    reading: LabelWeights | None
    name: str
    subsets: tuple[str, ...]
    per_subset: int | None
    limit: int | None
    best_of: bool
    own_code: bool
    resume: bool
    json: bool
    upload: str
    dry_run: bool
    offline: bool


def parse(given: list[str] | None = None) -> Arguments:
    """Take a command line apart; wrong ones end the program with code 2 and say why."""
    parser = _parser()
    said = vars(parser.parse_args(given))
    if said["reproduce"]:
        _as_published(parser, said)
    lacking = [name for name in ("pairs", "model") if not said[name]]
    if lacking:
        names = ", ".join(f"--{name}" for name in lacking)
        parser.error(f"the following arguments are required: {names}")
    label, weights = said.pop("label"), said.pop("label_weights")
    if label is not None and weights is not None:
        parser.error("--label and --label-weights say the same thing: give one of them")
    for name in ("upload", "reproduce"):
        if said["best_of"] and said[name]:
            parser.error(f"--{name} is of benchmark results: leave it or --best-of out")
    if said["dry_run"] and not said["upload"]:
        parser.error("--dry-run is of --upload: give the dataset too")
    settings = RunSettings(**{field.name: said.pop(field.name) for field in fields(RunSettings)})
    said["subsets"], said["name"] = tuple(said["subsets"]), said["name"] or ""
    return Arguments(**said, settings=settings, reading=weights if label is None else label)


def _as_published(parser: argparse.ArgumentParser, said: dict[str, Any]) -> None:
    """Fill in what was not said from the settings that upstream published for the model."""
    name = said["reproduce"]
    board = board_settings(name)
    if board.batch is None:
        known = list(board_models())
        near = ", ".join(get_close_matches(name, known) or known[:3])
        parser.error(
            f"--reproduce: upstream published no settings for {name!r}; it did for "
            f"{len(known):,} models, such as {near}"
        )
    said["model"] = said["model"] or name.removesuffix(REFERENCE_FREE)
    said["pairs"] = said["pairs"] or f"{DEFAULT_DATASET}:filtered"
    said["name"] = said["name"] or name
    said["max_length"] = said["max_length"] or board.max_length or RUN_RM_LENGTH
    board_model = board_models()[name.removesuffix(REFERENCE_FREE)]
    if board_model.family == "classifier":
        said["upstream_compatible"] = True
        said["chat_template"] = said["chat_template"] or board.template or ""
    if said["dtype"] == "auto":
        said["dtype"] = board.dtype or RUN_RM_DTYPE
    if name.endswith(REFERENCE_FREE):
        said["family"] = said["family"] or "logprob-mean"


_Add = Callable[..., object]
"""Adds an argument to a group."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scoring",
        usage="%(prog)s --model ID_OR_PATH --pairs PATH_OR_HUB --out DIR [options]",
        description="Score preference pairs with a reward model. What is scored is on disk at "
        "once; a run that was killed goes on where it was.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_pairs(parser.add_argument_group("what is scored").add_argument)
    _add_model(parser.add_argument_group("the model").add_argument)
    _add_settings(parser.add_argument_group("how").add_argument)
    _add_results(parser.add_argument_group("results").add_argument)
    return parser


def _add_pairs(add: _Add) -> None:
    add(
        "--pairs",
        default="",
        metavar="PATH_OR_HUB",
        help="a .parquet, .jsonl, .json or .csv file; a Hub dataset org/name[:split][@revision]; "
        "or demo",
    )
    add(
        "--subset",
        action="append",
        default=[],
        dest="subsets",
        metavar="NAME",
        help="only this subset; may be given several times",
    )
    add("--per-subset", type=_positive, metavar="N", help="the first N of each subset")
    add(
        "--limit", type=_positive, metavar="N", help="the first N of what is selected, in its order"
    )
    add(
        "--best-of",
        action="store_true",
        help="rank all responses of each prompt, none of which is right: lists of them, TRL's "
        "formats, or messages alone; writes best-of-n/ as upstream's run_bon.py does",
    )


def _add_model(add: _Add) -> None:
    add(
        "--model",
        default="",
        metavar="ID_OR_PATH",
        help="a Hub id org/name[@revision], a folder, demo, or a baseline: random, longer, shorter",
    )
    add("--family", choices=FAMILIES, help="how it scores; else what its config says")
    add("--ref-model", default="", metavar="ID_OR_PATH", help="what a DPO policy is compared with")
    add(
        "--tokenizer",
        default="",
        metavar="ID_OR_PATH",
        help="a model or a folder whose tokenizer is taken; else the model's own",
    )
    add(
        "--url",
        default="",
        help="of the server that runs the model: OpenAI-compatible for judge and rater (its key "
        "from OPENAI_API_KEY), vLLM for served",
    )
    add("--label", type=int, metavar="I", help="which of several labels is the reward")
    add(
        "--label-weights",
        type=_weights,
        metavar="W,W,…",
        help="what each label weighs in the reward",
    )
    add(
        "--trust-remote-code",
        action="store_true",
        dest="own_code",
        help="run Python that comes with the model",
    )
    add("--offline", action="store_true", help="do not ask the Hub")
    add(
        "--reproduce",
        default="",
        metavar="ORG/MODEL",
        help="score with the settings that upstream published for this model, then say how far its "
        "published results are reproduced; --model may be a copy of it, --pairs and --dtype others",
    )
    add(
        "--published",
        default=RESULTS,
        metavar="DIR_OR_DATASET",
        help=f"with --reproduce: where its results are published (default: {RESULTS})",
    )


def _add_settings(add: _Add) -> None:
    defaults = RunSettings()
    add(
        "--dtype",
        choices=get_args(Dtype),
        default="auto",
        help="auto: bfloat16 on CUDA where the card has it, else float32",
    )
    add("--device", default="auto", help="auto, cpu, cuda[:N], mps, or spread (over all GPUs)")
    add(
        "--max-length",
        type=_positive,
        metavar="TOKENS",
        help="where a conversation is cut; else the model's own limit, at most 16,384",
    )
    add(
        "--chat-template",
        default="",
        metavar="NAME",
        help="the template that writes conversations, as upstream names it (tulu, oasst_pythia, "
        "raw, ...; an unknown name says which are known); else the tokenizer's own",
    )
    add("--truncation-side", choices=("left", "right"), default="left")
    add(
        "--budget",
        type=_positive,
        metavar="TOKENS",
        help="tokens computed at once; else one or two seconds of work. No score depends on it",
    )
    add(
        "--compile",
        choices=("auto", "on", "off"),
        default="auto",
        help="compile decoder layers; auto: where the job is long enough to repay it",
    )
    add("--seed", type=int, default=0, help="of the order in which pairs are scored")
    add("--beta", type=_above_zero, default=defaults.beta, help="of DPO rewards")
    add(
        "--parallel",
        type=_positive,
        default=defaults.parallel,
        metavar="N",
        help="requests that a server gets at once",
    )
    add(
        "--judge-prompt",
        choices=get_args(JudgePrompt),
        default=defaults.judge_prompt,
        help="what a judge or rater is asked: ours, read by probabilities, or one of upstream's, "
        "for a written verdict or rating (upstream: the one for the model's name)",
    )
    add(
        "--max-tokens",
        type=_positive,
        metavar="N",
        help="tokens of a written answer; models that think first need thousands",
    )
    add(
        "--temperature",
        type=_at_least_zero,
        default=defaults.temperature,
        help="of written answers; 0 takes the likeliest word each time",
    )
    add(
        "--upstream-compatible",
        action="store_true",
        help="tokens as upstream's run_rm.py makes them, special tokens twice where it does so",
    )


def _add_results(add: _Add) -> None:
    add(
        "--out",
        required=True,
        type=_folder,
        metavar="DIR",
        help="where the run is kept; made if need be",
    )
    add(
        "--resume", action="store_true", help="go on with the run in DIR; begin it if there is none"
    )
    add("--name", type=_name, metavar="ORG/MODEL", help="what result files call the model")
    add(
        "--upload", default="", metavar="ORG/DATASET", help="send the result files to a Hub dataset"
    )
    add(
        "--dry-run", action="store_true", help="with --upload: say what would be sent, send nothing"
    )
    add("--json", action="store_true", help="print the summary as JSON")


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _weights(text: str) -> tuple[float, ...]:
    weights = tuple(map(_finite, text.split(",")))
    if any(map(math.isnan, weights)):
        raise argparse.ArgumentTypeError(f"{text!r} is not numbers with commas between them")
    return weights


def _at_least_zero(text: str) -> float:
    number = _finite(text)
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return number


def _above_zero(text: str) -> float:
    number = _finite(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def _finite(text: str) -> float:
    """NaN where it is no finite number."""
    try:
        return float(text) if math.isfinite(float(text)) else math.nan
    except ValueError:
        return math.nan


def _folder(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError("a folder must have a name")
    return Path(text)


def _name(text: str) -> str:
    hub_id = parse_hub_id(text)
    if hub_id is None or hub_id.repo != text:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form org/model")
    return text
