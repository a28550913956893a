import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core.html import typed_number
from explorer.data.table import PairTable
from explorer.reader.scene import Scene, ScenePairs, scene
from explorer.reader.state import PairsState
from explorer.results.board import build_board
from explorer.results.field import Field
from explorer.stats.matrix import OutcomeMatrix, order_of
from explorer.tabs.pairs.exports import FAIL_FORMATS, FailFormat, export_fails, fail_file_name
from explorer.tabs.pairs.fail_report import LONGEST_TEXT, WORST_PAIRS, fenced, scores_of
from explorer.tabs.pairs.notes import PairNotes, mark_of
from scoring.errors import KnownError
from scoring.interval import wilson
from tests.support.board_data import real_results, rows_in
from tests.support.small_fields import HOSTILE, MODEL, small_field
from tests.support.tables import row, small_table

NONE = PairNotes()


def shown_of(model: str = MODEL, kind: Any = "losses", field: Field | None = None) -> Scene:
    field = field or small_field()
    kinds = {"kind": kind} if model else {"field_kind": kind}
    return scene(replace(PairsState(model=model), **kinds), ScenePairs(field.table, field))


def written(now: Scene, form: FailFormat, folder: Path, notes: PairNotes = NONE) -> Path:
    path = folder / fail_file_name(now, form)
    export_fails(now, form, path, notes)
    assert [each.name for each in folder.iterdir()] == [path.name]
    return path


def csv_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def json_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_csv_lists_every_pair_in_the_order_of_the_list(tmp_path: Path) -> None:
    now = shown_of(kind="all")
    notes = PairNotes({mark_of(now.table, 3): "=wrong way round"})
    rows = csv_rows(written(now, "csv", tmp_path, notes))
    assert [each["key"] for each in rows] == [now.listed.key(at) for at in range(8)]
    worst = rows[0]
    assert (worst["key"], worst["subset"], worst["section"]) == ("hep-go:3", "hep-go", "Reasoning")
    assert (worst["outcome"], float(worst["margin"])) == ("loss", -3.5)
    assert (float(worst["chosen_reward"]), float(worst["rejected_reward"])) == (-3.0, 0.5)
    assert (worst["failed"], worst["known"], float(worst["difficulty"])) == ("0", "2", 0)
    assert worst["note"] == "'=wrong way round"
    assert worst["chosen"].startswith("c3=HYPERLINK") and worst["rejected"].startswith("'=HYPER")
    assert worst["chosen_model"] == "'=1+1" and "\x1b" not in worst["prompt"]
    missing = next(each for each in rows if each["key"] == "donotanswer:6")
    assert (missing["outcome"], missing["margin"], missing["note"]) == ("missing", "", "")


def test_jsonl_is_the_preference_format_of_trl(tmp_path: Path) -> None:
    now = shown_of()
    rows = json_rows(written(now, "jsonl", tmp_path, PairNotes({mark_of(now.table, 2): "?"})))
    assert [each["key"] for each in rows] == ["hep-go:3", "hep-go:2"]
    first, second = rows
    assert first["prompt"] == [{"role": "user", "content": f"p3{HOSTILE}"}]
    assert first["chosen"] == [{"role": "assistant", "content": f"c3{HOSTILE}"}]
    assert first["rejected"] == [{"role": "assistant", "content": HOSTILE}]
    assert (first["outcome"], first["model_margin"], first["note"]) == ("loss", -3.5, "")
    assert (second["note"], second["subset"], second["model"]) == ("?", "hep-go", MODEL)
    assert "margin" not in first  # RewardTrainer would take it off the difference of rewards


