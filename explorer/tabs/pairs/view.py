"""The Pairs tab: what the server shows of an address, pairs with what models made of them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import gradio as gr
from markupsafe import Markup

from explorer.core.address_view import (
    NOTHING_SENT,
    Identify,
    Regions,
    Sent,
    View,
    build_view,
    wire_event,
)
from explorer.core.caches import LruCache
from explorer.core.files import File
from explorer.core.html import render
from explorer.core.links import ignored
from explorer.core.settings import Settings
from explorer.core.work import Job, Jobs
from explorer.data.export import FORMATS, Format
from explorer.reader.filter_html import facets_html, model_names, search_html
from explorer.reader.links import read_pairs
from explorer.reader.listing import reader_bar
from explorer.reader.scene import Scene, Scenes, Shown
from explorer.reader.state import PairsState
from explorer.reader.tokens_view import ONLY_OWN, has_tokens, pair_tokens
from explorer.results.field import Field
from explorer.runs.facts import facts_html
from explorer.runs.visitors import Visitor
from explorer.stats.rules import V1
from explorer.tabs.pairs.answers import answers_html
from explorer.tabs.pairs.exports import (
    FAIL_FORMATS,
    FailFormat,
    export_html,
    outcomes_file,
    pairs_file,
)
from explorer.tabs.pairs.lengths import lengths_html
from explorer.tabs.pairs.list_html import (
    bar_html,
    head_html,
    list_of_pairs_html,
    note_html,
    open_pair_html,
    panels_html,
    welcome_html,
)
from explorer.tabs.pairs.notes import PairNotes
from explorer.tabs.pairs.review import keys_file, marked_pairs_file, review_html, verdict_html
from explorer.tabs.pairs.rewards import rewards_html
from explorer.tabs.pairs.slices import SliceComparison, slices_html, slices_of
from scoring.errors import KnownError
from scoring.limits import Step

_KEPT_SLICES = 16


@dataclass(frozen=True)
class PairsView:
    """Callable from any thread.

    counts: of tokens, that visitors asked for; tokens: rewards token by token, as HTML. slices: of
    models looked at last.
    """

    scenes: Scenes
    settings: Settings
    counts: Jobs[Step, str] = field(default_factory=Jobs)
    tokens: Jobs[str, str] = field(default_factory=Jobs)
    slices: LruCache[SliceComparison] = field(default_factory=lambda: LruCache(_KEPT_SLICES))

    def regions(
        self, query: str, visitor: Visitor, _sent: Sent = NOTHING_SENT
    ) -> tuple[str, Regions]:
        """The address as it is understood, and the regions of the tab."""
        state, dropped = read_pairs(query)
        count = self.counts.of(_count_key(state, visitor))
        if count is not None and count.result:  # the name under which the tokens are kept
            state = replace(state, tokenizer=count.result)
        seen = self.scenes.shown(state, visitor)
        now, asked = seen.scene, seen.asked
        said = [*ignored((*dropped, *seen.dropped)), *seen.notes]
        is_narrowed = bool(self.scenes.unless_first(asked.query_string))
        # While a run goes on, so does what is shown of it.
        goes_on = now.field is not None and now.field.is_running(now.model)
        again = '<i data-refresh="2000"></i>' if goes_on else ""

        def if_read(write: Callable[[Scene], str], *panels: str) -> Callable[[], str]:
            return lambda: write(now) if now.state.panel in (panels or ("pairs", "review")) else ""

        return asked.href()[1:], {
            "search": lambda: search_html(asked),
            "panels": lambda: panels_html(now),
            "bar": lambda: bar_html(now, said, self.settings.link_base, seen.missing) + again,
            "review": if_read(review_html, "review"),
            "main": lambda: self._main(now, count) + again,
            "head": lambda: self._head(seen, visitor) + again,
            "status": partial(self._status, seen, visitor),
            "facets": lambda: facets_html(now),
            "facts": lambda: self._facts(now) + again,
            "steps": if_read(partial(reader_bar, link_base=self.settings.link_base)),
            "welcome": if_read(lambda now: "" if is_narrowed else welcome_html(now)),
            "pair": if_read(open_pair_html),
            "tokens": if_read(lambda now: answers_html(now) + self._tokens(now, visitor)),
            "note": if_read(note_html),
            "verdict": if_read(verdict_html, "review"),
        }

    def read_results(self, query: str, _: Visitor, _sent: Sent = NOTHING_SENT) -> str:
        """Try again to read published results. Gives the same address."""
        self.scenes.fields.results.sources.retry(again=True)
        return query

    def count(self, query: str, visitor: Visitor, _sent: Sent = NOTHING_SENT) -> str:
        """Count tokens by the tokenizer of an address, which is given back.

        Raises:
            KnownError: too much is counted at once.
        """
        state, _ = read_pairs(query)
        return self._counted(replace(state, unit="tokens"), visitor)

    def count_as_paper(self, query: str, visitor: Visitor, _sent: Sent = NOTHING_SENT) -> str:
        """The same by the paper's tokenizer, or that of the demo; gives the paper's chart."""
        state, _ = read_pairs(query)
        alone = replace(state.of(None).unfiltered(), panel="lengths", chart="with_prompt")
        tokenizer = self.scenes.counter.suggested()
        return self._counted(replace(alone, unit="tokens", tokenizer=tokenizer), visitor)

    def stop_count(self, query: str, visitor: Visitor, _sent: Sent = NOTHING_SENT) -> str:
        """End the count of an address, which is given back."""
        self.counts.stop(_count_key(read_pairs(query)[0], visitor))
        return query

    def show_tokens(self, query: str, visitor: Visitor, _sent: Sent = NOTHING_SENT) -> None:
        """Have the open pair of an address rewarded token by token, and wait for it.

        Raises:
            KnownError: no pair of an own run is open, or too much goes on.
        """
        now = self._scene(query, visitor)
        row, model = now.open_row, now.model
        if row is None or now.field is None:
            raise KnownError(ONLY_OWN)
        work = partial(pair_tokens, self.scenes.fields.runs, now.field, model, row, visitor)
        self.tokens.do(_tokens_key(now, visitor), work)

    def stop_tokens(self, query: str, visitor: Visitor, _sent: Sent = NOTHING_SENT) -> str:
        """End the same. Gives the same address."""
        self.tokens.stop(_tokens_key(self._scene(query, visitor), visitor))
        return query

    def pairs_file(self, form: Format, query: str, visitor: Visitor, _: str) -> File:
        """The pairs that an address lists, as a file; raises as `exports.pairs_file`."""
        return pairs_file(self._scene(query, visitor), form)

    def outcomes_file(self, form: FailFormat, query: str, visitor: Visitor, sent: str) -> File:
        """The same with what models made of them, and the notes that the browser sent along."""
        return outcomes_file(self._scene(query, visitor), form, PairNotes.read_json(sent))

    def as_view(self) -> View:
        """The tab as a view."""
        files: dict[str, Any] = {
            f"pairs.{form}": partial(self.pairs_file, form) for form in FORMATS
        }
        files |= {f"outcomes.{form}": partial(self.outcomes_file, form) for form in FAIL_FORMATS}
        files |= {
            "review.keys": lambda query, who, _: keys_file(self._scene(query, who)),
            "kept.parquet": lambda query, who, sent: marked_pairs_file(
                self._scene(query, who), sent
            ),
        }
        actions = {
            "read": self.read_results,
            "count": self.count,
            "paper": self.count_as_paper,
            "stop-count": self.stop_count,
            "stop-tokens": self.stop_tokens,
        }
        return View(PairsState.TAB, self.regions, actions, files, ("tokens",))

    def _scene(self, query: str, visitor: Visitor) -> Scene:
        return self.scenes.shown(read_pairs(query)[0], visitor).scene

    def _counted(self, state: PairsState, visitor: Visitor) -> str:
        table = self.scenes.shown(state, visitor).scene.table
        counter = self.scenes.counter
        if not counter.known(table, state.tokenizer):
            key = _count_key(replace(state, source=table.id), visitor)
            self.counts.begin(key, partial(counter.count, table, state.tokenizer))
        return replace(state, source=table.id).href()

    def _main(self, now: Scene, count: Job[Step, str] | None) -> str:
        panel = now.state.panel
        if panel == "lengths":
            return lengths_html(now, self.scenes.counter, count)
        if panel == "slices":
            return slices_html(now, self._slices)
        if panel == "rewards":
            return rewards_html(now)
        if panel == "export":
            return export_html(now)
        return f'<div class="pair-list">{list_of_pairs_html(now)}</div>'

    def _slices(self, field: Field, model: str) -> SliceComparison:
        key = (field.key, model)
        return self.slices.get_or_create_once(key, lambda: slices_of(field, model))

    def _head(self, seen: Shown, visitor: Visitor) -> str:
        where, fields = self.scenes.where(seen.asked, visitor), self.scenes.fields
        names = model_names(fields.all(*where), fields.unread_models(where[0]))
        return head_html(seen.scene, seen.asked, names, seen.matching)

    def _status(self, seen: Shown, visitor: Visitor) -> str:
        """How far published results are read, where the outcomes of models are asked for."""
        if seen.asked.model is None:
            return ""
        results_id = self.scenes.where(seen.asked, visitor)[0]
        library = self.scenes.fields.results
        step, refused = library.step(results_id), library.refused(results_id, V1.name)
        return render("tabs/pairs/status.html", step=step, refused=refused)

    def _facts(self, now: Scene) -> str:
        run = now.field.runs.get(now.model) if now.field is not None else None
        return facts_html(run) if run is not None else ""

    def _tokens(self, now: Scene, visitor: Visitor) -> str:
        if now.field is None or now.open_row is None or not has_tokens(now.field, now.model):
            return ""
        job = self.tokens.of(_tokens_key(now, visitor))
        made = Markup(job.result or "") if job else ""  # noqa: S704 - of templates
        return render("reader/token_rewards.html", element="token-rewards", job=job, made=made)


def _count_key(state: PairsState, visitor: Visitor) -> Hashable:
    return visitor.owner, state.source, state.tokenizer


def _tokens_key(now: Scene, visitor: Visitor) -> Hashable:
    run = now.field.runs.get(now.model) if now.field is not None else None
    return visitor.owner, now.table.id, run and run.id, now.key


def build_pairs(pairs: PairsView, identify: Identify) -> gr.HTML:
    """Lay the tab out."""
    view = build_view(pairs.as_view(), render("tabs/pairs/panes.html"), identify)

    wire_event(view, PairsState.TAB, "tokens", pairs.show_tokens, identify, often=True)
    return view
