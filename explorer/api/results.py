"""The public endpoints on results: leaderboards, what models fail, how two differ, what is hard.

Arguments come from anybody and are checked here: Gradio does not.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import gradio as gr
import numpy as np

from explorer.api.answers import (
    MOST_ANSWERED_ROWS,
    Comparison,
    Failures,
    Hardest,
    Leaderboard,
    PairTexts,
)
from explorer.api.callers import caller
from explorer.core.error_view import guarded
from explorer.core.files import as_json
from explorer.core.settings import Settings
from explorer.core.validation import checked_integer, one_of
from explorer.data.filters import LONGEST_NAME
from explorer.data.table import PairTable
from explorer.reader.scene import ScenePairs, kind_masks, ordered
from explorer.reader.state import PairsState
from explorer.results.board import Board, BoardRow
from explorer.results.boards import BoardMeasuring, Boards
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.runs.visitors import Visitor
from explorer.stats.difficulty import LEAST_MODELS, difficulty, failed_by_most
from explorer.stats.duels import CELLS, DuelPart, duel
from explorer.stats.rules import V1
from explorer.tabs.models.state import BOARD_BENCHMARKS, TIES, ModelsState
from scoring.errors import KnownError, shown

_SOURCE = ("kind", "name", "revision", "date")
_VERDICT = ("model", "outcome", "chosen_reward", "rejected_reward")
_LONGEST_READING = 600.0


@dataclass(frozen=True)
class PairEndpoints:
    """What can be asked without a browser, of public results, and of runs by their ids.

    While results of each pair are read for the first time on this server they are waited for, which
    can take minutes.
    """

    fields: Fields
    settings: Settings

    @guarded
    def failures(
        self,
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        model: str,
        subset: str | None = None,
        limit: int = 100,
        section: str | None = None,
        secret: str = "",
    ) -> Failures:
        """The pairs that a model or a run loses or ties, the worst margin first.

        Where its rewards are not known, the most surprising come first: those that most others win.
        A margin is the chosen reward minus the rejected reward; a difficulty is the share of the
        other models that fail the pair. What is not known is null.

        Args:
            model: as /leaderboard names it; or the id of a run, the caller's own or a public one.
            subset: only of this one, such as "hep-go"; null for all.
            limit: pairs at most, 1 to 3000.
            section: only of this one, as the benchmark calls it; null for all.
            secret: as /start_run gave it, where the run is the caller's own on a shared server.

        Returns:
            The pairs, each with its key, subset, outcome, margin and difficulty.
        """
        visitor = caller(request, profile, None, secret, self.settings)
        fields, [name] = self._named(visitor, model)
        return failures_json(fields, name, subset, limit, section)

    @guarded
    def compare(
        self,
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        model_a: str,
        model_b: str,
        section: str | None = None,
        secret: str = "",
    ) -> Comparison:
        """How two models or runs differ on the pairs that both have results of.

        "both", "only_a", "only_b" and "neither" count the pairs that they win; a tie is no win
        there. The two scores are by the benchmark's rule over these pairs, and the p value is of
        the two being equal: a paired test by the same weights, two-sided and not corrected for
        several tests. In the scores and their test a tie counts half a win for judges and nothing
        for others. Where no pair counts in that score, all weigh alike.

        Args:
            model_a: as /leaderboard names it; or the id of a run, the caller's own or a public one.
            model_b: the other.
            section: of the benchmark, such as "Chat Hard"; null for all pairs.
            secret: as /start_run gave it, where a run is the caller's own on a shared server.

        Returns:
            The four counts, both scores and the p value, of all pairs and of each section.
        """
        visitor = caller(request, profile, None, secret, self.settings)
        fields, [one, other] = self._named(visitor, model_a, model_b)
        return compare_json(fields, one, other, section)

    @guarded
    def pair(self, key: str) -> PairTexts:
        """One pair with its texts, and what every model made of it.

        A conversation is given as its transcript. What is not known is null.

        Args:
            key: the subset and the id, as "alpacaeval-easy:900001".

        Returns:
            The texts, who wrote the responses, where the pair is from, and each model's outcome.
        """
        fields = self._read()
        return pair_json(fields, self.fields.tables.sources.all()[::-1], key)

    @guarded
    def hardest(self, limit: int = 50) -> Hardest:
        """The pairs of RewardBench that the most models fail, the hardest first.

        "known" counts the models with a result and "failed" those that do not win the pair; the
        difficulty is failed / known. "item_rest" is how far models that win the pair do better on
        the other pairs of its subset, a correlation: below 0 better models fail it more often,
        which a wrong label causes, too. What is not known is null.

        Args:
            limit: pairs at most, 1 to 3000.

        Returns:
            The pairs, each with its key, subset, counts, difficulty and item-rest correlation.
        """
        return hardest_json(self._read(), limit)

    def _read(self) -> Sequence[Field]:
        """The public results, once they are read."""
        self.fields.results.wait_read(_LONGEST_READING)
        return self.fields.published()

    def _named(self, visitor: Visitor, *asked: object) -> tuple[Sequence[Field], list[object]]:
        """Where to look for models, and what they are called there: a run is asked for by its id.

        Raises:
            KnownError: no pair of a run is scored yet, or its pairs are not here any more.
        """
        fields, names = self._read(), {}
        for each in asked:
            if isinstance(each, str) and not any(each in field.place_of for field in fields):
                with suppress(KnownError):
                    run = self.fields.runs.store.open(each, visitor)
                    names[each] = self.fields.name_of(run.id, None, None, visitor)
        if "" in names.values():
            raise KnownError("No pair of this run is scored yet. Ask /run how far it is.")
        if names:
            fields = self.fields.all(None, None, visitor)
        return fields, [names.get(each, each) if isinstance(each, str) else each for each in asked]


def failures_json(
    fields: Sequence[Field],
    model: object,
    subset: object = None,
    limit: object = 100,
    section: object = None,
) -> Any:
    """As of `PairEndpoints.failures`, of whatever was sent."""
    most, name = _limit(limit), _short("A model", model)
    field = _field_of(fields, name)
    masks = kind_masks(field, name)
    fails = masks["failures"]
    if subset is not None:
        fails &= field.table.subset_of_row == _subset(field, subset)
    if section is not None:
        benchmark, subsets = field.table.benchmark, field.table.subsets
        wanted = one_of("A section", benchmark.groups, section)
        of_section = [benchmark.group_of(each) == wanted for each in subsets.names]
        fails &= np.array(of_section)[subsets.codes]
    scene = ScenePairs(field.table, field)
    rows = ordered(PairsState(model=name), scene, np.flatnonzero(fails))[:most].tolist()
    margins, difficulty = field.margins(name), field.difficulty(name).share
    listed = [
        {
            "key": field.table.key_of(row),
            "subset": field.table.subset_of(row),
            "outcome": field.outcome(name, row),
            "margin": margins[row],
            "difficulty": difficulty[row],
        }
        for row in rows
    ]
    return as_json({"rows": listed})


def compare_json(
    fields: Sequence[Field], model_a: object, model_b: object, section: object = None
) -> Any:
    """As of `PairEndpoints.compare`, of whatever was sent."""
    one, other = _short("A model", model_a), _short("A model", model_b)
    field = _field_of(fields, one)
    if _field_of(fields, other) is not field:
        raise KnownError(
            f"The results of {shown(one)} and {shown(other)} are of different pairs, so the two "
            "cannot be compared."
        )
    found = duel(field.outcomes(one), field.outcomes(other), field.matrix.pairs, field.rule)
    sections = {part.name: _part(part) for part in found.sections}
    if section is None:
        return as_json({**_part(found.headline), "sections": sections})
    part = sections[one_of("A section", tuple(sections), section)]
    return as_json({**part, "sections": {str(section): part}})


def pair_json(fields: Sequence[Field], tables: Sequence[PairTable], key: object) -> Any:
    """As of `PairEndpoints.pair`. tables: may be shown though there are no results of them."""
    wanted = _short("A key", key)
    for field in fields:
        row = field.table.row_of(wanted)
        if row is not None:
            cells = _cells(field.table, row, has_texts=field.has_texts)
            return as_json(
                {
                    **cells,
                    "outcomes": [
                        {name: getattr(each, name) for name in _VERDICT}
                        for each in field.verdicts(row)
                    ],
                }
            )
    for table in tables:
        row = table.row_of(wanted)
        if row is not None:
            return {**_cells(table, row, has_texts=True), "outcomes": []}
    examples = next(each.example_keys for each in (*tables, *(field.table for field in fields)))
    raise KnownError(
        f"There is no pair {shown(key)} here. A key is the subset and the id, as in {examples}."
    )


def hardest_json(fields: Sequence[Field], limit: object = 50) -> Any:
    """As of `PairEndpoints.hardest`, of the field with the most models.

    Pairs that none fails are left out, and those known of fewer than `LEAST_MODELS` models where
    there are so many. With one model alone there are none.
    """
    most = _limit(limit)
    if not fields:
        return {"rows": []}
    field = max(fields, key=lambda each: each.n_models)
    rivals = field.matrix.outcomes[field.is_rival]
    least = max(2, min(LEAST_MODELS, len(rivals)))
    rows = failed_by_most(rivals, share=0, least_models=least)[:most].tolist()
    found, correlation = difficulty(rivals), field.telling.correlation
    listed = [
        {
            "key": field.table.key_of(row),
            "subset": field.table.subset_of(row),
            "failed": found.failed[row],
            "known": found.known[row],
            "difficulty": found.share[row],
            "item_rest": correlation[row],
        }
        for row in rows
    ]
    return as_json({"rows": listed})


def _field_of(fields: Sequence[Field], model: str) -> Field:
    for field in fields:
        if model in field.place_of:
            return field
    raise KnownError(
        f"There are no per-pair results of a model {shown(model)} here. /leaderboard names the "
        "models; some of them have accuracies alone. /runs names the runs."
    )


def _limit(value: object) -> int:
    return checked_integer("The limit", value, 1, MOST_ANSWERED_ROWS)


def _short(what: str, value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME:
        raise KnownError(
            f"{what} is named by a text of 1 to {LONGEST_NAME:,} characters, not {shown(value)}."
        )
    return value


def _subset(field: Field, value: object) -> str:
    name = _short("A subset", value)
    if name not in field.table.subset_counts:
        listed = ", ".join(each[:40] for each in list(field.table.subset_counts)[:30])
        raise KnownError(f"There is no subset {shown(value)} here; choose one of {listed}.")
    return name


def _part(part: DuelPart) -> dict[str, Any]:
    counts: dict[str, Any] = {name: getattr(part, name) for name in CELLS}
    return {**counts, "score_a": part.a, "score_b": part.b, "p_value": part.test.p}


def _cells(table: PairTable, row: int, *, has_texts: bool) -> dict[str, Any]:
    cells, source = table.cells(row), table.source
    texts = {name: cells[name] if has_texts else None for name in ("prompt", "chosen", "rejected")}
    return {
        "key": cells["key"],
        **texts,
        "subset": cells["subset"],
        "section": table.benchmark.group_of(cells["subset"]),
        "models": {
            side: cells[f"{side}_model"] if has_texts else None for side in ("chosen", "rejected")
        },
        "source": {"name": source.name, "split": source.split, "revision": source.revision},
    }


@dataclass(frozen=True)
class BoardEndpoints:
    """What can be asked without a browser. Types are checked here: Gradio does not.

    measuring: of the boards of `boards`.
    """

    boards: Boards
    measuring: BoardMeasuring

    @guarded
    def leaderboard(
        self,
        benchmark: str = V1.name,
        prior_sets: bool = False,
        ties: Literal["official", "half", "loss"] = "official",
        limit: int | None = None,
    ) -> Leaderboard:
        """The leaderboard of reward models, best first.

        Tie groups, intervals of ranks and paired intervals are measured from each pair's results
        when they are first asked for. Where that takes more than a few seconds, the rows come
        without them, "measuring" is true, and "retry_after_seconds" says when to ask again.

        Intervals are at 95 %; one of a score is "paired" where it comes from results of each pair.
        Models of a tie group are not told from its best by tests at 5 %. Scores are 0 to 1,
        unrounded; what is not known is null.

        Equal scores of a pair, known where results have rewards, count by "ties": "official" is
        half a win for judges and nothing for others, "half" is half a win for all. "loss" is the
        former name of "official", and is answered as that.

        Args:
            benchmark: "v1" for RewardBench, "v2" for RewardBench 2; others by their names, such as
                "rm-bench".
            prior_sets: whether prior test sets count half in RewardBench's score.
            ties: what equal scores of a pair count, as "official" or "half".
            limit: rows at most, 1 to 3000; null for all.

        Returns:
            Where the results are from, remarks on the numbers, and a row for each model.
        """
        most = None if limit is None else _limit(limit)
        ranking = ModelsState(
            own=False,
            benchmark=one_of("A benchmark", tuple(BOARD_BENCHMARKS), benchmark),
            prior_sets=one_of("Prior sets", (True, False), prior_sets),
            ties=one_of("A tie", TIES, "official" if ties == "loss" else ties),
        ).ranking
        left = self.measuring.measured(ranking)
        refused = self.measuring.refused(ranking)
        return leaderboard_json(self.boards.board(None, ranking), left, refused, most)


def leaderboard_json(
    board: Board, seconds_left: int | None = None, refused: str = "", most: int | None = None
) -> Any:
    """A board for programs: scores from 0 to 1, unrounded; None where unknown.

    seconds_left: until it will be measured, about; None where it is, or cannot be.
    refused: why not all of it was measured; "" where it was.
    most: rows; None for all.
    """
    missing = [f"Some intervals and tie groups could not be measured: {refused}"] if refused else []
    return as_json(
        {
            "source": {
                **{name: getattr(board.source, name) for name in _SOURCE},
                "rule": board.rule.name,
                "ties": board.ties,
                "missing": board.missing,
            },
            "remarks": [*board.remarks, *missing],
            "measuring": seconds_left is not None,
            "retry_after_seconds": seconds_left,
            "rows": [_row(row, board.rule.sections) for row in [*board.rows.values()][:most]],
        }
    )


def _row(row: BoardRow, sections: Iterable[str]) -> dict[str, Any]:
    interval, ranks = ([row[name] for name in ends] for ends in (_INTERVAL, _RANKS))
    return {
        **{name: row[name] for name in ("rank", "model", "model_type", "score")},
        "sections": {name: row[name] for name in sections},
        "interval": None if None in interval else interval,
        "paired": row["paired"],
        "rank_interval": None if None in ranks else ranks,
        "tie_group": row["tie_group"],
    }


_INTERVAL, _RANKS = ("score_low", "score_high"), ("best_rank", "worst_rank")


def publish_results(boards: BoardEndpoints, pairs: PairEndpoints) -> None:
    """Make the endpoints part of the page that is being built."""
    gr.api(boards.leaderboard, api_name="leaderboard")
    for name in ("failures", "compare", "pair", "hardest"):
        gr.api(getattr(pairs, name), api_name=name, concurrency_limit=1, concurrency_id="pairs")
