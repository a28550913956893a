"""The public endpoint that searches the pairs: filters, text, and a page of what is found.

Arguments come from anybody and are checked here: Gradio does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Literal, get_args

import gradio as gr
import numpy as np

from explorer.api.answers import MOST_FOUND, FoundPairs
from explorer.api.callers import requested_table
from explorer.core.error_view import guarded
from explorer.core.files import as_json
from explorer.core.validation import checked_integer, one_of
from explorer.data.facets import COLUMNS, FACETS, Facet
from explorer.data.filters import NO_FILTERS, Filtered, Filters, LengthRange, select
from explorer.data.library import Library
from explorer.data.search import EVERYTHING, Query, Where, checked_query
from explorer.data.table import PairTable
from explorer.reader.listing import excerpt
from explorer.reader.scene import ScenePairs, ordered
from explorer.reader.state import MOST_PAGES, PairsState
from scoring.errors import KnownError, shown

MOST_COUNTED = 100
"""Names of a facet whose pairs are counted: those with the most."""
Sort = Literal["", "chosen", "-chosen", "rejected", "-rejected", "difference", "-difference"]
_SORTS: tuple[Sort, ...] = get_args(Sort)


@dataclass(frozen=True)
class SearchEndpoints:
    """What can be asked of the pairs without a browser."""

    tables: Library

    @guarded
    def search_pairs(
        self,
        text: str = "",
        where: Where = "all",
        regex: bool = False,
        case: bool = False,
        filters: dict[str, list[str]] | None = None,
        lengths: dict[str, list[int | None]] | None = None,
        sort: Sort = "",
        page: int = 1,
        page_rows: int = 25,
        pairs: str = "",
    ) -> FoundPairs:
        """Search the preference pairs: which of them pass filters and hold a text.

        A row has the beginning of each text, or what is about the first hit. "counts" says of each
        facet's names how many pairs there would be with that name in place of the facet's own
        filter, for the 100 names with the most.

        Args:
            text: what to look for; "" for all pairs.
            where: which text must hold it; "all" for any of the three.
            regex: whether the text is a regular expression, in RE2's syntax.
            case: whether upper and lower case differ.
            filters: a facet -> names of which a pair must have one, as {"section": ["Safety"]}.
            lengths: a side and a unit -> least and most, as {"chosen.words": [10, null]}.
            sort: by characters of a side or the difference of both, "-" for the longest first.
            page: which page of what is found, from 1.
            page_rows: pairs on a page, 1 to 200.
            pairs: the id of pairs that the server has open; "" for those it shows first.

        Returns:
            The id of the pairs searched, how many were found, a page of them, and the counts.
        """
        query = checked_query(text, where, regex, case)
        asked = replace(_filters(filters, lengths), query=query)
        order = one_of("An order", _SORTS, sort)
        size = checked_integer("The pairs of a page", page_rows, 1, MOST_FOUND)
        number = checked_integer("The page", page, 1, MOST_PAGES)
        return found_json(requested_table(self.tables, pairs), asked, order, number, size)


def _filters(facets: object, lengths: object) -> Filters:
    """Filters as they were sent.

    Raises:
        KnownError: they are none.
    """
    filters = NO_FILTERS
    for name, picked in _named("Filters", facets).items():
        filters = filters.picking(name, picked)
    for name, ends in _named("Lengths", lengths).items():
        measure, _, unit = name.partition(".")
        one_of("The unit of a length", ("chars", "words"), unit)
        if not isinstance(ends, list | tuple) or len(ends) != 2:
            raise KnownError(f"The least and the most of a length are wanted, not {shown(ends)}.")
        low, high = ends
        filters = filters.keeping(LengthRange.of(measure, unit, low, high, ""))
    return filters


def _named(what: str, values: object) -> Mapping[str, Any]:
    if values is None:
        return {}
    if not isinstance(values, Mapping) or len(values) > len(FACETS):
        raise KnownError(
            f"{what} are at most {len(FACETS)} names with values, not {shown(values)}."
        )
    return values


def found_json(table: PairTable, filters: Filters, sort: str, page: int, size: int) -> Any:
    """A page of the pairs that pass, as of `SearchEndpoints.search_pairs`."""
    found = select(table, filters)
    rows = ordered(PairsState(sort=sort), ScenePairs(table), found.rows)
    visible_rows = rows[(page - 1) * size : page * size].tolist()
    return as_json(
        {
            "pairs": table.id,
            "total": len(rows),
            "of": len(table),
            "page": page,
            "pages": max(1, ceil(len(rows) / size)),
            "rows": [_found(table, row, filters.query) for row in visible_rows],
            "counts": {
                facet: _counts(table, facet, found)
                for facet in FACETS
                if facet not in COLUMNS or facet in table.further_columns
            },
        }
    )


def _found(table: PairTable, row: int, query: Query) -> dict[str, Any]:
    cells = table.cells(row)
    texts = {
        side: "".join(
            words
            for words, _ in excerpt(cells[side], query if query.looks_at(side) else EVERYTHING)
        )
        for side in ("prompt", "chosen", "rejected")
    }
    return {
        "key": cells["key"],
        "subset": cells["subset"],
        "section": table.benchmark.group_of(cells["subset"]),
        **texts,
        "models": {side: cells[f"{side}_model"] or None for side in ("chosen", "rejected")},
        **{f"{side}_chars": table.chars[side][row] for side in ("chosen", "rejected")},
    }


def _counts(table: PairTable, facet: Facet, found: Filtered) -> dict[str, int]:
    names, counts = table.facets[facet].names, found.counts[facet]
    most = np.argsort(-counts, kind="stable")[:MOST_COUNTED]
    return {names[at]: int(counts[at]) for at in most.tolist() if counts[at]}


def publish_search(endpoints: SearchEndpoints) -> None:
    """Make the endpoint part of the page that is being built."""
    gr.api(endpoints.search_pairs, api_name="search_pairs", concurrency_limit=2)
