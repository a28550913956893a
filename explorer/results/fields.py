"""The one join of published, uploaded and own results to the pairs that they are of.

By the texts where they are known, else by position or key in the dataset that a file is of
(`scoring.results.order`): what is of no table at hand makes a field of its own, without texts.
Published results are put in order once for everybody; a person's own files and runs are laid over
them, each read and put in order once, so that a pack more of a run makes nothing else anew.
"""

import hashlib
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from explorer.core.caches import LruCache
from explorer.data.library import Library
from explorer.data.search import resolve_name
from explorer.data.table import PairTable
from explorer.results.ensembles import members_of, with_ensemble
from explorer.results.field import Field
from explorer.results.library import ResultsLibrary
from explorer.results.own import outcomes_of, own_names, published_as
from explorer.results.published import Results
from explorer.results.uploads import model_of_uploaded
from explorer.runs.cards import pairs_of
from explorer.runs.outcomes import benchmark_of_run
from explorer.runs.running import Runs
from explorer.runs.store import RunList
from explorer.stats.matrix import (
    OutcomeMatrix,
    OutcomeRows,
    Outcomes,
    laid_over,
    order_of,
    outcome_matrix,
    outcome_rows,
    usual_order,
)
from explorer.stats.rules import V1, V2
from scoring.benchmarks import benchmark_named
from scoring.clusters import is_reward_bench
from scoring.errors import KnownError, shown
from scoring.limits import MEGABYTE
from scoring.pairs.opening import SCHEMA, Pairs, PairSource
from scoring.record import Run
from scoring.results.accuracies import Benchmark
from scoring.results.files import Omission
from scoring.results.order import PairOrder, filtered_split
from scoring.results.pairs import PairResults

_KEPT = 8
"""Sets of fields that stay in memory."""
_KEPT_ROWS = 256 * MEGABYTE
"""What own models may take that do, each once for every set of pairs that it was looked for among.
"""
_LEAST_BYTES, _BYTES_OF_PAIR = 1000, 32
_KEPT_OWNS = 64
_MOST_TEXTLESS = 8
"""Sets of pairs without texts; results of further ones are not shown."""


