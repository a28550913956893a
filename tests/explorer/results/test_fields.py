from pathlib import Path

import numpy as np

from explorer.core.settings import Settings
from explorer.data.sources import Candidate, Sources
from explorer.data.table import PairTable
from explorer.results.fields import Fields
from explorer.results.library import ResultsLibrary
from explorer.results.published import read_results_folder, with_outcomes
from explorer.runs.running import Runs
from explorer.stores import Stores, open_stores
from scoring.hub.access import Hub
from scoring.limits import Limits
from scoring.pairs.opening import read_pairs
from tests.support.beginning import begun, finished
from tests.support.board_data import write_model
from tests.support.browsing import library_of
from tests.support.fields import MODEL, small_field
from tests.support.files import write_json, write_jsonl
from tests.support.tables import file_table, row, small_table

SUBSETS = ["hep-go", "hep-go", "donotanswer"]
ROWS = [row(id=str(at), prompt=f"p{at}", subset=each) for at, each in enumerate(SUBSETS)]
TABLE = small_table(*ROWS)
PUBLISHED = {"subset": SUBSETS, "id": ["0", "1", "2"], "results": [1, 0, 1]}


def fields_on(
    folder: Path, home: Path, *tables: PairTable, dataset: str | None = TABLE.id
) -> Fields:
    """dataset: what the owner says that results without texts are of."""
    hub = Hub(offline=True)
    read = with_outcomes(read_results_folder(folder, dataset), home)
    results = ResultsLibrary(Sources([Candidate("results", lambda: read)], hub), Limits())
    return Fields(results, library_of(*tables), Runs(Settings(home=home, offline=True), hub))


def test_what_a_model_did_not_win_has_its_ties_and_nothing_that_is_missing() -> None:
    field = small_field()
    assert field.lost(MODEL).tolist() == [2, 3, 7]
    assert field.lost("b").tolist() == [1, 4, 6] and field.lost("half").tolist() == []
    assert [field.outcome("b", row) for row in (1, 2, 4)] == ["loss", "win", "tie"]


def test_results_without_texts_are_of_the_pairs_alone_that_their_owner_names(
    tmp_path: Path,
) -> None:
    write_model(tmp_path, "m", {"model": "m"}, PUBLISHED)
    copy = file_table("copy.jsonl", small_table(*({**each, "prompt": "q"} for each in ROWS)).arrow)
    fields = fields_on(tmp_path, tmp_path / "home", TABLE, copy)
    assert fields.of("m", None, copy.id, []).table is TABLE
    fields = fields_on(tmp_path, tmp_path / "other", TABLE, copy, dataset=copy.id)
    assert fields.of("m", None, copy.id, []).table is copy
    fields = fields_on(tmp_path, tmp_path / "third", TABLE, copy, dataset=None)
    field = fields.of("m", None, TABLE.id, [])
    assert not field.has_texts
    assert "They are of allenai/reward-bench:filtered" in field.match_description("m")


def test_a_run_is_in_the_field_of_its_pairs_as_it_streams_in(stores: Stores) -> None:
    demo = stores.pairs.get(None)
    rows = np.arange(0, 188, 4)
    seen: list[int] = []
    for progress in begun(stores.runs, "me", "longer", demo, rows):
        if progress.stage == "running" and progress.run is not None and progress.scored:
            name = stores.fields.name_of(progress.run.id, None, None, [])
            field = stores.fields.of(name, None, None, [])
            assert field.table is demo
            seen.append(int(field.known(name).sum()))
            assert seen[-1] == len(progress.scored)
    assert seen and seen[-1] == len(rows)
    scored = {pair.key: pair for pair in progress.scored}
    for at in rows.tolist():
        verdict, pair = field.verdict(name, at), scored[demo.key_of(at)]
        assert (verdict.outcome, verdict.margin) == (pair.outcome, pair.margin)
    assert field.outcome(name, 1) == "missing" and not field.matrix.held[field.place(name), 1]


def test_a_run_is_never_taken_for_one_of_other_pairs(stores: Stores) -> None:
    """The keys are those of the demo pairs, the texts are not."""
    demo = stores.pairs.get(None)
    rows = [row(id=demo.cells(at)["id"], subset=demo.subset_of(at)) for at in range(3)]
    run = finished(stores.runs, "longer", small_table(*rows), np.arange(3))
    name = stores.fields.name_of(run.id, None, None, [])
    assert not stores.fields.of(name, None, None, []).has_texts


def test_lost_and_margin_mean_the_same_of_rm_bench_with_and_without_its_texts(
    stores: Stores, tmp_path: Path
) -> None:
    """Rows of lengths: all nine comparisons are won, some are, one is but for a tie, none is."""
    lengths = [(4, 5, 6, 1, 2, 3), (1, 2, 3, 1, 2, 3), (3, 4, 5, 1, 2, 3), (1, 1, 1, 2, 2, 2)]
    sides = [(["a" * n for n in each[:3]], ["b" * n for n in each[3:]]) for each in lengths]
    rows = [
        {"id": at, "prompt": f"q{at}", "domain": "chat", "chosen": chosen, "rejected": rejected}
        for at, (chosen, rejected) in enumerate(sides)
    ]
    path = write_jsonl(tmp_path / "rm.jsonl", rows)
    run = finished(stores.runs, "longer", PairTable(read_pairs(path)), np.arange(4))
    name = stores.fields.name_of(run.id, None, None, [])
    for has_texts in (False, True):
        field = stores.fields.of(name, None, None, [])
        assert field.has_texts == has_texts and field.table.name.startswith("RM-Bench · ")
        outcomes = [field.outcome(name, at) for at in range(4)]
        assert outcomes == ["win", "loss", "loss", "loss"] and not field.has_ties(name)
        assert field.margins(name).tolist() == [1, -2, 0, -1]
        assert field.lost(name).tolist() == [1, 2, 3]
        stores.pairs.open(str(path))


def test_models_are_counted_and_not_their_runs(tmp_path: Path) -> None:
    stores = open_stores(Settings(home=tmp_path, pairs="demo", offline=True))
    demo = stores.pairs.get(None)

    def named(model: str, n: int) -> str:
        run = finished(stores.runs, model, demo, np.arange(n))
        return stores.fields.name_of(run.id, None, None, [])

    first, second = named("longer", 188), named("longer", 20)
    [field] = stores.fields.all(None, None, [])
    assert (len(field.matrix.models), field.n_models) == (2, 1)
    assert len(field.others(first)) == len(field.others(second)) == 0
    assert not any(field.difficulty(model).known.any() for model in (first, ""))
    shorter = named("shorter", 188)
    [field] = stores.fields.all(None, None, [])
    assert (len(field.matrix.models), field.n_models) == (3, 2)
    np.testing.assert_array_equal(field.others(first), [field.outcomes(shorter)])
    np.testing.assert_array_equal(field.others(shorter), [field.outcomes(first)])  # has more pairs
    assert set(field.difficulty().known.tolist()) == {2}


def test_visitors_who_upload_under_one_name_see_each_their_own(tmp_path: Path) -> None:
    write_model(tmp_path, "published", {"model": "published"}, PUBLISHED)
    fields = fields_on(tmp_path, tmp_path / "home", TABLE)
    for results in ([1, 1, 1], [0, 0, 0]):
        values = {"model": "mine", "subset": SUBSETS, "results": results}
        path = write_json(tmp_path / "mine.json", values)
        sent = fields.results.upload(None, {path.name: path})
        mine = fields.of("mine (uploaded)", sent.id, None, [])
        assert mine.outcomes("mine (uploaded)").tolist() == results
