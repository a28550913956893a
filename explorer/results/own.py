"""A person's own runs beside published results: as files of them, and what they are called."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from explorer.runs.cards import RunCard, card_of
from explorer.runs.facts import began
from explorer.runs.outcomes import results_of
from explorer.stats.matrix import Outcomes
from scoring.errors import KnownError
from scoring.record import Run
from scoring.results.files import REFERENCE_FREE, Omission, printable
from scoring.spec import RunFacts

_MOST_SIMILAR = 5


def outcomes_of(run: Run, name: str) -> Outcomes:
    """A run as a file of results of that model; left out where it has no pair, or is unreadable."""
    file = f"runs/{run.id[:15]}"  # not its whole id, as who knows that may read it
    try:
        return Outcomes((file,), (replace(results_of(run), model=name),))
    except KnownError as error:
        return Outcomes(left_out=(Omission(file, str(error)),))


def own_names(
    runs: Sequence[Run], taken: Iterable[str], cards: Mapping[str, RunCard] | None = None
) -> dict[str, Run]:
    """Runs, newest first, by the names of their models.

    A run keeps its name when another one begins in the same second.

    taken: names of others. cards: of the runs by their ids, where they were read.
    """
    named, others = dict[str, Run](), set(taken)
    last: dict[str, int] = {}  # of runs that would have one name, the number of the last
    for run in reversed(runs):
        name = unique = own_name(run, cards[run.id] if cards is not None else None)
        while unique in others or unique in named:
            last[name] = last.get(name, 1) + 1
            unique = f"{name} {last[name]}"
        named[unique] = run
    return dict(reversed(named.items()))


def own_name(run: Run, card: RunCard | None = None) -> str:
    """What a run is called beside published models, unless two began in the same second.

    card: its own, where it was read.
    """
    called = (card or card_of(run)).title or run.facts.model
    return f"{printable(called)} (your run of {began(run)})"


def published_as(facts: RunFacts) -> str:
    """What a run's model is called where results of it are published.

    >>> published_as(RunFacts("org/lm@main", "", "logprob-sum", "", "", 0, "", "", "", 0, 0))
    'org/lm_ref_free'
    """
    own = facts.model.partition("@")[0]
    return own + REFERENCE_FREE if facts.family.startswith("logprob") else own


@dataclass(frozen=True, slots=True)
class Match:
    """What is published of a run's model.

    model: its published name, which is the run's own; "" where there is none.
    similar: names that may be of the same model, or of another; nobody knows.
    """

    model: str
    similar: tuple[str, ...]


def find_published(facts: RunFacts, models: Collection[str]) -> Match:
    """The published name of a run's model.

    It is the same where the Hub id is: a model of that name in someone else's space, or with
    another spelling, is only told of. Revisions are not published, so another may be meant.

    models: published names.
    """
    own, wanted = facts.model.partition("@")[0], published_as(facts)
    name = _bare(own)
    similar = sorted(each for each in models if _bare(each) == name and each != wanted)
    is_id = "/" in own and not own.startswith("/")
    return Match(wanted if is_id and wanted in models else "", tuple(similar[:_MOST_SIMILAR]))


def _bare(model: str) -> str:
    """A name without its owner and spelling."""
    return model.rpartition("/")[2].removesuffix(REFERENCE_FREE).casefold()
