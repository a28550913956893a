"""What the app holds for everybody who visits it."""

from dataclasses import dataclass

from explorer.core.settings import Settings
from explorer.data.library import Library
from explorer.data.sources import pair_sources
from explorer.data.tokens import TokenCounter
from explorer.results.boards import BoardMeasuring, Boards
from explorer.results.fields import Fields
from explorer.results.library import ResultsLibrary, results_sources
from explorer.runs.gpu_calls import place
from explorer.runs.running import Runs
from explorer.stats.uncertainty import Uncertainties
from scoring.hub.access import Hub
from scoring.hub.cache import DiskQuota


@dataclass(frozen=True)
class Stores:
    """The data that is read, and the work that goes on."""

    settings: Settings
    hub: Hub
    pairs: Library
    results: ResultsLibrary
    boards: Boards
    measuring: BoardMeasuring
    fields: Fields
    runs: Runs
    counter: TokenCounter


def open_stores(settings: Settings) -> Stores:
    """The best data that lies on this machine; the network is asked in the background."""
    quota = DiskQuota(settings.models_gigabytes, settings.own_models)
    hub = Hub(settings.offline, shared=settings.public, quota=quota)
    if settings.zero_gpu:
        place(settings, hub)
    pairs, results = pair_sources(settings, hub), results_sources(settings, hub)
    for each in (pairs, results):
        each.fetch(online=not settings.offline)
    counter = TokenCounter(settings.home, hub, settings.model_policy)
    runs = Runs(settings, hub)
    library = ResultsLibrary(results, settings.limits)
    tables = Library(pairs, hub, settings)
    fields = Fields(library, tables, runs)
    boards = Boards(fields, Uncertainties(settings.home))
    measuring = BoardMeasuring(boards)
    return Stores(settings, hub, tables, library, boards, measuring, fields, runs, counter)
