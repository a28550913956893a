"""Best of n: responses of any source ranked, none of which is said to be right."""

import json
from pathlib import Path
from typing import Any

import pytest

from scoring.__main__ import main
from tests.support.files import write_jsonl

ASKED = {"role": "user", "content": "Name a colour."}


def said(words: str) -> dict[str, str]:
    return {"role": "assistant", "content": words}


SOURCES: dict[str, list[dict[str, Any]]] = {
    "lists": [{"prompt": "Name a colour.", "responses": ["red", "green", "blue!!"]}],
    "chosen and rejected": [
        {"prompt": "Name a colour.", "chosen": "red", "rejected": ["green", "blue!!"]}
    ],
    "one a row": [{"prompt": "Name a colour.", "completion": each, "label": True}
                  for each in ("red", "green", "blue!!")],
    "messages": [{"messages": [ASKED, said(each)]} for each in ("red", "green", "blue!!")],
    "upstream's candidates": [
        {"prompt": "Name a colour.", "output": ["red", "green", "blue!!"], "generator": "m"}
    ],
}  # fmt: skip


def ranked(tmp_path: Path, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    path = write_jsonl(tmp_path / "rows.jsonl", rows)
    given = ("--model", "longer", "--pairs", str(path), "--best-of", "--out", str(tmp_path / "run"))
    assert main([*given]) == 0
    lines = (tmp_path / "run" / "best-of-n.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("source", SOURCES)
def test_responses_of_any_source_have_rewards_ranks_and_a_best(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = ranked(tmp_path, *SOURCES[source])
    assert (found["rewards"], found["best"], found["ranks"]) == ([3, 5, 6], 3, [3, 2, 1])
    assert "1 prompt, 3 responses" in capsys.readouterr().out


def test_upstreams_file_has_an_object_a_response(tmp_path: Path) -> None:
    rows = [  # of two subsets whose names a folder cannot tell apart
        {"id": at, "prompt": f"p{at}", "responses": ["a", "bb"], "subset": subset}
        for at, subset in ((5, "m/t"), (7, "m:t"))
    ]
    ranked(tmp_path, *rows)
    text = (tmp_path / "run" / "best-of-n" / "m-t" / "baseline" / "longer.json").read_text()
    decoder, place, found = json.JSONDecoder(), 0, []
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        place += 1
        found.append(value)
    assert [(each["id"], each["scores"], each["prompt"]) for each in found] == [
        (["5", 0], 1, "p5"), (["5", 1], 2, "p5"), (["7", 0], 1, "p7"), (["7", 1], 2, "p7"),
    ]  # fmt: skip


def test_one_response_and_two_equal_ones_are_ranked(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "responses": each} for each in (["only"], ["same", "same"])]
    one, two = ranked(tmp_path, *rows)
    assert (one["rewards"], one["best"], one["ranks"]) == ([4], 1, [1])
    assert (two["rewards"], two["best"], two["ranks"]) == ([4, 4], 1, [1, 1])


def test_what_is_none_is_left_out_with_a_sentence_and_the_rest_ranked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: list[dict[str, Any]] = [{"prompt": "p", "responses": []}, {"prompt": "p"}]
    assert len(ranked(tmp_path, *rows, {"completion": "a"}, *SOURCES["lists"])) == 1
    told = capsys.readouterr().err
    assert "row 1: responses is an empty list; the row is left out." in told
    assert "row 2: it has no response; the row is left out." in told
    assert "row 3: prompt is null; the row is left out." in told


def test_another_shape_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for row, words in (
        ({"prompt": "p", "responses": "a"}, "row 1, column responses: text, must be a list."),
        ({"messages": [ASKED]}, "messages: its last message is of the user, not the assistant."),
    ):
        path, out = write_jsonl(tmp_path / "rows.jsonl", [row]), str(tmp_path / "run")
        assert main(["--model", "longer", "--pairs", str(path), "--best-of", "--out", out]) == 1
        assert words in capsys.readouterr().err


def test_the_best_of_the_first_k_is_right_as_often_as_counted_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By length, of four responses: the second of the first row, and the fourth of the second, are
    the longest; of the first two that is the second and the first."""

    def row(key: str, texts: list[str], right: list[bool]) -> dict[str, Any]:
        of_each = {f"response_{number}": text for number, text in enumerate(texts, start=1)}
        about = {"question_id": key, "model_name": "m", "prompt": "p"}
        return {**about, **of_each, "scores": right, "sampled_conflict_pairs": []}

    rows = [
        row("a", ["x", "xxxx", "xx", "xxx"], [False, True, False, False]),
        row("b", ["xx", "x", "xxx", "xxxx"], [False, False, False, True]),
        row("c", ["xx", "xx", "x", "x"], [True, False, False, False]),
    ]
    assert len(ranked(tmp_path, *rows)) == 3
    assert "best of the first" in capsys.readouterr().out
    path, out = str(tmp_path / "rows.jsonl"), str(tmp_path / "run")
    given = ("--model", "longer", "--pairs", path, "--best-of", "--out", out, "--resume", "--json")
    assert main([*given]) == 0
    curve = json.loads(capsys.readouterr().out)["best_of_k"]
    assert [(each["k"], each["score"], each["ceiling"]) for each in curve] == [
        (1, pytest.approx(1 / 3), pytest.approx(1 / 3)),
        (2, pytest.approx(2 / 3), pytest.approx(2 / 3)),
        (4, 1.0, 1.0),
    ]
