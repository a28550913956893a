"""The review panel: what it shows, and what it answers to anyone who posts to its events."""

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
import pyarrow.parquet as pq
import pytest

from explorer.agreement import agreement
from explorer.library import Library
from explorer.review import Decision, Review, Verdict
from explorer.review_json import to_json
from explorer.settings import Settings
from explorer.sources import pair_shelf
from explorer.table import PairTable
from explorer.ui.review import MOST_CHOICES, ReviewTab, wire_review
from explorer.ui.reviewfiles import read_upload
from explorer.ui.reviewhtml import (
    agreement_html,
    answer_html,
    differing_choices,
    progress_html,
    told_html,
)
from explorer.ui.reviewturns import in_turn
from explorer.ui.reviewview import ReviewView, Stay, build_review, remembered_review
from scoring.errors import KnownError
from scoring.hub import Hub
from tests.explorer.tables import row, small_table
from tests.ui.browsing import library_of
from tests.ui.html_reading import HtmlReading, is_told_as_our_own
from tests.ui.posting import Visitor

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
    assert "outside" in reading(progress_html(Review("demo", "s"), ["s:1"], "s:0"))


def test_agreement_is_told_with_its_table_and_what_kappa_means() -> None:
    mine, theirs = decisions("kkkd"), decisions("kkdd")
    html = agreement_html(agreement(mine, theirs), theirs)
    words = reading(html)
    assert "4 of the 4 pairs" in words and "75.0 %" in words and "kappa: 0.50" in words
    assert "Kappa is agreement beyond chance" in words
    assert html.count('scope="row"') == html.count('scope="col"') == 3


def test_agreement_without_anything_in_common_or_without_chance() -> None:
    nothing = agreement_html(agreement(decisions("k"), ()), decisions("k"))
    assert "0 of the 1 pairs" in reading(nothing) and "kappa" not in nothing
    alike = decisions("kk")
    assert "not defined" in reading(agreement_html(agreement(alike, alike), alike))
    assert agreement_html(agreement(alike, ()), ()) == ""


def test_a_colleagues_mark_shows_only_beside_ones_own() -> None:
    review, theirs = Review("demo", "s", 0, decisions("k")), decisions("dd", HOSTILE)
    words = reading(answer_html(review, theirs, "s:0"))
    assert "mark: drop" in words and HOSTILE in words
    assert answer_html(review, theirs, "s:1") == ""
    found = agreement(review.standing.values(), theirs)
    assert differing_choices(found, review.standing, theirs) == [
        ("s:0 · you keep, they drop", "s:0")
    ]


def test_what_is_told_stays_text() -> None:
    assert HOSTILE in reading(told_html([HOSTILE]))


# What it does


@dataclass
class Panel:
    """The panel on a server, and a table it is about."""

    page: gr.Blocks
    view: ReviewView
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
    library = Library(pair_shelf(settings, hub), hub, settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(uploads))
        with gr.Blocks(analytics_enabled=False) as page:
            view = build_review(remembered_review())
            wire_review(view, ReviewTab(library), gr.State(None))
        page.queue(default_concurrency_limit=8).launch(
            _frontend=False, prevent_thread_lock=True, quiet=True
        )
        yield Panel(page, view, library, uploads)
        page.close()


class Reviewer(Visitor):
    """A visitor whose browser keeps what it was told to keep."""

    kept: Any = ()
    noted: Any = None

    def post(
        self,
        callback: Callable[..., Any],
        values: dict[str, Any] | None = None,
        event_data: Any = None,
    ) -> dict[str, Any]:
        known = {"BrowserState": list(self.kept), "review-noted": self.noted}
        return super().post(callback, known | (values or {}), event_data)

    def does(self, callback: Callable[..., Any], **values: Any) -> dict[str, Any]:
        """An event that must succeed; what it shows, by the outputs' ids or type names."""
        sent = {name.replace("_", "-"): value for name, value in values.items()}
        message = self.post(callback, sent)
        assert message["success"], message["output"]
        event = next(
            each
            for each in self.page.fns.values()
            if getattr(each.fn, "__qualname__", "") == callback.__qualname__
        )
        shown: dict[str, Any] = {"html": ""}
        for part, value in zip(event.outputs, message["output"]["data"], strict=True):
            shown[part.elem_id or type(part).__name__] = value
            if isinstance(part, gr.HTML):
                shown["html"] += str(value)
        self.kept = shown.get("BrowserState", self.kept)
        self.noted = shown.get("review-noted", self.noted)
        return shown

    def does_at_once(self, *callbacks: Callable[..., Any], note: str) -> list[list[Any]]:
        """Events of which the later ones are posted before the first is answered; what is kept."""
        for callback in callbacks:
            number, event = next(
                each
                for each in self.page.fns.items()
                if getattr(each[1].fn, "__qualname__", "") == callback.__qualname__
            )
            known = {"BrowserState": [], "review-note": note, "review-noted": self.noted}
            names = [part.elem_id or type(part).__name__ for part in event.inputs]
            data = [known.get(name) for name in names]
            body = {"data": data, "fn_index": number, "session_hash": self.session}
            self.open("queue/join", json.dumps(body).encode()).close()
        answers = []
        with self.open(f"queue/data?session_hash={self.session}") as stream:
            for line in stream:
                message = json.loads(line[6:]) if line.startswith(b"data: ") else {}
                if message.get("msg") == "process_completed":
                    assert message["success"], message["output"]
                    answers.append(message["output"]["data"])
                if len(answers) == len(callbacks):
                    break
        return max((json.loads(answer[-2][0])["decisions"] for answer in answers), key=len)


