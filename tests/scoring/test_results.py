import json
from pathlib import Path

import pytest

from scoring.benchmark import SUBSETS
from scoring.results import SubsetResults, read_eval_set

GOOD = {"model": "org/model", "model_type": "Seq. Classifier", "hep-js": 0.5, "chat_template": None}


def write(folder: Path, name: str, content: str) -> None:
    path = folder / "eval-set" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def test_the_real_folder_gives_every_model(shared_data: Path) -> None:
    results, left_out = read_eval_set(shared_data / "reward-bench-results")
    assert left_out == []
    assert len(results) == 66
    assert all(set(result.accuracies) <= set(SUBSETS) for result in results)
    assert {len(result.accuracies) for result in results} == {23}


def test_the_file_without_a_name_is_among_them(shared_data: Path) -> None:
    path = shared_data / "reward-bench-results" / "eval-set" / "my_model" / ".json"
    name = json.loads(path.read_text(encoding="utf-8"))["model"]
    results, _ = read_eval_set(shared_data / "reward-bench-results")
    assert name in {result.model for result in results}


def test_files_as_upstream_wrote_them_are_read(shared_data: Path) -> None:
    native = shared_data / "native-results"
    files = [path for path in native.rglob("*.json") if "eval-set" in path.parts]
    if not files:
        pytest.skip(f"no eval-set files below {native}")
    results, left_out = read_eval_set(native)
    assert (len(results), left_out) == (len(files), [])


def test_files_are_read_however_deep_in_the_order_of_paths(tmp_path: Path) -> None:
    for name in ("b/two.json", "a/one.json", "c/.json", "top.json", "net/nfs/deep/er.json"):
        write(tmp_path, name, json.dumps({**GOOD, "model": name}))
    write(tmp_path, "image.png", "no result")
    results, left_out = read_eval_set(tmp_path)
    assert [result.model for result in results] == [
        "a/one.json",
        "b/two.json",
        "c/.json",
        "net/nfs/deep/er.json",
        "top.json",
    ]
    assert left_out == []


def test_only_what_is_known_is_kept(tmp_path: Path) -> None:
    write(tmp_path, "x.json", json.dumps({**GOOD, "xstest": 0.1, "hep-go": 1, "hep-cpp": 0}))
    expected = {"hep-js": 0.5, "hep-go": 1.0, "hep-cpp": 0.0}
    assert read_eval_set(tmp_path) == (
        [SubsetResults("org/model", "Seq. Classifier", expected)],
        [],
    )


@pytest.mark.parametrize("model_type", [None, 5, ["DPO"]])
def test_an_unknown_kind_of_model_is_none(model_type: object, tmp_path: Path) -> None:
    write(tmp_path, "x.json", json.dumps({**GOOD, "model_type": model_type}))
    assert [result.model_type for result in read_eval_set(tmp_path)[0]] == [None]


@pytest.mark.parametrize("value", ["NaN", "null"])
def test_what_was_not_measured_is_missing_and_not_zero(value: str, tmp_path: Path) -> None:
    write(tmp_path, "x.json", f'{{"model": "m", "hep-js": 0.5, "hep-go": {value}}}')
    results, left_out = read_eval_set(tmp_path)
    assert [result.accuracies for result in results] == [{"hep-js": 0.5}]
    assert left_out == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ""),
        ("{", ""),
        ("[]", "not an object of accuracies"),
        ("5", "not an object of accuracies"),
        ("[" * 100_000, ""),
        ("{}", "it names no model"),
        ('{"model": " ", "hep-js": 0.5}', "it names no model"),
        ('{"model": 5, "hep-js": 0.5}', "it names no model"),
        ('{"model": "m"}', "it has none of RewardBench's subsets"),
        ('{"model": "m", "Factuality": 0.5}', "it has none of RewardBench's subsets"),
        ('{"model": "m", "hep-js": NaN}', "it has none of RewardBench's subsets"),
        ('{"model": "m", "hep-js": "0.5"}', "hep-js is no number"),
        ('{"model": "m", "hep-js": true}', "hep-js is no number"),
        ('{"model": "m", "hep-js": [0.5]}', "hep-js is no number"),
        ('{"model": "m", "hep-js": 50.0}', "hep-js is 50.0, not between 0 and 1"),
        ('{"model": "m", "hep-js": -0.1}', "hep-js is -0.1, not between 0 and 1"),
        ('{"model": "m", "hep-js": Infinity}', "hep-js is inf, not between 0 and 1"),
        (f'{{"model": "m", "hep-js": 1{"0" * 400}}}', "hep-js"),
        (f'{{"model": "m", "hep-js": 1{"0" * 5000}}}', ""),
    ],
)
def test_a_file_that_is_left_out_is_named_and_the_others_stay(
    content: str, said: str, tmp_path: Path
) -> None:
    write(tmp_path, "a/bad.json", content)
    write(tmp_path, "b/good.json", json.dumps(GOOD))
    results, left_out = read_eval_set(tmp_path)
    assert [result.model for result in results] == ["org/model"]
    assert len(left_out) == 1
    assert left_out[0].startswith("eval-set/a/bad.json: ")
    assert said in left_out[0]


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "eval-set" / "folder.json").mkdir(parents=True)
    (tmp_path / "eval-set" / "gone.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "eval-set" / "latin.json").write_bytes('{"model": "ça"}'.encode("latin-1"))
    results, left_out = read_eval_set(tmp_path)
    assert results == []
    assert [line.partition(":")[0] for line in left_out] == [
        "eval-set/folder.json",
        "eval-set/gone.json",
        "eval-set/latin.json",
    ]


def test_a_folder_without_results_has_none(tmp_path: Path) -> None:
    assert read_eval_set(tmp_path) == ([], [])
