"""The review panel: mark pairs keep, drop or unsure, one key each, and compare with a colleague."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import nlargest
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from explorer.agreement import agreement
from explorer.library import Library
from explorer.look import Look
from explorer.review import Review, Verdict, subset_rows
from explorer.review_files import write_decisions, write_kept
from explorer.review_resume import merged, resumed
from explorer.review_shelf import KeptReviews
from explorer.table import PairTable
from explorer.text import text
from explorer.ui.errors import guarded
from explorer.ui.reader import pair_html
from explorer.ui.relay import EVENT, unchanged
from explorer.ui.reviewfiles import export_name, read_upload
from explorer.ui.reviewhtml import (
    Theirs,
    agreement_html,
    answer_html,
    differing_choices,
    progress_html,
    told_html,
)
from explorer.ui.reviewturns import IN_TURN, MARK, exporting, in_turn, offering
from explorer.ui.reviewview import Chosen, Offered, Panel, ReviewView
from scoring.errors import KnownError
from scoring.pairs import TEXT_COLUMNS
from scoring.spec import text_hash

MOST_CHOICES = 500
"""Subsets that are offered, the largest; any other can be typed."""
FETCH = """() => new Promise((done) => setTimeout(() => {
  document.querySelector("#review-file")?.click();
  done([]);
}, 200))"""
"""Fetch the file that was just made, once the page has its address."""


class Under(NamedTuple):
    """A review, the table it is made on, and the keys of its pairs in order."""

    table: PairTable
    review: Review
    keys: list[str]


@dataclass(frozen=True)
class ReviewTab:
    """The panel's callbacks.

    `state` is (table id, review, open key, note, a colleague's decisions, kept reviews), as
    `Stay.state` gives it.
    """

    library: Library

    @guarded
    def offer(self, table_id: object, review: Review | None, kept: object) -> Offered:
        """After other pairs came on screen: their subsets; what was marked on others is kept."""
        table, stored = self.library.get(table_id), KeptReviews.read(kept)
        if review is not None and review.source == table.id:
            return unchanged(Offered)
        last = next((each for each in stored.reviews if each.source == table.id), None)
        subset = last.subset if last else next(iter(table.subset_counts), None)
        told = [*(_elsewhere(review) or _so_far(last)), *stored.left_out]
        choices = gr.update(choices=_counted(table), value=subset)
        start = last.start if last else 0
        return Offered(choices, start, told_html(told), gr.update(visible=False), None, None)

    @guarded
    def choose(self, table_id: object, subset: object, kept: object) -> Chosen:
        """After a subset was chosen: what this browser keeps of its review."""
        table = self.library.get(table_id)
        former = KeptReviews.read(kept).of(table.id, str(subset))
        return Chosen(former.start if former else 0, told_html(_so_far(former)))

    @guarded
    def begin(self, subset: object, start: object, *state: Any) -> Panel:
        """Begin a review, or go on with the one that this browser keeps."""
        table_id, *_, theirs, kept = state
        table = self.library.get(table_id)
        fresh = Review.begin(table, subset, start)
        former = KeptReviews.read(kept).of(fresh.source, fresh.subset)
        review = replace(fresh, decisions=former.decisions) if former else fresh
        return _onward(_under(table, review), None, theirs, kept)

    @guarded
    def keep(self, *state: Any) -> Panel:
        """Keep the open pair, and open the next that is unmarked."""
        return self._marked("keep", *state)

    @guarded
    def drop(self, *state: Any) -> Panel:
        """Drop the open pair, and open the next that is unmarked."""
        return self._marked("drop", *state)

    @guarded
    def unsure(self, *state: Any) -> Panel:
        """Say that one is unsure of the open pair, and open the next that is unmarked."""
        return self._marked("unsure", *state)

    @guarded
    def undo(self, *state: Any) -> Panel:
        """Take the last mark back, and open its pair."""
        here, (_, _, key, _, theirs, kept) = self._here(state), state
        if not here.review.decisions:
            return _panel(here, key, theirs, kept, [text("review.nothing_to_undo")])
        last = here.review.decisions[-1].key
        return _panel(here._replace(review=here.review.undo()), last, theirs, kept)

    @guarded
    def skip(self, *state: Any) -> Panel:
        """Leave the open pair as it is, and open the next that is unmarked."""
        return _onward(self._here(state), *state[2:3], *state[4:])

    @guarded
    def back(self, *state: Any) -> Panel:
        """Open the pair before the open one, marked or not."""
        return self._stepped(-1, *state)

    @guarded
    def forward(self, *state: Any) -> Panel:
        """Open the pair after the open one, marked or not."""
        return self._stepped(1, *state)

    @guarded
    def open_differing(self, wanted: object, *state: Any) -> Panel:
        """Open a pair on which the colleague disagrees."""
        here = self._here(state)
        if not isinstance(wanted, str) or here.review.verdict_of(wanted) is None:
            raise KnownError(text("review.no_such_pair"))
        return _panel(here, wanted, *state[4:])

    @guarded
    def export_decisions(self, folder: Path, *state: Any) -> str:
        """All decisions that hold, as JSONL; gives the path of the file."""
        review = self._here(state).review
        if not review.decisions:
            raise KnownError(text("review.nothing_to_export"))
        path = folder / export_name(review, "decisions.jsonl")
        write_decisions(review, path)
        return str(path)

    @guarded
    def export_kept(self, folder: Path, states: Any, *state: Any) -> str:
        """The pairs of the subset that are kept, as Parquet; gives the path of the file."""
        here = self._here(state)
        path = folder / export_name(here.review, "kept.parquet")
        write_kept(here.review, here.table, path, tuple(states or ()))
        return str(path)

    @guarded
    def resume(self, upload: object, *state: Any) -> Panel:
        """Go on with the decisions of a file; what this browser keeps of that subset joins them."""
        table_id, *_, theirs, kept = state
        table = self.library.get(table_id)
        found, left_out = resumed(table, read_upload(upload))
        former = KeptReviews.read(kept).of(found.source, found.subset)
        review = merged(former, found) if former else found
        told = text("review.resumed", n=f"{len(found.standing):,}", subset=found.subset[:80])
        more = [text("review.left_out", n=f"{left_out:,}")] if left_out else []
        return _onward(_under(table, review), None, theirs, kept, [told, *more])

    @guarded
    def compare(self, upload: object, *state: Any) -> Panel:
        """See where the decisions in a colleague's file differ."""
        here = self._here(state)
        return _panel(here, state[2], read_upload(upload), state[5])

    def _here(self, state: tuple[Any, ...]) -> Under:
        """The review under way.

        Raises:
            KnownError: there is none, or it is on other pairs than those on screen.
        """
        table, review = self.library.get(state[0]), state[1]
        if review is None:
            raise KnownError(text("review.none"))
        if review.source != table.id:
            raise KnownError(text("review.other_pairs"))
        return _under(table, review)

    def _marked(self, verdict: Verdict, *state: Any) -> Panel:
        here, (_, _, key, words, theirs, kept) = self._here(state), state
        cells = here.table.find(key)
        if cells is None:
            raise KnownError(text("review.no_such_pair"))
        hashed = text_hash(*(cells[name] for name in TEXT_COLUMNS))
        review = here.review.mark(key, hashed, verdict, words, at=time.time())
        return _onward(here._replace(review=review), key, theirs, kept)

    def _stepped(self, step: int, *state: Any) -> Panel:
        here, (_, _, key, _, theirs, kept) = self._here(state), state
        place = here.keys.index(key) + step if key in here.keys else 0
        return _panel(here, here.keys[place % len(here.keys)], theirs, kept)


def _under(table: PairTable, review: Review) -> Under:
    rows = subset_rows(table, review.subset, review.start)
    return Under(table, review, [table.keys[row] for row in rows])


def _onward(
    here: Under, after: str | None, theirs: Theirs, kept: object, told: list[str] | None = None
) -> Panel:
    """The panel at the next pair that is unmarked; where all are marked, it says so."""
    told = told or []
    following = here.review.next_unmarked(here.keys, after)
    if following is not None:
        return _panel(here, following, theirs, kept, told)
    return _panel(here, after or here.keys[0], theirs, kept, [*told, text("review.all_marked")])


def _panel(
    here: Under, key: str, theirs: Theirs, kept: object, told: list[str] | None = None
) -> Panel:
    """The panel with that pair open; the review is kept in the browser."""
    review, stored = here.review, KeptReviews.read(kept)
    lost = stored.left_out
    if review.decisions or stored.of(review.source, review.subset):
        stored = stored.put(review)
        lost += stored.left_out
    found = agreement(review.standing.values(), theirs)
    choices = differing_choices(found, review.standing, theirs)
    differing = gr.update(
        choices=choices,
        value=key if key in found.differing else None,
        visible=bool(choices),
        label=text("review.differing_n", n=f"{len(choices):,}"),
    )
    decision = review.standing.get(key)
    return Panel(
        gr.update(value=review.subset),
        review.start,
        told_html([*(told or []), *lost]),
        gr.update(visible=True),
        progress_html(review, here.keys, key) + answer_html(review, theirs, key),
        decision.note if decision else "",
        pair_html(here.table.find(key), key, Look(), source=here.table.source),
        agreement_html(found, theirs),
        differing,
        key,
        stored.texts(),
        review,
        theirs,
    )


def _counted(table: PairTable) -> list[tuple[str, str]]:
    counts = table.subset_counts
    names = list(counts)
    if len(names) > MOST_CHOICES:
        names = nlargest(MOST_CHOICES, names, lambda name: counts[name])
    return [(text("filter.choice", name=name[:80], n=f"{counts[name]:,}"), name) for name in names]


def _elsewhere(review: Review | None) -> list[str]:
    return [text("review.elsewhere", subset=review.subset[:80])] if review else []


def _so_far(review: Review | None) -> list[str]:
    """What a browser keeps of a review, in words; where that is nothing, what a review is."""
    if review is None or not review.decisions:
        return [text("review.intro")]
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(review.decisions[-1].at))
    marked = f"{len(review.standing):,}"
    return [text("review.so_far", subset=review.subset[:80], marked=marked, when=when)]


