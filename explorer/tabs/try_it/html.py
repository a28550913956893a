"""A pair that is tried out, as HTML: its rewards, and what each one-click edit does to them."""

from html import escape

from explorer.core.html import chip, note, signed, step_html, tag
from explorer.core.parts import button
from explorer.core.text import text
from explorer.runs.progress import Progress
from explorer.tabs.try_it.counterfactuals import CHANGES, SIDES, Change, Side
from explorer.tabs.try_it.state import Trial

UNKNOWN = "–"
_OUTCOME_CSS = {"win": "good", "loss": "bad"}


def numbers_html(trial: Trial) -> str:
    """Both rewards and the margin, and how far they moved since the start."""
    scored = trial.scored
    truncated = {"chosen": scored.chosen_truncated, "rejected": scored.rejected_truncated}
    tokens = {"chosen": scored.chosen_tokens, "rejected": scored.rejected_tokens}
    cards = ""
    for side in SIDES:
        cut = text("trial.truncated") if truncated[side] else ""
        length = text("trial.tokens", n=f"{tokens[side]:,}") if tokens[side] else ""
        said = " · ".join(filter(None, [_moved(trial.moved(side)), length, cut]))
        cards += _card(text(f"trial.reward_{side}"), trial.reward(side), said, side)
    outcome = scored.outcome
    name = chip(text(f"outcome.{outcome}"), _OUTCOME_CSS.get(outcome, ""))
    before = trial.start.margin
    known = scored.margin is not None and before is not None
    moved = _moved(scored.margin - before) if known else ""  # type: ignore[operator]
    cards += _card(text("trial.margin"), scored.margin, moved, "margin", name)
    return tag("div", cards, "cards", role="status")


def status_html(trial: Trial) -> str:
    """By what the rewards are."""
    facts = trial.facts
    device = text("trial.device", dtype=facts.dtype, device=facts.device)
    words = [facts.model, facts.family, device if facts.dtype != "none" else "", facts.reading]
    return note(text("trial.scored", how=" · ".join(filter(None, words))))


def loading_html(waits: Progress) -> str:
    """How far the loading of the model is."""
    return note(text("trial.working")) if waits.step is None else step_html(waits.step)


def edits_html(trial: Trial, *, ended: bool) -> str:
    """What each edit does to each response, and buttons to make it.

    ended: whether what is not known is not being scored any more.
    """
    heads = tag("th", escape(text("trial.edit")), scope="col")
    for side in SIDES:
        for name in (text(f"trial.change_{side}"), text("trial.margin_then"), ""):
            heads += tag("th", escape(name), "number", scope="col") if name else tag("td")
    rows = "".join(_row(trial, change, ended) for change in CHANGES)
    title = text("trial.edits")
    table = tag("table", tag("thead", tag("tr", heads)) + tag("tbody", rows))
    box = tag("div", table, "slices edits", tabindex="0", role="region", aria_label=title)
    html = tag("h2", escape(title)) + note(text("trial.edits_about")) + box
    html += note(text("trial.slow")) if ended and not trial.is_whole else ""
    return tag("div", html, "duel")


def _row(trial: Trial, change: Change, ended: bool) -> str:
    words = tag("b", escape(text(f"edit.{change}")))
    words += tag("small", escape(text(f"edit.{change}_about")))
    cells = tag("th", words, scope="row")
    if change == "swap":
        return tag("tr", cells + _swap(trial))
    return tag("tr", cells + "".join(_cells(trial, change, side, ended) for side in SIDES))


def _swap(trial: Trial) -> str:
    """Of a swap the margin alone is told: each reward is the other's."""
    equal = trial.pair.chosen == trial.pair.rejected
    if equal:
        return tag("td", escape(text("trial.no_effect")), "none", colspan="6")
    known = trial.swapped_margin
    margin = tag("td", escape(signed(known)), "number")
    press = button(text("trial.swap"), "apply", {"change": "swap"})
    return tag("td") + margin + tag("td", press) + tag("td", colspan="3")


def _cells(trial: Trial, change: Change, side: Side, ended: bool) -> str:
    if (change, side) not in trial.applies:
        return tag("td", escape(text("trial.no_effect")), "none", colspan="3")
    effect = trial.effects.get((change, side))
    if effect is None:
        waits = UNKNOWN if ended else "…"
        numbers = tag("td", waits, "number") * 2
    else:
        numbers = tag("td", escape(signed(effect.change)), f"number {_way(effect.change)}".strip())
        numbers += tag("td", escape(signed(effect.margin)), "number")
    name = text("trial.apply_to", edit=text(f"edit.{change}"), side=text(f"side.{side}"))
    press = button(text("trial.apply"), "apply", {"change": change, "side": side}, label=name)
    return numbers + tag("td", press)


def _way(change: float | None) -> str:
    return "" if not change else "up" if change > 0 else "down"


def _moved(change: float | None) -> str:
    return text("trial.moved", change=signed(change)) if change else ""


def _card(label: str, value: float | None, said: str, css: str, more: str = "") -> str:
    head = tag("div", escape(label) + (f" {more}" if more else ""), "label")
    shown = tag("div", escape(signed(value)), "value")
    return tag("div", head + shown + tag("div", escape(said) or "&nbsp;", "detail"), f"card {css}")
