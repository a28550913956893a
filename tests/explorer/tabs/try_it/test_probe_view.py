"""The bias probe: run, stopped, refused, taken away; hostile names."""

import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from explorer.core.work import Latest
from explorer.data.library import Library
from explorer.data.table import PairTable
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.runs.progress import Progress
from explorer.runs.running import Rewarded
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.try_it.probe import Probe, bought, probing
from explorer.tabs.try_it.probe_view import (
    ProbePanel,
    build_probe,
    probe_html,
    probe_status_html,
)
from scoring.errors import KnownError
from scoring.pairs.opening import as_pairs
from scoring.spec import Pair
from tests.conftest import PATIENCE
from tests.explorer.browsing import library_of, scenes_on, stays
from tests.explorer.filling import Filled, filled, laid_out
from tests.explorer.html_reading import HtmlReading
from tests.explorer.rewarding import FACTS, by_length, in_packs
from tests.explorer.tables import row, small_table

TAGS = {"div", "h2", "table", "thead", "tbody", "tr", "th", "td", "b", "i", "small"}
HOSTILE = "<img src=x onerror=alert(1)>"


def panel_of(stores: Stores, library: Library) -> ProbePanel:
    """The probe where these tables are at hand."""
    scenes, parts = scenes_on(replace(stores, pairs=library)), laid_out(build_probe)
    return ProbePanel(scenes, stores.runs, stores.settings, Latest(), parts)


@pytest.fixture
def panel(stores: Stores) -> ProbePanel:
    return panel_of(stores, stores.pairs)


@pytest.fixture
def me() -> Session:
    return Session(Visitor(session="me"))


def run(
    panel: ProbePanel, session: Session, *choice: Any, model: Any = "longer"
) -> Iterator[Filled]:
    return (filled(panel.parts, each) for each in panel.start(session, model, *choice))


def probe_of(session: Session) -> Probe:
    """The probe that is shown."""
    probe = session.get(Probe)
    assert probe is not None
    return probe


def refused(panel: ProbePanel, *choice: Any, model: Any = "longer") -> str:
    session = Session()
    *_, last = run(panel, session, *choice, model=model)
    assert stays(last.table) and session.get(Probe) is None and last.start["interactive"] is True
    said = HtmlReading(last.status, TAGS)
    assert len(said.of_class["wrong"]) == 1
    return said.words


def test_it_runs_to_its_end(panel: ProbePanel, me: Session) -> None:
    first, *_, last = run(panel, me, "subset", 1, 0, ["longer", "upper"])
    assert first.start["interactive"] is False and first.stop["interactive"] is True
    assert last.start["interactive"] is True and last.stop["interactive"] is False
    assert probe_of(me).is_whole and len(probe_of(me).pairs) == 23
    assert "Finished: 23 pairs" in HtmlReading(last.status, TAGS).words
    assert last.plot["visible"] is True and last.files.visible is True
    said = HtmlReading(last.table, TAGS).words
    assert "Longer with filler" in said and "Polite" not in said


def test_what_the_pairs_tab_lists_is_probed(panel: ProbePanel, me: Session) -> None:
    me.show(PairsState(subset=("donotanswer",)))
    list(run(panel, me, "filter", None, None, ["upper"]))
    assert {pair.subset for pair in probe_of(me).pairs} == {"donotanswer"}


def test_stopped_it_keeps_what_is_known(panel: ProbePanel, me: Session) -> None:
    steps = run(panel, me, "subset", 8, 0, ["longer"])
    shown = [next(steps), next(steps)]
    panel.stop(me)
    shown += list(steps)
    assert "Stopped: " in shown[-1].status and shown[-1].start["interactive"] is True
    assert not probe_of(me).is_whole and len(probe_of(me).before) < 184


