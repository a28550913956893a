"""The review panel: what it shows, and what it answers to anyone who posts to its events."""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
import pyarrow.parquet as pq
import pytest

from explorer.core.settings import Settings
from explorer.data.library import Library
from explorer.data.sources import pair_sources
from explorer.data.table import PairTable
from explorer.reader.session import Session
from explorer.reader.state import PairsState, changed
from explorer.tabs.pairs.review.acts_view import MOST_CHOICES, ReviewTab, Stay, wire_review
from explorer.tabs.pairs.review.agreement import agreement
from explorer.tabs.pairs.review.files import read_upload
from explorer.tabs.pairs.review.state import (
    FILTERED,
    Decision,
    KeptReviews,
    Review,
    Verdict,
    to_json,
)
from explorer.tabs.pairs.review.view import (
    ReviewParts,
    agreement_html,
    answer_html,
    build_review,
    differing_choices,
    progress_html,
    remembered_review,
    told_html,
)
from scoring.errors import KnownError
from scoring.hub.access import Hub
from tests.explorer.browsing import act as posted_act
from tests.explorer.browsing import scenes_of, stays
from tests.explorer.filling import Filled, filled
from tests.explorer.html_reading import HtmlReading, is_told_as_our_own
from tests.explorer.posting import Visitor, function_name
from tests.explorer.tables import row, small_table

TAGS = {"div", "span", "i", "table", "caption", "thead", "tr", "th", "td"}
HOSTILE = "<img src=x onerror=alert(1)>${1}"
HASHES = [f"{number:016x}" for number in range(9)]


def decisions(verdicts: str, note: str = "") -> tuple[Decision, ...]:
    """On s:0, s:1 and so on, from the first letters of verdicts."""
    words: dict[str, Verdict] = {"k": "keep", "d": "drop", "u": "unsure"}
    return tuple(
        Decision(f"s:{place}", HASHES[place], words[letter], note, 0, "demo")
        for place, letter in enumerate(verdicts)
    )


def reading(html: str) -> str:
    return HtmlReading(html, TAGS).words


# What it says


def test_progress_counts_the_pairs_under_review_alone() -> None:
    review = Review("demo", "s", 1, decisions("kkd"))
    words = reading(progress_html(review, ["s:1", "s:2", "s:3"], "s:2"))
    assert "2 of 3 marked: 1 to keep, 1 to drop, 0 unsure" in words
    assert "Pair 2 of 3" in words and words.endswith("drop")


def test_a_pair_outside_of_the_review_is_said_to_be() -> None:
    assert "Not one of the pairs" in reading(progress_html(Review("demo", "s"), ["s:1"], "s:0"))


def test_agreement_is_told_with_its_table_and_what_kappa_means() -> None:
    mine, theirs = decisions("kkkd"), decisions("kkdd")
    html = agreement_html(agreement(mine, theirs), len(theirs))
    words = reading(html)
    assert "4 of the 4 pairs" in words and "75.0 %" in words and "kappa: 0.50" in words
    assert "Kappa is agreement beyond chance" in words
    assert html.count('scope="row"') == html.count('scope="col"') == 3


def test_agreement_without_anything_in_common_or_without_chance() -> None:
    nothing = agreement_html(agreement(decisions("k"), ()), 1)
    assert "0 of the 1 pair in" in reading(nothing) and "kappa" not in nothing
    alike = decisions("kk")
    assert "undefined" in reading(agreement_html(agreement(alike, alike), 2))
    assert agreement_html(agreement(alike, ()), 0) == ""


def test_a_colleagues_mark_shows_only_beside_ones_own() -> None:
    review, theirs = Review("demo", "s", 0, decisions("k")), decisions("dd", HOSTILE)
    found = agreement(review.decisions, theirs)
    words = reading(answer_html(found.answers["s:0"]))
    assert "mark: drop" in words and HOSTILE in words
    assert found.answers.keys() == {"s:0"} and answer_html(None) == ""
    assert differing_choices(found, review) == [("s:0 · you keep, they drop", "s:0")]


