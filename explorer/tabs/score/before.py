"""What the Score tab says of a model before it runs."""

from explorer.core.html import bytes_words, count_text, note, render
from explorer.runs.estimates import Forecast, work_of
from explorer.runs.model_list import entry_of, licence_note
from explorer.runs.selections import Selection
from scoring.errors import counted
from scoring.hub.access import parse_hub_id
from scoring.models.devices import Device
from scoring.models.finding import DEMO_NAME


def selected_html(selection: Selection) -> str:
    """How many pairs are chosen, and about how many tokens they have."""
    tokens = count_text(work_of(selection.table, selection.rows).tokens)
    return note(f"{counted(len(selection.rows), 'pair', 'pairs')} selected, about {tokens} tokens")


def model_card_html(seen: Forecast, selection: Selection | None) -> str:
    """A model, and what a run with the pairs that are chosen takes."""
    preview = seen.preview
    on_hub = parse_hub_id(preview.spec.name) is not None and preview.spec.name != DEMO_NAME
    return render(
        "tabs/score/model_card.html",
        seen=seen,
        n=len(selection.rows) if selection else 0,
        has_page=on_hub and bool(preview.architecture),
        licence=licence_note(preview.spec.name),
    )


def known_size(model: object, device: Device) -> str:
    """Of a model that cannot be looked at, what its size in the catalogue lets expect."""
    entry = entry_of(model)
    if entry is None:
        return ""
    memory, free = bytes_words(entry.memory_bytes()), bytes_words(device.free_bytes)
    return note(
        f"About {entry.billions:g} billion parameters: {memory} in bfloat16, with {free} free on "
        f"{device.words}."
    )
