"""What models made of a pair, as HTML."""

from collections.abc import Sequence
from html import escape

from explorer.core.html import chip, signed, tag
from explorer.core.text import text
from explorer.results.field import Verdict


def verdict_chip(verdict: Verdict) -> str:
    """The outcome, and the margin where it is known."""
    words = text(f"outcome.{verdict.outcome}")
    if verdict.margin is not None:
        words = text("reader.verdict", outcome=words, margin=signed(verdict.margin))
    return chip(words, _css(verdict))


def verdicts_html(verdicts: Sequence[Verdict]) -> str:
    """What several models made of a pair, one below the other; nothing for one alone."""
    if len(verdicts) < 2:
        return ""
    names = ("model", "outcome", "margin", "chosen_reward", "rejected_reward")
    heads = "".join(tag("th", escape(text(f"list.{name}")), scope="col") for name in names)
    rows = ""
    for each in verdicts:
        rewards = (each.margin, each.chosen_reward, each.rejected_reward)
        cells = tag("th", tag("bdi", escape(each.model)), scope="row")
        cells += tag("td", chip(text(f"outcome.{each.outcome}"), _css(each)))
        cells += "".join(tag("td", escape(signed(reward)), "number") for reward in rewards)
        rows += tag("tr", cells)
    table = tag("table", tag("thead", tag("tr", heads)) + tag("tbody", rows))
    label = text("reader.verdicts")
    return tag("div", table, "verdicts", tabindex="0", role="region", aria_label=label)


def _css(verdict: Verdict) -> str:
    return "good" if verdict.outcome == "win" else "bad"
