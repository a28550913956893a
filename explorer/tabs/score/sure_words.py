"""How sure a run is of what it is to be sure of, in words."""

from explorer.core.html import percent
from explorer.core.text import text
from scoring.sure import SureInterval


def sure_words(sure: SureInterval, ended: bool) -> str:
    """What is sure since the last look, what was asked, and when the next look is.

    ended: whether the run was stopped, be it because it is sure.
    """
    number = text(f"sure.{sure.rule.number}")
    if sure.estimate is None:
        return text("sure.waiting", number=number, n=f"{sure.following or 0:,}")
    words = text(
        "sure.now",
        number=number,
        estimate=percent(sure.estimate),
        low=percent(sure.low),
        high=percent(sure.high),
        width=f"{100 * sure.width:.1f}",
        wanted=f"{100 * sure.rule.width:.1f}",
        n=f"{sure.n:,}",
    )
    if sure.is_enough:
        return f"{text('sure.enough')} {words}" if ended else words
    if sure.following is None:
        return words
    return f"{words} " + text("sure.following", n=f"{sure.following:,}")
