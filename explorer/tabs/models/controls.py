"""What stands above and below a board: what is shown of which models, by which rule."""

from collections.abc import Mapping, Sequence
from html import escape

from explorer.core.html import go_link, listing, note, tag
from explorer.core.parts import acting, button, copy_button, segments, ticked
from explorer.core.text import text
from explorer.reader.links import compare_query
from explorer.results.board import Board, benchmark_of
from explorer.tabs.models.rows import columns_of
from explorer.tabs.models.state import (
    BENCHMARKS,
    DIGITS,
    MISSING,
    MODEL_TYPES,
    MOST_MODELS,
    PANELS,
    RULE_OPTIONS,
    TABLES,
    TIES,
    ModelsState,
    kind_of,
)
from explorer.tabs.models.table import column_words
from scoring.results.files import LeftOut


def search_html() -> str:
    """The search for models. It is never written anew, so that nobody's typing is lost."""
    field = tag(
        "input", type="search", data_field="value", data_param="models", maxlength="500",
        placeholder=text("board.search"), aria_label=text("board.search"), autocomplete="off",
        spellcheck="false", css="search", **acting("search"),
    )  # fmt: skip
    return tag("div", field, css="searchbar", role="search")


def panels_html(state: ModelsState, link_base: str) -> str:
    """The board and the ways to compare, whether own models are listed, and a link.

    link_base: as of `explorer.core.parts.copy_button`.
    """
    panels: dict[str, str] = {panel: text(f"models.panel_{panel}") for panel in PANELS}
    html = segments(text("panel.label"), "panel", panels, state.panel)
    html += ticked(text("board.own_runs"), "own", state.own)
    return tag("div", html + copy_button(text("filter.copy_link"), "link", link_base), "line")


def controls_html(board: Board, state: ModelsState) -> str:
    """Which benchmark, which table, which models and columns, by which rule."""
    first = _segments("benchmark", BENCHMARKS, state.benchmark)
    tables = TABLES if state.benchmark == "v1" else TABLES[:1]
    first += _segments("table", tables, state.table) if len(tables) > 1 else ""
    if state.benchmark == "v1" and state.table != "prior":
        first += ticked(text("board.prior_sets"), "prior_sets", state.prior_sets)
    first += button(text("filter.reset"), "reset", css="button") + _pinned(board, state)
    kinds = set(map(kind_of, board.model_types))
    types = [(kind, kind) for kind in MODEL_TYPES if kind in kinds or kind in state.types]
    columns = [(each, column_words(each)) for each in columns_of(board, state) if each != "model"]
    shown = [each for each, _ in columns if each not in state.hidden]
    how = _labelled("rule", _segments("rule", RULE_OPTIONS, state.rule))
    unknown = "" if board.rewarded else note(text("board.unknown_ties"))
    how += _labelled("ties", _segments("ties", TIES, state.ties) + unknown)
    how += _labelled("missing", _segments("missing", MISSING, state.missing))
    digits = {each: str(each) for each in DIGITS}
    how += _labelled("digits", segments(text("board.digits"), "digits", digits, state.digits))
    among = {"among": [each for each, _ in columns]}
    options = _facet("types", types, state.types) + _facet("columns", columns, shown, among)
    options += tag("div", how, css="board-options")
    title = tag("summary", escape(text("board.options")))
    folded = tag("details", title + options, css="board-more", data_keep="board-more")
    return tag("div", first, css="line") + folded


def counts_html(board: Board, n: int, dropped: Sequence[str], unread: int) -> str:
    """How many models are shown, n, what is left out of a link, and what was not read yet."""
    words = text("board.count", n=f"{n:,}", total=f"{len(board.table):,}")
    told = [note(text("filter.dropped", what=what)) for what in dropped]
    if unread:
        told.append(note(text("board.unread", n=f"{unread:,}")))
    elif not len(board.table):
        told.append(note(text("board.no_results", rule=board.rule.title)))
    return tag("span", escape(words), css="count", role="status") + "".join(told)


def rule_html(board: Board, state: ModelsState, left_out: Sequence[LeftOut] = ()) -> str:
    """The rule in words, what intervals mean, and what is to be known of the numbers.

    left_out: files of each pair that are not used, and what of the others is not.
    """
    parts = [tag("h2", escape(board.rule.title)), tag("p", escape(board.rule.formula))]
    meanings = {
        "paired": "paired" in board.has,
        "ranked": "ranks" in board.has,
        "unpaired": state.table == "subsets" or "unpaired" in board.has,
    }
    parts += [tag("p", escape(text(f"board.{name}"))) for name, is_so in meanings.items() if is_so]
    lacking = [text("board.composite")] if text("board.composite") in board.remarks else []
    if "unpaired prior" in board.has:
        lacking.append(text("board.prior_unpaired"))
    parts += [tag("p", escape(each)) for each in lacking]
    remarks = [each for each in board.remarks if each not in lacking]
    parts.append(listing(text("board.remarks", n=f"{len(remarks):,}"), remarks))
    of_pairs = [str(each) for each in left_out]
    parts.append(listing(text("board.pair_remarks", n=f"{len(of_pairs):,}"), of_pairs))
    return "".join(parts)


def _pinned(board: Board, state: ModelsState) -> str:
    """A way to compare pinned models; nothing where fewer than two have results of each pair."""
    by_pairs = board.table.index[board.table["by_pairs"]]
    models = by_pairs[by_pairs.isin(state.pins)].to_list()
    if len(models) < 2 or benchmark_of(board.rule) != "v1":
        return ""
    query = compare_query(*models[:MOST_MODELS])
    return go_link(escape(text("board.compare_pinned")), "models", query, "button")


def _segments(field: str, options: Sequence[str], chosen: str) -> str:
    words = {each: text(f"board.{field}_{_key(each)}") for each in options}
    return segments(text(f"board.{field}"), field, words, chosen)


def _key(option: str) -> str:
    return option.replace(" ", "_").replace("-", "_")


def _labelled(field: str, inside: str) -> str:
    return tag("div", tag("span", escape(text(f"board.{field}")), "legend") + inside, "line")


def _facet(
    facet: str,
    names: Sequence[tuple[str, str]],
    picked: Sequence[str],
    sent: Mapping[str, object] | None = None,
) -> str:
    boxes = "".join(
        tag(
            "label",
            tag(
                "input",
                type="checkbox",
                value=name,
                **acting("pick", {"facet": facet, **(sent or {})}),
                **({"checked": "checked"} if name in picked else {}),
            )
            + escape(words),
            css="tick",
        )
        for name, words in names
    )
    legend = tag("legend", escape(text(f"board.{facet}")))
    return tag("fieldset", legend + tag("div", boxes, css="line"), css="facet group")