def test_of_two_pairs_with_the_same_texts_each_shows_the_mark_that_it_is_compared_with() -> None:
    verdicts: list[Verdict] = ["keep", "drop"]
    mine, theirs = (
        [Decision(f"{of}:{at}", HASHES[0], each, "", 0, of) for at, each in enumerate(verdicts)]
        for of in ("s", "other")
    )
    found = agreement(mine, theirs)
    assert found.differing == ()
    assert "mark: keep" in reading(answer_html(found.answers["s:0"]))
    assert "mark: drop" in reading(answer_html(found.answers["s:1"]))


def test_what_is_told_stays_text() -> None:
    assert HOSTILE in reading(told_html([HOSTILE]))


# What it does


@dataclass
class Panel:
    """The panel on a server, and a table it is about."""

    page: gr.Blocks
    parts: ReviewParts
    library: Library
    uploads: Path

    @property
    def table(self) -> PairTable:
        return self.library.get(None)

    @property
    def subset(self) -> str:
        return next(iter(self.table.subset_counts))


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Panel]:
    uploads = tmp_path_factory.mktemp("uploads")
    settings = Settings(home=tmp_path_factory.mktemp("home"), offline=True, pairs="demo")
    hub = Hub(offline=True)
    library = Library(pair_sources(settings, hub), hub, settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(uploads))
        with gr.Blocks(analytics_enabled=False) as page:
            view = build_review(remembered_review())
            tab = ReviewTab(scenes_of(library), view)
            wire_review(tab, gr.State(Session()), gr.State(None), gr.State(None))
        page.queue(default_concurrency_limit=8).launch(
            _frontend=False, prevent_thread_lock=True, quiet=True
        )
        yield Panel(page, view, library, uploads)
        page.close()


class Reviewer(Visitor):
    """A visitor whose browser keeps what it was told to keep."""

    kept: Any = ()
    place: Any = None

    def sends(self, act: str, **sent: Any) -> dict[str, Any]:
        """Post an act as a browser does; the last message."""
        event = {"act": act, "sent": {"place": self.place, **sent}}
        return self.post(ReviewTab.act, {"JSON": self.kept}, event)

    def does(self, act: str, **sent: Any) -> dict[str, Any]:
        """An act that must succeed; what it shows, by the outputs' ids or type names."""
        message = self.sends(act, **sent)
        assert message["success"], message["output"]
        event = next(
            each for each in self.page.fns.values() if function_name(each.fn) == "ReviewTab.act"
        )
        shown: dict[str, Any] = {"html": ""}
        for part, value in zip(event.outputs, message["output"]["data"], strict=True):
            if value != gr.skip():
                shown[part.elem_id or type(part).__name__] = value
            if isinstance(part, gr.HTML):
                shown["html"] += str(value)
        self.kept = shown.get("JSON", self.kept)
        self.place = shown.get("Textbox", self.place)
        return shown

    def presses(self, *names: str, note: Any = "") -> dict[str, Any]:
        """Presses of which the later ones were made before the first was answered."""
        return self.does(
            "press", presses=[[name, None if at else note] for at, name in enumerate(names)]
        )

    def exports(self, callback: Callable[..., Any], **values: Any) -> Path:
        """Where an export lies."""
        (file,) = self.data(callback, values)
        return Path(file["path"])

    def is_refused(self, act: str, **sent: Any) -> str:
        """An act that must fail; what the visitor is told."""
        message = self.sends(act, **sent)
        assert not message["success"], "the act succeeded"
        return str(message["output"]["error"])


@pytest.fixture
def reviewer(panel: Panel) -> Reviewer:
    return Reviewer(panel.page)


def begin(reviewer: Reviewer, panel: Panel, start: int = 1) -> dict[str, Any]:
    return reviewer.does("begin", subset=panel.subset, start=start)


def stay_on(table: PairTable, review: Review | None = None) -> Stay:
    return Stay(table, review, (), KeptReviews(), Session())


