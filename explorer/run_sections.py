"""Where a run stands, section by section, with how sure that is so far."""

from collections.abc import Mapping
from dataclasses import dataclass

from scoring.benchmark import SECTIONS, WEIGHTS
from scoring.interval import Interval, wilson
from scoring.summary import Summary, Tally


@dataclass(frozen=True, slots=True)
class SectionNow:
    """One section, or all pairs.

    name: "" for all pairs.
    n: pairs that count. wins: of them.
    accuracy: by the official weights; of all pairs, unweighted. None where no pair counts.
    interval: 95 %, over other pairs like these; it holds for one look, not for all together.
    """

    name: str
    n: int
    wins: int
    accuracy: float | None
    interval: Interval | None


def sections_now(summary: Summary) -> tuple[SectionNow, ...]:
    """All pairs, then the sections of which there are any.

    >>> from scoring.spec import ScoredPair
    >>> from scoring.summary import summarise
    >>> [each.name for each in sections_now(summarise([ScoredPair("a:1", "a", "", 1, 0, 1, 1)]))]
    ['']
    """
    total = summary.total
    found = [SectionNow("", total.n, total.wins, total.accuracy, total.interval)]
    for section in SECTIONS:
        tally = summary.section_tallies.get(section)
        if tally:
            interval = section_interval(section, summary.subsets)
            score = summary.sections[section]
            found.append(SectionNow(section, tally.n, tally.wins, score, interval))
    return tuple(found)


def section_interval(section: str, subsets: Mapping[str, Tally]) -> Interval | None:
    """Wilson's 95 % interval of a section score at the effective number of its pairs.

    With u_s the official weight of subset s and n_s its pairs that count, that is
    (sum u_s)^2 / sum u_s^2 / n_s, rounded down.
    Source: L. Kish, Survey Sampling (1965), 11.7, for the effective number.

    Args:
        section: one of the benchmark.
        subsets: the tallies of subsets; others' are ignored.

    Returns:
        None where no pair counts.

    >>> half = Tally({"win": 41, "loss": 41, "tie": 0, "missing": 0})
    >>> section_interval("Reasoning", {"hep-go": half, "hep-js": half}) == wilson(82, 164)
    True
    >>> section_interval("Chat", {}) is None
    True
    """
    known = [
        (WEIGHTS[name], tally)
        for name in SECTIONS[section]
        if (tally := subsets.get(name)) and tally.n
    ]
    if not known:
        return None
    weight = sum(u for u, _ in known)
    score = sum(u * tally.wins / tally.n for u, tally in known) / weight
    n = int(weight**2 / sum(u * u / tally.n for u, tally in known) + 1e-9)
    return wilson(score * n, n)
