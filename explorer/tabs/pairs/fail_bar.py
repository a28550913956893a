"""What stands above a list of failures: whose they are, which kind, and by which filters."""

from collections.abc import Iterable, Sequence
from html import escape

from explorer.core.html import go_link, note, tag
from explorer.core.parts import acting, button, copy_button
from explorer.core.text import text
from explorer.data.conditions import condition_of
from explorer.reader.links import compare_query
from explorer.reader.searchbar import filter_chips, models_html, removable
from explorer.results.field import MAJORITY, Field
from explorer.tabs.pairs.fail_state import FIELD_KINDS, KINDS, FailScene


def head_html(now: FailScene, fields: Sequence[Field]) -> str:
    """Whose failures, and which kind of pairs, each with its number."""
    view = now.view
    label = text("fails.model")
    names = models_html(fields, view.model, "model", label, text("fails.all_models"))
    kinds = KINDS if view.model else FIELD_KINDS
    shown = view.kind if view.model else view.field_kind
    rewards = bool(view.model) and now.field.has_rewards(view.model)
    buttons = "".join(
        tag(
            "button",
            escape(text(f"fails.kind_{kind}")) + tag("small", f"{now.counts[kind]:,}"),
            type="button",
            aria_pressed="true" if kind == shown else "false",
            **acting("kind", {"value": kind}),
        )
        for kind in kinds
        if rewards or kind not in ("near", "confident")
    )
    label = text("fails.kind")
    if view.model:
        query = compare_query(view.model)
        names += go_link(escape(text("fails.compare")), "compare", query, "button")
    parts = names + tag("div", buttons, "segments kinds", role="group", aria_label=label)
    said = note(text(f"fails.about_{shown}" if now.field.matrix.models else "fails.no_models"))
    if now.field.is_running(view.model):
        run = now.field.runs[view.model]
        n, of = f"{now.field.known(view.model).sum():,}", f"{run.facts.n_pairs:,}"
        said += note(text("fails.running", n=n, of=of))
    if view.model and not rewards:
        said += note(text("fails.no_rewards"))
    if not now.field.has_texts:
        said += note(text("fails.no_texts"), "wrong")
    return tag("div", parts + said, "fail-head")


def fail_bar_html(now: FailScene, notes: Iterable[str], link_base: str) -> str:
    """How many pairs are listed, what they were filtered by, a link, and what to know.

    notes: what was left out of a link. link_base: where a link begins; "" for this page's address.
    """
    view = now.view
    total = len(now.field.table)
    counted = text("list.count", n=f"{len(now.listed):,}", total=f"{total:,}")
    chips = "".join(filter_chips(view.view.filters))
    for each in view.slices:
        words = condition_of(now.field.table, each).name
        chips += removable(words, "unslice", {"value": each})
    if view.model and view.against:
        rival = text("fails.majority") if view.against == MAJORITY else view.against
        words = text(f"fails.cell_{view.cell}", model=rival)
        chips += removable(words, "against", {"value": ""})
    chips += button(text("filter.reset"), "reset", css="chip reset") if chips else ""
    count = tag("span", escape(counted), css="count", role="status")
    copy = copy_button(text("filter.copy_link"), "link", link_base)
    line = tag("div", count + tag("span", chips, css="chips") + copy, css="bar-line")
    none = "" if len(now.listed) else note(text("fails.none"))
    return line + none + "".join(note(text("filter.dropped", what=what)) for what in notes)