class Fields:
    """Makes fields, and remembers the last ones. Callable from any thread."""

    def __init__(self, results: ResultsLibrary, tables: Library, runs: Runs) -> None:
        self.results = results
        self.tables = tables
        self.runs = runs
        self._bases = LruCache[tuple[Field, ...]](2 * _KEPT)
        self._owns = LruCache[_Owns](_KEPT_OWNS)
        self._rows = LruCache[OutcomeRows](_KEPT_ROWS, _n_bytes)
        self._joined = LruCache[tuple[Field, ...]](_KEPT)
        self._ensembles = LruCache[Field](_KEPT)

    def all(self, results_id: object, table_id: object, own: object) -> tuple[Field, ...]:
        """Every field, that of the pairs that are looked at first; a model is in one of them.

        results_id, table_id, own: as `ResultsLibrary.get`, `Library.find` and `RunStore.visible`
        take them.
        """
        runs = self.runs.store.seen(own)
        tables = self._tables(table_id, runs)
        return self._join(self.results.get(results_id), runs, tables)

    def published(self) -> tuple[Field, ...]:
        """The fields of what this server shows from the start: nobody's runs, files or pairs."""
        tables = {each.id: each for each in (self.tables.get(None), *self.tables.sources.all())}
        return self._join(self.results.get(None), RunList(), list(tables.values()))

    def crowd(self, table: PairTable) -> Field | None:
        """What published models made of these pairs; None where that is not known."""
        return next((each for each in self.published() if each.table is table), None)

    def of_board(
        self, results: Results, benchmark: Benchmark, runs: RunList
    ) -> tuple[Field | None, Mapping[str, Run]]:
        """The field of the pairs of a benchmark that most published files are of, in their order;
        where none was read, of the longest list of its pairs that a model of the person's is of.
        None without any.

        With it, the runs of other pairs, by their names.
        """
        found, owns = results.outcomes_of(benchmark), self._owns_of(results, benchmark, runs)
        of_all = (benchmark, found.version, found.files, found.left_out)
        tables = self.tables_of(benchmark, runs)
        key = (of_all, tuple(table.id for table in tables), owns.key)

        def published() -> tuple[Field, ...]:
            return tuple(islice(_without_texts(found.of_benchmark(benchmark)), 1))

        def join() -> tuple[Field, ...]:
            bases = self._bases.get_or_create_once(of_all, published)
            lists = bases or _longest_first(benchmark, owns.models, tables, found.left_out)
            return tuple(islice(self._with_own(lists, owns.models, dict(owns.models), of_all), 1))

        field = next(iter(self._joined.get_or_create_once(key, join)), None)
        here = {} if field is None else field.runs
        return field, {
            name: each.run for name, each in owns.models.items() if each.run and name not in here
        }

    def tables_of(self, benchmark: Benchmark, runs: RunList) -> list[PairTable]:
        """The tables of a benchmark that who looks may see, the longest first."""
        every = (each for each in self._tables(None, runs) if each.benchmark.key == benchmark)
        return sorted(every, key=len, reverse=True)

    def _join(
        self, results: Results, runs: RunList, tables: Sequence[PairTable]
    ) -> tuple[Field, ...]:
        """Every field: of published results, and the person's own. Of RewardBench 2 the own alone:
        what is published has the names of RewardBench's models.
        """
        found, owns = results.outcomes_of(V1.name), self._owns_of(results, None, runs)
        shared = [table for table in tables if not _is_typed(table)]
        ids, shared_ids = (tuple(table.id for table in some) for some in (tables, shared))
        of_all = (found.version, found.files, found.left_out, shared_ids)

        def published() -> tuple[Field, ...]:
            return tuple(_on_tables(found.without_benchmark(V2.name), shared))

        def textless(left: Mapping[str, _Own]) -> tuple[Field, ...]:
            of = sum((each.outcomes() for each in left.values()), Outcomes(left_out=found.left_out))
            return tuple(_without_texts(of, is_own=True))

        def join() -> tuple[Field, ...]:
            bases = self._bases.get_or_create_once(of_all, published)
            left = dict(owns.models)
            fields = [*self._with_own(_with_typed(tables, bases), owns.models, left, of_all)]
            versions = tuple((name, *each.version) for name, each in left.items())
            rest = self._bases.get_or_create((found.left_out, versions), lambda: textless(left))
            return (
                *fields,
                *(_field(base, base.matrix, owns.models, left, of_all) for base in rest),
            )

        return self._joined.get_or_create_once((of_all, ids, owns.key), join)

    def _owns_of(self, results: Results, benchmark: Benchmark | None, runs: RunList) -> "_Owns":
        found = results.outcomes_of(benchmark or V1.name)
        return self._owns.get_or_create_once(
            (results.id, benchmark, runs, found.version),
            lambda: _Owns.of(results, benchmark, runs, found.models),
        )

    def _with_own(
        self,
        bases: Iterable[Field],
        own: Mapping[str, "_Own"],
        left: dict[str, "_Own"],
        key: Hashable,
    ) -> Iterator[Field]:
        """Fields with each own model in the first that it is of; those of none stay in `left`.

        key: of what is published.
        """
        for base in bases:
            pairs_id = base.table.id if base.has_texts else base.matrix.pairs
            rows = {
                name: self._rows.get_or_create(
                    (name, *each.version, pairs_id), partial(_rows, each, base)
                )
                for name, each in left.items()
                if each.typed == _is_typed(base.table)
            }
            for name in [name for name in rows if rows[name].matrix.models]:
                del left[name]
            # Of runs of other pairs there is nothing to say here; of files there is.
            used = [name for name in rows if name not in left or not own[name].run]
            matrix = laid_over(base.matrix, [rows[name] for name in used])
            if matrix.models:
                yield _field(base, matrix, own, used, key)

    def of(self, model: object, results_id: object, table_id: object, own: object) -> Field:
        """The field that a model is in, or whose models an ensemble joins.

        Raises:
            KnownError: it is in none.
        """
        return self.among(self.all(results_id, table_id, own), model)

    def among(self, fields: Sequence[Field], model: object) -> Field:
        """The same of fields that are known."""
        if (joined := members_of(model)) is not None:
            way, members = joined
            field, name = self.among(fields, members[0]), str(model)
            return self._ensembles.get_or_create(
                (field.key, name), lambda: with_ensemble(field, name, way, members)
            )
        for field in fields:
            if isinstance(model, str) and model in field.place_of:
                return field
        raise KnownError(
            f"There are no per-pair results of a model {shown(model)} here. Choose another, "
            "score pairs with it, or add its result file on the Models tab."
        )

    def meant(self, typed: object, results_id: object, table_id: object, own: object) -> object:
        """The model with results of each pair that was typed, or that alone has it in its name.

        What is none stays as it is.

        Raises:
            KnownError: several have.
        """
        if not isinstance(typed, str) or members_of(typed) is not None:
            return typed
        fields = self.all(results_id, table_id, own)
        names = dict.fromkeys(name for field in fields for name in field.place_of)
        return resolve_name(typed, [*names, *self.unread_models(results_id)])

    def unread_models(self, results_id: object) -> list[str]:
        """The published models whose results of each pair are not read yet, if they have any."""
        results = self.results.get(results_id)
        if results.is_read:
            return []
        return [model for model in results.of(V1.name) if model not in results.own_models]

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

    def _tables(self, table_id: object, runs: RunList) -> list[PairTable]:
        """Tables that results may be of, each once."""
        seen = [self.tables.get(table_id), *self.tables.all()]
        for run in runs.of_each_table:
            with suppress(KnownError):  # its pairs are not here any more
                seen.append(pairs_of(run, self.tables))
        return list({table.id: table for table in seen}.values())


