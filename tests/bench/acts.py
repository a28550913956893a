"""What a visitor of the Pairs tab does, in many variants: for the bench."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice, repeat
from typing import Any

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
_WHOLE = repeat(PairsState())
_UNITS: tuple[Unit, ...] = ("chars", "words")


@dataclass(frozen=True, slots=True)
class Act:
    """A link that is followed: its address, or its words on screen.

    before: the address that is on screen; "" for none.
    """

    before: str
    followed: str


def _on(states: Iterator[PairsState], link: Callable[[PairsState], str]) -> Iterator[Act]:
    """A link on each of some states."""
    return (Act(now.href(), link(now)) for now in states)


class Visitor:
    """Acts on one table; the same ones each time. Every search looks for something new."""

    def __init__(self, table: PairTable, seed: int = 0) -> None:
        self._table = table
        self._random = random.Random(seed)
        self._seen: set[str] = set()
        rows = self._random.sample(range(len(table)), min(_SAMPLE, len(table)))
        self._texts: list[str] = [table.cells(row)["chosen"] for row in sorted(rows)]
        counts = Counter(word for words in self._texts for word in set(_WORD.findall(words)))
        by_count = [word for word, _ in counts.most_common()]
        self._common, self._rare = by_count[: 8 * ROUNDS], by_count[-20 * ROUNDS :]

    def acts(self) -> dict[str, list[Act]]:
        """Kind -> acts of that kind, in the order in which they are done."""
        one_of = self._random.choice
        kinds = {f"facet: {facet.replace('_', ' ')}": self._picks(facet) for facet in FACETS}
        kinds |= {
            "search: a common word": self._searches(lambda: self._fresh(self._common)),
            "search: a rare word": self._searches(self._rare_word),
            "search: an absent word": self._searches(lambda: self._fresh([])),
            "search: a sentence": self._searches(self._sentence),
            "search: case matters": self._searches(self._rare_word, case=True),
            "search: in one column": self._in_columns(),
            "search: a pattern": self._searches(partial(next, self._patterns()), regex=True),
            "search, with filters": self._searches(self._rare_word, self._filtered()),
            "sort": self._sorts(),
            "turn a page": self._turns(),
            "jump to a page": _on(self._read(), lambda now: now.narrowed(page=self._page())),
            "next pair": _on(self._read(), lambda _: "Next pair (j)"),
            "random pair": _on(self._read(), lambda now: self._narrowed(now, random=True)),
            "open a pair": _on(self._read(), lambda now: now.href(key=self._key(), page=1)),
            "marks of what differs": _on(self._read(), lambda now: now.href(diff=one_of(DIFFS))),
            "open the lengths": self._charts("panel", ("lengths",)),
            "chart: of what": self._charts("chart", MEASURED),
            "chart: unit": self._charts("unit", _UNITS),
            "chart: by subset": self._charts("by_subset", (True, True, False)),
            "brush a range": self._brushes(),
            "drop a range": self._drops(),
            "reset": _on(self._filtered(), lambda now: now.unfiltered().href(keep=now.key)),
            "open a link": (Act("", now.href()) for now in self._filtered()),
        }
        return {kind: [next(acts) for _ in range(ROUNDS)] for kind, acts in kinds.items()}

    def _narrowed(self, state: PairsState, **changes: Any) -> str:
        """The link to other pairs. As a script has it, the open pair stays open if it is listed."""
        return state.narrowed(keep=state.key or self._table.key_of(0), **changes)

    def _picks(self, facet: Facet) -> Iterator[Act]:
        names = self._table.facets[facet].names

        def picked(state: PairsState) -> str:
            some = self._random.sample(names, self._random.randint(1, min(3, len(names))))
            return self._narrowed(state, **{facet: tuple(some)})

        return _on(_WHOLE, picked)

    def _searches(
        self, words: Callable[[], str], states: Iterator[PairsState] = _WHOLE, **how: Any
    ) -> Iterator[Act]:
        return _on(states, lambda now: self._narrowed(now, words=words(), **how))

    def _rare_word(self) -> str:
        return self._fresh(self._rare)

    def _fresh(self, words: list[str]) -> str:
        """One of some words; where none is left, something that no text has."""
        left = [word for word in words if word.lower() not in self._seen]
        word = self._random.choice(left) if left else f"qz{self._random.randrange(10**8)}xj"
        self._seen.add(word.lower())
        return word

    def _sentence(self) -> str:
        words = self._random.choice([each for each in self._texts if len(each) > 200])
        start = self._random.randrange(len(words) - 60)
        return words[start : start + 60].strip()

    def _in_columns(self) -> Iterator[Act]:
        for where in cycle(("prompt", "chosen", "rejected")):
            yield from islice(self._searches(self._rare_word, where=where), 1)

    def _patterns(self) -> Iterator[str]:
        words = (r"\b{}\b", r"{}\s+\w+ed\b", r"(?m)^{}", r"\d+ {}")
        for shape in cycle((*words, "{}|{}", "{}.*{}", "[{}]{{6}}", "{}|.")):
            yield shape.format(*self._random.sample(self._common, 2))

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
            yield Act(state.href(), self._narrowed(state, ranges=()))
