"""The sets of pairs that are offered by name, and what sets are called on screen."""

import tomllib
from dataclasses import dataclass
from functools import cache

from explorer.core.settings import ASSETS
from scoring.benchmarks import benchmarks, named_dataset
from scoring.hub.access import parse_hub_id

OTHERS = "Other benchmarks"


@dataclass(frozen=True, slots=True)
class Offer:
    """A set of pairs that is offered by name.

    wanted: what `Library.open` takes.
    label: its short name; group: the heading below which it stands.
    rows: published count, for orientation; None where none is known.
    licence: of the collection. about: one or two sentences.
    """

    wanted: str
    label: str
    group: str
    rows: int | None
    about: str
    licence: str = "ODC-BY"


@cache
def offers() -> tuple[Offer, ...]:
    """What assets/sources.toml offers, in its order; then the other benchmarks."""
    entries = tomllib.loads((ASSETS / "sources.toml").read_text(encoding="utf-8"))["offer"]
    listed = [Offer(**{"rows": None, **entry}) for entry in entries]
    repos = {parsed.repo for each in listed if (parsed := parse_hub_id(each.wanted))}
    others = []
    for each in benchmarks().values():
        for wanted, dataset in each.named_datasets.items():
            hub_id = parse_hub_id(dataset)
            if hub_id is None or hub_id.repo in repos:
                continue
            part = wanted.partition(":")[2]
            label = f"{each.title}, {part}" if part else each.title
            about = f"{each.rule.method} {each.citation}."
            others.append(Offer(wanted, label, OTHERS, each.rows.get(part), about, each.licence))
    return (*listed, *others)


@cache
def _labels() -> dict[str, str]:
    """Hub id without a revision -> the label of the offer that it is."""
    return {named_dataset(each.wanted) or each.wanted: each.label for each in offers()}


def set_name(source: str, benchmark: str = "") -> str:
    """What a set of pairs is called: as it is offered, else its benchmark and its own name.

    source: a Hub id or a file's name, with a revision; see `PairSource`.
    benchmark: the name of the one that its rows are of; "" if it is not known.

    >>> set_name("ScalerLab/JudgeBench:gpt@1f"), set_name("org/own:train@1f")
    ('JudgeBench, gpt', 'own train')
    >>> set_name("a.json@1f", "rmb"), set_name("a.json@1f", "rmb-best-of-n"), set_name("a.json@1f")
    ('RMB, pairs · a.json', 'RMB, best of n · a.json', 'a.json')
    """
    name = source.rpartition("@")[0] or source
    if name in _labels():
        return _labels()[name]
    hub_id = parse_hub_id(source)
    if hub_id is not None:
        name = f"{hub_id.repo.rpartition('/')[2]} {hub_id.split or ''}".rstrip()
    known = benchmarks().get(benchmark)
    return f"{known.title} · {name}" if known else name
