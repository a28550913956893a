"""What a run would be, told before it begins: the model, the device, memory and time."""

from dataclasses import dataclass, replace

from explorer.estimates import Estimate, Work, estimate, work_of
from explorer.model_list import ModelEntry, entry_of
from explorer.orders import ModelOrder
from explorer.runs import Runs
from explorer.selections import Selection
from explorer.visitors import Visitor
from scoring.errors import KnownError
from scoring.models.devices import Device, check_fits
from scoring.models.preview import Preview


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is known before a run.

    entry: of the catalogue; None where it does not have the model.
    warm: whether the model is in memory.
    refusal: why it would be refused, in a sentence; "" where it would not.
    seconds_left: of scoring, that the visitor has in this hour; None for as many as they want.
    """

    preview: Preview
    device: Device
    estimate: Estimate
    entry: ModelEntry | None
    warm: bool
    refusal: str = ""
    seconds_left: float | None = None


def forecast(
    runs: Runs, visitor: Visitor, order: ModelOrder, selection: Selection | None
) -> Forecast:
    """What scoring a selection with a model would be. selection: None where there is none yet.

    Raises:
        KnownError: there is no such model, or it is not allowed.
    """
    models = runs.scorers.models
    preview, device = models.preview(visitor, order), models.device()
    settings = models.settings_of(order, preview, device)
    work = work_of(selection.table, selection.rows, order.model) if selection else Work(0, 0)
    told = estimate(work, preview, device, settings, runs.visible(visitor))
    warm = models.is_warm(visitor, order)
    quotas = runs.scorers.quotas
    left = quotas.left(visitor)
    seen = Forecast(preview, device, told, entry_of(preview.name), warm, seconds_left=left)
    try:
        quotas.check(visitor)
        check_fits(preview, device, settings)
    except KnownError as error:
        return replace(seen, refusal=str(error))
    return seen
