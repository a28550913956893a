"""How far two people's decisions on the same pairs agree."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from explorer.tabs.pairs.review.state import VERDICTS, Decision


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two people's verdicts on the pairs that both marked.

    n: those pairs.
    table: pairs of each two verdicts, mine down and theirs across, in the order of `VERDICTS`.
    observed: the share of pairs on which both agree; None where n is 0.
    expected: the share on which two people who use each verdict as often as these, but at random,
        would agree; None where n is 0.
    kappa: of `cohens_kappa`.
    answers: my key of each such pair, in my order -> their decision.
    differing: my keys of the pairs on which we disagree, in my order.
    """

    n: int
    table: tuple[tuple[int, ...], ...]
    observed: float | None
    expected: float | None
    kappa: float | None
    answers: Mapping[str, Decision]
    differing: tuple[str, ...]


def agreement(mine: Iterable[Decision], theirs: Iterable[Decision]) -> Agreement:
    """Compare my decisions with a colleague's.

    Pairs are joined by their texts, else, within one source, by key; each decision counts once,
    and of a key that one person marked twice in one source, the last.
    """
    joined = _joined(_standing(mine), _standing(theirs))
    verdicts = [(my.verdict, their.verdict) for my, their in joined]
    table = tuple(tuple(verdicts.count((my, their)) for their in VERDICTS) for my in VERDICTS)
    return Agreement(
        n=len(joined),
        table=table,
        observed=_share(_agreed(table), len(joined)),
        expected=_share(_by_chance(table), len(joined) ** 2),
        kappa=cohens_kappa(table),
        answers={my.key: their for my, their in joined},
        differing=tuple(my.key for my, their in joined if my.verdict != their.verdict),
    )


def cohens_kappa(table: Sequence[Sequence[int]]) -> float | None:
    """Agreement beyond chance: (observed - expected) / (1 - expected).

    1 for full agreement, 0 for no better than at random,
    None where it is undefined: the table is empty, or one cell holds all of its diagonal and rows.
    Source: J. Cohen, A coefficient of agreement for nominal scales, Educational and Psychological
    Measurement 20, 1960.

    table: counts, the same categories in the same order down and across.

    50 items, 35 of them agreed; rows sum to 25 and 25, columns to 30 and 20, so expected is
    (25*30 + 25*20) / 2500 = 0.5 and kappa (0.7 - 0.5) / (1 - 0.5).

    >>> cohens_kappa([[20, 5], [10, 15]])
    0.4
    >>> cohens_kappa([[7, 0], [0, 0]]) is None
    True
    """
    n, chance = sum(map(sum, table)), _by_chance(table)
    # Whole numbers: `expected` is exactly 1 where it is, whatever n.
    return _share(n * _agreed(table) - chance, n * n - chance)


def _agreed(table: Sequence[Sequence[int]]) -> int:
    return sum(row[place] for place, row in enumerate(table))


def _by_chance(table: Sequence[Sequence[int]]) -> int:
    """Expected agreement, times n squared."""
    columns = zip(*table, strict=True)
    return sum(sum(row) * sum(column) for row, column in zip(table, columns, strict=True))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _standing(decisions: Iterable[Decision]) -> list[Decision]:
    return list({(each.source, each.key): each for each in decisions}.values())


def _joined(mine: list[Decision], theirs: list[Decision]) -> list[tuple[Decision, Decision]]:
    """Both decisions on each pair that both marked, in my order."""
    rules: list[Callable[[Decision], object]] = [
        lambda each: (each.text_hash, each.key),  # of several pairs with the same texts, the same
        lambda each: each.text_hash,
        lambda each: each.source and (each.source, each.key),
    ]
    partner: dict[int, int] = {}
    for rule in rules:
        places: dict[object, list[int]] = {}
        for place in sorted(set(range(len(theirs))) - set(partner.values()), reverse=True):
            places.setdefault(rule(theirs[place]), []).append(place)
        places.pop("", None)  # no source
        for place, decision in enumerate(mine):
            found = places.get(rule(decision)) if place not in partner else None
            if found:
                partner[place] = found.pop()
    return [(mine[place], theirs[partner[place]]) for place in sorted(partner)]
