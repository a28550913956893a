"""What the Score tab says of a model before it runs."""

import shlex
from pathlib import Path

from explorer.core.html import bytes_words, count_text, note, part, render
from explorer.data.table import PairTable
from explorer.runs.estimates import Forecast, work_of
from explorer.runs.model_list import entry_of, licence_note
from explorer.runs.selections import Selection
from explorer.tabs.score.state import ScoreState
from scoring.errors import counted
from scoring.hub.access import parse_hub_id
from scoring.models.devices import Device
from scoring.models.finding import DEMO_NAME

_OPTIONS = (
    "family", "reference", "reading", "dtype", "max_length", "chat_template", "tokenizer", "url",
    "judge_prompt", "max_tokens", "temperature", "repeats",
)  # fmt: skip
"""Fields of the form beside the model's name, with the options of the command line."""


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


def command_html(
    state: ScoreState, which: str, table: PairTable, path: Path | None, *, is_all: bool
) -> str:
    """What a form would score on the command line, and what of it is otherwise there.

    which: of `SELECTION_WAYS`. path: of the file that the table is of, None if that is not known.
    is_all: whether all its pairs are chosen.
    """
    source = table.source
    pairs = {"demo": DEMO_NAME, "hub": table.id.partition("@")[0]}.get(source.kind)
    pairs = pairs or str(path or Path("path/to") / source.name)
    given = ["--model", state.model.strip() or DEMO_NAME, "--pairs", pairs]
    told = "" if is_all else "This scores all pairs: which are chosen here cannot be said there."
    if which == "subset" and state.per_subset.isdecimal():
        given += ["--per-subset", state.per_subset]
        told = f"This takes the first {state.per_subset} of each subset; the form draws them."
    for option in _OPTIONS:
        value = getattr(state, option)
        if value != getattr(ScoreState, option):
            reading = "label" if "," not in value else "label-weights"
            named = {"reference": "ref-model", "reading": reading}.get(option, option)
            flag = f"--{named.replace('_', '-')}"
            given += [f"{flag}={value}"] if value.startswith("-") else [flag, value]
    command = shlex.join(["python", "-m", "scoring", *given, "--out", "my-run"])
    return part("command", command, told, of="tabs/score/form.html")
