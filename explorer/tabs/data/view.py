"""The head of the page: which pairs are on screen, why not others, and how to open others."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from markupsafe import Markup

from explorer.core.address_view import Regions, Sent, View
from explorer.core.html import note, part, render, step_html
from explorer.core.settings import ASSETS, Settings
from explorer.core.uploads import private_files, uploaded_files
from explorer.core.work import Job, Jobs
from explorer.data.datacard import data_card
from explorer.data.library import Library
from explorer.data.offers import offers
from explorer.data.sources import DEMO_ID
from explorer.data.table import PairTable
from explorer.reader.filter_html import n_sections
from explorer.reader.state import PairsState
from explorer.results.library import ResultsLibrary
from explorer.runs.visitors import Visitor, check_known
from explorer.tabs.data.state import DataState
from scoring.benchmarks import named_dataset
from scoring.limits import OnProgress, Step
from scoring.pairs.rows import SUFFIXES

LOGO: Path = ASSETS / "logo.svg"
_CAPTION = "tabs/data/caption.html"
DEFAULT = "default"
"""Chooses what everybody sees first."""


@dataclass(frozen=True)
class DataView:
    """Callable from any thread. opened: by who asked, what they opened last, or are opening."""

    pairs: Library
    results: ResultsLibrary
    settings: Settings
    opened: Jobs[Step, str] = field(default_factory=Jobs)

    def regions(self, query: str, visitor: Visitor, _: Sent) -> tuple[str, Regions]:
        """The address as it is understood, and the regions of the head."""
        state, _dropped = DataState.parse(query)
        table = self.pairs.get(state.source)
        job = self.opened.of(visitor.owner)
        return state.href()[1:], {
            "bar": lambda: part("switcher", table, of=_CAPTION),
            "goto": lambda: part("goto", table, of=_CAPTION),
            "facts": lambda: part("facts", table, *_facts(table), of=_CAPTION),
            "strip": partial(self._strip, table),
            "choose": partial(self._choose, state, table, job),
            "status": partial(self._status, table, job),
        }

    def open(self, query: str, visitor: Visitor, sent: Sent) -> str:
        """Begin to open what was chosen, else what was typed. Gives the same address.

        Raises:
            KnownError: too much goes on, or nobody knows whose page it is.
        """
        wanted = sent.get("value") or DataState.parse(query)[0].wanted
        asked = self.pairs.sources.best if wanted == DEFAULT else wanted
        return self._begun(query, visitor, lambda tell: self.pairs.open(asked, tell))

    def upload(self, query: str, visitor: Visitor, sent: Sent) -> str:
        """Begin to open an uploaded file; it is read and then deleted. Gives the same address.

        Raises:
            KnownError: no file was uploaded, or too much goes on.
        """
        files = uploaded_files(sent.get("value", ""))

        def load(tell: OnProgress) -> PairTable:
            with private_files(files) as [file, *_]:
                return self.pairs.upload(file, file.name, tell)

        return self._begun(query, visitor, load)

    def stop(self, query: str, visitor: Visitor, _: Sent) -> str:
        """Open nothing any more. Gives the same address."""
        self.opened.stop(visitor.owner)
        return query

    def retry(self, query: str, _visitor: Visitor, _: Sent) -> str:
        """Ask the network anew, for everything. Gives the same address."""
        self.pairs.sources.retry()
        self.results.sources.retry()
        return query

    def as_view(self) -> View:
        """The head as a view."""
        actions = {name: getattr(self, name) for name in ("open", "upload", "stop", "retry")}
        return View(DataState.TAB, self.regions, actions)

    def _begun(self, query: str, visitor: Visitor, load: Callable[[OnProgress], PairTable]) -> str:
        check_known(visitor, is_public=self.settings.public)
        self.opened.forget(visitor.owner)
        self.opened.begin(visitor.owner, lambda tell: load(tell).id)
        return query

    def _strip(self, table: PairTable) -> str:
        """Why pairs and results are not others, and what has arrived of them."""
        pairs, results = self.pairs.sources, self.results.sources
        is_asking = pairs.fetching or results.fetching
        has_arrived = table.id != pairs.best and pairs.find(table.id) is not None
        times = [each.asked for each in (pairs, results) if each.asked and each.passed_over]
        reasons = passed_over(pairs.passed_over | results.passed_over)
        return render(
            "tabs/data/strip.html",
            is_asking=is_asking,
            headline=self._demo_headline(table),
            arrived=pairs.get(pairs.best) if has_arrived and not pairs.fetching else None,
            reasons=reasons,
            asked=time.strftime("%H:%M:%S", time.gmtime(max(times))) if times else "",
            can_retry=not self.settings.offline and bool(reasons) and not is_asking,
            remarks=table.remarks,
        )

    def _demo_headline(self, table: PairTable) -> str:
        """Why the demo pairs are shown, in a sentence; "" where other pairs are."""
        if table.source.kind != "demo":
            return ""
        offline = "Offline: the RewardBench data is not on this machine"
        why = offline if self.settings.offline else "The RewardBench data could not be had"
        return f"{why}, so you are seeing demo pairs."

    def _choose(self, state: DataState, table: PairTable, job: Job[Step, str] | None) -> str:
        limits = self.settings.limits
        return render(
            "tabs/data/choose.html",
            state=state,
            default=DEFAULT,
            offers=offers(),
            chosen=self._offer_of(table),
            suffixes=",".join(SUFFIXES),
            rows=limits.rows,
            megabytes=limits.megabytes,
            goes_on=job is not None and not job.is_over,
        )

    def _status(self, table: PairTable, job: Job[Step, str] | None) -> str:
        """How far the opening is; once it is done, where it leads."""
        if job is None or job.result == table.id:
            return ""
        if not job.is_over:
            words = step_html(job.step) if job.step is not None else note("Opening…")
            words = note("Stopping…") if job.stop.is_set() else words
            return words + '<i data-refresh="300"></i>'
        if job.result is None:
            return note(job.refused or "Stopped before the pairs were opened.", "wrong")
        link = PairsState(job.result).href()
        return render("tabs/data/opened.html", link=link)

    def _offer_of(self, table: PairTable) -> str:
        """What of the menu of offered sets is on screen; "" where it is none of them."""
        source = table.source
        split = f":{source.split}" if source.split else ""
        name = DEMO_ID if source.kind == "demo" else f"{source.name}{split}"
        known = (
            each.wanted for each in offers() if name in (each.wanted, named_dataset(each.wanted))
        )
        return next(known, DEFAULT if table.id == self.pairs.sources.best else "")


def _facts(table: PairTable) -> tuple[int, str, bool]:
    """How many sections pairs are of, the licence of their benchmark, "" for other pairs, and
    whether the page describes it.
    """
    card = data_card()
    is_described = table.source.name == card.dataset
    licence = table.benchmark.licence if table.pairs.benchmark else card.licence
    return n_sections(table), licence if table.pairs.benchmark or is_described else "", is_described


def passed_over(why: Mapping[str, str]) -> list[str]:
    """Why each of these is not shown; what holds of several is said once."""
    labels: dict[str, list[str]] = {}
    for label, reason in why.items():
        words = reason.removeprefix(label) if reason.startswith(label) else f": {reason}"
        labels.setdefault(words, []).append(label)
    return [
        f"Not shown: {first}{words}" + (f" The same holds for {', '.join(more)}." if more else "")
        for words, (first, *more) in labels.items()
    ]


def head_skeleton() -> str:
    """Where the regions of the head stand, with what is the same for everybody."""
    logo = Markup(LOGO.read_text(encoding="utf-8"))  # noqa: S704 - our own drawing
    return render("tabs/data/panes.html", logo=logo)
