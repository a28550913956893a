"""Best of n: responses of any source ranked, none of which is said to be right."""

import json
from pathlib import Path
from typing import Any

import pytest

from scoring.__main__ import main
from tests.support.files import write_jsonl

Capture = pytest.CaptureFixture[str]
Row = dict[str, Any]
PROMPT = {"prompt": "Name a colour."}
ASKED = {"role": "user", "content": PROMPT["prompt"]}
COLOURS = ["red", "green", "blue!!"]
SOURCES: dict[str, list[Row]] = {
    "lists": [{**PROMPT, "responses": COLOURS}],
    "chosen and rejected": [{**PROMPT, "chosen": "red", "rejected": COLOURS[1:]}],
    "one a row": [{**PROMPT, "completion": each, "label": True} for each in COLOURS],
    "messages": [{"messages": [ASKED, {"role": "assistant", "content": each}]} for each in COLOURS],
    "upstream's candidates": [{**PROMPT, "output": COLOURS, "generator": "m"}],
}


def rank(tmp_path: Path, rows: list[Row], *more: str) -> int:
    """The exit code of ranking rows by length."""
    path, out = write_jsonl(tmp_path / "rows.jsonl", rows), str(tmp_path / "run")
    return main(["--model", "longer", "--pairs", str(path), "--best-of", "--out", out, *more])


def ranked(tmp_path: Path, rows: list[Row]) -> list[tuple[Any, ...]]:
    """Of each prompt the rewards, the best and the ranks."""
    assert rank(tmp_path, rows) == 0
    lines = (tmp_path / "run" / "best-of-n.jsonl").read_text().splitlines()
    return [
        tuple(json.loads(line)[name] for name in ("rewards", "best", "ranks")) for line in lines
    ]


@pytest.mark.parametrize("source", SOURCES)
def test_responses_of_any_source_have_rewards_ranks_and_a_best(
    source: str, tmp_path: Path, capsys: Capture
) -> None:
    assert ranked(tmp_path, SOURCES[source]) == [([3, 5, 6], 3, [3, 2, 1])]
    assert "1 prompt, 3 responses" in capsys.readouterr().out


def test_upstreams_file_has_an_object_a_response(tmp_path: Path) -> None:
    rows = [  # of two subsets whose names a folder cannot tell apart
        {"id": at, "prompt": f"p{at}", "responses": ["a", "bb"], "subset": subset}
        for at, subset in ((5, "m/t"), (7, "m:t"))
    ]
    ranked(tmp_path, rows)
    text = (tmp_path / "run" / "best-of-n" / "m-t" / "baseline" / "longer.json").read_text()
    found = [json.loads(each + "}") for each in text.split("}\n")[:-1]]
    assert [(each["id"], each["scores"], each["prompt"]) for each in found] == [
        (["5", 0], 1, "p5"), (["5", 1], 2, "p5"), (["7", 0], 1, "p7"), (["7", 1], 2, "p7"),
    ]  # fmt: skip


def test_what_is_none_is_left_out_and_the_rest_ranked(tmp_path: Path, capsys: Capture) -> None:
    none: list[Row] = [{"prompt": "p", "responses": []}, PROMPT, {"completion": "a"}]
    some = [{"prompt": "p", "responses": each} for each in (["only"], ["same", "same"])]
    assert ranked(tmp_path, [*none, *some]) == [([4], 1, [1]), ([4, 4], 1, [1, 1])]
    told = capsys.readouterr().err
    assert "row 1: responses is an empty list; the row is left out." in told
    assert "row 2: it has no response; the row is left out." in told
    assert "row 3: prompt is null; the row is left out." in told


def test_another_shape_is_refused_in_a_sentence(tmp_path: Path, capsys: Capture) -> None:
    for row, words in (
        ({"prompt": "p", "responses": "a"}, "row 1, column responses: text, must be a list."),
        ({"messages": [ASKED]}, "messages: its last message is of the user, not the assistant."),
    ):
        assert rank(tmp_path, [row]) == 1
        assert words in capsys.readouterr().err


def test_the_best_of_the_first_k_is_as_counted_by_hand(tmp_path: Path, capsys: Capture) -> None:
    """By length, of four responses: the second of the first row, and the fourth of the second, are
    the longest; of the first two that is the second and the first."""
    rows: list[Row] = []
    for texts, right in (("x xxxx xx xxx", 2), ("xx x xxx xxxx", 4), ("xx xx x x", 1)):
        row: Row = {"question_id": texts, "model_name": "m", "prompt": "p"}
        row |= {f"response_{number}": text for number, text in enumerate(texts.split(), start=1)}
        scores = [number == right for number in (1, 2, 3, 4)]
        rows.append({**row, "scores": scores, "sampled_conflict_pairs": []})
    assert len(ranked(tmp_path, rows)) == 3
    assert "best of the first" in capsys.readouterr().out
    assert rank(tmp_path, rows, "--resume", "--json") == 0
    curve = json.loads(capsys.readouterr().out)["best_of_k"]
    assert [(each["k"], each["score"], each["ceiling"]) for each in curve] == [
        (1, pytest.approx(1 / 3), pytest.approx(1 / 3)),
        (2, pytest.approx(2 / 3), pytest.approx(2 / 3)),
        (4, 1.0, 1.0),
    ]