@pytest.fixture
def reviewer(panel: Panel) -> Reviewer:
    return Reviewer(panel.page)


def begin(reviewer: Reviewer, panel: Panel, start: int = 0) -> dict[str, Any]:
    return reviewer.does(ReviewTab.begin, review_subset=panel.subset, review_start=start)


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
    shown = reviewer.does(ReviewTab.drop, review_note="too short")
    assert f'data-key="{keys(panel)[1]}"' in shown["html"] and "1 to drop" in shown["html"]
    stored = json.loads(shown["BrowserState"][0])
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
    reviewer.does(ReviewTab.keep)
    reviewer.does(ReviewTab.skip)
    shown = reviewer.does(ReviewTab.undo)
    assert f'data-key="{keys(panel)[0]}"' in shown["html"] and "0 of" in shown["html"]
    assert "nothing to undo" in reviewer.does(ReviewTab.undo)["html"]


def test_a_note_comes_back_with_its_pair(reviewer: Reviewer, panel: Panel) -> None:
    begin(reviewer, panel)
    reviewer.does(ReviewTab.unsure, review_note="hm")
    shown = reviewer.does(ReviewTab.back)
    assert shown["review-note"] == "hm"
    assert reviewer.does(ReviewTab.forward)["review-note"] == ""


def test_all_marked_is_said(reviewer: Reviewer, panel: Panel) -> None:
    last = len(keys(panel)) - 1
    begin(reviewer, panel, start=last)
    assert "All pairs are marked" in reviewer.does(ReviewTab.keep)["html"]


def test_another_visit_goes_on_where_the_browser_was_left(reviewer: Reviewer, panel: Panel) -> None:
    begin(reviewer, panel)
    reviewer.does(ReviewTab.keep)
    again = Reviewer(panel.page)
    again.kept = reviewer.kept
    assert "1 marked" in again.does(ReviewTab.offer)["html"]
    assert f'data-key="{keys(panel)[1]}"' in begin(again, panel)["html"]


def test_two_quick_marks_are_both_kept_though_the_second_sends_the_old_reviews(
    reviewer: Reviewer, panel: Panel
) -> None:
    begin(reviewer, panel)
    reviewer.does(ReviewTab.keep)
    reviewer.kept = ()
    assert "2 of" in reviewer.does(ReviewTab.keep)["html"]


def test_quick_marks_are_all_kept_in_order_and_the_note_goes_with_its_pair(
    reviewer: Reviewer, panel: Panel
) -> None:
    begin(reviewer, panel)
    order = [ReviewTab.drop, ReviewTab.unsure, ReviewTab.keep, ReviewTab.drop, ReviewTab.keep]
    made = reviewer.does_at_once(*order, note="on the first")
    assert [(key, verdict, note) for key, _, verdict, note, *_ in made] == [
        (keys(panel)[0], "drop", "on the first"),
        (keys(panel)[1], "unsure", ""),
        (keys(panel)[2], "keep", ""),
        (keys(panel)[3], "drop", ""),
        (keys(panel)[4], "keep", ""),
    ]


def test_a_press_is_never_dropped_and_visitors_do_not_wait_for_each_other(panel: Panel) -> None:
    events = [each for each in panel.page.fns.values() if each.concurrency_id == "review"]
    marks = [each for each in events if each.trigger_mode == "multiple"]
    assert {each.fn.__name__ for each in marks} == {
        "keep", "drop", "unsure", "undo", "skip", "back", "forward",
    }  # fmt: skip
    assert all(each.concurrency_limit is None for each in events)


