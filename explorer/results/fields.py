"""The fields of a session: each model's results joined to the pairs that they are of.

By the texts where a file carries them, else by position or key, and never across datasets: what is
of no table at hand makes a field of its own, without texts.
"""

import hashlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from explorer.core.caches import Kept
from explorer.data.library import Library
from explorer.data.table import PairTable
from explorer.results.cache import OutcomeCache
from explorer.results.ensemble_field import members_of, with_ensemble
from explorer.results.field import Field
from explorer.results.library import ResultsLibrary
from explorer.results.outcomes import Results
from explorer.results.own import OwnRows, own_name, own_names, with_runs
from explorer.results.published_names import published_as
from explorer.results.uploads import model_of_uploaded, with_uploaded
from explorer.runs.cards import card_of, pairs_of
from explorer.runs.running import Runs
from explorer.stats.matrix import (
    OutcomeMatrix,
    Outcomes,
    of_benchmark,
    order_of,
    outcome_matrix,
    usual_order,
)
from scoring.errors import KnownError, shown
from scoring.limits import Step
from scoring.pairs.opening import SCHEMA, Pairs, PairSource
from scoring.record import Run
from scoring.results.files import LeftOut
from scoring.results.order import PairOrder

KEPT = 8
"""Sets of fields that stay in memory."""
MOST_TEXTLESS = 8
"""Sets of pairs without texts; results of further ones are not shown."""

Stamp = tuple[str, str, str, int]


class Fields:
    """Makes fields, and remembers the last ones. Callable from any thread."""

    def __init__(
        self, results: ResultsLibrary, tables: Library, cache: OutcomeCache, runs: Runs
    ) -> None:
        """cache: of what was read of published results; nothing is read here."""
        self.results = results
        self.tables = tables
        self._cache = cache
        self.runs = runs
        self._joined, self._kept, self._joint = Kept(KEPT), Kept(KEPT), Kept(KEPT)
        self._rows = OwnRows()

    def all(self, results_id: object, table_id: object, own: object) -> tuple[Field, ...]:
        """Every field, that of the pairs that are looked at first; a model is in one of them.

        Args:
            results_id: of published results, as `ResultsLibrary.get` takes it.
            table_id: of the pairs that are looked at, as `Library.find` takes it.
            own: the person's runs, as `Runs.visible` takes them.
        """
        runs = self.runs.visible(own)
        return self._fields(self.results.get(results_id), self._tables(table_id, runs), runs)

    def published(self) -> tuple[Field, ...]:
        """The fields of what this server shows from the start: nobody's runs, files or pairs."""
        tables = {each.id: each for each in (self.tables.get(None), *self.tables.shelf.all())}
        return self._fields(self.results.get(None), list(tables.values()), [])

    def _fields(
        self, results: Results, tables: Sequence[PairTable], runs: Sequence[Run]
    ) -> tuple[Field, ...]:
        source = results.pairs_of("v1")
        published = self._cache.known(source) if source is not None else Outcomes()
        found = of_benchmark(with_uploaded(published, results.uploaded), "v1")
        read = (published.version, results.id, published.files)
        ids = tuple(table.id for table in tables)
        key = (*read, ids, *(_stamp(run) for run in runs))

        def made() -> tuple[Field, ...]:
            joined = self._joined.once((*read, ids), lambda: tuple(_joined(found, tables)))
            own = own_names(runs, (result.model for result in found.results))
            model_of = {name: model_of_uploaded(name) for name in results.own_models}
            model_of |= {name: published_as(run.facts) for name, run in own.items()}
            return tuple(self._with_runs(joined, own, model_of, key))

        return self._kept.once(key, made)

    def of(self, model: object, results_id: object, table_id: object, own: object) -> Field:
        """The field that a model is in, or whose models an ensemble joins.

        Raises:
            KnownError: it is in none.
        """
        joined = members_of(model)
        if joined is not None:
            way, members = joined
            field = self.of(members[0], results_id, table_id, own)
            name = str(model)
            return self._joint.once(
                (field.key, name), lambda: with_ensemble(field, name, way, members)
            )
        for field in self.all(results_id, table_id, own):
            if isinstance(model, str) and model in field.place_of:
                return field
        raise KnownError(
            f"There are no results of each pair of a model {shown(model)} here. Choose another, "
            "score pairs with it, or add its result file on the Leaderboard tab."
        )

    def unread(self, results_id: object) -> int:
        """How many published files of results of each pair were not read yet."""
        source = self.results.get(results_id).pairs_of("v1")
        return 0 if source is None else self._cache.unread(source)

    def reading(self, results_id: object) -> Generator[Step, None, None]:
        """Read them, telling each step. Closing the generator stops; what was read is kept."""
        source = self.results.get(results_id).pairs_of("v1")
        if source is not None:
            yield from self._cache.read(source)

    def refused(self, results_id: object) -> list[LeftOut]:
        """Those that could not be had when they were last asked for."""
        source = self.results.get(results_id).pairs_of("v1")
        return [] if source is None else self._cache.refused(source)

    def name_of(self, run_id: object, results_id: object, table_id: object, own: object) -> str:
        """What a run of the person is called among models; "" where it has no pair yet."""
        for field in self.all(results_id, table_id, own):
            for model, run in field.runs.items():
                if run.id == run_id and model in field.place_of:
                    return model
        return ""

    def largest(self, results_id: object, table_id: object, own: object) -> Field:
        """The field with the most models; one without any where nothing was read or scored."""
        fields = self.all(results_id, table_id, own)
        if fields:
            return max(fields, key=lambda field: field.n_models)
        table = self.tables.get(table_id)
        return Field(table, outcome_matrix(Outcomes(), order_of(table)), {}, ("", table.id))

    def _with_runs(
        self,
        joined: Iterable["_Joined"],
        own: Mapping[str, Run],
        model_of: Mapping[str, str],
        key: object,
    ) -> Iterable[Field]:
        """Fields of published results, with each run laid over the first that it is of."""

        def field(of: _Joined, matrix: OutcomeMatrix, runs: Mapping[str, Run]) -> Field:
            at = (key, of.table.id)
            return Field(of.table, matrix, runs, at, of.has_texts, frozenset(model_of), model_of)

        left = dict(own)
        for each in joined:
            typed = each.table.source.kind == "typed"
            asked = {name: run for name, run in left.items() if typed == _is_typed(run)}
            hashes = partial(_hashes_of, each.table) if each.has_texts else None
            matrix, runs = self._rows.over(each.matrix, asked, each.table.id, hashes)
            left = {name: run for name, run in left.items() if name not in runs}
            if matrix.models:
                yield field(each, matrix, runs)
        rest, runs = with_runs(Outcomes(), left)
        for each in _without_texts(rest):
            yield field(each, each.matrix, {name: runs[name] for name in each.matrix.models})

    def _tables(self, table_id: object, runs: Sequence[Run]) -> list[PairTable]:
        """Tables that results may be of, each once."""
        scored_on = [self._table_of(run) for run in runs]
        seen = [self.tables.get(table_id), *self.tables.all(), *scored_on]
        return list({table.id: table for table in seen if table is not None}.values())

    def _table_of(self, run: Run) -> PairTable | None:
        """The pairs that a run scored; None where they are not here any more."""
        try:
            return pairs_of(run, self.tables)
        except KnownError:
            return None


