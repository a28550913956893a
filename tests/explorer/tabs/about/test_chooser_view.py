"""Choosing other pairs: what is offered, and a file that is read once, whatever becomes of it."""

from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest

from explorer.core.settings import DEMO_PAIRS, Settings
from explorer.data.library import offers
from explorer.data.table import PairTable
from explorer.stores import Stores
from explorer.tabs.about.chooser_view import START, Chooser, build_chooser
from tests.explorer.browsing import library_of
from tests.explorer.html_reading import HtmlReading


@pytest.fixture
def chooser(stores: Stores) -> Chooser:
    return Chooser(stores.pairs)


def last(told: Iterator[tuple[str, str]]) -> tuple[str, str]:
    return list(told)[-1]


def uploaded(uploads: Path, name: str, content: bytes) -> Path:
    path = uploads / name
    path.write_bytes(content)
    return path


def test_an_offer_says_what_it_is(chooser: Chooser) -> None:
    for offer in offers():
        assert HtmlReading(chooser.about(offer.wanted), {"div"}).words == offer.about


@pytest.mark.parametrize("wanted", ["no such offer", None, 5, ["demo"], {}])
def test_what_is_not_offered_is_not_described(wanted: object, chooser: Chooser) -> None:
    assert chooser.about(wanted) == ""


def test_the_table_of_what_was_chosen_is_named(chooser: Chooser, stores: Stores) -> None:
    assert last(chooser.open("demo")) == ("", stores.pairs.best)


def test_nothing_chosen_opens_nothing(chooser: Chooser) -> None:
    assert list(chooser.open("")) == list(chooser.open(None)) == [("", "")]


@pytest.mark.parametrize("wanted", ["no/such", 5, ["demo"], "x" * 10**6, "\ud800", "a\0b"])
def test_what_there_is_not_is_refused(wanted: object, chooser: Chooser) -> None:
    with pytest.raises(gr.Error) as refused:
        list(chooser.open(wanted))
    assert "of ours" not in refused.value.message


def test_a_file_is_deleted_once_it_was_read(chooser: Chooser, uploads: Path) -> None:
    path = uploaded(uploads, "mine.jsonl", DEMO_PAIRS.read_bytes())
    status, table_id = last(chooser.upload(str(path)))
    assert status == "" and table_id.startswith("mine.jsonl@")
    assert not path.exists()
    assert chooser.library.find(table_id) is not None


def test_a_file_is_deleted_though_it_was_no_file_of_pairs(chooser: Chooser, uploads: Path) -> None:
    path = uploaded(uploads, "odd.csv", b"question,answer\nq,a\n")
    with pytest.raises(gr.Error, match="no column"):
        list(chooser.upload(str(path)))
    assert not path.exists()


def test_a_file_is_deleted_though_reading_it_failed_in_an_unforeseen_way(
    demo: PairTable, uploads: Path
) -> None:
    path = uploaded(uploads, "left.jsonl", DEMO_PAIRS.read_bytes())

    def broken(file: Path, name: str, tell: object) -> None:
        raise MemoryError("no room")

    library = library_of(demo)
    library.upload = broken  # type: ignore[method-assign, assignment]
    with pytest.raises(gr.Error, match="error of ours"):
        list(Chooser(library).upload(str(path)))
    assert not path.exists()


def test_what_is_no_upload_is_neither_read_nor_deleted(chooser: Chooser, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(DEMO_PAIRS.read_bytes())
    with pytest.raises(gr.Error, match="uploaded"):
        list(chooser.upload(str(path)))
    assert path.exists()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_rows": 300_000, "max_dataset_megabytes": 100.0}, ("300,000", "100")),
        ({}, ("any", "any")),
    ],
)
def test_the_limits_are_said(settings: dict[str, float], words: tuple[str, str]) -> None:
    with gr.Blocks() as page:
        build_chooser(Settings(home=Path(), **settings))  # type: ignore[arg-type]
    said = " ".join(
        str(part.value) for part in page.blocks.values() if isinstance(part, gr.HTML) and part.value
    )
    assert all(each in said for each in words)


def test_every_offer_can_be_chosen() -> None:
    with gr.Blocks():
        view = build_chooser(Settings(home=Path()))
    assert [value for _, value in view.offer.choices] == [
        START,
        *(each.wanted for each in offers()),
    ]
    assert all("{" not in label for label, _ in view.offer.choices)
