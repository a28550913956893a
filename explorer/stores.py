"""What the app holds for everybody who visits it."""

from dataclasses import dataclass

from explorer.boardroom import BoardRoom
from explorer.library import Library
from explorer.outcome_cache import OutcomeCache
from explorer.outcomes import leaderboard_shelf
from explorer.results_library import ResultsLibrary
from explorer.runs import Runs
from explorer.settings import Settings
from explorer.sources import pair_shelf
from explorer.tokens import TokenCounter
from explorer.uncertainty_cache import Uncertainties
from scoring.hub import Hub


@dataclass(frozen=True)
class Stores:
    """The data that is read, and the work that goes on."""

    settings: Settings
    pairs: Library
    boards: ResultsLibrary
    room: BoardRoom
    runs: Runs
    counter: TokenCounter


def open_stores(settings: Settings) -> Stores:
    """The best data that lies on this machine; the network is asked in the background."""
    hub = Hub(settings.offline)
    pairs, boards = pair_shelf(settings, hub), leaderboard_shelf(settings, hub)
    if not settings.offline:
        pairs.fetch()
        boards.fetch()
    counter = TokenCounter(settings.home, hub, settings.model_policy)
    runs = Runs(settings, hub)
    cache, sure = OutcomeCache(settings.home), Uncertainties(settings.home)
    library = ResultsLibrary(boards, settings.limits)
    room = BoardRoom(library, cache, sure, runs)
    return Stores(settings, Library(pairs, hub, settings), library, room, runs, counter)
