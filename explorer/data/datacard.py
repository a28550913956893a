"""What a reader wants to know of RewardBench and of each of its subsets.

Texts stand in assets/datacard.toml; counts, sections and weights in `scoring.benchmark`.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from explorer.core.settings import ASSETS
from scoring.benchmark import COUNTS, SECTIONS, SUBSETS, WEIGHTS

LengthCategory = Literal["chosen", "rejected", "neutral"]
"""The side that is the longer one by upstream's LENGTH_CATEGORIES, whatever the data says; else
neutral."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A short title and one to three sentences below it."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The dataset that prompts were taken from.

    licence: of its texts, as upstream's card names it.
    url: where it is described.
    """

    name: str
    licence: str
    url: str
    citation: str


@dataclass(frozen=True, slots=True)
class SubsetCard:
    """One subset of RewardBench.

    subset: its name in the data; `name` is for display.
    description: what the prompts, chosen and rejected are, and why it is hard.
    pairs, raw: pairs in the filtered split, the benchmark itself, and in the raw split.
    collected: pairs before filtering, as upstream's card counts them; for four Safety subsets
        more than the raw split has.
    weight: what it weighs in its section, in pairs.
    length: the side that upstream lists as the longer one; `note` says where the data differs.
    may_harm: whether a warning is due.
    language: programming language; None where the pairs are not code.
    note: what is odd about its figures; None where nothing is.
    """

    subset: str
    name: str
    description: str
    origin: Origin
    section: str
    pairs: int
    raw: int
    collected: int
    weight: int
    length: LengthCategory
    may_harm: bool
    language: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class DataCard:
    """The benchmark as a whole.

    content_warning: shown with every subset that `may_harm`.
    lengths: what each length category means.
    scoring: how scores are made, from a pair up to the overall score.
    known_errors: what the published card and paper say that the data does not bear out.
    cautions: what to keep in mind when a score is read.
    origins, subsets: the subsets in the benchmark's order, the origins as they first occur there.
    """

    name: str
    summary: str
    dataset: str
    dataset_url: str
    doi: str
    licence: str
    licence_note: str
    paper_url: str
    citation: str
    croissant_url: str
    croissant_note: str
    contact_url: str
    contact_note: str
    content_warning: str
    lengths: dict[LengthCategory, str]
    scoring: tuple[Remark, ...]
    known_errors: tuple[Remark, ...]
    cautions: tuple[Remark, ...]
    origins: tuple[Origin, ...]
    subsets: tuple[SubsetCard, ...]


@cache
def data_card() -> DataCard:
    """The card, read from assets/datacard.toml on first use.

    Raises:
        KeyError: the file lacks a subset or an origin.
        TypeError: an entry lacks a key or has one that is not known.
    """
    tables = tomllib.loads((ASSETS / "datacard.toml").read_text(encoding="utf-8"))
    origins = {key: Origin(**entry) for key, entry in tables["origin"].items()}
    remarks: dict[str, Any] = {
        name: tuple(Remark(**entry) for entry in tables[name])
        for name in ("scoring", "known_errors", "cautions")
    }
    subsets = tuple(
        SubsetCard(
            subset=subset,
            section=section,
            pairs=COUNTS[subset],
            weight=WEIGHTS[subset],
            may_harm=section == "Safety",
            **{**tables["subset"][subset], "origin": origins[tables["subset"][subset]["origin"]]},
        )
        for section, members in SECTIONS.items()
        for subset in members
    )
    return DataCard(
        **tables["general"],
        **remarks,
        lengths=tables["length"],
        origins=tuple(dict.fromkeys(card.origin for card in subsets)),
        subsets=subsets,
    )


def subset_card(subset: str) -> SubsetCard | None:
    """The card of one subset; None for a subset that RewardBench does not have."""
    return data_card().subsets[SUBSETS.index(subset)] if subset in SUBSETS else None


def length_category(subset: str) -> LengthCategory | None:
    """The side upstream lists as the longer one; None for a subset RewardBench does not have."""
    card = subset_card(subset)
    return None if card is None else card.length
