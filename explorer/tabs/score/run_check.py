"""A run, what is published of its model, and how the two compare."""

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.results.board import Board
from explorer.results.field import Field
from explorer.results.own import Match, find_published
from explorer.tabs.score.published_check import PublishedCheck, check_pairs, check_sections
from explorer.tabs.score.published_settings import NOT_KNOWN, BoardSettings, board_settings
from scoring.record import Run


@dataclass(frozen=True, slots=True)
class RunCheck:
    """What there is to compare a run with.

    own: the run's name in the field; "" where it is not in it.
    match: what is published of its model.
    check: None where nothing is.
    """

    run: Run
    own: str
    match: Match
    check: PublishedCheck | None


def check_run(
    run: Run,
    field: Field,
    board: Board | None = None,
    settings: Mapping[str, BoardSettings] | None = None,
) -> RunCheck:
    """A run against published results of the same model: pair by pair where they are known.

    Args:
        run: with some pairs.
        field: the one that the run is in, as of `explorer.results.fields.Fields`.
        board: of published scores, which may have models that the field has not.
        settings: published name -> what its results were made with, where that is known; None
            for what upstream's configurations say.

    Raises:
        KnownError: the run cannot be read.
    """
    own = next((name for name, each in field.runs.items() if each.id == run.id), "")
    by_pairs = [model for model in field.matrix.models if model not in field.own]
    rows = {row.model: row for row in board.rows if not row.own} if board else {}
    match = find_published(run.facts, {*by_pairs, *rows})
    known = board_settings(match.model)
    if settings is not None:
        known = settings.get(match.model, NOT_KNOWN)
    check = None
    if own and match.model in by_pairs:
        check = check_pairs(field, own, match.model, known)
    elif match.model in rows:
        sections = rows[match.model].sections
        check = check_sections(run.facts, run.rows(), match.model, sections, known)
    return RunCheck(run, own, match, check)