@dataclass(frozen=True, eq=False)
class _Own:
    """A model of the person's own: a run, or files.

    version: changes when its outcomes do. model: the one that it is of, as it is published.
    typed: whether it is of a pair that somebody typed.
    """

    version: tuple[object, ...]
    outcomes: Callable[[], Outcomes]
    model: str
    run: Run | None = None
    typed: bool = False


@dataclass(frozen=True, eq=False)
class _Owns:
    """A person's own models by names that no other has. key: changes when their outcomes do."""

    models: dict[str, _Own]
    key: str

    @classmethod
    def of(
        cls, results: Results, benchmark: Benchmark | None, runs: RunList, taken: Collection[str]
    ) -> "_Owns":
        """taken: names of the published."""
        models = _own_models(results, benchmark, runs, taken)
        written = repr([(name, *each.version) for name, each in models.items()])
        return cls(models, hashlib.blake2b(written.encode("utf-8", "replace")).hexdigest())


def _own_models(
    results: Results, benchmark: Benchmark | None, runs: RunList, taken: Collection[str]
) -> dict[str, _Own]:
    own: dict[str, _Own] = {}
    if results.uploaded is not None:
        uploaded = results.uploaded
        files = uploaded.outcomes.of_benchmark(benchmark) if benchmark else uploaded.openable
        for name in dict.fromkeys(files.models):
            if name not in taken:
                version, outcomes = (results.uploaded.token,), partial(files.of_models, {name})
                own[name] = _Own(version, outcomes, model_of_uploaded(name))
    of_rows = [run for run in runs.runs if benchmark in (None, benchmark_of_run(run))]
    for name, run in own_names(of_rows, (*taken, *own), runs.cards).items():
        typed = runs.cards[run.id].typed is not None
        outcomes = partial(outcomes_of, run, name)
        own[name] = _Own(_version(run), outcomes, published_as(run.facts), run, typed)
    return own


def _version(run: Run) -> tuple[object, ...]:
    """Changes when pairs are added to a run."""
    scored = run.n_bytes() if run.status == "running" else run.n_scored
    return run.id, run.status, run.seconds, scored


def _field(
    base: Field,
    matrix: OutcomeMatrix,
    own: Mapping[str, _Own],
    used: Collection[str],
    key: Hashable,
) -> Field:
    """used: the own models that are in it, and files of which it says why they are not."""
    here = [name for name in used if name in {*matrix.models}]
    runs = {name: run for name in here if (run := own[name].run)}
    files = _files_of_responses(own, [name for name in here if name not in runs], matrix)
    at = (key, base.table.id, *((name, *own[name].version) for name in used))
    model_of = {name: each.model for name, each in own.items()}
    return Field(base.table, matrix, runs, at, base.has_texts, frozenset(own), model_of, files)


