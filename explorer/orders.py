"""What a person asks to score with, as typed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

from scoring.errors import KnownError, shown
from scoring.reading import parse_reading
from scoring.spec import FAMILIES, Dtype, Family, Reading, RunSettings

LONGEST_NAME = 500
LONGEST_SEQUENCE = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelOrder:
    """A model and how it is to score, before anything is looked up.

    model: "demo", a Hub id, a folder, or the name of a server's model.
    family: how it scores; None means what the catalogue or its config says.
    reference: of a DPO policy; "" for none or what the catalogue knows.
    reading: which of several labels is the reward.
    url: of the server that runs the model; "" where it runs here.
    """

    model: str
    family: Family | None = None
    reference: str = ""
    reading: Reading | None = None
    url: str = ""
    settings: RunSettings = RunSettings()
