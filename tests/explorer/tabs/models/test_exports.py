import csv
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from explorer.core.files import METADATA, latex_cell, markdown_cell
from explorer.results.board import Board, build_board
from explorer.results.published import Results, read_snapshot
from explorer.tabs.models.exports import BOARD_FORMATS, BoardFormat, board_file_name, export_board
from explorer.tabs.models.ranked import visible_rows
from explorer.tabs.models.state import ModelsState
from scoring.benchmark import SUBSETS
from scoring.errors import KnownError
from scoring.interval import wilson
from scoring.results.accuracies import Aggregate
from tests.support.board_data import FOUR, NOTHING, SOURCE, matrix_of, results_of, rows_in

HOSTILE = ["=1+1", "a|b", "<script>", "x_y & 50%", "a\n| b", "日本/語", "\\end{tabular}", 'a,"b"']


def board_of(*names: str) -> Board:
    aggregates = [
        Aggregate(name, "DPO", dict.fromkeys(SUBSETS, 1 / (3 + place)))
        for place, name in enumerate(names)
    ]
    return build_board(
        Results(SOURCE, (*aggregates, Aggregate("part", None, {"hep-go": 1 / 7}))), "v1"
    )


def written(
    board: Board, form: BoardFormat, folder: Path, state: ModelsState | None = None
) -> Path:
    path = folder / f"board.{form}"
    state = state or ModelsState()
    export_board(board, state, visible_rows(board, state), form, path)
    assert [each.name for each in folder.iterdir()] == [path.name]
    return path


def cells_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_csv_has_every_digit_and_no_formula(tmp_path: Path) -> None:
    rows = cells_of(written(board_of(*HOSTILE), "csv", tmp_path))
    assert [row["model"] for row in rows] == ["'=1+1", *HOSTILE[1:], "part"]
    assert float(rows[0]["score"]) == pytest.approx(1 / 3, abs=1e-15)
    assert float(rows[0]["score_low"]) < 1 / 3 < float(rows[0]["score_high"])
    assert (rows[0]["rank"], rows[0]["paired"], rows[0]["tie_group"]) == ("1", "False", "")
    assert (rows[-1]["rank"], rows[-1]["Chat"], rows[-1]["model_type"]) == ("", "", "")


def test_parquet_has_types_and_says_where_it_is_from(tmp_path: Path) -> None:
    board = board_of(*HOSTILE)
    table = pq.read_table(written(board, "parquet", tmp_path))
    assert table["model"].to_pylist() == [*HOSTILE, "part"]
    assert table["score"].to_pylist() == [row.score for row in rows_in(board)]
    assert table["Chat"].to_pylist()[-1] is None
    assert {name: str(table.schema.field(name).type) for name in ("rank", "score", "own")} == {
        "rank": "int64", "score": "double", "own": "bool",
    }  # fmt: skip
    about = json.loads(table.schema.metadata[METADATA])
    assert about["rule"] == "v1"
    assert about["source"] == "made up"


def test_every_number_has_the_ends_of_its_interval(tmp_path: Path) -> None:
    board = board_of("a")
    for state, column in ((ModelsState(), "Chat"), (ModelsState(table="subsets"), "hep-go")):
        folder = tmp_path / column
        folder.mkdir()
        row = cells_of(written(board, "csv", folder, state))[0]
        interval = rows_in(board)[0].interval_of(column)
        assert interval is not None and interval != rows_in(board)[0].interval
        assert (float(row[f"{column}_low"]), float(row[f"{column}_high"])) == interval
    assert rows_in(board)[0].interval_of("hep-go") == wilson(164 / 3, 164)


def test_markdown_is_a_table_whatever_names_hold(tmp_path: Path) -> None:
    path = written(board_of(*HOSTILE), "md", tmp_path, ModelsState(digits=3))
    caption, blank, *lines = path.read_text("utf-8").splitlines()
    assert "9 models" in caption
    assert blank == ""
    columns = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
    assert len(lines) == 2 + len(HOSTILE) + 1
    assert columns == {11}
    assert "| 33.333 |" in lines[2]
    assert "<script>" not in "".join(lines)


def test_latex_is_a_table_whatever_names_hold(tmp_path: Path) -> None:
    path = written(board_of(*HOSTILE), "tex", tmp_path, ModelsState(digits=2, hidden=("type",)))
    lines = path.read_text("utf-8").splitlines()
    assert lines[:4] == [
        r"% \usepackage{booktabs}", r"\begin{table}", r"\centering", r"\footnotesize",
    ]  # fmt: skip
    assert lines[4].startswith(
        r"\caption{RewardBench: 9 models, made up, 2024-01-01. Scores in percent."
    )
    assert lines[5] == r"\begin{tabular}{rlrrrrrrr}" and lines[6] == r"\toprule"
    body = [line for line in lines if line.endswith("\\\\")]
    assert len(body) == 1 + len(HOSTILE) + 1
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {8}
    text = "\n".join(lines)
    assert text.count("\\end{tabular}") == 1 and lines[-3:] == [
        r"\bottomrule", r"\end{tabular}", r"\end{table}",
    ]  # fmt: skip
    assert "Parameters (B)" in lines[7]
    assert "33.33" in text and "x\\_y \\& 50\\%" in text


