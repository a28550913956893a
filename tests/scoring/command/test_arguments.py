"""Every option reaches its field, and a wrong one is told with exit code 2."""

import re
from dataclasses import fields, replace

import pytest

from scoring.command.arguments import Arguments, _parser, parse
from scoring.spec import RunSettings
from tests.support.named_rows import by_sentence

LEAST = ["--model", "demo", "--pairs", "demo", "--out", "run"]
MANY = """--family logprob-mean --ref-model org/sft --tokenizer org/tok --url http://host:8000/v1
--label 0 --name org/model --published results --subset b --subset a --per-subset 5 --limit 7
--trust-remote-code --benchmark rmb --resume --json --export eval-results --upload org/results
--dry-run --offline --max-length 2048 --truncation-side right --chat-template tulu
--judge-prompt con-j --max-tokens 4096 --temperature 0.5 --repeats 3 --dtype bfloat16
--device cuda:1 --budget 1024 --compile off --seed 7 --beta 0.1 --upstream-compatible --parallel 3
"""
SETTINGS_OF_MANY = """max_length=2048; truncation_side='right'; chat_template='tulu';
judge_prompt='con-j'; max_tokens=4096; temperature=0.5; repeats=3; dtype='bfloat16';
device='cuda:1'; budget=1024; compile='off'; seed=7; beta=0.1; upstream_compatible=True; parallel=3
"""
OF_MANY = """published='results'; name='org/model'; subsets=('b', 'a'); per_subset=5; limit=7;
own_code=True; benchmark='rmb'; resume=True; json=True; export=('eval-results',);
upload='org/results'; dry_run=True; offline=True
"""
MODEL_OF_MANY = {
    "family": "logprob-mean",
    "reference": "org/sft",
    "tokenizer": "org/tok",
    "url": "http://host:8000/v1",
    "reading": 0,
}
OTHERS: list[tuple[str, dict[str, object]]] = [
    ("--label-weights 0.5,-1,2e-3", {"model_options": {"reading": (0.5, -1.0, 0.002)}}),
    ("--best-of", {"best_of": True}),
    ("--load-in-8bit", {"settings": RunSettings(dtype="8bit")}),
    ("--load-in-4bit", {"settings": RunSettings(dtype="4bit")}),
]
UNCHANGED = ("model", "pairs", "reproduce", "out", "best_of", "settings", "model_options")
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


def values(parsed: Arguments | RunSettings, *but: str) -> set[str]:
    """The fields of what was parsed, as they are written."""
    names = (field.name for field in fields(parsed) if field.name not in but)
    return {f"{name}={getattr(parsed, name)!r}" for name in names}


def test_every_option_reaches_its_field_and_no_other() -> None:
    parsed, least = parse([*LEAST, *MANY.split()]), parse(LEAST)
    assert values(parsed.settings) == {*re.split(r";\s", SETTINGS_OF_MANY.strip())}
    assert values(parsed, *UNCHANGED) == {*re.split(r";\s", OF_MANY.strip())}
    assert parsed.model_options == MODEL_OF_MANY
    assert least.settings == RunSettings()
    assert not values(parsed.settings) & values(least.settings)
    assert not values(parsed, *UNCHANGED) & values(least)
    for given, changed in OTHERS:
        assert parse([*LEAST, *given.split()]) == replace(least, **changed)  # type: ignore[arg-type]
    words = [*MANY.split(), *(word for each, _ in OTHERS for word in each.split())]
    tried = {word for word in words if word.startswith("--")}
    assert tried | REQUIRED | PUBLISHED == options()


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
