"""The review panel: mark pairs keep, drop or unsure, one key each, and compare with a colleague."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from heapq import nlargest
from typing import Any, NamedTuple

import gradio as gr

from explorer.core.errors import user_message
from explorer.core.files import download_folder
from explorer.core.links import parts_of, written
from explorer.core.parts import (
    EVENT,
    Filling,
    act_of,
    after_acts,
    fetching,
    guarded,
    nothing_new,
    sending,
    wire_part,
)
from explorer.core.text import text
from explorer.data.library import Library
from explorer.data.table import PairTable, Rows
from explorer.reader.filter_html import listed_words
from explorer.reader.reader import pair_html
from explorer.reader.reading import Display
from explorer.reader.scene import Scenes
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.tabs.pairs.review.agreement import agreement
from explorer.tabs.pairs.review.files import (
    read_upload,
    resumed,
    review_name,
    write_decisions,
    write_kept,
)
from explorer.tabs.pairs.review.presses import (
    Opened,
    Place,
    keys_under,
    not_counted,
    onward,
    pressed,
    review_at,
)
from explorer.tabs.pairs.review.state import (
    FILTERED,
    NO_ROWS,
    Decision,
    KeptReviews,
    Review,
    review_words,
)
from explorer.tabs.pairs.review.view import (
    ReviewParts,
    agreement_html,
    answer_html,
    differing_choices,
    progress_html,
    told_html,
)
from scoring.errors import KnownError, shown

MOST_CHOICES = 500
"""Subsets that are offered, the largest; any other can be typed."""
STORED = "(...inputs) => [...inputs.slice(0, -1), window.explorer.reviews(inputs.at(-1))]"
"""The last input is what the browser keeps by now, in whichever of its tabs it was made."""


_IN_PLACE = ("press", "differ", "compare", "join")
REVIEW_ACTS = ("offer", "follow", "choose", "begin", "resume", *_IN_PLACE)
"""Those that people can do: methods of `ReviewTab`."""

Sent = Mapping[str, Any]
"""What came with an act; anybody may have sent it."""


@dataclass(frozen=True)
class Colleague:
    """Whose decisions one's own are compared with."""

    decisions: tuple[Decision, ...] = ()


class Stay(NamedTuple):
    """What an act is about: the pairs on screen, and what is remembered.

    review: the one under way. theirs: a colleague's decisions.
    listed: the link by which the pairs of a review of `FILTERED` are listed. rows: these.
    """

    table: PairTable
    review: Review | None
    theirs: tuple[Decision, ...]
    kept: KeptReviews
    session: Session
    listed: str = ""
    rows: Callable[[], Rows] = lambda: NO_ROWS

    def rows_of(self, subset: object) -> Rows:
        """As `rows_under` takes them; none for a subset."""
        return self.rows() if subset == FILTERED else NO_ROWS


