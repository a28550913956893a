"""The pairs in which the compared models differ, one at a time, with what each made of it."""

from html import escape

from explorer.compareview import CompareScene
from explorer.core.html import note, tag
from explorer.core.text import text
from explorer.data.search import EVERYTHING
from explorer.reader.listing import reader_bar
from explorer.reader.reader import pair_html


def differing_html(now: CompareScene) -> str:
    """Steps through the pairs in which they differ; nothing where no pair is shown."""
    if not _has_reader(now):
        return ""
    title = tag("h2", escape(text("compare.differ")))
    none = "" if len(now.listed) else note(text("compare.same"))
    return tag("div", title + none, "duel") + reader_bar(now.listed, now.view.reading)


def differing_pair_html(now: CompareScene) -> str:
    """The open pair with the rewards and outcomes of all compared models."""
    if not _has_reader(now):
        return ""
    reading, field = now.view.reading, now.field
    row = field.table.row_of(reading.key) if reading.key else None
    if row is None:
        return pair_html(None, None, reading.look(EVERYTHING))
    verdicts = [field.verdict(model, row) for model in now.view.named]
    cells = field.table.cells(row) if field.has_texts else None
    return pair_html(
        cells, reading.key, reading.look(EVERYTHING), verdicts, source=field.table.source
    )


def _has_reader(now: CompareScene) -> bool:
    return bool(now.view.a) and now.view.panel in ("table", "scatter")
