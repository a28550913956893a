"""A bias probe on the page: how far it is, and what each change bought."""

from collections.abc import Sequence
from typing import Literal

from explorer.core.html import part, step_html
from explorer.tabs.try_it.probe import Bought, Probe
from explorer.tabs.try_it.trial import EDIT_NAMES

ProbeStage = Literal["running", "finished", "stopped"]
_FEW = 5
_TEMPLATE = "tabs/try_it/probe.html"


def probe_status_html(probe: Probe | None, stage: ProbeStage) -> str:
    """How far a probe is, with a bar. probe: None before its first word."""
    waits = probe.waits if probe is not None else None
    if probe is not None and (waits is None or stage != "running"):
        return part("status", probe, stage, of=_TEMPLATE)
    if waits is not None and waits.step is not None:
        return step_html(waits.step)
    return part("waiting", waits.ahead if waits is not None else 0, of=_TEMPLATE)


def probe_html(probe: Probe, found: Sequence[Bought], *, has_files: bool = True) -> str:
    """What each change bought on each side, and how to read it.

    found: of the probe. has_files: whether files of it are offered.
    """
    if not (probe.facts and found):
        return ""
    # An interval of very few responses would leave no room for the others: it is cut off.
    ends = [end for each in found if each.n >= _FEW for end in (each.low, each.high)]
    means = [each.mean for each in found]
    most = max((abs(end) for end in (*ends, *means) if end is not None), default=0.0) or 1.0
    return part("bought", probe, found, EDIT_NAMES, most, has_files, of=_TEMPLATE)