@dataclass(frozen=True)
class ReviewTab:
    """The panel's callbacks."""

    scenes: Scenes
    parts: ReviewParts

    @property
    def library(self) -> Library:
        """The pairs that are here."""
        return self.scenes.library

    @guarded
    def act(self, event: gr.EventData, session: Session, kept: object) -> Filling:
        """What is shown after one act. Where presses are refused, that is answered, or they would
        come again.
        """
        name, sent = act_of(event)
        if name not in REVIEW_ACTS:
            raise KnownError(f"There is no act {shown(name)}.")
        try:
            return self._done(name, sent, session, kept)
        except Exception as error:
            if name != "press":
                raise
            asked = sent.get("presses")
            lost = not_counted(len(asked) if isinstance(asked, list) else 0)
            return {self.parts.told: told_html([user_message(error), lost])}

    def _done(self, name: str, sent: Sent, session: Session, kept: object) -> Filling:
        table, theirs = self.library.get(session.table_id), session.seen(Colleague).decisions
        source, listed = table.id, session.seen(PairsState).listed_link
        if name in _IN_PLACE:
            place = dict(parts_of(str(sent.get("place")))[0])
            source, listed = place.get("source", ""), place.get("listed", "")
        rows = cache(partial(self._listed, session, source, listed))
        kept = KeptReviews.read(kept)
        stay = Stay(table, session.get(Review), theirs, kept, session, listed, rows)
        filled: Filling = getattr(self, name)(sent, stay)
        return filled

    def offer(self, _: Sent, stay: Stay) -> Filling:
        """After other pairs came on screen: their subsets; what was marked on others is kept."""
        table, review = stay.table, stay.review
        if review is not None and review.source == table.id:
            return nothing_new()
        last = next((each for each in stay.kept.reviews if each.source == table.id), None)
        subset = last.subset if last else FILTERED
        told = _so_far(last)
        if review is not None:
            told = text("review.elsewhere", subset=review_words(review.subset))
        stay.session.forget(Review)
        parts = self.parts
        return {
            parts.setup: gr.Accordion(open=True),
            parts.subset: gr.update(choices=_counted(table), value=subset),
            parts.start: _shown_start(last),
            parts.told: told_html([told, *stay.kept.left_out]),
            parts.marking: gr.update(visible=False),
            parts.address: written([("source", table.id)]),
        }

    def follow(self, sent: Sent, stay: Stay) -> Filling:
        """After other pairs came into the list: a review of what is listed goes on with these."""
        review, table, rows = stay.review, stay.table, stay.rows()
        if review is None or review.where != (table.id, FILTERED):
            return nothing_new()
        if not len(rows):
            told = told_html([text("list.none")])
            return {self.parts.told: told, self.parts.marking: gr.update(visible=False)}
        review, key = replace(review, start=0), Place.read(sent.get("place")).key
        keys = keys_under(table, review, rows)
        if key not in keys:
            return self._opened(table, onward(review, keys, None), stay)
        filled = self._opened(table, Opened(review, key), stay)
        del filled[self.parts.note]
        return filled

    def choose(self, sent: Sent, stay: Stay) -> Filling:
        """After a subset was chosen: what this browser keeps of its review."""
        former = stay.kept.of((stay.table.id, str(sent.get("subset"))))
        told = told_html([_so_far(former)])
        return {self.parts.start: _shown_start(former), self.parts.told: told}

    def begin(self, sent: Sent, stay: Stay) -> Filling:
        """Begin a review, or go on with the one that this browser keeps."""
        start = sent.get("start")  # as people count
        subset, rows = sent.get("subset"), stay.rows_of(sent.get("subset"))
        begins = start - 1 if type(start) is int else start
        fresh = Review.begin(stay.table, subset, begins, rows)
        former = stay.kept.of(fresh.where)
        review = replace(former, start=fresh.start) if former else fresh
        for other in stay.kept.reviews if subset == FILTERED else ():
            if other.source == review.source:  # what was marked in its subset is marked
                review = review.merged(other)
        keys = keys_under(stay.table, review, rows)
        return self._opened(stay.table, onward(review, keys, None), stay)

    def press(self, sent: Sent, stay: Stay) -> Filling:
        """Count presses."""
        table, review, place = self._here(sent, stay)
        rows = stay.rows_of(place.subset)
        now = pressed(table, review, place, sent.get("presses"), time.time(), listed=rows)
        return self._opened(table, now, stay)

    def differ(self, sent: Sent, stay: Stay) -> Filling:
        """Open a pair on which the colleague disagrees."""
        table, review, _ = self._here(sent, stay)
        wanted = sent.get("pair")
        if not isinstance(wanted, str) or review.verdict_of(wanted) is None:
            raise KnownError(text("review.no_such_pair"))
        return self._opened(table, Opened(review, wanted), stay)

    def resume(self, sent: Sent, stay: Stay) -> Filling:
        """Go on with the decisions of a file; what this browser keeps of that subset joins them."""
        table = stay.table
        found, left_out = resumed(table, read_upload(_path(sent)))
        former = stay.kept.of(found.where)
        review = former.merged(found) if former else found
        of = review_words(found.subset)
        told = [text("review.resumed", n=f"{len(found.standing):,}", subset=of)]
        if left_out:
            told.append(text("review.left_out", n=f"{left_out:,}"))
        keys = keys_under(table, review, stay.rows_of(review.subset))
        return self._opened(table, onward(review, keys, None, told), stay)

    def compare(self, sent: Sent, stay: Stay) -> Filling:
        """See where the decisions in a colleague's file differ."""
        self._here(sent, stay)  # where no review is under way, that is what is said
        return self.join(sent, stay._replace(theirs=read_upload(_path(sent))))

    def join(self, sent: Sent, stay: Stay) -> Filling:
        """Stay where one is, with what another tab of this browser made meanwhile."""
        table, review, place = self._here(sent, stay)
        opened = Opened(review, place.key, is_over=place.is_over)
        filled = self._opened(table, opened, stay)
        del filled[self.parts.note]
        return filled

    @guarded
    def export_decisions(self, session: Session) -> Iterator[str]:
        """Write all decisions that hold as JSONL."""
        review = _under_way(session)
        if not review.decisions:
            raise KnownError(text("review.nothing_to_export"))
        with download_folder() as folder:
            path = folder / review_name(review, "decisions.jsonl")
            write_decisions(review, path, self.library.here(review.source))
            yield str(path)

    @guarded
    def export_kept(self, marks: Any, session: Session) -> Iterator[str]:
        """Write the pairs of the subset that are kept as Parquet."""
        review = _under_way(session)
        with download_folder() as folder:
            path = folder / review_name(review, "kept.parquet")
            table, rows, why = self.library.here(review.source), NO_ROWS, list[str]()
            if review.subset == FILTERED:
                now = self.scenes.now(session)
                rows, why = now.listed.rows, listed_words(now)
            write_kept(review, table, path, tuple(marks or ()), listed=rows, why=why)
            yield str(path)

    def _opened(self, table: PairTable, opened: Opened, stay: Stay) -> Filling:
        """That pair open; the review is kept in the browser, with what it kept since."""
        opened = opened._replace(review=_joined(opened.review, stay))
        review, key, told, _ = opened
        kept, lost = stay.kept, stay.kept.left_out
        if review.decisions or review.notes or kept.of(review.where):
            kept = kept.put(review)
            lost += kept.left_out
        stay.session.show(review)
        stay.session.show(Colleague(stay.theirs))
        found = agreement(review.standing.values(), stay.theirs)
        choices = differing_choices(found, review)
        differing = gr.update(
            choices=choices,
            value=key if key in found.differing else None,
            visible=bool(choices),
            label=text("review.differing_n", n=f"{len(choices):,}"),
        )
        keys = keys_under(table, review, stay.rows_of(review.subset))
        progress = progress_html(review, keys, key)
        place = replace(opened.place, listed=stay.listed if review.subset == FILTERED else "")
        parts = self.parts
        return {
            parts.setup: gr.Accordion(open=False),
            parts.subset: gr.update(value=review.subset),
            parts.start: _shown_start(review),
            parts.told: told_html([*told, *lost]),
            parts.marking: gr.update(visible=True),
            parts.progress: progress + answer_html(found.answers.get(key)),
            parts.note: review.note_of(key),
            parts.pair: pair_html(table.find(key), key, Display(), source=table.source),
            parts.compared: agreement_html(found, len(stay.theirs)),
            parts.differing: differing,
            parts.address: place.written(),
            parts.kept: kept.texts(),
        }

    def _here(self, sent: Sent, stay: Stay) -> tuple[PairTable, Review, Place]:
        """The table and the review in which an act was done, and where in it.

        Raises:
            KnownError: they are not here, or not any more.
        """
        place = Place.read(sent.get("place"))
        table = self.library.here(place.source)
        known = [*([stay.review] if stay.review else []), *stay.kept.reviews]
        return table, review_at(place, table, known, stay.rows_of(place.subset)), place

    def _listed(self, session: Session, source: str, link: str) -> Rows:
        """The rows of a table that a link lists, which may have come from anywhere.

        Raises:
            KnownError: it lists pairs of others, whose texts may not be here.
        """
        now = self.scenes.shown(PairsState.parse(link)[0], session.visitor).scene
        if now.table.id != source or not now.pairs.has_texts:
            raise KnownError(text("fails.no_texts"))
        return now.listed.rows