def test_while_one_visitor_waits_another_marks(panel: Panel) -> None:
    first, second = Stay(), Stay()
    tab, table_id = ReviewTab(panel.library), None
    asked = (panel.subset, 0, table_id)

    async def both() -> list[Any]:
        async with first.turn:
            waiting = asyncio.create_task(in_turn(tab.begin)(*asked, first, "", "", []))
            shown = await asyncio.wait_for(in_turn(tab.begin)(*asked, second, "", "", []), 20)
            assert not waiting.done() and first.review is None
        assert (await waiting)[-1] is first
        return shown

    assert asyncio.run(both())[-1] is second
    assert first.open_key == second.open_key == keys(panel)[0]


@pytest.mark.parametrize("noted", [None, "", 5, ["a"], {"a": 1}, HOSTILE])
def test_a_note_that_was_not_typed_for_the_open_pair_is_left_out(
    reviewer: Reviewer, panel: Panel, noted: Any
) -> None:
    begin(reviewer, panel)
    reviewer.does(ReviewTab.keep, review_note="of another", review_noted=noted)
    assert reviewer.does(ReviewTab.back)["review-note"] == ""


def test_decisions_go_out_and_come_back(reviewer: Reviewer, panel: Panel) -> None:
    begin(reviewer, panel)
    reviewer.does(ReviewTab.keep, review_note=HOSTILE)
    reviewer.does(ReviewTab.drop)
    path = Path(reviewer.does(ReviewTab.export_decisions)["review-file"]["path"])
    assert path.name == f"{panel.subset}-decisions.jsonl"
    lines = path.read_bytes()
    assert len(lines.splitlines()) == 2

    other = Reviewer(panel.page)
    file = uploaded(panel, lines)
    shown = other.does(ReviewTab.resume, review_resume_file=file)
    assert "2 decisions" in shown["html"] and "1 to keep, 1 to drop" in shown["html"]
    assert not Path(file["path"]).exists()


def test_an_exported_file_is_left_with_gradio_alone(reviewer: Reviewer, panel: Panel) -> None:
    temporary = Path(tempfile.gettempdir())
    before = {*temporary.glob("*review-*")}
    begin(reviewer, panel)
    reviewer.does(ReviewTab.keep)
    for callback in (ReviewTab.export_decisions, ReviewTab.export_kept):
        path = Path(reviewer.does(callback)["review-file"]["path"])
        assert path.is_relative_to(panel.uploads) and path.is_file()
    assert {*temporary.glob("*review-*")} <= before


def test_the_kept_pairs_go_out_as_parquet(reviewer: Reviewer, panel: Panel) -> None:
    begin(reviewer, panel)
    reviewer.does(ReviewTab.keep)
    reviewer.does(ReviewTab.drop)
    for states, n in ((["keep"], 1), (["keep", "unmarked"], len(keys(panel)) - 1)):
        shown = reviewer.does(ReviewTab.export_kept, review_states=states)
        assert pq.read_table(shown["review-file"]["path"]).num_rows == n


def test_a_colleagues_decisions_are_compared_and_a_pair_in_dispute_is_opened(
    reviewer: Reviewer, panel: Panel
) -> None:
    begin(reviewer, panel)
    for _ in range(3):
        reviewer.does(ReviewTab.keep)
    path = Path(reviewer.does(ReviewTab.export_decisions)["review-file"]["path"])
    file = uploaded(panel, path.read_bytes().replace(b'"keep"', b'"drop"', 1))
    shown = reviewer.does(ReviewTab.compare, review_compare_file=file)
    assert "66.7 %" in shown["html"]
    disputed = shown["review-differing"]["choices"]
    assert [value for _, value in disputed] == [keys(panel)[0]]
    shown = reviewer.does(ReviewTab.open_differing, review_differing=keys(panel)[0])
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
    values = {"review-subset": subset or panel.subset, "review-start": start}
    if subset is None:
        values["review-subset"] = None
    told = reviewer.refused(ReviewTab.begin, values)
    assert "error of ours" not in told and "<img" not in told


@pytest.mark.parametrize(
    "callback",
    [
        ReviewTab.keep,
        ReviewTab.drop,
        ReviewTab.unsure,
        ReviewTab.undo,
        ReviewTab.skip,
        ReviewTab.back,
        ReviewTab.forward,
        ReviewTab.open_differing,
        ReviewTab.export_decisions,
        ReviewTab.export_kept,
        ReviewTab.compare,
    ],
)
def test_without_a_review_it_is_said_how_to_begin_one(
    reviewer: Reviewer, callback: Callable[..., Any]
) -> None:
    assert "No review is under way" in reviewer.refused(callback, {})