def wire_review(view: ReviewView, tab: ReviewTab, table_id: gr.State) -> None:
    """Connect the components. `table_id` offers its subsets whenever it changes."""
    state = [table_id, view.stay, view.note, view.noted, view.kept]
    offered = [table_id, view.stay, view.kept]
    table_id.change(offering(tab.offer), offered, view.offered, **IN_TURN)
    chosen = [table_id, view.subset, view.kept]
    view.subset.input(tab.choose, chosen, [view.start, view.told], **EVENT)
    marks: list[tuple[Any, Callable[..., Panel]]] = [
        (view.keep, tab.keep),
        (view.drop, tab.drop),
        (view.unsure, tab.unsure),
        (view.undo, tab.undo),
        (view.skip, tab.skip),
        (view.back, tab.back),
        (view.forward, tab.forward),
    ]
    for button, callback in marks:
        button.click(in_turn(callback), state, view.panel, **MARK)
    for opens, callback, asked in (
        (view.begin.click, tab.begin, [view.subset, view.start]),
        (view.resume_file.upload, tab.resume, [view.resume_file]),
        (view.compare_file.upload, tab.compare, [view.compare_file]),
        (view.differing.input, tab.open_differing, [view.differing]),
    ):
        opens(in_turn(callback), [*asked, *state], view.panel, **IN_TURN)
    for button, export, asked in (
        (view.export_decisions, tab.export_decisions, []),
        (view.export_kept, tab.export_kept, [view.states]),
    ):
        written = button.click(exporting(export), [*asked, *state], view.file, **IN_TURN)
        written.success(None, None, None, js=FETCH)
