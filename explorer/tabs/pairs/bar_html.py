"""What stands above the list of pairs: whose outcomes, which kind, and by which filters."""

from collections.abc import Iterator, Sequence

from explorer.core.html import part, render
from explorer.core.text import text
from explorer.data.conditions import condition_of
from explorer.reader.links import compare_query
from explorer.reader.scene import Scene
from explorer.reader.searchbar import Removable, filter_chips, model_names, rival_words
from explorer.reader.state import FIELD_KINDS, KINDS, OF_OUTCOMES, PANELS, PairsState
from explorer.results.field import Field


def head_html(now: Scene, fields: Sequence[Field]) -> str:
    """Whose outcomes stand beside the pairs, and which kind of pairs, each with its number."""
    state, field = now.state, now.field
    rewards = bool(state.model) and field is not None and field.has_rewards(state.model)
    kinds = {
        kind: text(f"fails.kind_{kind}")
        for kind in (KINDS if state.model else FIELD_KINDS)
        if field is not None and (rewards or kind not in ("near", "confident"))
    }
    return render(
        "tabs/pairs/head.html",
        model=state.model,
        outcomes=state.outcomes,
        names=model_names(fields),
        compare=compare_query(state.model),
        kinds=kinds,
        kind=state.shown_kind,
        counts=now.counts,
        said=_said(now, field, rewards=rewards) if field is not None else (),
    )


def _said(now: Scene, field: Field, *, rewards: bool) -> Iterator[tuple[str, str]]:
    """What is to be known of the outcomes: words, and their class."""
    state, model = now.state, now.state.model
    known = len(field.matrix.models) > 0
    yield text(f"fails.about_{state.shown_kind}") if known else text("fails.no_models"), ""
    if field.is_running(model):
        n, of = f"{field.known(model).sum():,}", f"{field.runs[model].facts.n_pairs:,}"
        yield text("fails.running", n=n, of=of), ""
    if model and not rewards:
        yield text("fails.no_rewards"), ""
    if not field.has_texts:
        yield text("fails.no_texts"), "wrong"


def bar_html(now: Scene, dropped: Sequence[str], link_base: str, refused: str = "") -> str:
    """How many pairs are listed, what they were filtered by, a link, and what to know.

    dropped: what was left out of a link. link_base: where a link begins; "" for this page's
    address. refused: why what was asked for is not shown.
    """
    state = now.state
    chips = filter_chips(state.filters)
    for each in state.slices:
        chips.append(Removable(condition_of(now.table, each).name, "unslice", {"value": each}))
    if state.model and state.against:
        words = text(f"fails.cell_{state.cell}", model=rival_words(state.against))
        chips.append(Removable(words, "against", {"value": ""}))
    return render(
        "tabs/pairs/bar.html",
        n=len(now.listed),
        total=len(now.table),
        chips=chips,
        link_base=link_base,
        none_words=text("list.none" if now.field is None else "fails.none"),
        dropped=dropped,
        refused=refused,
    )


def panels_html(state: PairsState) -> str:
    """The ways to look at what is listed; those of one model's outcomes where there are some."""
    shown = [each for each in PANELS if state.outcomes or each not in OF_OUTCOMES]
    words = {panel: text(f"panel.{panel}") for panel in shown}
    return part("segments", text("panel.label"), "panel", words, state.panel)
