"""Which published results are of the model that a run was made with."""

from collections.abc import Collection
from dataclasses import dataclass

from scoring.spec import RunFacts

MOST_SIMILAR = 5
REFERENCE_FREE = "_ref_free"
"""Upstream's ending of the names of DPO models that were scored without a reference."""


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
    another spelling, is only told of. Models scored without a reference are published under their
    id with an ending of upstream's. Revisions are not published, so another may be meant.

    Args:
        facts: the run's.
        models: published names.

    >>> facts = RunFacts("org/rm", "", "classifier", "", "", 0, "", "", "", 0, 0)
    >>> find_published(facts, ["org/rm", "other/RM", "org/rm_ref_free"])
    Match(model='org/rm', similar=('org/rm_ref_free', 'other/RM'))
    >>> find_published(facts, ["other/RM"])
    Match(model='', similar=('other/RM',))
    """
    own, wanted = facts.model.partition("@")[0], published_as(facts)
    name = _bare(own)
    similar = sorted(each for each in models if _bare(each) == name and each != wanted)
    is_id = "/" in own and not own.startswith("/")
    return Match(wanted if is_id and wanted in models else "", tuple(similar[:MOST_SIMILAR]))


def published_as(facts: RunFacts) -> str:
    """What a run's model is called where results of it are published.

    >>> published_as(RunFacts("org/lm@main", "", "logprob-sum", "", "", 0, "", "", "", 0, 0))
    'org/lm_ref_free'
    """
    own = facts.model.partition("@")[0]
    return own + REFERENCE_FREE if facts.family.startswith("logprob") else own


def _bare(model: str) -> str:
    """A name without its owner and spelling.

    >>> _bare("Org/RM_ref_free")
    'rm'
    """
    return model.rpartition("/")[2].removesuffix(REFERENCE_FREE).casefold()
