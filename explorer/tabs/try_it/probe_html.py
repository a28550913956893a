"""A bias probe as HTML: how far it is, and what each change bought."""

from collections.abc import Sequence
from typing import Literal

from explorer.core.html import part, step_html
from explorer.core.text import text
from explorer.tabs.try_it.probe import Probe
from explorer.tabs.try_it.probe_statistics import Bought

Stage = Literal["running", "finished", "stopped"]
TEMPLATE = "tabs/try_it/probe.html"


def probe_status_html(probe: Probe, stage: Stage) -> str:
    """How far a probe is, with a bar."""
    waits = probe.waits
    if waits is None or stage != "running":
        return part("status", probe, stage, of=TEMPLATE)
    if waits.step is not None:
        return step_html(waits.step)
    words = text("probe.waiting", n=waits.ahead) if waits.ahead else text("probe.loading")
    return part("waiting", words, of=TEMPLATE)


def probe_html(probe: Probe, found: Sequence[Bought]) -> str:
    """What each change bought on each side, and how to read it. found: of the probe."""
    return part("bought", probe, found, of=TEMPLATE) if probe.facts and found else ""
