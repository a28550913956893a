"""How sure a run is of what it is to be sure of, in words."""

from explorer.text import text
from explorer.ui.markup import percent
from scoring.sure import SureInterval


def sure_words(sure: SureInterval, words: str, ended: bool) -> str:
    """What a run says of itself, and how sure its number is.

    Args:
        sure: at the last look.
        words: of the run.
        ended: whether it was stopped, be it because it is sure.
    """
    number = text(f"sure.{sure.rule.number}")
    wanted = f"{100 * sure.rule.width:.1f}"
    if sure.estimate is None:
        return f"{words} " + text("sure.waiting", number=number, n=f"{sure.following or 0:,}")
    told = text(
        "sure.now",
        number=number,
        estimate=percent(sure.estimate),
        low=percent(sure.low),
        high=percent(sure.high),
        width=f"{100 * sure.width:.1f}",
        wanted=wanted,
        n=f"{sure.n:,}",
    )
    if sure.is_enough and ended:
        return f"{text('sure.enough')} {words} {told}"
    if sure.following is None or sure.is_enough:
        return f"{words} {told}"
    return f"{words} {told} " + text("sure.following", n=f"{sure.following:,}")
