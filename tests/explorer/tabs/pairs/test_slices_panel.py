"""What kind of pairs a model fails, beside few and many others."""

from pathlib import Path

import numpy as np

from explorer.data.table import PairTable
from explorer.reader.scene import Scene, ScenePairs, scene
from explorer.reader.state import PairsState
from explorer.results.field import Field
from explorer.stats.matrix import OutcomeMatrix, order_of
from explorer.tabs.pairs.fail_report import report_lines
from explorer.tabs.pairs.notes import PairNotes
from explorer.tabs.pairs.slices import slices_html
from scoring.pairs.opening import read_pairs
from tests.support.files import write_jsonl


def shown_of(table: PairTable, n_others: int) -> Scene:
    """A model that loses all pairs whose rejected response is longer, and others that do not."""
    models = tuple(f"org/{at}" for at in range(1 + n_others))
    shape = (len(models), len(table))
    generator = np.random.default_rng(1)
    wins = generator.random(shape) < generator.uniform(0.4, 0.9, len(table))
    wins[0] &= table.lengths("difference", "chars") >= 0
    unknown = np.full(shape, np.nan, np.float32)
    everything = np.ones(shape, np.bool_)
    matrix = OutcomeMatrix(
        models, (None,) * len(models), models, order_of(table), wins.astype(np.float32),
        everything, ~everything, unknown, unknown,
    )  # fmt: skip
    state = PairsState(model=models[0], panel="slices")
    return scene(state, ScenePairs(table, Field(table, matrix, {}, ("key",))))


CHAT = {"prompt": "p", "domain": "chat"}
STYLES = CHAT | {"chosen": ["a", "aa", "aaa"], "rejected": ["b", "bb", "bbb"]}


def test_slices_of_rows_with_several_responses_say_what_is_sliced_and_won(tmp_path: Path) -> None:
    now = shown_of(PairTable(read_pairs(write_jsonl(tmp_path / "rows.jsonl", [STYLES] * 60))), 12)
    said = (
        "where all nine comparisons are won. Its margin is the lowest reward of a right style "
        "minus the highest of a wrong one. Lengths, format, refusals and authors are those of "
        "the first chosen and the first rejected response of a row (concise)."
    )
    assert said in slices_html(now) and said in "\n".join(report_lines(now, PairNotes()))
