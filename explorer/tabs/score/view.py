"""The Score tab: a form, the report of a run, and the runs, as regions of an address."""

from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import get_args

import gradio as gr
import numpy as np

from explorer.core.address import LONGEST_FIELD
from explorer.core.address_view import Identify, Regions, Sent, View, build_view, wire_event
from explorer.core.files import File, written_file
from explorer.core.html import note, part, render
from explorer.core.links import ignored
from explorer.core.settings import Settings
from explorer.core.validation import integer_if_numeric
from explorer.core.work import Jobs
from explorer.data.table import PairTable
from explorer.data.typed import longest_text
from explorer.reader.filter_html import listed_and_why
from explorer.reader.links import compare_query, failures_query
from explorer.reader.scene import Scene, Scenes
from explorer.results.board import Ranking
from explorer.results.boards import Boards
from explorer.results.own import own_names
from explorer.runs.cards import card_of, pairs_of
from explorer.runs.estimates import Forecast, forecast
from explorer.runs.facts import facts_html, run_facts
from explorer.runs.listing import listed_runs, run_line
from explorer.runs.live import LiveRun, Work
from explorer.runs.model_list import offered_models
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.runs.selections import (
    Selection,
    selected_as_listed,
    selected_by_typed_keys,
    selected_per_subset,
)
from explorer.runs.visitors import Visitor
from explorer.tabs.score.before import command_html, known_size, model_card_html, selected_html
from explorer.tabs.score.exports import RUN_FORMATS, RunFormat, export_run
from explorer.tabs.score.publish_html import Publishing
from explorer.tabs.score.published_check import check_run, published_html
from explorer.tabs.score.report import Reported, numbers_html, progress_of, status_html
from explorer.tabs.score.state import ScoreState, read_score
from scoring.engine.formatting import named_templates
from scoring.errors import KnownError, shown
from scoring.hub.access import Hub
from scoring.hub.search import HubSearch, search_models
from scoring.limits import OnProgress, Step
from scoring.models.finding import DEMO_NAME
from scoring.record import Run
from scoring.results.exchange import EXCHANGE_FORMATS, ExchangeFormat, exchange_file
from scoring.spec import BASELINES, FAMILIES, JudgePrompt, RunSettings

FIRST_SECONDS = 2.0
"""How long a page waits for the first word of its run."""
_LATER = '<i data-refresh="4000"></i>'
_part = partial(part, of="tabs/score/form.html")