def test_latex_sets_the_best_in_bold_intervals_with_a_dash_and_many_rows_over_pages(
    tmp_path: Path,
) -> None:
    board = build_board(results_of({"good": 0.9, "even": 0.9, "bad": 0.3}), "v1")
    lines = written(board, "tex", tmp_path).read_text("utf-8").splitlines()
    good, even, bad = lines[9:12]
    assert good.count(r"\textbf{90.0}") == even.count(r"\textbf{90.0}") == 5
    assert "textbf" not in bad and re.search(r"& [\d.]+--[\d.]+ \\\\$", bad)
    many = build_board(results_of({f"m{at}": 0.5 for at in range(60)}), "v1")
    long = written(many, "tex", tmp_path).read_text("utf-8")
    assert r"\begin{longtable}{rllrrrrrrr}" in long and long.count(r"\endhead") == 1
    assert long.startswith(r"% \usepackage{booktabs,longtable}")


def test_latex_that_is_wide_fits_on_a_page(tmp_path: Path) -> None:
    long = board_of("L" * 500)
    sections = written(long, "tex", tmp_path).read_text("utf-8")
    assert f"& {'L' * 59}… &" in sections and r"\tiny\setlength{\tabcolsep}{3pt}" in sections
    subsets = written(long, "tex", tmp_path, ModelsState(table="subsets")).read_text("utf-8")
    first, turned, *_, last = subsets.splitlines()
    assert first == r"% \usepackage{booktabs,graphicx,pdflscape}"
    assert (turned, last) == (r"\begin{landscape}", r"\end{landscape}")
    assert r"& Model &" in subsets and r"\rotatebox{90}{alpacaeval-easy} &" in subsets


def test_hidden_columns_and_filtered_rows_are_left_out(tmp_path: Path) -> None:
    state = ModelsState(table="subsets", hidden=("type", "score", "hep-go"), search="a")
    rows = cells_of(written(board_of(*HOSTILE), "csv", tmp_path, state))
    assert not {"model_type", "score", "score_low", "hep-go", "licence", "organisation"} & set(
        rows[0]
    )
    assert "hep-js" in rows[0]
    assert all("a" in row["model"] for row in rows)


def test_columns_that_are_asked_for_are_written_too(tmp_path: Path) -> None:
    state = ModelsState(added=("organisation", "licence"))
    row, _ = cells_of(written(board_of("=1/gemma"), "csv", tmp_path, state))
    assert (row["organisation"], row["licence"]) == ("'=1", "Gemma Terms of Use")


def test_failures_are_a_count(tmp_path: Path) -> None:
    board = build_board(NOTHING, "v1", outcomes=matrix_of({"a": [1, 0, 0, 0.5]}, FOUR))
    _, _, heads, _, row = written(board, "md", tmp_path).read_text("utf-8").splitlines()
    assert ("Failures", "3") in zip(heads.split(" | "), row.split(" | "), strict=True)


@pytest.mark.parametrize("form", BOARD_FORMATS)
def test_the_snapshot_is_written_in_each_format(tmp_path: Path, form: BoardFormat) -> None:
    path = written(build_board(read_snapshot(), "v1"), form, tmp_path)
    assert path.stat().st_size > 5_000


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    board = board_of("a")
    with pytest.raises(KnownError, match="csv, parquet, md, tex, not 'xls'"):
        export_board(board, ModelsState(), board.table, "xls", tmp_path / "x")  # type: ignore[arg-type]
    with pytest.raises(KnownError, match="no model to export"):
        export_board(board, ModelsState(), board.table.head(0), "csv", tmp_path / "x")
    with pytest.raises(KnownError, match="cannot be written"):
        export_board(board, ModelsState(), board.table, "csv", tmp_path / "nowhere" / "x")
    assert list(tmp_path.iterdir()) == []


def test_file_names_are_safe() -> None:
    board = board_of("a")
    assert board_file_name(board, ModelsState(benchmark="v2"), "tex") == "made-up-v2-sections.tex"


def test_cells_are_one_line_without_markup() -> None:
    assert markdown_cell("[a](http://x) `c`") == r"\[a\](http\://x) \`c\`"
    assert markdown_cell("a\u2028b\x00c\u202ed") == "a b c d"
    assert latex_cell("\\input{/etc/passwd}") == r"\textbackslash{}input\{/etc/passwd\}"
    assert latex_cell("a^b~c$d#e{f}") == (r"a\textasciicircum{}b\textasciitilde{}c\$d\#e\{f\}")
