"""A bias probe as CSV: what each change bought, or what it did to each response."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from explorer.core.files import csv_file
from explorer.core.text import text
from explorer.core.validation import one_of
from explorer.tabs.try_it.probe import Probe
from explorer.tabs.try_it.probe_statistics import bought
from scoring.errors import KnownError
from scoring.spec import outcome_of

ProbeForm = Literal["summary", "pairs"]
PROBE_FORMS: tuple[ProbeForm, ...] = get_args(ProbeForm)
_SUMMARY = (
    "model", "revision", "pairs", "change", "side", "applies", "n", "mean_change", "low", "high",
    "margin_deviations", "rewards_up", "rewards_down", "pairs_won", "pairs_lost", "p", "p_holm",
)  # fmt: skip
_PAIRS = (
    "model", "revision", "key", "subset", "change", "side", "reward_before", "reward_change",
    "margin_before", "margin_after", "outcome_before", "outcome_after",
)  # fmt: skip

Value = str | float | None


def write_probe(probe: Probe | None, form: object, path: Path) -> None:
    """Write a file of what is known; what is not is an empty cell.

    Raises:
        KnownError: nothing was probed, no such form, or the file cannot be written.
    """
    known = one_of("A file", PROBE_FORMS, form)
    if probe is None or not any(probe.effects.values()):
        raise KnownError(text("probe.nothing"))
    rows = _summary(probe) if known == "summary" else _of_pairs(probe)
    with csv_file(path) as write:
        write(_SUMMARY if known == "summary" else _PAIRS)
        for row in rows:
            write(row)


def _summary(probe: Probe) -> Iterator[tuple[Value, ...]]:
    for each in bought(probe.scores):
        yield (
            *_model(probe), len(probe.before), each.change, each.side, each.applies, each.n,
            each.mean, each.low, each.high, each.deviations, each.up, each.down, each.won,
            each.lost, each.p if each.n else None, each.corrected if each.n else None,
        )  # fmt: skip


def _of_pairs(probe: Probe) -> Iterator[tuple[Value, ...]]:
    for (change, side), effects in probe.effects.items():
        for place, effect in sorted(effects.items()):
            before = probe.before[place]
            reward = before.chosen_reward if side == "chosen" else before.rejected_reward
            yield (
                *_model(probe), before.key, before.subset, change, side, reward, effect.change,
                before.margin, effect.margin, before.outcome, outcome_of(effect.margin),
            )  # fmt: skip


def _model(probe: Probe) -> tuple[str, str]:
    return (probe.facts.model, probe.facts.revision) if probe.facts else ("", "")