def keys(panel: Panel) -> list[str]:
    pairs = zip(panel.table.keys, panel.table.subset_of_row, strict=True)
    return [key for key, subset in pairs if subset == panel.subset]


def uploaded(panel: Panel, content: bytes, name: str = "theirs.jsonl") -> dict[str, Any]:
    """A file that lies where Gradio puts uploads, as the browser then names it."""
    path = panel.uploads / "0123" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return {"path": str(path), "orig_name": name, "meta": {"_type": "gradio.FileData"}}


def test_marking_goes_on_to_the_next_pair_and_is_kept_in_the_browser(
    reviewer: Reviewer, panel: Panel
) -> None:
    begun = begin(reviewer, panel)["html"]
    assert f'data-key="{keys(panel)[0]}"' in begun and is_told_as_our_own(begun)
    shown = reviewer.presses("drop", note="too short")
    assert f'data-key="{keys(panel)[1]}"' in shown["html"] and "1 to drop" in shown["html"]
    stored = json.loads(shown["JSON"][0])
    assert stored["subset"] == panel.subset
    assert stored["decisions"][0][:1] + stored["decisions"][0][2:4] == [
        keys(panel)[0],
        "drop",
        "too short",
    ]


def test_undo_opens_the_pair_again_and_then_there_is_nothing_to_undo(
    reviewer: Reviewer, panel: Panel
) -> None:
    begin(reviewer, panel)
    reviewer.presses("keep", "skip")
    shown = reviewer.presses("undo")
    assert f'data-key="{keys(panel)[0]}"' in shown["html"] and "0 of" in shown["html"]
    assert "Nothing to undo" in reviewer.presses("undo")["html"]


def test_a_note_comes_back_with_its_pair(reviewer: Reviewer, panel: Panel) -> None:
    begin(reviewer, panel)
    reviewer.presses("unsure", note="hm")
    shown = reviewer.presses("back")
    assert shown["review-note"] == "hm"
    assert reviewer.presses("forward")["review-note"] == ""


def test_all_marked_is_said(reviewer: Reviewer, panel: Panel) -> None:
    last = len(keys(panel))
    assert begin(reviewer, panel, start=last)["review-start"] == last
    assert "All pairs are marked" in reviewer.presses("keep")["html"]


def test_another_visit_goes_on_where_the_browser_was_left(reviewer: Reviewer, panel: Panel) -> None:
    begin(reviewer, panel)
    reviewer.presses("keep")
    again = Reviewer(panel.page)
    again.kept = reviewer.kept
    assert "1 marked" in again.does("offer")["html"]
    assert f'data-key="{keys(panel)[1]}"' in begin(again, panel)["html"]


def test_another_tab_joins_what_the_browser_keeps_by_now(reviewer: Reviewer, panel: Panel) -> None:
    other = Reviewer(panel.page)
    for each in (reviewer, other):
        begin(each, panel)
    reviewer.presses("keep")
    other.kept = reviewer.kept
    assert "2 of 8 marked: 1 to keep, 1 to drop" in other.presses("skip", "drop")["html"]
    assert "1 of 8 marked: 1 to keep" in other.presses("undo")["html"], "its own is the last"


def test_presses_that_were_not_answered_count_once_when_they_are_sent_again(
    reviewer: Reviewer, panel: Panel
) -> None:
    begin(reviewer, panel)
    reviewer.presses("keep")
    kept, place = reviewer.kept, reviewer.place
    for again in (reviewer, Reviewer(panel.page)):  # the page as it was, and loaded anew
        again.kept, again.place = kept, place
        assert "3 of 8 marked" in again.presses("drop", "drop")["html"]
    again.place = place
    shown = again.presses("drop", "drop")["html"]
    assert "3 of 8 marked" in shown and "check what is marked" in shown


