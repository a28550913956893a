"""What stands above the list of pairs: whose outcomes, which kind, and by which filters."""

from collections.abc import Iterable, Sequence
from html import escape

from explorer.core.html import go_link, note, tag
from explorer.core.parts import acting, button, copy_button, segments
from explorer.core.text import text
from explorer.data.conditions import condition_of
from explorer.reader.links import compare_query
from explorer.reader.scene import Scene
from explorer.reader.searchbar import filter_chips, models_html, removable, rival_words
from explorer.reader.state import FIELD_KINDS, KINDS, OF_OUTCOMES, PANELS, PairsState
from explorer.results.field import Field


def head_html(now: Scene, fields: Sequence[Field]) -> str:
    """Whose outcomes stand beside the pairs, and which kind of pairs, each with its number."""
    state, model = now.state, now.state.model
    others = ""
    if model or not state.outcomes:
        others += button(text("fails.all_models"), "model", {"value": ""}, "button")
    if state.outcomes:
        others += button(text("fails.no_outcomes"), "model", {"value": None}, "button")
    if model:
        query = compare_query(model)
        others += go_link(escape(text("fails.compare")), "compare", query, "button")
    names = models_html(fields, model, "model", text("fails.model"), more=others)
    if now.field is None:
        return tag("div", names, "fail-head")
    field = now.field
    rewards = bool(model) and field.has_rewards(model)
    buttons = "".join(
        tag(
            "button",
            escape(text(f"fails.kind_{kind}")) + tag("small", f"{now.counts[kind]:,}"),
            type="button",
            aria_pressed="true" if kind == state.shown_kind else "false",
            **acting("kind", {"value": kind}),
        )
        for kind in (KINDS if model else FIELD_KINDS)
        if rewards or kind not in ("near", "confident")
    )
    label = text("fails.kind")
    kinds = tag("div", buttons, "segments kinds", role="group", aria_label=label)
    return tag("div", names + kinds + _said(now, field, rewards=rewards), "fail-head")


def _said(now: Scene, field: Field, *, rewards: bool) -> str:
    """What is to be known of the outcomes."""
    state, model = now.state, now.state.model
    known = len(field.matrix.models) > 0
    said = note(text(f"fails.about_{state.shown_kind}") if known else text("fails.no_models"))
    if field.is_running(model):
        n, of = f"{field.known(model).sum():,}", f"{field.runs[model].facts.n_pairs:,}"
        said += note(text("fails.running", n=n, of=of))
    if model and not rewards:
        said += note(text("fails.no_rewards"))
    if not field.has_texts:
        said += note(text("fails.no_texts"), "wrong")
    return said


def bar_html(now: Scene, notes: Iterable[str], link_base: str) -> str:
    """How many pairs are listed, what they were filtered by, a link, and what to know.

    notes: what was left out of a link. link_base: where a link begins; "" for this page's address.
    """
    state, n = now.state, len(now.listed)
    counted = text("list.count", n=f"{n:,}", total=f"{len(now.table):,}")
    chips = "".join(filter_chips(state.filters))
    for each in state.slices:
        chips += removable(condition_of(now.table, each).name, "unslice", {"value": each})
    if state.model and state.against:
        words = text(f"fails.cell_{state.cell}", model=rival_words(state.against))
        chips += removable(words, "against", {"value": ""})
    chips += button(text("filter.reset"), "reset", css="chip reset") if chips else ""
    count = tag("span", escape(counted), css="count", role="status")
    copy = copy_button(text("filter.copy_link"), "link", link_base)
    line = tag("div", count + tag("span", chips, css="chips") + copy, css="bar-line")
    none = "" if n else note(text("list.none" if now.field is None else "fails.none"))
    return line + none + "".join(note(text("filter.dropped", what=what)) for what in notes)


def panels_html(state: PairsState) -> str:
    """The ways to look at what is listed; those of one model's outcomes where there are some."""
    shown = [each for each in PANELS if state.outcomes or each not in OF_OUTCOMES]
    words: dict[str, str] = {panel: text(f"panel.{panel}") for panel in shown}
    return segments(text("panel.label"), "panel", words, state.panel)
