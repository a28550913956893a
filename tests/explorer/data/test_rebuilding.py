"""RewardBench made of its sources: what comes out, how sure it is, what a broken source says."""

import json
from pathlib import Path
from shutil import copyfile, copytree
from typing import Any

import pandas as pd
import pytest

from explorer.data.datacard import data_card
from explorer.data.rebuilding.building import build, known_pairs
from explorer.data.rebuilding.command import main
from explorer.data.rebuilding.provenance import INDEX, coverage, provenance_of
from explorer.data.rebuilding.recipes import recipes, sources
from scoring.benchmark import COUNTS
from tests.support.files import write_jsonl

TOTAL = {"pairs": 2985, "equal": 1872, "equal_but_space": 0, "one_side": 186, "missing": 927}
"""1,693 of AlpacaEval, LLMBar and HumanEvalPack and 179 of XSTest, which has 186 with one side."""


@pytest.fixture(scope="module")
def real_sources(shared_data: Path) -> Path:
    folder = shared_data / "sources"
    if not folder.is_dir():
        pytest.skip(f"the real sources are not here: no folder {folder}")
    return folder


@pytest.fixture(scope="module")
def real_split(shared_data: Path) -> Path:
    return shared_data / "reward-bench" / "filtered.parquet"


def test_the_real_sources_make_the_real_pairs(
    real_sources: Path, real_split: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from datasets import load_dataset

    out, counts = tmp_path / "out", tmp_path / "counts.json"
    given = ("--sources", real_sources, "--out", out, "--verify", real_split, "--json", counts)
    assert main([*map(str, given)]) == 1  # not all pairs are equal
    found = pd.DataFrame(json.loads(counts.read_text())["subsets"]).T
    assert found.sum().to_dict() == TOTAL
    by_rule = [name for name, recipe in recipes().items() if recipe.rule == "rows"]
    assert found.loc[by_rule, "equal"].to_dict() == {name: COUNTS[name] for name in by_rule}
    assert "xstest-should-refuse     154     85" in capsys.readouterr().out
    made = load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    real = pd.read_parquet(real_split)
    rebuilt = made["filtered"].to_pandas()
    is_made = pd.MultiIndex.from_frame(real[["subset", "id"]]).isin(
        pd.MultiIndex.from_frame(rebuilt[["subset", "id"]])
    )
    assert rebuilt.to_dict("records") == real[is_made].to_dict("records")
    raw = made["raw"].to_pandas()
    assert raw["subset"].value_counts()["alpacaeval-hard"] == 805
    places = pd.read_parquet(out / "provenance.parquet")
    assert places[places["kept"]]["match"].value_counts()["one_side"] == TOTAL["one_side"]


def test_broken_sources_are_said_and_the_others_are_made(
    real_sources: Path, real_split: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, counts = tmp_path / "sources", tmp_path / "counts.json"
    for name in ("LLMBar", "humanevalpack"):
        copytree(real_sources / name, folder / name, copy_function=copyfile)
    truncated, renamed = folder / "LLMBar" / "GPTOut.json", folder / "LLMBar" / "manual.json"
    truncated.write_bytes(truncated.read_bytes()[:1000])
    renamed.write_text(renamed.read_text().replace('"label"', '"best"'))
    fewer = folder / "humanevalpack" / "go.jsonl"
    fewer.write_text("".join(fewer.read_text().splitlines(keepends=True)[:100]))
    main(["--sources", str(folder), "--verify", str(real_split), "--json", str(counts)])
    said = capsys.readouterr().err
    assert "LLMBar/GPTOut.json cannot be read" in said and "may be truncated" in said
    assert "LLMBar/manual.json has no column 'label'" in said
    assert "humanevalpack/go.jsonl was changed" in said and "100 of 164 rows" in said
    assert f"AlpacaEval model outputs: {folder} has no alpaca_eval/alpaca-7b.json" in said
    found = json.loads(counts.read_text())["subsets"]
    assert found["llmbar-natural"]["equal"] == 100 and found["hep-go"]["equal"] == 100


def test_pairs_that_people_chose_are_found_by_their_hashes(tmp_path: Path) -> None:
    pairs = [
        ("mt-bench-easy", 2415, "Write.", "Well done.", "No."),
        ("math-prm", 4676, "1+1?", "It is\n\n2.", "One.\n# Answer\n3"),
        ("math-prm", 4677, "2+2?", "By hand.", "Five."),
    ]
    known = pd.DataFrame(pairs, columns=["subset", "id", "prompt", "chosen", "rejected"])
    known = known.assign(chosen_model="a", rejected_model="b")

    def answer(*turns: str) -> list[Any]:
        return [{"question_id": 81, "choices": [{"turns": turns}]}]

    def question(problem: str, *steps: str) -> dict[str, object]:
        return {"question": {"problem": problem, "pre_generated_steps": steps}}

    answers, problems = tmp_path / "mt_bench" / "model_answer", tmp_path / "prm800k"
    answers.mkdir(parents=True)
    problems.mkdir()
    turns = [{"question_id": 81, "turns": ["Write.", "More."]}]
    write_jsonl(tmp_path / "mt_bench" / "question.jsonl", turns)
    write_jsonl(answers / "a.jsonl", answer("Well done.", "x"))
    write_jsonl(answers / "b.jsonl", answer("No."))
    write_jsonl(problems / "test.jsonl", [{"problem": "1+1?", "solution": "It is 2."}])
    steps = [question("1+1?", "One.", "# Answer\n3"), question("2+2?", "Five.")]
    write_jsonl(problems / "phase2_test.jsonl", steps)
    built = build(known_pairs(known), tmp_path, lambda _: None)
    found = [(pair.id, pair.match) for pair in built]
    assert found == [(2415, "exact"), (4676, "space"), (4677, "one_side")]
    places = [(each.file, each.row) for each in built[0].sides.values()]
    assert places == [(f"mt_bench/model_answer/{each}.jsonl", 0) for each in "ab"]
    assert built[1].sides["chosen"].text == "It is 2."


def test_what_cannot_be_done_is_said_and_another_file_is_not_taken_for_the_real_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXPLORER_HOME", str(tmp_path))
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nothing answers there
    texts = dict.fromkeys(("prompt", "chosen", "rejected", "chosen_model", "rejected_model"), "x")
    frame = pd.DataFrame({"id": [1, 2], **texts, "subset": "hep-go"})
    frame.assign(id=["a", "b"]).to_parquet("names.parquet")
    frame.assign(chosen=["Yes.", None]).to_parquet("none.parquet")
    frame.head(0).to_parquet("empty.parquet")
    other = "is not RewardBench's filtered split: "
    for given, says in (
        ("--sources . --out out", "Nothing could be made"),
        ("--out out", "cannot be fetched"),
        ("--sources . --verify no.parquet", "There is no file no.parquet"),
        ("--sources . --verify names.parquet", f"{other}its column id is not of whole numbers"),
        ("--sources . --verify none.parquet", f"{other}its column chosen is not of text alone"),
        ("--sources . --verify empty.parquet", f"{other}there are no rows"),
    ):
        assert main(given.split()) == 2
        assert says in capsys.readouterr().err


def test_the_index_holds_every_pair_and_no_text_and_says_where_its_sides_are_from(
    real_split: Path,
) -> None:
    index = pd.read_parquet(INDEX)
    assert index["subset"].value_counts().to_dict() == COUNTS
    assert not [name for name in ("prompt", "chosen", "rejected") if index[name].dtype != "int64"]
    for each in data_card().subsets:
        assert sources()[recipes()[each.subset].source].licence == each.origin.licence
    found = coverage()
    assert sum(each.both for each in found.values() if each is not None) == TOTAL["equal"]
    real = pd.read_parquet(real_split).set_index(["subset", "id"], drop=False)
    pair = real.loc[("hep-python", 3692)].to_dict()
    chosen, rejected = provenance_of(pair)
    assert (chosen.source, chosen.licence, chosen.row) == ("HumanEvalPack", "MIT", 1)
    assert (chosen.column, rejected.column) == ("canonical_solution", "buggy_solution")
    assert chosen.url.endswith("/data/python/data/humanevalpack.jsonl#L1")
    assert provenance_of(real.loc[("donotanswer", 3692)].to_dict()) == ()
    assert provenance_of({**pair, "chosen": pair["chosen"] + "x"}) == ()
