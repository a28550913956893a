"""What is said before a run of what is known, and the report of one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from explorer.data.table import PairTable
from explorer.results.own import own_name
from explorer.runs.estimates import Estimate, Forecast, Work, estimate
from explorer.runs.model_list import entry_of
from explorer.runs.progress import Progress
from explorer.tabs.score.before import model_card_html
from explorer.tabs.score.report import Reported, numbers_html, sure_words
from scoring.benchmark import COUNTS, SUBSETS
from scoring.engine.packing import random_order
from scoring.hub.access import Hub
from scoring.models.devices import Device
from scoring.models.finding import LocatedModel, ModelPolicy, find
from scoring.record import Run
from scoring.spec import ModelSpec, RunFacts, RunSettings, ScoredPair
from scoring.sure import SequentialMonitor, SureRule
from tests.conftest import DEMO_MODEL
from tests.golden.reading import Outline
from tests.support.golden_files import check_golden

CPU = Device("AMD EPYC", "cpu", 21_300_000_000)
GPU = Device("NVIDIA H200", "cuda", 139 * 10**9, 2, True, 278 * 10**9)
UNKNOWN = replace(CPU, free_bytes=0, all_free_bytes=0)
BASE = LocatedModel(
    ModelSpec("HuggingFaceH4/mistral-7b-sft-beta", "", "r", "dpo"),
    architecture="MistralForCausalLM",
    sizes={"model.safetensors": 14_500_000_000},
    parameters=7_241_732_096,
    fetch_bytes=1_500_000_000,
)
POLICY = replace(
    BASE,
    spec=ModelSpec("HuggingFaceH4/zephyr-7b-beta", "", "r", "dpo"),
    why="It is listed here as one of family dpo.",
    dtype="bfloat16",
    fetch_bytes=14_500_000_000,
    reference=BASE,
)
LARGE = replace(POLICY, parameters=70_000_000_000, reference=None)
DEMO = find("demo", ModelPolicy(DEMO_MODEL), Hub(offline=True))
PICTURES = ModelSpec("Skywork/Skywork-VL-Reward-7B", "", "")


def card(seen: LocatedModel, here: Device = CPU, device: str = "auto", **known: Any) -> str:
    """The card of a model. known: fields of its forecast, and of the estimate in it."""
    told = estimate(Work(92, 40_000), seen, here, RunSettings(device=device))
    names = {each.name for each in fields(Estimate)} & {*known}
    told = replace(told, **{name: known.pop(name) for name in names})
    forecast = Forecast(seen, here, told, entry_of(seen.spec.name), warm=False)
    return model_card_html(replace(forecast, **known), None)


SOON: dict[str, Any] = {"seconds": 9.0, "low": 5.0, "high": 15.0}
CARDS: Mapping[str, str] = {
    "demo in memory": card(DEMO, warm=True),
    "policy on a GPU": card(POLICY, GPU, **SOON, gpu_seconds=9.0),
    "too large": card(LARGE),
    "spread over two GPUs": card(LARGE, GPU, device="spread"),
    "free memory unknown": card(POLICY, UNKNOWN),
    "cannot run": card(LocatedModel(PICTURES, architecture="X", parameters=9)),
    "speed of three runs": card(DEMO, **SOON, basis="measured", n_runs=3),
    "speed of other models": card(DEMO, **SOON, basis="other models", n_runs=1),
    "four minutes left": card(DEMO, **SOON, seconds_left=250.0),
}


@pytest.mark.parametrize("name", CARDS)
def test_a_card_says_what_is_known_of_a_model(name: str) -> None:
    lines = Outline(CARDS[name]).lines
    check_golden(
        Path(__file__).parent / "cards" / f"{name.replace(' ', '-')}.txt", "\n".join([*lines, ""])
    )


# The report: bars, margins, the clearest failures, and how much that is


FACTS = RunFacts(
    "org/<b>rm</b>", "r", "classifier", "cpu", "float32", 10, "left", "own:0", "x", 9, 0
)
RUN = Run(Path("/nowhere/run"), FACTS, "running", 1.7e9)
TIME = {r"\d{4}-\d\d-\d\d[ +]\d\d:\d\d(:\d\d)?": "TIME"}
RIGHT, HALF, WRONG = (3, 4, 5, 1, 1, 2), (1, 4, 5, 0, 0, 2), (0, 0, 0, 0, 0, 2)
"""Rewards of a row of RM-Bench, the three right styles' first: all nine comparisons are won; one
hard one is lost; all are, some by a tie."""


def pairs(n: int, subset: str = "hep-go") -> list[ScoredPair]:
    """Margins of 1, -2, 3, -4 and so on."""
    return [
        ScoredPair(f"{subset}:{at}", subset, "", float((-1) ** at * (at + 1)), 0.0, 5, 5)
        for at in range(n)
    ]


def report(rows: Sequence[ScoredPair], table: PairTable | None = None, **facts: Any) -> str:
    """The report of a run with these rows. facts: what differs from `FACTS`."""
    run = replace(RUN, facts=replace(FACTS, **facts))
    progress = Progress("running", len(rows), run, tuple(rows), 10.0)
    return numbers_html(Reported(progress, None, own_name(RUN), can_go_on=False), table)


def several(
    rewards: Sequence[Sequence[float]], subsets: Sequence[str] = ("chat",), **facts: Any
) -> str:
    """The report of a run of rows with several responses, of each subset with these rewards."""
    n = 3 if facts.get("benchmark") == "rm-bench" else 1
    rule = "rm_bench" if n == 3 else ""
    rows = [
        ScoredPair(f"{subset}:{at}", subset, "", min(each[:n]), max(each[n:]), 5, 5,
                   rewards=(*each,) if len(each) > 2 else (), n_chosen=n, rule=rule)
        for subset in subsets
        for at, each in enumerate(rewards)
    ]  # fmt: skip
    return report(rows, **facts)


STYLED = {"benchmark": "rm-bench"}
REPORTS: Mapping[str, str] = {
    "few pairs of two sections": report([*pairs(4), *pairs(2, "donotanswer")]),
    "many failures, the worst of a hostile key": report(
        [*pairs(40), replace(pairs(1)[0], key="<i>&pair=x", chosen_reward=-99.0)]
    ),
    "all of RewardBench": report([pair for each in SUBSETS for pair in pairs(COUNTS[each], each)]),
    "pairs with a tie": several([(1, 0), (1, 1)]),
    "judge with a tie": several([(1, 0), (1, 1)], family="judge"),
    "best of three": several([(1, 1, 0), (1, 0, 0)]),
    "RM-Bench, a subset of a section": several([RIGHT, WRONG], ["safety-refuse"], **STYLED),
    "RM-Bench, all domains": several(
        [RIGHT, HALF], ["chat", "code", "math", "safety-refuse"], **STYLED
    ),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_shows_what_it_showed(name: str) -> None:
    read, stem = Outline(REPORTS[name]), re.sub(r"\W+", "-", name)
    text = "\n".join([*read.lines, "", "## Links", *read.links, ""])
    check_golden(Path(__file__).parent / "reports" / f"{stem}.txt", text, TIME)
    assert len(REPORTS[name]) < 40_000


def test_a_failure_shows_its_prompt_and_marks_one_that_is_hidden(demo: PairTable) -> None:
    for subset, is_hidden in (("hep-go", False), ("donotanswer", True)):
        at = next(at for at in range(len(demo)) if demo.subset_of(at) == subset)
        html = report([replace(pairs(2, subset)[1], key=demo.key_of(at))], demo)
        before, prompt, _ = html.partition(str(escape(demo.cells(at)["prompt"][:20])))
        assert prompt and ("may-harm" in before.rpartition("<li>")[2]) is is_hidden


@pytest.mark.parametrize(
    ("done", "width", "ended", "said"),
    [
        (3, 0.2, False, "first check after"),
        (110, 0.02, False, "Next check after"),
        (164, 0.02, False, "of this selection: 100.0 %"),
        (60, 0.2, True, "Sure enough. "),
    ],
)
def test_how_sure_a_run_is_is_said(done: int, width: float, ended: bool, said: str) -> None:
    """After so many of 164 pairs, all won."""
    keys = [f"hep-go:{at}" for at in range(164)]
    watch = SequentialMonitor(dict.fromkeys(keys, "hep-go"), 0, SureRule("score", width))
    order = random_order(164, 0)[:done]
    looked = watch.add(ScoredPair(keys[at], "hep-go", "", 1.0, 0.0, 1, 1) for at in order)
    words = sure_words(looked, ended)
    assert said in words and ("Sure enough" in words) is ended