def test_presses_that_are_refused_are_answered_lest_they_come_again(
    reviewer: Reviewer, panel: Panel
) -> None:
    begin(reviewer, panel)
    place = reviewer.place
    for sent, why in (
        ({"place": None}, "No review in progress"),
        ({"place": place.replace(panel.table.id.split("@")[-1], "0")}, "not in memory any more"),
        ({"presses": 5}, "Presses are a list"),
        ({"presses": [["keep", "x" * 2001]]}, "2,000 characters"),
    ):
        shown = reviewer.does("press", **{"presses": [["keep", ""], ["drop", ""]], **sent})["html"]
        assert why in shown and "not counted" in shown
    assert "0 of" in reviewer.presses("skip")["html"]


def test_decisions_go_out_and_come_back(reviewer: Reviewer, panel: Panel) -> None:
    begin(reviewer, panel)
    reviewer.presses("keep", "drop", note=HOSTILE)
    path = reviewer.exports(ReviewTab.export_decisions)
    assert path.name == f"{panel.subset}-decisions.jsonl"
    lines = path.read_bytes()
    assert len(lines.splitlines()) == 2

    other = Reviewer(panel.page)
    file = uploaded(panel, lines)
    shown = other.does("resume", file=file)
    assert "2 decisions" in shown["html"] and "1 to keep, 1 to drop" in shown["html"]
    assert not Path(file["path"]).exists()


def test_an_exported_file_is_left_with_gradio_alone(reviewer: Reviewer, panel: Panel) -> None:
    temporary = Path(tempfile.gettempdir())
    before = {*temporary.glob("*review-*")}
    begin(reviewer, panel)
    reviewer.presses("keep")
    for callback in (ReviewTab.export_decisions, ReviewTab.export_kept):
        path = reviewer.exports(callback)
        assert path.is_relative_to(panel.uploads) and path.is_file()
    assert {*temporary.glob("*review-*")} <= before


def test_the_kept_pairs_go_out_as_parquet(reviewer: Reviewer, panel: Panel) -> None:
    begin(reviewer, panel)
    reviewer.presses("keep", "drop")
    for states, n in ((["keep"], 1), (["keep", "unmarked"], len(keys(panel)) - 1)):
        path = reviewer.exports(ReviewTab.export_kept, **{"review-states": states})
        assert pq.read_table(path).num_rows == n


def test_a_colleagues_decisions_are_compared_and_a_pair_in_dispute_is_opened(
    reviewer: Reviewer, panel: Panel
) -> None:
    begin(reviewer, panel)
    reviewer.presses("keep", "keep", "keep")
    path = reviewer.exports(ReviewTab.export_decisions)
    file = uploaded(panel, path.read_bytes().replace(b'"keep"', b'"drop"', 1))
    shown = reviewer.does("compare", file=file)
    assert "66.7 %" in shown["html"]
    disputed = shown["review-differing"]["choices"]
    assert [value for _, value in disputed] == [keys(panel)[0]]
    shown = reviewer.does("differ", pair=keys(panel)[0])
    assert f'data-key="{keys(panel)[0]}"' in shown["html"] and "mark: drop" in shown["html"]


# What anybody may send


@pytest.mark.parametrize(
    ("subset", "start"),
    [
        (HOSTILE, 0),
        (None, 0),
        (["nested", []], 0),
        (5, 0),
        ("x" * 100_000, 0),
        ("", -1),
        ("", 10_000),
        ("", 1e300),
        ("", "many"),
        ("", None),
        ("", {}),
    ],
)
def test_a_start_that_is_none_is_refused(
    reviewer: Reviewer, panel: Panel, subset: Any, start: Any
) -> None:
    told = reviewer.is_refused(
        "begin", subset=panel.subset if subset == "" else subset, start=start
    )
    assert "error of ours" not in told and "<img" not in told


def test_without_a_review_it_is_said_how_to_begin_one(reviewer: Reviewer) -> None:
    for act in ("differ", "compare"):
        assert "No review in progress" in reviewer.is_refused(act)
    for export in (ReviewTab.export_decisions, ReviewTab.export_kept):
        assert "No review in progress" in reviewer.refused(export)