def _files_of_responses(
    own: Mapping[str, _Own], names: Sequence[str], matrix: OutcomeMatrix
) -> dict[str, PairResults]:
    """Model -> its file in a matrix, where that has the rewards of all responses."""
    file_of = dict(zip(matrix.models, matrix.files, strict=True))
    return {
        name: result
        for name in names
        for found in [own[name].outcomes()]
        for file, result in zip(found.files, found.results, strict=True)
        if file == file_of[name] and result.scores is not None
    }


def _n_bytes(rows: OutcomeRows) -> float:
    """About what rows take in memory."""
    return _LEAST_BYTES + _BYTES_OF_PAIR * len(rows.at) * len(rows.matrix.models)


def _rows(own: _Own, base: Field) -> OutcomeRows:
    hashes = (lambda: base.table.hashes) if base.has_texts else None
    return outcome_rows(own.outcomes(), base.matrix.pairs, hashes)


def _on_tables(found: Outcomes, tables: Sequence[PairTable]) -> Iterator[Field]:
    """Each model in the first table that it is of; then those that are of none."""
    rest = found
    for table in tables:
        matrix = outcome_matrix(rest, order_of(table), lambda: table.hashes)  # noqa: B023
        yield Field(table, matrix, {}, (table.id,))
        rest = rest.of_models(set(rest.models).difference(matrix.models))
    yield from _without_texts(rest)


def _with_typed(tables: Sequence[PairTable], bases: Sequence[Field]) -> tuple[Field, ...]:
    """The same with fields of typed pairs, of which nothing is published, among those of tables."""
    left = {base.table.id: base for base in bases}
    first = [
        Field(table, outcome_matrix(Outcomes(), order_of(table)), {}, (table.id,))
        if _is_typed(table)
        else left.pop(table.id)
        for table in tables
    ]
    return (*first, *left.values())


def _longest_first(
    benchmark: Benchmark,
    own: Mapping[str, _Own],
    tables: Sequence[PairTable],
    left_out: tuple[Omission, ...],
) -> Iterator[Field]:
    """Lists of a benchmark's pairs, as fields without a model: those of tables, and of own models.

    RewardBench's own is known; of others a part is no measure for more of it.
    """
    known = benchmark_named(benchmark)
    orders = [result.order for each in own.values() for result in each.outcomes().results]
    lists: list[tuple[PairOrder, PairTable | None]] = [(order_of(each), each) for each in tables]
    lists += [
        (each, None) for each in orders if not known.sections or any(map(known.has, each.names))
    ]
    if own and benchmark == V1.benchmark.key:
        lists.append((filtered_split(), None))
    for order, table in sorted(lists, key=lambda each: _rank(each[0]), reverse=True):
        matrix, has_texts = outcome_matrix(Outcomes(left_out=left_out), order), table is not None
        yield Field(table or _textless(order), matrix, {}, (), has_texts)


def _is_typed(table: PairTable) -> bool:
    return table.source.kind == "typed"


def _without_texts(rest: Outcomes, *, is_own: bool = False) -> Iterator[Field]:
    """Results whose pairs are not at hand, by the order of pairs that most of them have, or of a
    person's own by the longest.
    """
    for _ in range(_MOST_TEXTLESS):
        orders = (result.order for result in rest.results)
        order = max(orders, key=_rank, default=None) if is_own else usual_order(rest)
        matrix = outcome_matrix(rest, order)
        if order is None or not matrix.models:
            return
        table = _textless(order)
        yield Field(table, matrix, {}, (table.id,), has_texts=False)
        rest = rest.of_models(set(rest.models).difference(matrix.models))


def _rank(order: PairOrder) -> tuple[bool, int, bool, bool]:
    """RewardBench's own pairs before all others, then the longest list, then the best known."""
    return is_reward_bench(order), len(order), order.hashes is not None, order.ids is not None


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
    about = {"benchmark": order.named_benchmark} if order.named_benchmark else {}
    return PairTable(Pairs(source, pa.table(columns, schema=SCHEMA.with_metadata(about))))