@dataclass(frozen=True)
class _Joined:
    """Published results and the pairs that they are of; some pairs have none.

    has_texts: of the pairs.
    """

    table: PairTable
    matrix: OutcomeMatrix
    has_texts: bool = True


def _joined(found: Outcomes, tables: Sequence[PairTable]) -> Iterable[_Joined]:
    """Each model in the first table that it is of; then those that are of none."""
    rest = found
    for table in tables:
        of_table = Outcomes() if table.source.kind == "typed" else rest
        matrix = outcome_matrix(of_table, order_of(table), partial(_hashes_of, table))
        yield _Joined(table, matrix)
        rest = _without(rest, matrix.models)
    yield from _without_texts(rest)


def _hashes_of(table: PairTable) -> Sequence[str]:
    return table.hashes


def _without_texts(rest: Outcomes) -> Iterable[_Joined]:
    """Results whose pairs are not at hand, by the order of pairs that most of them have."""
    for _ in range(MOST_TEXTLESS):
        order = usual_order(rest)
        matrix = outcome_matrix(rest, order)
        if order is None or not matrix.models:
            return
        yield _Joined(_textless(order), matrix, has_texts=False)
        rest = _without(rest, matrix.models)


def _stamp(run: Run) -> Stamp:
    """Changes when pairs are added to a run, or it gets another name."""
    return run.id, own_name(run), run.status, run.n_bytes()


def _is_typed(run: Run) -> bool:
    return card_of(run).typed is not None


def _without(found: Outcomes, models: Iterable[str]) -> Outcomes:
    gone = set(models)
    pairs = zip(found.files, found.results, strict=True)
    kept = [(file, result) for file, result in pairs if result.model not in gone]
    return replace(
        found, files=tuple(file for file, _ in kept), results=tuple(each for _, each in kept)
    )


def _textless(order: PairOrder) -> PairTable:
    """The pairs of results whose texts are not at hand, with their subsets and keys."""
    subsets = np.array(order.names, dtype=object)[order.codes].tolist()
    ids = order.ids if order.ids is not None else [str(row + 1) for row in range(len(order))]
    keys = [f"{subset}:{id_}" for subset, id_ in zip(subsets, ids, strict=True)]
    if len(set(keys)) < len(keys):
        keys = [f"{key}:{row + 1}" for row, key in enumerate(keys)]
    columns: dict[str, list[Any]] = {"key": keys, "id": list(ids), "subset": subsets}
    for field in SCHEMA:
        empty: object = "" if field.type == pa.large_string() else []
        columns.setdefault(field.name, [empty] * len(keys))
    digest = hashlib.blake2b("\n".join(keys).encode("utf-8", "replace"), digest_size=6).hexdigest()
    source = PairSource("textless", "pairs", None, digest)
    return PairTable(Pairs(source, pa.table(columns, schema=SCHEMA)))