def test_a_conversation_and_further_responses_are_told_as_trl_has_them(tmp_path: Path) -> None:
    turns = [{"role": role, "content": role} for role in ("user", "assistant", "user")]
    table = small_table(
        row(prompt=turns, chosen=["good", "better"], rejected=["bad"], subset="Ties")
    )
    nothing = np.zeros((1, 1), np.float32)
    matrix = OutcomeMatrix(
        ("m",), (None,), ("1",), order_of(table), nothing, nothing == 0, nothing != 0,
        nothing * np.nan, nothing * np.nan,
    )  # fmt: skip
    rows = json_rows(written(shown_of("m", field=Field(table, matrix, {}, ())), "jsonl", tmp_path))
    assert [each["prompt"] for each in rows] == [turns] * 2
    assert [each["chosen"][0]["content"] for each in rows] == ["good", "better"]
    assert [each["model_margin"] for each in rows] == [None] * 2


def blocks(report: str) -> tuple[str, list[str]]:
    """What a reader of CommonMark sees of a report: words, and what stands in fences."""
    words, inside, fence = [], list[list[str]](), ""
    for line in report.split("\n"):
        ticks = re.fullmatch(r"(`{3,})[^`]*", line)
        if fence:
            if re.fullmatch(r"`+", line) and len(line) >= len(fence):
                fence = ""
            else:
                inside[-1].append(line)
        elif ticks:
            fence = ticks[1]
            inside.append([])
        else:
            words.append(line)
    assert not fence
    return "\n".join(words), ["\n".join(each) for each in inside]


def test_the_report_has_the_figures_and_hostile_text_stays_data(tmp_path: Path) -> None:
    state, pairs = shown_of().state, shown_of().pairs
    now = scene(replace(state, subset=("hep-go", "Chat | `x`")), pairs)
    notes = PairNotes({mark_of(now.table, 2): "a | b <b>"})
    words, inside = blocks(written(now, "md", tmp_path, notes).read_text("utf-8"))
    assert words.startswith("# org/a\\|b\\_&lt;script&gt;\n")
    assert "<script>" not in words and "# heading" not in words
    assert [line for line in words.split("\n") if line.startswith("### ")] == [
        "### 1. hep-go\\:3", "### 2. hep-go\\:2",
    ]  # fmt: skip
    pictured = HOSTILE.replace("\x1b", "␛")
    assert inside == [f"p3{pictured}", f"c3{pictured}", pictured, f"p2{pictured}",
                      f"c2{pictured}", pictured]  # fmt: skip
    low, high = wilson(4, 7) or (0, 0)
    assert f"| won | 4 | 57.1 % | {100 * low:.1f} – {100 * high:.1f} |" in words
    assert "| tie | 1 | 14.3 %" in words and "| no reward | 1 | – | – |" in words
    assert "| Reasoning | 50.0 % |" in words and "There is no RewardBench score" in words
    assert "chosen reward -3, rejected reward 0.5, margin -3.5" in words
    assert "Failed by 0 of 2 other models." in words
    assert "| hep-go\\:2 | a \\| b &lt;b&gt; |" in words
    assert "Subset\\: Chat \\| \\`x\\`" in words
    assert small_field().table.caption.split(":")[0] in words


def test_the_report_says_how_wide_margins_are_and_how_often_they_are_right(tmp_path: Path) -> None:
    field = small_field()
    words = written(shown_of(field=field), "md", tmp_path).read_text("utf-8")
    margins = field.margins(MODEL)
    won = margins[margins > 0]
    low, middle, high = (typed_number(each) for each in np.quantile(won, (0.25, 0.5, 0.75)))
    assert f"| won | {len(won)} | {low} | {middle} | {high} |" in words
    known = int((~np.isnan(margins)).sum())
    bins = words.split("## Calibration")[1].split("##")[0]
    rows = [line.split("|") for line in bins.split("\n") if line.startswith("| ")]
    assert sum(int(row[-2]) for row in rows[2:]) == known
    bare = next(each for each in field.matrix.models if not field.has_rewards(each))
    other = tmp_path / "other"
    other.mkdir()
    assert "## Margins" not in written(shown_of(bare, field=field), "md", other).read_text("utf-8")


