"""Every option reaches its field, and a wrong one is told with exit code 2."""

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from scoring.command.arguments import Arguments, _parser, parse
from scoring.spec import RunSettings
from tests.support.refusals import by_sentence

Capture = pytest.CaptureFixture[str]
LEAST = "--model demo --pairs demo --out run"
MANY = """--family logprob-mean --ref-model org/sft --tokenizer org/tok --url http://host:8000/v1
--label 0 --name org/model --published results --subset b --subset a --per-subset 5 --limit 7
--trust-remote-code --benchmark rmb --resume --json --export eval-results --upload org/results
--dry-run --offline --max-length 2048 --truncation-side right --chat-template tulu
--judge-prompt con-j --max-tokens 4096 --temperature 0.5 --repeats 3 --dtype bfloat16
--device cuda:1 --budget 1024 --compile off --seed 7 --beta 0.1 --upstream-compatible --parallel 3
"""
OF_MANY = Arguments(
    model="demo", pairs="demo", out=Path("run"),
    model_options={
        "family": "logprob-mean", "reference": "org/sft", "tokenizer": "org/tok",
        "url": "http://host:8000/v1", "reading": 0,
    },
    name="org/model", published="results", subsets=("b", "a"), per_subset=5, limit=7,
    own_code=True, benchmark="rmb", resume=True, json=True, export=("eval-results",),
    upload="org/results", dry_run=True, offline=True,
    settings=RunSettings(
        max_length=2048, truncation_side="right", chat_template="tulu", judge_prompt="con-j",
        max_tokens=4096, temperature=0.5, repeats=3, dtype="bfloat16", device="cuda:1",
        budget=1024, compile="off", seed=7, beta=0.1, upstream_compatible=True, parallel=3,
    ),
)  # fmt: skip
OTHERS: dict[str, dict[str, Any]] = {
    "--label-weights 0.5,-1,2e-3": {"model_options": {"reading": (0.5, -1.0, 0.002)}},
    "--best-of": {"best_of": True},
    "--load-in-8bit": {"settings": RunSettings(dtype="8bit")},
    "--load-in-4bit": {"settings": RunSettings(dtype="4bit")},
}
MORE = {"--reproduce"}
"""Changes more than a field."""


def options() -> set[str]:
    return {
        name
        for action in _parser()._actions
        if action.nargs != 0 or action.const  # others print and end
        for name in action.option_strings
    }


def alike(parsed: Arguments | RunSettings, other: Arguments | RunSettings) -> set[str]:
    """The fields that are equal."""
    names = {field.name for field in fields(parsed)}
    return {name for name in names if getattr(parsed, name) == getattr(other, name)}


def test_every_option_reaches_its_field_and_no_other() -> None:
    least = parse(LEAST.split())
    assert parse([*LEAST.split(), *MANY.split()]) == OF_MANY
    assert alike(OF_MANY, least) == {"model", "pairs", "out", "reproduce", "best_of"}
    assert least.settings == RunSettings() and not alike(OF_MANY.settings, least.settings)
    for given, changed in OTHERS.items():
        assert parse([*LEAST.split(), *given.split()]) == replace(least, **changed)
    tried = re.findall(r"(?<!\S)--[\w-]+", " ".join([LEAST, MANY, *OTHERS]))
    assert {*tried, *MORE} == options()


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


NO_NUMBERS = ("--per-subset 0", "--limit 1.5", "--limit ²", "--max-length 16,384", "--budget -1")


@pytest.mark.parametrize(
    ("given", "said"),
    by_sentence(
        ("--pairs demo --out run", "required: --model"),
        ("--model demo --out run", "required: --pairs"),
        ("--model demo --pairs demo", "required: --out"),
        ("--reproduce sfairXC/FsfairX-LLaMA3-RM-v0.1@main --out x", "published no settings for"),
        ("--reproduce sfairxc/FsfairX-Llama3-RM-v0.1 --out x", "such as sfairXC/FsfairX-LLaMA3-RM"),
        (f"{LEAST} --family oracle", "--family: invalid choice: 'oracle'"),
        (f"{LEAST} --dtype int8", "--dtype: invalid choice: 'int8'"),
        *(
            (f"{LEAST} {wrong}", f"'{wrong.split(' ')[1]}' is not a whole number of at least 1")
            for wrong in (*NO_NUMBERS, "--parallel ")
        ),
        (f"{LEAST} --beta x", "--beta: 'x' is not a number above 0"),
        (f"{LEAST} --label-weights 1,,2", "'1,,2' is not numbers with commas between them"),
        (f"{LEAST} --label 0 --label-weights 1", "--label-weights: not allowed with"),
        (f"{LEAST} --dry-run", "--dry-run is of --upload"),
        (f"{LEAST} --export eval-results --best-of", "--export is of benchmark results"),
        (f"{LEAST} --max 8", "unrecognized arguments: --max"),
        (f"{LEAST} stray", "unrecognized arguments: stray"),
    ),
)
def test_wrong_arguments_end_with_2_and_say_why(given: str, said: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        parse(given.split(" "))
    told = capsys.readouterr()
    assert told.out == "" and said in told.err


def test_help_names_every_option_and_its_examples_can_be_parsed(capsys: Capture) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        parse(["--help"])
    shown = capsys.readouterr().out
    assert options() <= set(re.findall(r"^ +(--[\w-]+)", shown, flags=re.MULTILINE))
    assert all(f" {code} " in shown.partition("exit codes:")[2] for code in (0, 1, 2, 3, 130))
    examples = re.findall(r"^  .*-m scoring (.*)$", shown, flags=re.MULTILINE)
    assert len(examples) == 3
    assert all(parse(example.split()).out.name for example in examples)