@pytest.mark.parametrize("act", ["", "shout", HOSTILE, 5, None])
def test_an_act_that_is_none_is_refused(reviewer: Reviewer, act: Any) -> None:
    assert "There is no act" in reviewer.is_refused(act)


@pytest.mark.parametrize("kept", [5, "x", {"a": 1}, [[]], ["{"], [5] * 1000])
def test_a_storage_full_of_nonsense_does_no_harm(
    reviewer: Reviewer, panel: Panel, kept: Any
) -> None:
    for act in ("offer", "choose", "begin", "press"):
        reviewer.kept = kept
        shown = reviewer.does(act, subset=panel.subset, start=1, presses=[["keep", ""]])
    assert len(shown["JSON"]) == 1


def test_a_stored_review_of_pairs_that_are_not_there_can_be_gone_on_with(
    reviewer: Reviewer, panel: Panel
) -> None:
    review = Review(panel.table.id, panel.subset, 10**9).mark(HOSTILE, HASHES[0], "keep", at=0)
    reviewer.kept = [to_json(review)]
    assert "<img" not in begin(reviewer, panel)["html"]
    assert "<img" not in reviewer.presses("undo")["html"]


@pytest.mark.parametrize("wanted", [HOSTILE, None, 5, ["a"], {"a": 1}])
def test_a_pair_that_is_not_in_dispute_is_not_opened(
    reviewer: Reviewer, panel: Panel, wanted: Any
) -> None:
    begin(reviewer, panel)
    told = reviewer.is_refused("differ", pair=wanted)
    assert "not under review" in told


@pytest.mark.parametrize("states", [["nonsense"], [[]], 5, [], None])
def test_states_that_are_none_are_refused(reviewer: Reviewer, panel: Panel, states: Any) -> None:
    begin(reviewer, panel)
    reviewer.presses("keep")
    told = reviewer.refused(ReviewTab.export_kept, {"review-states": states})
    assert "error of ours" not in told


def test_nothing_is_exported_of_nothing(reviewer: Reviewer, panel: Panel) -> None:
    begin(reviewer, panel)
    assert "nothing to export" in reviewer.refused(ReviewTab.export_decisions, {})
    assert "is kept" in reviewer.refused(ReviewTab.export_kept, {"review-states": ["keep"]})


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"[]\n", b"{}\n", b'{"key": 1}\n', b"not json\n", b""]
)
def test_a_file_of_something_else_is_refused_and_deleted(
    reviewer: Reviewer, panel: Panel, content: bytes
) -> None:
    begin(reviewer, panel)
    file = uploaded(panel, content)
    if content:
        told = reviewer.is_refused("compare", file=file)
        assert "theirs.jsonl, line 1" in told
    else:
        told = reviewer.is_refused("resume", file=file)
        assert "None of the 0 decisions" in told
    assert not Path(file["path"]).exists()