def _path(sent: Sent) -> object:
    """Where the file lies that was uploaded."""
    file = sent.get("file")
    return file.get("path") if isinstance(file, dict) else None


def _under_way(session: Session) -> Review:
    review = session.get(Review)
    if review is None:
        raise KnownError(text("review.none"))
    return review


def _joined(review: Review, stay: Stay) -> Review:
    """A review with what another tab of this browser made since this one looked."""
    known, kept = stay.review, stay.kept.of(review.where)
    if known is None or kept is None or known.where != review.where:
        return review
    here = {*known.decisions}
    since = tuple(each for each in kept.decisions if each not in here)
    noted = dict(each for each in kept.notes if each not in known.notes)
    review = replace(review, notes=tuple((noted | dict(review.notes)).items()))
    return replace(review, decisions=since).merged(review) if since else review


def _counted(table: PairTable) -> list[tuple[str, str]]:
    counts = table.subset_counts
    names = list(counts)
    if len(names) > MOST_CHOICES:
        names = nlargest(MOST_CHOICES, names, lambda name: counts[name])
    subsets = [
        (text("filter.choice", name=name[:80], n=f"{counts[name]:,}"), name) for name in names
    ]
    return [(text("review.by_filter"), FILTERED), *subsets]


def _shown_start(review: Review | None) -> int:
    """Where a review begins, as people count."""
    return (review.start if review else 0) + 1