@dataclass(frozen=True)
class ScoreView:
    """Callable from any thread.

    looks: at models, that visitors asked for. searches: for models on the Hub.
    """

    scenes: Scenes
    runs: Runs
    boards: Boards
    hub: Hub
    settings: Settings
    publishing: Publishing
    looks: Jobs[Step, bool] = field(default_factory=Jobs)
    searches: Jobs[Step, HubSearch] = field(default_factory=Jobs)

    def regions(self, query: str, visitor: Visitor, sent: Sent) -> tuple[str, Regions]:
        """The address as it is understood, and the regions of the tab."""
        state, dropped = read_score(query)
        state = replace(state, pairs=self.scenes.unless_first(state.pairs))
        said = ignored(dropped)
        seen, wrong = self._seen(state, visitor)
        if wrong:
            said.append(wrong)
            state = state.of("")
        elif state.run and seen is not None:
            state = replace(state, run=seen.run_id)  # of one that is stored by now
        chosen = _Chosen(self, state, visitor, sent)
        is_new, without = state.panel == "new", state.of("").href()
        goes_on = seen is not None and seen.goes_on
        again = '<i data-refresh="1000"></i>' if goes_on else ""
        # Another page of the same person may begin a run, or stop one.
        later = again or ("" if state.run else _LATER)
        run_id = seen.run_id if seen is not None and seen.has_pairs else ""
        # Beside a run that was refused, the report of an earlier one stays.
        is_own = seen is None or seen.has_pairs or goes_on
        told = seen if is_own else self._last(visitor) or seen
        told_id = told.run_id if told else ""

        def in_panel(shown: bool, write: Callable[[], str]) -> Callable[[], str]:
            return lambda: write() if shown else ""

        regions: dict[str, Callable[[], str]] = {
            "bar": lambda: self._bar(state, run_id, said),
            "model": lambda: self._model(state),
            "card": lambda: self._card(chosen),
            "choice": lambda: self._choice(chosen),
            "texts": lambda: self._texts(chosen),
            "selected": chosen.html,
            "settings": lambda: self._form_settings(state, chosen.wrong_width),
            "command": chosen.command_html,
            "found": lambda: self._found(state, visitor),
            "buttons": lambda: _part("buttons", goes_on) + later,
            "status": lambda: (
                (status_html(seen, chosen.marks, without) if seen else chosen.idle_html()) + later
            ),
            "numbers": lambda: self._numbers(told) + later,
            "check": lambda: self._check(seen, visitor),
            "facts": lambda: self._facts(told),
            "search": lambda: render("tabs/score/search.html", state=state),
            "latest": lambda: self._latest(state, visitor, told_id) + (again or _LATER),
        }
        shown = {name: in_panel(is_new or name == "bar", write) for name, write in regions.items()}
        shown["runs"] = in_panel(not is_new, lambda: self._listed(state, visitor) + _LATER)
        shown["publish"] = in_panel(not is_new, lambda: self.publishing.html(state, visitor))
        return state.href()[1:], shown

    def start(self, query: str, visitor: Visitor, sent: Sent) -> str:
        """Let a run begin with what the form says. Gives its address.

        Raises:
            KnownError: the address says what means nothing, so something else would be scored.
        """
        state, dropped = read_score(query)
        if dropped:
            raise KnownError(f"{dropped[0]} means nothing here. Change it, and press Score again.")
        chosen = _Chosen(self, state, visitor, sent)
        return self._begun(
            state,
            visitor,
            lambda tell: self.runs.start(visitor, state.order, chosen.selection, tell, state.rule),
            state.model,
        )

    def resume(self, query: str, visitor: Visitor, sent: Sent) -> str:
        """Let a stored run go on. Gives its address."""
        state, run_id = read_score(query)[0], sent.get("value", "")
        live = self.runs.live.get(visitor, run_id)
        if live is not None and not live.ended.is_set():
            return state.of(live.id).href()
        table_of = partial(pairs_of, library=self.scenes.library)
        work = partial(self.runs.resume, visitor, run_id, table_of)
        return self._begun(replace(state, panel="new"), visitor, work, "")

    def stop(self, query: str, visitor: Visitor, _: Sent) -> str:
        """End a run after its present pack, wherever it was begun. Gives its address."""
        seen, _wrong = self._seen(read_score(query)[0], visitor)
        if seen is not None and seen.live is not None:
            seen.live.stop.set()
        return query

    def rename(self, query: str, visitor: Visitor, sent: Sent) -> str:
        """Give the open run a name."""
        run_id, title = read_score(query)[0].run, sent.get("value", "")
        self.runs.store.change(run_id, visitor, lambda card: card.titled(title))
        return query

    def share(self, query: str, visitor: Visitor, sent: Sent) -> str:
        """Let everybody see the open run, or nobody else."""
        run_id, is_public = read_score(query)[0].run, sent.get("value") == "1"
        self.runs.store.change(run_id, visitor, lambda card: replace(card, public=is_public))
        return query

    def remove(self, query: str, visitor: Visitor, sent: Sent) -> str:
        """Delete a run. Gives the address of the list."""
        self.runs.store.delete(sent.get("value", ""), visitor)
        return read_score(query)[0].of("").href()

    def look(self, query: str, visitor: Visitor, _: Sent) -> str:
        """Look at the model of an address, which is given back."""
        state, _dropped = read_score(query)
        with suppress(KnownError):  # the card says what is wrong
            self._begin_look(visitor, state.order)
        return query

    def find(self, query: str, visitor: Visitor, _: Sent) -> str:
        """Search for a model on the Hub, with the visitor's own token, if any."""
        words = read_score(query)[0].find
        key = (visitor.owner, visitor.token, words)

        def search(_: OnProgress) -> HubSearch:
            return search_models(words, self.hub, token=visitor.token)

        self.searches.begin(key, search)
        return query

    def take(self, query: str, visitor: Visitor, sent: Sent) -> str:
        """Choose a model that was found, and look at it."""
        state = replace(read_score(query)[0], model=sent.get("value", "")[:LONGEST_FIELD])
        return self.look(state.href(), visitor, sent)

    def file(self, form: RunFormat, query: str, visitor: Visitor, _sent: str) -> File:
        """The open run as a file.

        Raises:
            KnownError: there is no such run, or it cannot be read.
        """
        run = self.runs.store.open(read_score(query)[0].run, visitor)
        return written_file(f"run-{run.id[:15]}.{form}", partial(export_run, run, form))

    def exchange_file(self, form: ExchangeFormat, query: str, visitor: Visitor, _sent: str) -> File:
        """The open run's numbers as others read them; raises as `exchange_file`."""
        run = self.runs.store.open(read_score(query)[0].run, visitor)
        path, text = exchange_file(run, form)
        return File(path.name, iter([text.encode()]))

    def as_view(self) -> View:
        """The tab as a view."""
        shared = {f"run.{form}": partial(self.exchange_file, form) for form in EXCHANGE_FORMATS}
        names = ("stop", "rename", "share", "remove", "look", "find", "take")
        sending = {"publish-look": self.publishing.look, "publish-send": self.publishing.send}
        return View(
            ScoreState.TAB,
            self.regions,
            {name: getattr(self, name) for name in names} | sending,
            {f"run.{form}": partial(self.file, form) for form in RUN_FORMATS} | shared,
            ("start", "resume"),
        )

    def _begun(self, state: ScoreState, visitor: Visitor, work: Work, model: str) -> str:
        live = self.runs.live.begin(visitor, model, work)
        live.has_begun.wait(FIRST_SECONDS)
        return state.of(live.id).href()

    def _seen(self, state: ScoreState, visitor: Visitor) -> tuple[Reported | None, str]:
        """The run whose report is shown: the one of the address, else the person's that goes on,
        else their last one; and why the one of the address is not there.
        """
        try:
            if state.run:
                return self._reported(self._of_id(visitor, state.run), visitor), ""
            for live in self.runs.live.of(visitor):
                return self._reported(live, visitor), ""
            return self._last(visitor), ""
        except KnownError as error:
            return None, str(error)

    def _last(self, visitor: Visitor) -> Reported | None:
        """The last run of a person that is stored."""
        for run in self.runs.store.own(visitor):
            if card_of(run).owner == visitor.owner:
                return self._reported(self._of_id(visitor, run.id), visitor)
        return None

    def _of_id(self, visitor: Visitor, run_id: str) -> LiveRun | Run:
        """A run while it goes on; where it ended, with why if this server saw it."""
        live = self.runs.live.get(visitor, run_id)
        if live is not None and (not live.ended.is_set() or live.run_id is None):
            return live
        run = self.runs.store.open(live.run_id if live is not None else run_id, visitor)
        return live if live is not None and live.progress.stage == run.status else run

    def _reported(self, seen: LiveRun | Run, visitor: Visitor) -> Reported:
        live = seen if isinstance(seen, LiveRun) else None
        progress = progress_of(seen)
        run = progress.run
        if run is None:
            return Reported(progress, live, "", can_go_on=False)
        name, can_go_on = self._names(visitor).get(run.id, ""), False
        if live is None or live.ended.is_set():
            stored = self.runs.store.open(run.id, visitor)
            can_go_on = run_line(stored, self.runs.store, visitor).can_go_on
        return Reported(progress, live, name, can_go_on)

    def _form_settings(self, state: ScoreState, wrong: str) -> str:
        templates = {"": "The tokenizer's own", **{each: each for each in named_templates()}}
        menus = _FAMILIES, templates, _PROMPTS
        refused = _refused_settings(state)
        return _part("settings", state, wrong, refused, *menus, bool(self.settings.servers))

    def _names(self, visitor: Visitor) -> dict[str, str]:
        """The names among models of the runs that a person sees, by their ids."""
        names = own_names(self.runs.store.visible(visitor), ())
        return {run.id: name for name, run in names.items()}

    def _numbers(self, told: Reported | None) -> str:
        if told is None:
            return ""
        table = crowd = None
        if told.progress.run is not None:
            with suppress(KnownError):  # its pairs are not here any more
                table = pairs_of(told.progress.run, self.scenes.library)
                crowd = self.scenes.fields.crowd(table)
        return numbers_html(told, table, crowd)

    def _bar(self, state: ScoreState, run_id: str, said: list[str]) -> str:
        base = self.settings.link_base
        notes = "".join(note(each, "told") for each in said)
        return notes + render("tabs/score/bar.html", state=state, run=run_id, link_base=base)

    def _model(self, state: ScoreState) -> str:
        offered = {name: words for words, name in offered_models(self.settings, self.hub)}
        return _part("model", state, offered, self.settings.public)

    def _card(self, chosen: "_Chosen") -> str:
        state, visitor, models = chosen.state, chosen.visitor, self.runs.scorers.models
        try:
            order = state.order
            if not models.is_previewed(visitor, order):
                return self._looking(visitor, order)
            return model_card_html(chosen.forecast, chosen.or_none())
        except KnownError as error:  # of settings, they say it themselves
            return "" if _refused_settings(state) else note(str(error), "wrong")

    def _looking(self, visitor: Visitor, order: ModelOrder) -> str:
        job = self.looks.of(_look_key(visitor, order))
        may = order.model.strip() in (DEMO_NAME, *BASELINES, *self.settings.models)
        if job is None and not may:
            return render("tabs/score/look.html", model=order.model[:200])
        if job is not None and job.refused:
            return note(job.refused, "wrong") + known_size(
                order.model, self.runs.scorers.models.device()
            )
        if job is None or job.is_over:  # what was known is forgotten once a model is fetched
            self._begin_look(visitor, order)
        return part("looking", of="tabs/score/run.html") + '<i data-refresh="300"></i>'

    def _begin_look(self, visitor: Visitor, order: ModelOrder) -> None:
        models = self.runs.scorers.models

        def look(_: OnProgress) -> bool:
            models.preview(visitor, order)
            models.device()
            return True

        self.looks.begin(_look_key(visitor, order), look)

    def _choice(self, chosen: "_Chosen") -> str:
        failing: tuple[str, ...] = ()
        if chosen.which == "failed":
            where = self.scenes.where(chosen.state.listed, chosen.visitor)
            with suppress(KnownError):
                failing = tuple(self.scenes.fields.largest(*where).matrix.models)
        name = chosen.table.name if chosen.table else ""
        return _part("choice", chosen.state, name, chosen.ways(), chosen.which, failing)

    def _texts(self, chosen: "_Chosen") -> str:
        keys = chosen.table.example_keys if chosen.table else ""
        return _part("texts", chosen.which, keys, longest_text(self.settings))

    def _found(self, state: ScoreState, visitor: Visitor) -> str:
        if self.settings.offline or self.settings.models:
            return ""
        return _part("found", state, self.searches.of((visitor.owner, visitor.token, state.find)))

    def _check(self, seen: Reported | None, visitor: Visitor) -> str:
        """What is published of the model of a run that ended, beside it; "" where nothing is."""
        if seen is None or seen.goes_on or not seen.has_pairs or not seen.name:
            return ""
        run, board = self.runs.store.open(seen.run_id, visitor), Ranking(own=False)
        with suppress(KnownError):  # of many sets of pairs without texts some are in no field
            field = self.scenes.fields.of(seen.name, None, None, visitor)
            return published_html(check_run(run, field, self.boards.board(None, board)))
        return ""

    def _facts(self, seen: Reported | None) -> str:
        """Everything that the numbers rest on."""
        run = seen.progress.run if seen is not None and seen.has_pairs else None
        return "" if run is None else facts_html(run)

    def _latest(self, state: ScoreState, visitor: Visitor, run_id: str) -> str:
        names = self._names(visitor)
        return render(
            "tabs/score/latest_runs.html",
            now=listed_runs(self.runs.store, visitor, search=state.search),
            compare=lambda run: (
                compare_query(names[run_id], names[run.id]) if {run_id, run.id} <= {*names} else ""
            ),
            state=state,
            opened=run_id,
            waiting=[each for each in self._waiting(visitor) if each.id != run_id],
        )

    def _waiting(self, visitor: Visitor) -> list[LiveRun]:
        """A person's runs without a pair yet."""
        return [each for each in self.runs.live.of(visitor) if each.run_id is None]

    def _listed(self, state: ScoreState, visitor: Visitor) -> str:
        now = listed_runs(self.runs.store, visitor, state.page, state.run)
        name = now.open and self.scenes.fields.name_of(now.open.run.id, None, None, visitor)
        return render(
            "tabs/score/all_runs.html",
            now=now,
            state=replace(state, page=now.page),
            waiting=self._waiting(visitor),
            kept=self.settings.runs_last,
            facts=now.open and run_facts(now.open.run),
            failures=name and failures_query(name),
            compare=name and compare_query(name),
        )