@pytest.mark.parametrize("kept", [5, "x", {"a": 1}, [[]], ["{"], [5] * 1000])
def test_a_storage_full_of_nonsense_does_no_harm(
    reviewer: Reviewer, panel: Panel, kept: Any
) -> None:
    values = {"BrowserState": kept, "review-subset": panel.subset, "review-start": 0}
    for callback in (ReviewTab.offer, ReviewTab.choose, ReviewTab.begin, ReviewTab.keep):
        message = reviewer.post(callback, values)
        assert message["success"], message["output"]
    assert len(message["output"]["data"][-2]) == 1


def test_a_stored_review_of_pairs_that_are_not_there_can_be_gone_on_with(
    reviewer: Reviewer, panel: Panel
) -> None:
    review = Review(panel.table.id, panel.subset, 10**9).mark(HOSTILE, HASHES[0], "keep", at=0)
    reviewer.kept = [to_json(review)]
    assert "<img" not in begin(reviewer, panel)["html"]
    assert "<img" not in reviewer.does(ReviewTab.undo)["html"]


@pytest.mark.parametrize("wanted", [HOSTILE, None, 5, ["a"], {"a": 1}])
def test_a_pair_that_is_not_in_dispute_is_not_opened(
    reviewer: Reviewer, panel: Panel, wanted: Any
) -> None:
    begin(reviewer, panel)
    told = reviewer.refused(ReviewTab.open_differing, {"review-differing": wanted})
    assert "not under review" in told


def test_a_note_that_is_too_long_is_refused_and_nothing_is_marked(
    reviewer: Reviewer, panel: Panel
) -> None:
    begin(reviewer, panel)
    assert "2,000 characters" in reviewer.refused(ReviewTab.keep, {"review-note": "x" * 2001})
    assert "0 of" in reviewer.does(ReviewTab.skip)["html"]


@pytest.mark.parametrize("states", [["nonsense"], [[]], 5, [], None])
def test_states_that_are_none_are_refused(reviewer: Reviewer, panel: Panel, states: Any) -> None:
    begin(reviewer, panel)
    reviewer.does(ReviewTab.keep)
    told = reviewer.refused(ReviewTab.export_kept, {"review-states": states})
    assert "error of ours" not in told


def test_nothing_is_exported_of_nothing(reviewer: Reviewer, panel: Panel) -> None:
    begin(reviewer, panel)
    assert "no decisions to export" in reviewer.refused(ReviewTab.export_decisions, {})
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
        told = reviewer.refused(ReviewTab.compare, {"review-compare-file": file})
        assert "theirs.jsonl, line 1" in told
    else:
        told = reviewer.refused(ReviewTab.resume, {"review-resume-file": file})
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
        message = reviewer.post(ReviewTab.resume, {"review-resume-file": file})
        assert not message["success"] and "secret\n" not in str(message["output"])
    with pytest.raises(KnownError):
        read_upload(str(inside))
    assert secret.read_text() == "secret\n"


@pytest.mark.parametrize("upload", [None, 5, "", "\0", "x" * 100_000, "/etc/passwd", [], {}, 300])
def test_what_is_no_upload_is_refused(panel: Panel, upload: object) -> None:
    if upload == 300:
        upload = f"{panel.uploads}/{'x' * 300}.jsonl"  # no file can have such a name
    with pytest.raises(KnownError, match="No file of decisions"):
        read_upload(upload)


# When other pairs come on screen


def test_other_pairs_end_the_review_and_keep_its_marks(panel: Panel) -> None:
    tab = ReviewTab(panel.library)
    review = Review("org/other@abc", "s", 0, decisions("k"))
    offered = tab.offer(None, review, [to_json(review)])
    assert "was on other pairs" in offered.told
    assert offered.review is None and offered.marking["visible"] is False
    assert [value for _, value in offered.subset["choices"]] == list(panel.table.subset_counts)
    with pytest.raises(gr.Error, match="other pairs than those shown"):
        tab.keep(None, review, "s:0", "", (), [to_json(review)])


def test_the_largest_of_a_thousand_subsets_are_offered_and_any_can_be_begun() -> None:
    rows = [row(subset=f"s{number:04}") for number in range(1_000)]
    rows += [row(subset=f"s{number:04}", id=f"more-{number}") for number in range(400, 1_000)]
    library = library_of(small_table(*rows, chunk_rows=2_000))
    offered = ReviewTab(library).offer(None, None, [])
    choices = [name for _, name in offered.subset["choices"]]
    assert len(choices) == MOST_CHOICES and set(choices) <= {f"s{n:04}" for n in range(400, 1_000)}
    assert ReviewTab(library).begin("s0007", 0, None, None, None, "", (), []).open_key == "s0007:7"


def test_the_same_pairs_leave_the_review_as_it_is(panel: Panel) -> None:
    review = Review(panel.table.id, panel.subset)
    offered = ReviewTab(panel.library).offer(None, review, [])
    assert all(value == gr.skip() for value in offered)