def test_what_ends_in_an_error_keeps_what_is_known(panel: ProbePanel, me: Session) -> None:
    pairs = as_pairs(panel.scenes.library.here("").arrow, range(60))

    def failing(packs: int) -> Generator[Probe, None, None]:
        left = packs

        def rewarding(some: Sequence[Pair]) -> Iterator[Progress | Rewarded]:
            nonlocal left
            for step in in_packs(by_length)(some):
                if not left:
                    raise KnownError("You have used up are <used> up.")
                left -= isinstance(step, Rewarded)
                yield step

        return probing(pairs, ["longer"], rewarding)

    def end(packs: int) -> Filled:
        *_, last = panel._followed(me, failing(packs), lambda: True)
        return filled(panel.parts, last)

    last = end(9)
    assert "You have used up are &lt;used&gt; up." in last.status and "wrong" in last.status
    assert last.start["interactive"] is True and last.stop["interactive"] is False
    known = probe_of(me)
    assert not known.is_whole and last.files.visible is True
    assert "Longer with filler" in last.table and last.plot["visible"] is True
    [file] = list(panel.export("summary", me))[-1].values()
    assert file["value"]
    nothing = end(1)
    assert stays(nothing.table) and stays(nothing.files) and probe_of(me) is known
    assert "You have used up" in nothing.status


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (("subset", 0, 0, ["upper"]), "Pairs per subset is 0; it must be a whole number, 1"),
        (("subset", None, 0, ["upper"]), "Pairs per subset is empty"),
        (("subset", 1, "x", ["upper"]), "Seed is 'x'"),
        (("keys", 1, 0, ["upper"]), "A way to choose pairs is one of subset, filter"),
        (("failed", 1, 0, ["upper"]), "A way to choose pairs is one of"),
        ((None, 1, 0, ["upper"]), "A way to choose pairs is one of"),
        (("subset", 1, 0, []), "No change is chosen"),
        (("subset", 1, 0, "upper"), "a list is wanted"),
        (("subset", 1, 0, ["gone"]), "Changes is one of"),
        (("subset", 1, 0, [[]]), "Changes is one of"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(
    choice: tuple[Any, ...], why: str, panel: ProbePanel
) -> None:
    assert why in refused(panel, *choice)


@pytest.mark.parametrize("model", [None, 5, "", "a b", "../x", HOSTILE])
def test_a_model_that_cannot_be_is_refused(model: Any, panel: ProbePanel) -> None:
    assert refused(panel, "subset", 1, 0, ["upper"], model=model)


def test_no_pairs_and_too_many_are_refused(panel: ProbePanel, me: Session) -> None:
    me.show(PairsState(subset=("gone",)))
    *_, last = run(panel, me, "filter", None, None, ["upper"])
    assert "No pairs" in last.status
    few = replace(panel, settings=replace(panel.settings, max_pairs=30))
    assert "may score 30 pairs here" in refused(few, "subset", 1, 0, ["upper"])
    assert "may score 30 pairs here" in refused(few, "subset", 2, 0, ["swap"])


def test_rows_with_further_responses_are_refused(stores: Stores) -> None:
    panel = panel_of(stores, library_of(small_table(row(rejected=["one", "two"]), row())))
    assert "several chosen or several rejected" in refused(panel, "filter", None, None, ["upper"])


def test_it_waits_for_its_turn_and_says_so(panel: ProbePanel, me: Session) -> None:
    seen: list[str] = []
    waits = threading.Event()

    def probe() -> None:
        for shown in run(panel, me, "subset", 1, 0, ["upper"]):
            seen.append(shown.status)
            if "ahead of you" in shown.status:
                waits.set()

    thread = threading.Thread(target=probe)
    with panel.runs.scorers.turn(Visitor(session="other")):
        thread.start()
        assert waits.wait(PATIENCE)
    thread.join(PATIENCE)
    assert "1 ahead of you" in " ".join(seen) and "Finished" in seen[-1]


def test_files_are_of_what_is_shown(panel: ProbePanel, me: Session) -> None:
    list(run(panel, me, "subset", 1, 0, ["upper"]))
    for form in ("summary", "pairs"):
        for told in panel.export(form, me):
            [file] = told.values()
            lines = Path(file["value"]).read_text("utf-8-sig").splitlines()
            assert len(lines) > 2
    with pytest.raises(gr.Error, match="Nothing probed yet"):
        list(panel.export("summary", Session()))


def test_hostile_names_do_nothing(panel: ProbePanel, demo: PairTable) -> None:
    pairs = [replace(pair, key=HOSTILE + pair.key) for pair in as_pairs(demo.arrow, range(9))]
    rewarding = in_packs(by_length, replace(FACTS, model=HOSTILE))
    *_, probe = probing(pairs, ["upper", "longer"], rewarding)
    html = probe_html(probe, bought(probe))
    assert HOSTILE in HtmlReading(html, TAGS).words
    HtmlReading(probe_status_html(probe, "finished"), TAGS)
    shown = filled(panel.parts, panel._shown(probe, "finished"))
    assert "<img" not in shown.plot["value"].to_json()


def test_what_is_sure_is_marked(demo: PairTable) -> None:
    pairs = as_pairs(demo.arrow, range(60))
    *_, probe = probing(pairs, ["upper", "longer", "cut"], in_packs(by_length))
    reading = HtmlReading(probe_html(probe, bought(probe)), TAGS)
    assert len(reading.of_class["up"]) == 2 and len(reading.of_class["down"]) == 2
    assert all("Longer with filler" in line for line in reading.of_class["up"])
