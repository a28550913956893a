"""Options of the command line."""

import argparse
import math
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from scoring.benchmarks import benchmarks
from scoring.errors import KnownError
from scoring.hub.access import DEFAULT_DATASET, HubId, parse_hub_id
from scoring.models.catalogue import board_models
from scoring.models.finding import ModelOptions
from scoring.results.exchange import EXCHANGE_FORMATS, ExchangeFormat
from scoring.results.files import REFERENCE_FREE
from scoring.results.reproduction import RESULTS, RUN_RM_DTYPE, RUN_RM_LENGTH, board_settings
from scoring.spec import FAMILIES, Dtype, JudgePrompt, RunSettings

EPILOG = """\
examples:
  python -m scoring --model demo --pairs demo --out first-run
  python -m scoring --model org/reward-model --pairs reward-bench --out my-run
  python -m scoring --model ./checkpoint --pairs pairs.jsonl --out my-run --resume

OUT holds run.json (what was run), rewards*.jsonl (every pair), and, when the run is finished,
eval-set/ and eval-set-scores/ (of a prior set, pref-sets/ and pref-sets-scores/) in the layout of
upstream's results dataset. Rows may have any number of chosen and rejected responses; those of
RewardBench 2 are scored by its rules. With --best-of, no response is right: best-of-n/ has their
rewards in upstream's layout, and best-of-n.jsonl a line a prompt: rewards, ranks, which is best.
Of a benchmark whose rows say which responses are right (ppe-correctness), the report has how often
the best of the first k is.
Started by torchrun, several processes share a run: see docs/scoring.md.

exit codes: 0 finished; 1 failed, with a message; 2 wrong arguments; 3 finished, but not what is
published, for no reason that is known (--reproduce); 130 stopped by Ctrl-C. What was scored stays
on disk in every case: go on with --resume.
"""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A parsed command line; `--help` describes each option."""

    out: Path
    settings: RunSettings
    model: str = ""
    model_options: ModelOptions = field(default_factory=ModelOptions)
    pairs: str = ""
    reproduce: str = ""
    published: str = RESULTS
    name: str = ""
    subsets: tuple[str, ...] = ()
    per_subset: int | None = None
    limit: int | None = None
    best_of: bool = False
    benchmark: str = ""
    own_code: bool = False
    resume: bool = False
    json: bool = False
    export: tuple[ExchangeFormat, ...] = ()
    upload: str = ""
    dry_run: bool = False
    offline: bool = False


def parse(given: list[str] | None = None) -> Arguments:
    """Parse a command line; a wrong one ends the program with code 2 and says why."""
    parser = _parser()
    try:
        values = vars(parser.parse_args(given))  # of options that are given
    except KnownError as error:  # the owner's benchmarks cannot be read
        parser.error(str(error))
    if values.get("reproduce"):
        said = {name: value for name, value in values.items() if value not in ("", "auto")}
        values = _published_values(parser, values["reproduce"]) | said
    lacking = [f"--{name}" for name in ("pairs", "model") if not values.get(name)]
    if lacking:
        parser.error(f"the following arguments are required: {', '.join(lacking)}")
    for name in ("upload", "reproduce", "export"):
        if "best_of" in values and values.get(name):
            parser.error(f"--{name} is of benchmark results: leave it or --best-of out")
    if "dry_run" in values and not values.get("upload"):
        parser.error("--dry-run is of --upload: give the dataset too")
    values |= {name: tuple(values.get(name, ())) for name in ("subsets", "export")}

    def take(names: Iterable[str]) -> dict[str, Any]:
        return {name: values.pop(name) for name in names if name in values}

    settings = RunSettings(**take(each.name for each in fields(RunSettings)))
    options = ModelOptions(**take(ModelOptions.__annotations__))  # type: ignore[typeddict-item]
    return Arguments(**values, settings=settings, model_options=options)


def _published_values(parser: argparse.ArgumentParser, name: str) -> dict[str, Any]:
    """The options that stand for the settings that upstream published for the model."""
    model, known = name.removesuffix(REFERENCE_FREE), board_models()
    if model not in known:
        near = ", ".join(get_close_matches(name, known) or [*known][:3])
        parser.error(
            f"--reproduce: upstream published no settings for {name!r}; it did for "
            f"{len(known):,} models, such as {near}"
        )
    board = board_settings(name)
    values: dict[str, Any] = {
        "model": model,
        "pairs": f"{DEFAULT_DATASET}:filtered",
        "name": name,
        "max_length": board.max_length or RUN_RM_LENGTH,
        "dtype": board.dtype or RUN_RM_DTYPE,
    }
    if known[model].family == "classifier":
        values |= {"upstream_compatible": True, "chat_template": board.template or ""}
    return values | ({"family": "logprob-mean"} if name.endswith(REFERENCE_FREE) else {})


class _ListBenchmarks(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        for each in benchmarks().values():
            source = {"code": "the authors' code", "card": "the dataset's card"}[each.verified]
            about = f"Licence: {each.licence}. {each.citation}. Columns and rule are from {source}."
            names = ", ".join(each.named_datasets)
            sys.stdout.write(f"{names}\n    {each.title}. {each.rule.method} {about}\n")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scoring",
        usage="%(prog)s --model ID_OR_PATH --pairs PATH_OR_HUB --out DIR [options]",
        description="Score preference pairs with a reward model. What is scored is on disk at\n"
        "once; a run that was killed goes on where it was.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    _add_needed(parser.add_argument_group("what every run needs").add_argument)
    _add_selection(parser.add_argument_group("which pairs").add_argument)
    _add_model(parser.add_argument_group("the model"))
    _add_settings(parser.add_argument_group("how it scores").add_argument)
    _add_judge(parser.add_argument_group("judges, and models on a server").add_argument)
    _add_results(parser.add_argument_group("results").add_argument)
    return parser


def _add_needed(add: Callable[..., object]) -> None:
    model = "a Hub id org/name[@revision], a folder, demo, or a baseline: random, longer, shorter"
    pairs = (
        "a .parquet, .jsonl, .json or .csv file; a Hub dataset org/name[:split][@revision]; a "
        "benchmark by name, as --benchmarks lists them; or demo"
    )
    resume = "go on with the run in DIR; begin it if there is none"
    out = "where the run is kept; made if need be"
    add("--model", metavar="ID_OR_PATH", help=model)
    add("--pairs", metavar="PATH_OR_HUB", help=pairs)
    add("--out", required=True, type=_folder, metavar="DIR", help=out)
    add("--resume", action="store_true", help=resume)


def _add_selection(add: Callable[..., object]) -> None:
    best_of = (
        "rank all responses of each prompt, none of which is right: lists of them, TRL's "
        "formats, or messages alone; writes best-of-n/ as upstream's run_bon.py does"
    )
    subset = "only this subset; may be given several times"
    limit = "the first N of what is selected, in its order"
    benchmark = "which benchmark the rows are of, if their columns fit several or none"
    add("--subset", action="append", dest="subsets", metavar="NAME", help=subset)
    add("--per-subset", type=_positive, metavar="N", help="the first N of each subset")
    add("--limit", type=_positive, metavar="N", help=limit)
    add("--best-of", action="store_true", help=best_of)
    add("--benchmark", metavar="NAME", help=benchmark)
    add("--benchmarks", action=_ListBenchmarks, nargs=0, help="list the benchmarks, and end")


def _add_model(group: argparse._ArgumentGroup) -> None:
    add, add_reading = group.add_argument, group.add_mutually_exclusive_group().add_argument
    reference = "what a DPO policy or an adapter was trained from"
    tokenizer = "a model or a folder whose tokenizer is taken; else the model's own"
    label = "which of several labels is the reward"
    weights = "what each label weighs in the reward"
    own_code = "run Python that comes with the model"
    reproduce = (
        "score with the settings that upstream published for this model, then say how far its "
        "published results are reproduced; --model may be a copy of it, --pairs and --dtype others"
    )
    published = f"with --reproduce: where its results are published (default: {RESULTS})"
    add("--family", choices=FAMILIES, help="how it scores; else what its config says")
    add("--ref-model", dest="reference", metavar="ID_OR_PATH", help=reference)
    add("--tokenizer", metavar="ID_OR_PATH", help=tokenizer)
    add_reading("--label", type=int, dest="reading", metavar="I", help=label)
    add_reading("--label-weights", type=_weights, dest="reading", metavar="W,W,…", help=weights)
    add("--trust-remote-code", action="store_true", dest="own_code", help=own_code)
    add("--offline", action="store_true", help="do not ask the Hub")
    add("--reproduce", metavar="ORG/MODEL", help=reproduce)
    add("--published", metavar="DIR_OR_DATASET", help=published)


def _add_settings(add: Callable[..., object]) -> None:
    dtype = "auto: bfloat16 on CUDA where the card has it, else float32"
    packed = "weights packed by bitsandbytes, on an NVIDIA GPU; the same as --dtype"
    length = "where a conversation is cut; else the model's own limit, at most 16,384"
    template = (
        "the template that writes conversations, as upstream names it (tulu, oasst_pythia, "
        "raw, ...; an unknown name says which are known); else the tokenizer's own"
    )
    budget = "tokens computed at once; else one or two seconds of work. No score depends on it"
    compile_ = "compile decoder layers; auto: where the job is long enough to repay it"
    compatible = "tokens as upstream's run_rm.py makes them, special tokens twice where it does so"
    add("--dtype", choices=get_args(Dtype), help=dtype)
    for bits in ("8bit", "4bit"):
        add(f"--load-in-{bits}", dest="dtype", action="store_const", const=bits, help=packed)
    add("--device", help="auto, cpu, cuda[:N], mps, or spread (over all GPUs)")
    add("--max-length", type=_positive, metavar="TOKENS", help=length)
    add("--chat-template", metavar="NAME", help=template)
    add("--truncation-side", choices=("left", "right"))
    add("--budget", type=_positive, metavar="TOKENS", help=budget)
    add("--compile", choices=("auto", "on", "off"), help=compile_)
    add("--seed", type=int, help="of the order in which pairs are scored")
    add("--beta", type=_number_above_zero, help="of DPO rewards")
    add("--upstream-compatible", action="store_true", help=compatible)


def _add_judge(add: Callable[..., object]) -> None:
    url = (
        "of the server that runs the model: OpenAI-compatible for judge and rater (its key "
        "from OPENAI_API_KEY), vLLM for served"
    )
    prompt = (
        "what a judge or rater is asked: ours, read by probabilities, or one of upstream's, "
        "for a written verdict or rating (upstream: the one for the model's name); by default "
        "ours, and upstream's for a judge of RewardBench 2"
    )
    most = "tokens of a written answer; models that think first need thousands"
    temperature = "of written answers; 0 takes the likeliest word each time"
    repeats = "ask everything so often, by other seeds; the mean counts, and the spread is reported"
    add("--url", help=url)
    add("--parallel", type=_positive, metavar="N", help="requests that a server gets at once")
    add("--judge-prompt", choices=get_args(JudgePrompt), help=prompt)
    add("--max-tokens", type=_positive, metavar="N", help=most)
    add("--temperature", type=_number_from_zero, help=temperature)
    add("--repeats", type=_positive, metavar="N", help=repeats)


def _add_results(add: Callable[..., object]) -> None:
    dry_run = "with --upload: say what would be sent, send nothing"
    export = (
        "write the numbers as others read them, too: for .eval_results/ of the model's repository "
        "on the Hub, or as a log of every_eval_ever; may be given for each"
    )
    add("--name", type=_hub_name, metavar="ORG/MODEL", help="what result files call the model")
    add("--export", action="append", choices=EXCHANGE_FORMATS, help=export)
    add("--upload", metavar="ORG/DATASET", help="send the result files to a Hub dataset")
    add("--dry-run", action="store_true", help=dry_run)
    add("--json", action="store_true", help="print the summary as JSON")


def _checked(
    read: Callable[[str], Any], is_good: Callable[[Any], bool], what: str
) -> Callable[[str], Any]:
    def check(text: str) -> Any:
        with suppress(ValueError):
            if is_good(value := read(text)):
                return value
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")

    return check


_positive = _checked(int, lambda n: n >= 1, "a whole number of at least 1")
_number_from_zero = _checked(float, lambda n: 0 <= n < math.inf, "a number of at least 0")
_number_above_zero = _checked(float, lambda n: 0 < n < math.inf, "a number above 0")
_weights = _checked(
    lambda text: tuple(map(float, text.split(","))),
    lambda numbers: all(map(math.isfinite, numbers)),
    "numbers with commas between them",
)
_folder = _checked(lambda text: Path(text) if text.strip() else None, bool, "a folder's name")
_hub_name = _checked(str, lambda text: parse_hub_id(text) == HubId(text), "of the form org/model")
