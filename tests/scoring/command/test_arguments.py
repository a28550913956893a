"""Every option reaches its field, and a wrong one is told with exit code 2."""

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from scoring.command.arguments import Arguments, _parser, parse
from scoring.results.reproduction import RESULTS
from scoring.spec import RunSettings
from tests.support.named_rows import by_sentence

LEAST = ["--model", "demo", "--pairs", "demo", "--out", "run"]
DEFAULT = Arguments(
    model="demo",
    pairs="demo",
    reproduce="",
    published=RESULTS,
    out=Path("run"),
    settings=RunSettings(),
    model_options={},
    name="",
    subsets=(),
    per_subset=None,
    limit=None,
    best_of=False,
    own_code=False,
    resume=False,
    json=False,
    upload="",
    dry_run=False,
    offline=False,
)
CHANGES: list[tuple[str, dict[str, object]]] = [
    ("--family logprob-mean", {"model_options": {"family": "logprob-mean"}}),
    ("--ref-model org/sft", {"model_options": {"reference": "org/sft"}}),
    ("--tokenizer org/sft", {"model_options": {"tokenizer": "org/sft"}}),
    ("--url http://host:8000/v1", {"model_options": {"url": "http://host:8000/v1"}}),
    ("--label 0", {"model_options": {"reading": 0}}),
    ("--label-weights 0.5,-1,2e-3", {"model_options": {"reading": (0.5, -1.0, 0.002)}}),
    ("--name org/model", {"name": "org/model"}),
    ("--published results", {"published": "results"}),
    ("--subset b --subset a", {"subsets": ("b", "a")}),
    ("--per-subset 5", {"per_subset": 5}),
    ("--limit 7", {"limit": 7}),
    ("--trust-remote-code", {"own_code": True}),
    ("--best-of", {"best_of": True}),
    ("--benchmark rmb", {"benchmark": "rmb"}),
    ("--resume", {"resume": True}),
    ("--json", {"json": True}),
    ("--export eval-results", {"export": ("eval-results",)}),
    ("--upload org/results --dry-run", {"upload": "org/results", "dry_run": True}),
    ("--offline", {"offline": True}),
]
SETTINGS: list[tuple[str, dict[str, object]]] = [
    ("--max-length 2048", {"max_length": 2048}),
    ("--truncation-side right", {"truncation_side": "right"}),
    ("--chat-template tulu", {"chat_template": "tulu"}),
    ("--judge-prompt con-j", {"judge_prompt": "con-j"}),
    ("--max-tokens 4096", {"max_tokens": 4096}),
    ("--temperature 0.5", {"temperature": 0.5}),
    ("--repeats 3", {"repeats": 3}),
    ("--dtype bfloat16", {"dtype": "bfloat16"}),
    ("--load-in-8bit", {"dtype": "8bit"}),
    ("--load-in-4bit", {"dtype": "4bit"}),
    ("--device cuda:1", {"device": "cuda:1"}),
    ("--budget 1024", {"budget": 1024}),
    ("--compile off", {"compile": "off"}),
    ("--seed 7", {"seed": 7}),
    ("--beta 0.1", {"beta": 0.1}),
    ("--upstream-compatible", {"upstream_compatible": True}),
    ("--parallel 3", {"parallel": 3}),
]
REQUIRED = {"--model", "--pairs", "--out"}
PUBLISHED = {"--reproduce"}
"""Changes more than a field."""


def options() -> set[str]:
    return {
        name
        for action in _parser()._actions
        if action.nargs != 0 or action.const  # others print and end
        for name in action.option_strings
    }


def refusal(given: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        parse(given)
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ("", {}),
        *CHANGES,
        *((given, {"settings": replace(RunSettings(), **new)}) for given, new in SETTINGS),  # type: ignore[arg-type]
    ],
)
def test_an_option_changes_its_field_and_no_other(given: str, changed: dict[str, object]) -> None:
    assert changed.get("settings") != RunSettings()
    assert parse([*LEAST, *given.split()]) == replace(DEFAULT, **changed)  # type: ignore[arg-type]


def test_every_option_and_every_setting_is_among_those_tried() -> None:
    tried = {w for given, _ in (*CHANGES, *SETTINGS) for w in given.split() if w.startswith("--")}
    assert tried | REQUIRED | PUBLISHED == options()
    assert {name for _, changed in SETTINGS for name in changed} == {
        field.name for field in fields(RunSettings)
    }


def test_to_reproduce_takes_what_upstream_published_and_what_is_said_beside_it() -> None:
    classifier = parse(["--reproduce", "sfairXC/FsfairX-LLaMA3-RM-v0.1", "--out", "run"])
    assert classifier.pairs == "allenai/reward-bench:filtered"
    assert classifier.name == classifier.model == classifier.reproduce
    assert classifier.settings.upstream_compatible
    assert (classifier.settings.max_length, classifier.settings.dtype) == (2048, "bfloat16")
    free = ["--reproduce", "HuggingFaceH4/zephyr-7b-beta_ref_free", "--out", "run"]
    policy = parse([*free, "--dtype", "float32", "--model", "copy"])
    assert (policy.model, policy.model_options) == ("copy", {"family": "logprob-mean"})
    assert policy.settings.dtype == "float32" and not policy.settings.upstream_compatible


def test_a_required_option_that_is_missing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for missing in REQUIRED:
        place = LEAST.index(missing)
        assert f"required: {missing}" in refusal(LEAST[:place] + LEAST[place + 2 :], capsys)
    for name in ("sfairXC/FsfairX-LLaMA3-RM-v0.1@main", "sfairxc/FsfairX-Llama3-RM-v0.1"):
        said = refusal(["--reproduce", name, "--out", "x"], capsys)
    assert "no settings for 'sfairxc/FsfairX-Llama3-RM-v0.1'" in said
    assert "such as sfairXC/FsfairX-LLaMA3-RM-v0.1" in said


@pytest.mark.parametrize(
    ("given", "said"),
    by_sentence(
        (["--family", "oracle"], "--family: invalid choice: 'oracle'"),
        (["--dtype", "int8"], "--dtype: invalid choice: 'int8'"),
        *(
            ([option, value], f"{option}: {value!r} is not a whole number of at least 1")
            for option, value in (
                *(("--per-subset", "0"), ("--limit", "1.5"), ("--limit", "²")),
                *(("--max-length", "16,384"), ("--budget", "-1"), ("--parallel", "")),
            )
        ),
        (["--beta", "x"], "--beta: 'x' is not a number above 0"),
        (["--label-weights", "1,,2"], "'1,,2' is not numbers with commas between them"),
        (["--label", "0", "--label-weights", "1"], "--label-weights: not allowed with"),
        (["--dry-run"], "--dry-run is of --upload"),
        (["--export", "eval-results", "--best-of"], "--export is of benchmark results"),
        (["--max", "8"], "unrecognized arguments: --max"),
        (["stray"], "unrecognized arguments: stray"),
    ),
)
def test_wrong_arguments_end_with_2_and_say_why(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refusal([*LEAST, *given], capsys)


def test_help_names_every_option_and_its_examples_can_be_parsed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    named = re.findall(r"^ +(--[\w-]+)", shown.partition("options:")[2], flags=re.MULTILINE)
    assert options() <= set(named)
    assert all(f" {code} " in shown.partition("exit codes:")[2] for code in (0, 1, 2, 130))
    joined = shown.replace("\\\n", " ")
    examples = re.findall(r"^  .*-m scoring (.*)$", joined, flags=re.MULTILINE)
    assert len(examples) == 3
    assert all(parse(example.split()).out.name for example in examples)