def _so_far(review: Review | None) -> str:
    """What a browser keeps of a review, in words; where that is nothing, what a review is."""
    if review is None or not review.decisions:
        return text("review.intro")
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(review.decisions[-1].at))
    marked = f"{len(review.standing):,}"
    subset = review_words(review.subset)
    return text("review.so_far", subset=subset, marked=marked, when=when)


def wire_review(tab: ReviewTab, session: gr.State, table_id: gr.State, listed: gr.State) -> None:
    """Connect the components.

    table_id: offers its subsets whenever it changes. listed: changes with the pairs of the list.
    """
    parts = tab.parts
    remembered = [session, parts.kept]
    wire_part(parts.part, tab.act, remembered, parts.outputs, parts.address, parts.kept, js=STORED)
    for listened, act, values in (
        (table_id.change, "offer", {}),
        (listed.change, "follow", {}),
        (parts.subset.input, "choose", {"subset": parts.subset}),
        (parts.begin.click, "begin", {"subset": parts.subset, "start": parts.start}),
        (parts.resume_file.upload, "resume", {"file": parts.resume_file}),
        (parts.compare_file.upload, "compare", {"file": parts.compare_file}),
        (parts.differing.input, "differ", {"pair": parts.differing}),
    ):
        listened(None, [*values.values()], None, js=sending(parts.part, act, *values))
    for button, export, asked in (
        (parts.export_decisions, tab.export_decisions, []),
        (parts.export_kept, tab.export_kept, [parts.marks]),
    ):
        exported = {"inputs": [*asked, session], "outputs": parts.file, **EVENT}
        written_ = button.click(export, js=after_acts(parts.part), **exported)
        written_.success(None, None, None, js=fetching("review-file"))
