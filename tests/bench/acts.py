"""What a visitor of the Pairs tab does, in many variants: for the bench."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from explorer.data.facets import FACETS, Facet
from explorer.data.filters import Filters, LengthRange
from explorer.data.lengths import MEASURED
from explorer.data.search import Query
from explorer.data.table import MEASURES, PairTable, Unit
from explorer.reader.diffs import DIFFS
from explorer.reader.reading import Reading, n_pages
from explorer.reader.state import BY_LENGTH, Chart, PairsState

ROUNDS = 20
_SAMPLE = 400
"""Rows whose words are looked for."""
_WORD = re.compile(r"[A-Za-z]{4,12}")
_SORTS = ("", *(f"{sign}{each}" for each in BY_LENGTH for sign in ("", "-")))
_UNITS: tuple[Unit, ...] = ("chars", "words")


@dataclass(frozen=True, slots=True)
class Act:
    """One act, and what is on screen before it. name: "" for opening the link of the state."""

    state: PairsState
    name: str
    sent: dict[str, Any]


class Visitor:
    """Acts on one table; the same ones each time. Every search looks for something new."""

    def __init__(self, table: PairTable, seed: int = 0) -> None:
        self._table = table
        self._random = random.Random(seed)
        self._seen: set[str] = set()
        rows = self._random.sample(range(len(table)), min(_SAMPLE, len(table)))
        self._texts = [table.cells(row)["chosen"] for row in sorted(rows)]
        counts = Counter(word for words in self._texts for word in set(_WORD.findall(words)))
        by_count = [word for word, _ in counts.most_common()]
        self._common, self._rare = by_count[: 8 * ROUNDS], by_count[-20 * ROUNDS :]

    def acts(self) -> dict[str, list[Act]]:
        """Kind -> acts of that kind, in the order in which they are done."""
        kinds = {f"facet: {facet.replace('_', ' ')}": self._picks(facet) for facet in FACETS}
        kinds |= {
            "search: a common word": self._searches(self._common),
            "search: a rare word": self._searches(self._rare),
            "search: an absent word": self._searches([]),
            "search: a sentence": self._sentences(),
            "search: case matters": self._searches(self._rare, case=True),
            "search: in one column": self._in_columns(),
            "search: a pattern": self._patterns(),
            "search, with filters": self._searches(self._rare, self._filtered()),
            "sort": self._sorts(),
            "turn a page": self._reads("turn", lambda: self._random.choice((-1, 1, 2))),
            "jump to a page": self._reads("page", self._page),
            "next pair": self._reads("step", lambda: 1),
            "random pair": self._reads("random", lambda: None),
            "open a pair": self._reads("open", self._key),
            "go to a key": self._reads("goto", self._key),
            "marks of what differs": self._reads("diff", lambda: self._random.choice(DIFFS)),
            "open the lengths": self._charts("panel", value="lengths"),
            "chart: of what": self._charts("chart", shown=MEASURED),
            "chart: unit": self._charts("chart", unit=_UNITS),
            "chart: by subset": self._charts("chart", by_subset=(True, True, False)),
            "brush a range": self._brushes(),
            "drop a range": self._drops(),
            "reset": self._resets(),
            "open a link": self._links(),
        }
        return {kind: [next(acts) for _ in range(ROUNDS)] for kind, acts in kinds.items()}

    def _picks(self, facet: Facet) -> Iterator[Act]:
        while True:
            yield Act(PairsState(), "pick", {"facet": facet, "names": self._names(facet)})

    def _names(self, facet: Facet) -> list[str]:
        names = self._table.facets[facet].names
        return self._random.sample(names, self._random.randint(1, min(3, len(names))))

    def _searches(
        self, words: list[str], states: Iterator[PairsState] | None = None, case: bool = False
    ) -> Iterator[Act]:
        """words: to choose from; where they are none, it is something that no text has."""
        while True:
            state = next(states) if states else PairsState()
            yield Act(state, "search", {"words": self._fresh(words), "case": case})

    def _fresh(self, words: list[str]) -> str:
        left = [word for word in words if word.lower() not in self._seen]
        word = self._random.choice(left) if left else f"qz{self._random.randrange(10**8)}xj"
        self._seen.add(word.lower())
        return word

    def _sentences(self) -> Iterator[Act]:
        long = [words for words in self._texts if len(words) > 200]
        while True:
            words = self._random.choice(long)
            start = self._random.randrange(len(words) - 60)
            yield Act(PairsState(), "search", {"words": words[start : start + 60].strip()})

    def _in_columns(self) -> Iterator[Act]:
        while True:
            for where in ("prompt", "chosen", "rejected"):
                yield Act(
                    PairsState(), "search", {"words": self._fresh(self._rare), "where": where}
                )

    def _patterns(self) -> Iterator[Act]:
        words = (r"\b{}\b", r"{}\s+\w+ed\b", r"(?m)^{}", r"\d+ {}")
        shapes = (*words, "{}|{}", "{}.*{}", "[{}]{{6}}", "{}|.")
        while True:
            for shape in shapes:
                common = self._random.sample(self._common, 2)
                yield Act(PairsState(), "search", {"words": shape.format(*common), "regex": True})

    def _filtered(self) -> Iterator[PairsState]:
        """States with facets, a range, a search (the same ones all the time) and an order."""
        picks: tuple[Facet, ...] = ("subset", "longer", "section", "code", "language")
        words = self._random.sample(self._common, 3)
        while True:
            filters = Filters()
            for facet in self._random.sample(picks, 2):
                column = self._table.facets[facet]
                filters = filters.picking(facet, column.names[: max(2, len(column.names) // 2)])
            measure, low = self._random.choice(MEASURES[:3]), self._random.randrange(100)
            filters = filters.keeping(LengthRange(measure, "chars", low, 20 * low + 1000))
            query = Query(self._random.choice(words)) if self._random.random() < 0.5 else Query()
            sort = self._random.choice(_SORTS)
            yield PairsState(
                filters=replace(filters, query=query), sort=sort, reading=self._reading()
            )

    def _sorts(self) -> Iterator[Act]:
        filtered = self._filtered()
        while True:
            for sort in _SORTS:
                state = (
                    replace(next(filtered), sort="")
                    if self._random.random() < 0.5
                    else PairsState()
                )
                yield Act(state, "sort", {"value": sort})

    def _reads(self, name: str, value: Any) -> Iterator[Act]:
        """Steps in the whole table, in the table in another order, and in what was filtered."""
        filtered = self._filtered()
        while True:
            yield Act(PairsState(reading=self._reading()), name, {"value": value()})
            sort = self._random.choice(_SORTS[1:])
            yield Act(PairsState(sort=sort, reading=self._reading()), name, {"value": value()})
            yield Act(next(filtered), name, {"value": value()})

    def _reading(self) -> Reading:
        return Reading(key=self._key(), page=self._page())

    def _page(self) -> int:
        return self._random.randint(1, n_pages(len(self._table)))

    def _key(self) -> str:
        return self._table.key_of(self._random.randrange(len(self._table)))

    def _charts(self, name: str, **sent: Any) -> Iterator[Act]:
        """sent: a value, or a tuple of values that take turns."""
        filtered, place = self._filtered(), 0
        while True:
            state = next(filtered) if place % 2 else PairsState()
            if name != "panel":
                state = replace(state, panel="lengths", chart=self._chart())
            chosen = {
                key: value[place % len(value)] if isinstance(value, tuple) else value
                for key, value in sent.items()
            }
            place += 1
            yield Act(replace(state, chart=self._chart()), name, chosen)

    def _chart(self) -> Chart:
        one_of = self._random.choice
        return Chart(one_of(MEASURED), one_of(_UNITS), by_subset=one_of((True, False)))

    def _brushes(self) -> Iterator[Act]:
        for act in self._charts("range"):
            low = self._random.randrange(500)
            yield replace(act, sent={"low": low, "high": low + self._random.randrange(1, 3000)})

    def _drops(self) -> Iterator[Act]:
        for state in self._filtered():
            one = state.filters.ranges[0]
            sent = {"measure": one.measure, "unit": one.unit}
            yield Act(
                replace(state, panel=self._random.choice(("pairs", "lengths"))), "unrange", sent
            )

    def _resets(self) -> Iterator[Act]:
        for state in self._filtered():
            yield Act(state, "reset", {})

    def _links(self) -> Iterator[Act]:
        for state in self._filtered():
            yield Act(state, "", {})