def test_the_report_on_all_models_says_who_fails_the_hardest(tmp_path: Path) -> None:
    words, _ = blocks(written(shown_of("", "every"), "md", tmp_path).read_text("utf-8"))
    assert words.startswith("# All models together\n")
    assert "Failed by 1 of 3 models. The best of these: b." in words
    assert "Outcomes" not in words


def test_without_texts_all_but_jsonl_leave_them_out_and_say_so(tmp_path: Path) -> None:
    now = shown_of(field=small_field(has_texts=False))
    assert not {"prompt", "chosen"} & csv_rows(written(now, "csv", tmp_path))[0].keys()
    with pytest.raises(KnownError, match="texts of the pairs, which are not loaded"):
        export_fails(now, "jsonl", tmp_path / "x", NONE)
    report = next(tmp_path.iterdir()).with_suffix(".md")
    export_fails(now, "md", report, NONE)
    assert "texts of these pairs are not loaded" in report.read_text("utf-8")
    assert "```" not in report.read_text("utf-8")


@pytest.mark.parametrize("form", FAIL_FORMATS)
def test_a_file_is_there_whole_or_not_at_all(form: FailFormat, tmp_path: Path) -> None:
    with pytest.raises(KnownError, match="cannot be written"):
        export_fails(shown_of(), form, tmp_path / "nowhere" / "x", NONE)
    with pytest.raises(KnownError, match="No pair matches"):
        export_fails(shown_of("half", "losses"), form, tmp_path / "x", NONE)


def test_names_of_files_are_safe() -> None:
    assert fail_file_name(shown_of(), "csv") == "a-b_-script-losses-2-pairs.csv"
    assert fail_file_name(shown_of("", "every"), "md") == "all-models-every-8-pairs.md"


@pytest.mark.parametrize("words", ["", "`", "```", "a\n`````\nb", "```` x\n````", "~~~\n"])
def test_no_text_ends_its_fence(words: str) -> None:
    assert blocks("\n".join(fenced(words))) == ("", [words])


def test_long_texts_are_cut_in_the_report_alone(tmp_path: Path) -> None:
    table = small_table(row(prompt="p" * (LONGEST_TEXT + 1)))
    matrix = small_field().matrix
    one = OutcomeMatrix(
        ("m",), (None,), ("1",), order_of(table), matrix.outcomes[:1, 3:4], matrix.held[:1, 3:4],
        matrix.known_equal[:1, 3:4], matrix.chosen[:1, 3:4], matrix.rejected[:1, 3:4],
    )  # fmt: skip
    now = shown_of("m", field=Field(table, one, {}, ()))
    words, inside = blocks(written(now, "md", tmp_path).read_text("utf-8"))
    assert inside[0] == "p" * LONGEST_TEXT and "first 4,000 of 4,001 characters" in words


def test_figures_of_real_models_are_those_of_the_board(
    shared_data: Path, real: PairTable, tmp_path: Path
) -> None:
    results, _, matrix = real_results(shared_data)
    field = Field(real, matrix, {}, ("real",))
    rows = {each.model: each for each in rows_in(build_board(results, "v1", outcomes=matrix))}
    for model in matrix.models[::20]:
        scores = scores_of(field, model)
        assert scores.overall is not None and scores.overall.n == 2985
        assert scores.overall.score == pytest.approx(rows[model].score)
        assert scores.overall.interval.low < scores.overall.score < scores.overall.interval.high
        assert sum(each.n for each in scores.sections.values()) == 2985
        for section, each in scores.sections.items():
            assert each.score == pytest.approx(rows[model].sections[section])
    now = shown_of(matrix.models[0], "losses", field)
    lost = np.flatnonzero(matrix.outcomes[0] == 0)
    listed = csv_rows(written(now, "csv", tmp_path))
    assert sorted(each["key"] for each in listed) == sorted(real.key_of(int(at)) for at in lost)
    export_fails(now, "md", tmp_path / "r.md", NONE)
    words, inside = blocks((tmp_path / "r.md").read_text("utf-8"))
    assert len(inside) == 3 * WORST_PAIRS and "| RewardBench score |" in words