@dataclass(frozen=True)
class _Chosen:
    """The pairs that a form means."""

    view: ScoreView
    state: ScoreState
    visitor: Visitor
    sent: Sent

    @property
    def which(self) -> str:
        """Of `SELECTION_WAYS`."""
        first = "filter" if self.view.settings.max_pairs is None else "subset"
        return self.state.which or first

    @property
    def table(self) -> PairTable | None:
        """The pairs that are open; None where none are."""
        with suppress(KnownError):
            return self._scene.table
        return None

    @cached_property
    def selection(self) -> Selection:
        """What is to be scored.

        Raises:
            KnownError: pairs that are not here any more; a number that is none, too small or large.
        """
        state, sent, which = self.state, self.sent, self.which
        if which == "typed":
            texts = sent.get("prompt", ""), sent.get("chosen", ""), sent.get("rejected", "")
            own = self.view.scenes.library.typed(*texts)
            return Selection(own, np.arange(len(own)), "a typed pair", texts)
        if which == "failed" and not state.failed:
            raise KnownError(
                "Choose the model whose failures to score. Published models are listed once their "
                "results are read on the Pairs tab."
            )
        table = self._scene.pairs.with_texts()
        if which == "filter":
            return selected_as_listed(table, *listed_and_why(self._scene))
        if which == "keys":
            return selected_by_typed_keys(table, sent.get("keys", ""))
        if which == "failed":
            return self._failures(table)
        numbers = map(integer_if_numeric, (state.per_subset, state.seed))
        return selected_per_subset(table, *numbers)

    def or_none(self) -> Selection | None:
        """The same; None where nothing can be."""
        try:
            return self.selection
        except KnownError:
            return None

    @cached_property
    def forecast(self) -> Forecast:
        """What the run would take. Raises: as `forecast`."""
        return forecast(self.view.runs, self.visitor, self.state.order, self.or_none())

    @property
    def wrong_width(self) -> str:
        """What is wrong with the interval that is asked for; "" for nothing."""
        return _refusal(lambda: self.state.rule)

    @property
    def wrong_pairs(self) -> str:
        """Why these pairs cannot be scored; "" where they can."""
        return _refusal(lambda: self.view.runs.check_pairs(self.selection.n_pairs))

    def marks(self, message: str) -> bool:
        """Whether the form says so at a field."""
        wrong = _refusal(lambda: self.state.order)
        job = None if wrong else self.view.looks.of(_look_key(self.visitor, self.state.order))
        marked = (wrong, job.refused if job else "", self.wrong_pairs, self.wrong_width)
        return message in filter(None, marked)

    def html(self) -> str:
        """How many pairs are chosen, or why none can be."""
        wrong = self.wrong_pairs
        return note(wrong, "wrong") if wrong else selected_html(self.selection)

    def idle_html(self) -> str:
        """What the form would score, before anything is."""
        selection, seconds = self.or_none(), None
        with suppress(KnownError):
            if self.view.runs.scorers.models.is_previewed(self.visitor, self.state.order):
                seconds = self.forecast.estimate.seconds
        return render(
            "tabs/score/idle.html",
            model=self.state.model[:80],
            n=len(selection.rows) if selection else 0,
            seconds=seconds,
        )

    def command_html(self) -> str:
        """The same on the command line, as far as it can be."""
        with suppress(KnownError):
            table = self._scene.table
            path = self.view.scenes.library.path_of(table)
            is_all = self.which == "filter" and len(self._scene.listed) == len(table)
            return command_html(self.state, self.which, table, path, is_all=is_all)
        return ""

    def ways(self) -> dict[str, tuple[str, str]]:
        """Way to choose pairs -> how it is called, and how many pairs that is."""
        of_filter, of_subset = ("The current filter", ""), ""
        with suppress(KnownError):
            now = self._scene
            n, each = len(now.listed), self.state.per_subset
            of_filter = ("All pairs" if n == len(now.table) else "The current filter", f"{n:,}")
            of_subset = f"{each} × {len(now.table.subset_counts)}" if each.isdecimal() else ""
        return {
            "filter": of_filter,
            "subset": ("A sample of each subset", of_subset),
            "failed": ("Pairs a model fails", ""),
            "keys": ("Pasted keys", ""),
            "typed": ("My own pair", ""),
        }

    @cached_property
    def _scene(self) -> Scene:
        return self.view.scenes.shown(self.state.listed, self.visitor).scene

    def _failures(self, table: PairTable) -> Selection:
        """The rows that a model did not win, ties included and missing ones not."""
        model, scenes = self.state.failed, self.view.scenes
        field = scenes.fields.of(model, *scenes.where(self.state.listed, self.visitor))
        if field.table.id != table.id:
            raise KnownError(
                f"The results of {shown(model)} are not of the pairs that are open. Choose another "
                "model, or open its pairs on the Pairs tab."
            )
        return Selection(table, field.lost(model), f"failed by {model}")


def _refused_settings(state: ScoreState) -> str:
    """What is wrong with the advanced settings, whatever the model; "" for nothing."""
    return _refusal(lambda: replace(state, model="demo").order)


def _refusal(work: Callable[[], object]) -> str:
    """Why something cannot be done; "" where it can."""
    try:
        work()
    except KnownError as error:
        return str(error)
    return ""


def _look_key(visitor: Visitor, order: ModelOrder) -> Hashable:
    return visitor.owner, visitor.token, replace(order, settings=RunSettings())


_FAMILIES: dict[str, str] = {"": "Detected", **{each: each for each in FAMILIES}}
_PROMPTS = {"" if each == "default" else each: each for each in get_args(JudgePrompt)}


def build_score(score: ScoreView, identify: Identify) -> gr.HTML:
    """Lay the tab out: what starts a run goes through Gradio's queue, as ZeroGPU asks."""
    view = build_view(score.as_view(), render("tabs/score/panes.html"), identify)
    wire_event(view, ScoreState.TAB, "start", score.start, identify)
    wire_event(view, ScoreState.TAB, "resume", score.resume, identify)
    return view
