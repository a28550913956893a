"""What the Score tab says of a model before it runs."""

from explorer.core.html import bytes_words, count_text, note, render
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.runs.estimates import Forecast, work_of
from explorer.runs.model_list import ModelEntry, entry_of, licence_note, model_list
from explorer.runs.selections import Selection
from scoring.hub.access import Hub, parse_hub_id
from scoring.hub.cache import is_cached
from scoring.models.devices import Device
from scoring.models.finding import DEMO_NAME
from scoring.spec import BASELINES


def offered_models(settings: Settings, hub: Hub) -> list[tuple[str, str]]:
    """(words, name) of each of `offered_names`, what can run first.

    Without a network it is said which are not on this machine.
    """
    first = [(text("score.model_demo"), DEMO_NAME)]
    if settings.models:
        return [*first, *((name, name) for name in settings.models if name != DEMO_NAME)]
    rules = [(text(f"score.baseline_{name}"), name) for name in BASELINES]
    away = {each.id for each in model_list() if hub.reason and not is_cached(each.id)}

    def place(each: ModelEntry) -> tuple[object, ...]:
        why_not, is_away = bool(each.why_not), each.id in away
        return why_not, is_away, each.family != "classifier", each.billions, each.id

    known = sorted(model_list(), key=place)
    words = (_words(entry, is_away=entry.id in away) for entry in known)
    return [*first, *rules, *zip(words, (entry.id for entry in known), strict=True)]


def _words(entry: ModelEntry, *, is_away: bool) -> str:
    size = f"{entry.billions:g}"
    if entry.why_not:
        return text("score.model_words_not", model=entry.id, size=size)
    if is_away:
        return text("score.model_words_away", model=entry.id, size=size)
    return text("score.model_words", model=entry.id, size=size, family=entry.family)


def selected_html(selection: Selection) -> str:
    """How many pairs are chosen, and about how many tokens they have."""
    work = work_of(selection.table, selection.rows)
    n, tokens = f"{len(selection.rows):,}", count_text(work.tokens)
    return note(text("score.selected", n=n, tokens=tokens))


def model_card_html(seen: Forecast) -> str:
    """A model, and what a run with the pairs that are chosen takes."""
    preview = seen.preview
    on_hub = parse_hub_id(preview.name) is not None and preview.name != DEMO_NAME
    return render(
        "tabs/score/model_card.html",
        seen=seen,
        has_page=on_hub and bool(preview.architecture),
        licence=licence_note(preview.name),
    )


def known_size(model: object, device: Device) -> str:
    """Of a model that cannot be looked at, what its size in the catalogue lets expect."""
    entry = entry_of(model)
    if entry is None:
        return ""
    memory, free = bytes_words(entry.memory_bytes()), bytes_words(device.free_bytes)
    size = f"{entry.billions:g}"
    return note(text("score.known_size", size=size, memory=memory, free=free, device=device.words))