def test_a_file_elsewhere_is_neither_read_nor_deleted(
    reviewer: Reviewer, panel: Panel, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text("secret\n")
    inside = panel.uploads / "link.jsonl"
    inside.symlink_to(secret)
    for path in (secret, inside, panel.uploads / ".." / secret.name, Path("/etc/passwd")):
        file = {"path": str(path), "meta": {"_type": "gradio.FileData"}}
        told = reviewer.is_refused("resume", file=file)
        assert "secret\n" not in told
    with pytest.raises(KnownError):
        read_upload(str(inside))
    assert secret.read_text() == "secret\n"


@pytest.mark.parametrize("upload", [None, 5, "", "\0", "x" * 100_000, "/etc/passwd", [], {}, 300])
def test_what_is_no_upload_is_refused(panel: Panel, upload: object) -> None:
    if upload == 300:
        upload = f"{panel.uploads}/{'x' * 300}.jsonl"  # no file can have such a name
    with pytest.raises(KnownError, match="No file was uploaded"):
        read_upload(upload)


# When other pairs come on screen


def test_other_pairs_end_the_review_and_what_was_pressed_before_still_counts(panel: Panel) -> None:
    tab, stay = ReviewTab(scenes_of(panel.library), panel.parts), stay_on(panel.table)
    begun = filled(tab.parts, tab.begin({"subset": panel.subset, "start": 1}, stay))
    here, review = small_table(row(id="x")), stay.session.get(Review)
    elsewhere = stay_on(small_table(row(id="x")), review)
    elsewhere.session.show(review)
    offered = filled(tab.parts, tab.offer({}, elsewhere))
    assert "was on another dataset" in offered.told
    assert elsewhere.session.get(Review) is None and offered.marking["visible"] is False
    assert [value for _, value in offered.subset["choices"]] == [FILTERED, *here.subset_counts]
    sent = {"place": begun.address, "presses": [["keep", "hm"]]}
    pressed = filled(tab.parts, tab.press(sent, elsewhere))
    assert [each.key for each in KeptReviews.read(pressed.kept).reviews[0].decisions] == [
        keys(panel)[0]
    ]


def test_the_largest_of_a_thousand_subsets_are_offered_and_any_can_be_begun(panel: Panel) -> None:
    rows = [row(subset=f"s{number:04}") for number in range(1_000)]
    rows += [row(subset=f"s{number:04}", id=f"more-{number}") for number in range(400, 1_000)]
    tab, stay = (
        ReviewTab(scenes_of(panel.library), panel.parts),
        stay_on(small_table(*rows, chunk_rows=2_000)),
    )
    choices = [name for _, name in filled(tab.parts, tab.offer({}, stay)).subset["choices"]]
    assert len(choices) == MOST_CHOICES + 1
    assert set(choices) <= {FILTERED, *(f"s{n:04}" for n in range(400, 1_000))}
    begun = filled(tab.parts, tab.begin({"subset": "s0007", "start": 1}, stay))
    assert "key=s0007:7" in begun.address


def test_a_review_is_of_what_is_filtered_and_follows_it(panel: Panel) -> None:
    tab, session = ReviewTab(scenes_of(panel.library), panel.parts), Session()
    state, shown = PairsState(panel.table.id, sort="-chosen"), Filled()

    def does(name: str, **sent: object) -> Filled:
        filling = tab.act(posted_act(name, **sent), session, shown.get("kept", ()))
        given = filled(tab.parts, filling).items()
        shown.update((part, value) for part, value in given if not stays(value))
        return shown

    def lists(**changes: Any) -> list[str]:
        nonlocal state
        state = changed(state, changes)
        session.show(state)
        now = tab.scenes.now(session)
        return [panel.table.keys[row] for row in now.listed.rows]

    code = lists(code=("yes",))
    begun = does("begin", subset=FILTERED, start=1)
    assert f"0 of {len(code)} marked" in begun.progress and f"key={code[0]}&" in begun.address
    presses = [["keep", None], ["drop", None]]
    assert (
        f"2 of {len(code)} marked" in does("press", place=begun.address, presses=presses).progress
    )

    short = lists(words="def ", where="chosen")
    assert 2 < len(short) < len(code)
    n = len({*code[:2]} & {*short})
    followed = does("follow", place=shown.address)
    assert f"{n} of {len(short)} marked" in followed.progress
    open_key = code[2] if code[2] in short else next(key for key in short if key not in code[:2])
    assert f"key={open_key}&" in followed.address
    before = shown.address
    lists(words="nowhere to be found")
    assert does("follow", place=before).marking["visible"] is False
    late = does("press", place=before, presses=[["unsure", None]])
    assert f"{n + 1} of {len(short)} marked" in late.progress, "counted where it was pressed"
    [kept] = KeptReviews.read(shown.kept).reviews
    assert [each.key for each in kept.decisions] == [*code[:2], open_key]


def test_the_same_pairs_leave_the_review_as_it_is(panel: Panel) -> None:
    review = Review(panel.table.id, panel.subset)
    tab = ReviewTab(scenes_of(panel.library), panel.parts)
    offered = filled(tab.parts, tab.offer({}, stay_on(panel.table, review)))
    assert all(stays(value) for value in offered.values())
