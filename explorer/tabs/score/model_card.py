"""A model before it runs, as HTML: what it is, what it takes, and what is known of it."""

from html import escape

from explorer.core.html import bytes_words, chip, count_words, note, tag, time_words
from explorer.core.text import text
from explorer.runs.estimates import Estimate, Forecast
from explorer.runs.model_list import ModelEntry, licence_note
from scoring.hub.access import parse_hub_id
from scoring.models.devices import Device
from scoring.models.policy import DEMO
from scoring.models.preview import Preview


def model_card_html(seen: Forecast) -> str:
    """A compact card of the model and of a run with the pairs that are chosen."""
    preview, estimate, entry = seen.preview, seen.estimate, seen.entry
    rows = [
        *_what(preview),
        *_disk(preview),
        *([_memory(seen.device, estimate)] if estimate.memory_bytes else []),
        *([_time(estimate)] if estimate.tokens else []),
        *_allowance(seen),
        *_board(entry),
        *_licence(preview),
    ]
    lines = "".join(tag("dt", escape(name)) + tag("dd", value) for name, value in rows)
    why_not = note(entry.why_not, "wrong") if entry and entry.why_not else ""
    return tag("section", _head(preview, seen.warm) + why_not + tag("dl", lines), css="model-card")


def _head(preview: Preview, warm: bool) -> str:
    chips = chip(preview.family)
    if warm:
        chips += chip(text("modelcard.warm"), "good")
    if preview.own_code:
        chips += chip(text("modelcard.own_code"), "bad")
    return tag("header", tag("b", escape(preview.name)) + chips)


def _what(preview: Preview) -> list[tuple[str, str]]:
    rows = [(text("modelcard.why"), escape(preview.why))] if preview.why else []
    if preview.reference is not None:
        rows.append((text("modelcard.reference"), escape(preview.reference.name)))
    if preview.parameters:
        words = text(
            "modelcard.counted" if preview.is_counted else "modelcard.guessed",
            n=count_words(preview.parameters),
        )
        rows.append((text("modelcard.parameters"), escape(words)))
    shape = [
        text(f"modelcard.{name}", n=f"{value:,}")
        for name, value in (
            ("positions", preview.positions),
            ("vocabulary", preview.vocabulary),
            ("layers", preview.layers),
            ("width", preview.width),
        )
        if value is not None
    ]
    return [*rows, *([(text("modelcard.shape"), escape(", ".join(shape)))] if shape else [])]


def _disk(preview: Preview) -> list[tuple[str, str]]:
    if not preview.weight_bytes:
        return []
    size = bytes_words(preview.weight_bytes)
    words = text("modelcard.stored", size=size, dtype=preview.dtype) if preview.dtype else size
    if preview.is_here:
        words += text("modelcard.here")
    else:
        words += text("modelcard.to_fetch", size=bytes_words(preview.all_fetch_bytes))
    return [(text("modelcard.disk"), escape(words))]


def _memory(device: Device, estimate: Estimate) -> tuple[str, str]:
    spread = estimate.n_gpus > 1
    free = device.all_free_bytes if spread else device.free_bytes
    name = text("modelcard.spread", n=estimate.n_gpus) if spread else device.name
    needed = bytes_words(estimate.memory_bytes)
    if not free:
        words = text("modelcard.memory_only", size=needed, dtype=estimate.dtype, device=name)
        return text("modelcard.memory"), escape(words)
    words = text(
        "modelcard.memory_of",
        size=needed,
        dtype=estimate.dtype,
        free=bytes_words(free),
        device=name,
    )
    share = min(100.0, 100 * estimate.memory_bytes / free)
    css = "progress full" if estimate.memory_bytes > free else "progress"
    bar = tag("div", tag("i", style=f"width:{share:.0f}%"), css=css)
    return text("modelcard.memory"), escape(words) + bar


def _time(estimate: Estimate) -> tuple[str, str]:
    if estimate.seconds is None or estimate.low is None or estimate.high is None:
        return text("modelcard.time"), escape(text("modelcard.time_unknown"))
    words = text(
        "modelcard.time_about",
        time=time_words(estimate.seconds),
        low=time_words(estimate.low),
        high=time_words(estimate.high),
    )
    if estimate.gpu_seconds is not None:
        words += text("modelcard.gpu_seconds", n=f"{estimate.gpu_seconds:,.0f}")
    basis = (
        text("modelcard.measured_once")
        if estimate.n_runs == 1
        else text("modelcard.measured", n=estimate.n_runs)
        if estimate.basis == "measured"
        else text("modelcard.guess")
    )
    return text("modelcard.time"), escape(words) + tag("small", escape(basis))


def _allowance(seen: Forecast) -> list[tuple[str, str]]:
    """What the visitor has left to score with, and what becomes of a run that takes longer."""
    left, needed = seen.seconds_left, seen.estimate.seconds
    if left is None or seen.refusal:
        return []
    words = text("modelcard.seconds_left", time=time_words(left))
    if needed is not None and needed > left:
        words += text("modelcard.too_long")
    return [(text("modelcard.allowance"), escape(words))]


def _board(entry: ModelEntry | None) -> list[tuple[str, str]]:
    if entry is None or entry.board is None:
        return []
    board, unset = entry.board, text("modelcard.unset")
    words = text(
        "modelcard.board_facts",
        template=board.template or text("modelcard.own_template"),
        batch=board.batch,
        dtype=board.dtype or unset,
        length=f"{board.length:,}" if board.length else unset,
    )
    return [(text("modelcard.board"), escape(words))]


def _licence(preview: Preview) -> list[tuple[str, str]]:
    """What binds it by its name, and where its licence stands: on its page, where it has one."""
    if parse_hub_id(preview.name) is None or not preview.architecture or preview.name == DEMO:
        return []
    page = f"https://huggingface.co/{preview.name}"
    words = escape(text("modelcard.see_card"))
    link = tag("a", words, href=page, target="_blank", rel="noopener noreferrer")
    known = licence_note(preview.name)
    return [(text("modelcard.licence"), (escape(known) + "; " if known else "") + link)]
