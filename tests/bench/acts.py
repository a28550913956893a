"""What a visitor of the Pairs tab does, in many variants: for the bench."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

from explorer.core.text import text
from explorer.data.facets import FACETS, Facet
from explorer.data.filters import LengthRange
from explorer.data.lengths import MEASURED, measures_of
from explorer.data.table import MEASURES, PairTable, Unit
from explorer.reader.diffs import DIFFS
from explorer.reader.reading import n_pages
from explorer.reader.state import BY_LENGTH, PairsState, changed

ROUNDS = 20
_SAMPLE = 400
"""Rows whose words are looked for."""
_WORD = re.compile(r"[A-Za-z]{4,12}")
_SORTS = ("", *(f"{sign}{each}" for each in BY_LENGTH for sign in ("", "-")))
_UNITS: tuple[Unit, ...] = ("chars", "words")


@dataclass(frozen=True, slots=True)
class Act:
    """A link that is followed: its address, or its words on screen.

    before: the address that is on screen; "" for none.
    """

    before: str
    followed: str


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
            "turn a page": self._turns(),
            "jump to a page": self._jumps(),
            "next pair": self._steps(),
            "random pair": self._randoms(),
            "open a pair": self._opens(),
            "marks of what differs": self._marks(),
            "open the lengths": self._charts("panel", ("lengths",)),
            "chart: of what": self._charts("chart", MEASURED),
            "chart: unit": self._charts("unit", _UNITS),
            "chart: by subset": self._charts("by_subset", (True, True, False)),
            "brush a range": self._brushes(),
            "drop a range": self._drops(),
            "reset": self._resets(),
            "open a link": self._links(),
        }
        return {kind: [next(acts) for _ in range(ROUNDS)] for kind, acts in kinds.items()}

    def _narrowing(self, state: PairsState, **changes: Any) -> Act:
        """To other pairs. As a script has it, the open pair stays open if it is listed."""
        return Act(state.href(), state.narrowed(keep=state.key or self._table.key_of(0), **changes))

    def _picks(self, facet: Facet) -> Iterator[Act]:
        names = self._table.facets[facet].names
        while True:
            some = self._random.sample(names, self._random.randint(1, min(3, len(names))))
            yield self._narrowing(PairsState(), **{facet: tuple(some)})

    def _searches(
        self, words: list[str], states: Iterator[PairsState] | None = None, case: bool = False
    ) -> Iterator[Act]:
        """words: to choose from; where they are none, it is something that no text has."""
        while True:
            state = next(states) if states else PairsState()
            yield self._narrowing(state, words=self._fresh(words), case=case)

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
            yield self._narrowing(PairsState(), words=words[start : start + 60].strip())

    def _in_columns(self) -> Iterator[Act]:
        while True:
            for where in ("prompt", "chosen", "rejected"):
                yield self._narrowing(PairsState(), words=self._fresh(self._rare), where=where)

    def _patterns(self) -> Iterator[Act]:
        words = (r"\b{}\b", r"{}\s+\w+ed\b", r"(?m)^{}", r"\d+ {}")
        shapes = (*words, "{}|{}", "{}.*{}", "[{}]{{6}}", "{}|.")
        while True:
            for shape in shapes:
                common = self._random.sample(self._common, 2)
                yield self._narrowing(PairsState(), words=shape.format(*common), regex=True)

    def _filtered(self) -> Iterator[PairsState]:
        """States with facets, a range, a search (the same ones all the time) and an order."""
        picks: tuple[Facet, ...] = ("subset", "longer", "section", "code", "language")
        words = self._random.sample(self._common, 3)
        while True:
            picked: dict[str, Any] = {}
            for facet in self._random.sample(picks, 2):
                names = self._table.facets[facet].names
                picked[facet] = tuple(names[: max(2, len(names) // 2)])
            measure, low = self._random.choice(MEASURES[:3]), self._random.randrange(100)
            picked["ranges"] = (LengthRange(measure, "chars", low, 20 * low + 1000),)
            if self._random.random() < 0.5:
                picked["words"] = self._random.choice(words)
            sort = self._random.choice(_SORTS)
            yield changed(self._reading(sort), picked)

    def _reading(self, sort: str = "") -> PairsState:
        return PairsState(sort=sort, key=self._key(), page=self._page())

    def _sorts(self) -> Iterator[Act]:
        filtered = self._filtered()
        while True:
            for sort in _SORTS:
                some = next(filtered) if self._random.random() < 0.5 else PairsState()
                state = replace(some, sort="")
                yield Act(state.href(), state.narrowed(sort=sort))

    def _read(self) -> Iterator[PairsState]:
        """The whole table, the table in another order, and what was filtered, each somewhere."""
        for filtered in self._filtered():
            yield self._reading()
            yield self._reading(self._random.choice(_SORTS[1:]))
            yield filtered

    def _turns(self) -> Iterator[Act]:
        for state in self._read():
            page = state.page + self._random.choice((-1, 1)) or 2
            yield Act(replace(state, key="").href(), state.narrowed(page=page))

    def _jumps(self) -> Iterator[Act]:
        for state in self._read():
            yield Act(state.href(), state.narrowed(page=self._page()))

    def _steps(self) -> Iterator[Act]:
        for state in self._read():
            yield Act(state.href(), text("reader.next"))

    def _randoms(self) -> Iterator[Act]:
        for state in self._read():
            yield self._narrowing(state, random=True)

    def _opens(self) -> Iterator[Act]:
        for state in self._read():
            yield Act(state.href(), state.href(key=self._key(), page=1))

    def _marks(self) -> Iterator[Act]:
        for state in self._read():
            yield Act(state.href(), state.href(diff=self._random.choice(DIFFS)))

    def _page(self) -> int:
        return self._random.randint(1, n_pages(len(self._table)))

    def _key(self) -> str:
        return self._table.key_of(self._random.randrange(len(self._table)))

    def _charted(self) -> Iterator[PairsState]:
        """A chart of the whole table, and one of what was filtered, in turn."""
        one_of = self._random.choice
        for filtered in self._filtered():
            for state in (PairsState(), filtered):
                chart, unit, by_subset = one_of(MEASURED), one_of(_UNITS), one_of((True, False))
                yield replace(state, panel="lengths", chart=chart, unit=unit, by_subset=by_subset)

    def _charts(self, field: str, values: Sequence[Any]) -> Iterator[Act]:
        """values: of a field of the state; they take turns."""
        for state, value in zip(self._charted(), cycle(values), strict=False):
            before = replace(state, panel="pairs") if field == "panel" else state
            yield Act(before.href(), state.href(**{field: value}))

    def _brushes(self) -> Iterator[Act]:
        for charted in self._charted():
            state, low = replace(charted, by_subset=False), self._random.randrange(500)
            ends = low, low + self._random.randrange(1, 3000)
            if measures := measures_of(state.chart):
                added = [LengthRange(each, state.unit, *ends) for each in measures]
                yield Act(state.href(), state.narrowed(ranges=(*state.ranges, *added)))

    def _drops(self) -> Iterator[Act]:
        for filtered in self._filtered():
            state = replace(filtered, panel=self._random.choice(("pairs", "lengths")))
            yield self._narrowing(state, ranges=())

    def _resets(self) -> Iterator[Act]:
        for state in self._filtered():
            yield Act(state.href(), state.unfiltered().href(keep=state.key))

    def _links(self) -> Iterator[Act]:
        for state in self._filtered():
            yield Act("", state.href())
