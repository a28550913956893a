"""The rows of the leaderboard that a visitor sees, as a file in each format."""

import csv
from functools import partial
from io import BytesIO, StringIO
from typing import Any

import pyarrow.parquet as pq
import pytest

from explorer.core.files import download_folder
from explorer.tabs.models.acts_view import ModelsTab
from explorer.tabs.models.exports import BOARD_FORMATS
from scoring.errors import KnownError
from tests.explorer.boards import acted, models, opened
from tests.explorer.conftest import Serve
from tests.explorer.posting import Visitor


@pytest.fixture(scope="module")
def server(serve: Serve) -> Visitor:
    return serve(public=True)


@pytest.fixture
def visitor(server: Visitor) -> Visitor:
    """Somebody new, whose page was opened."""
    new = Visitor(server.page)
    opened(new, "?tab=leaderboard")
    return new


def test_a_folder_goes_with_what_is_in_it_even_after_a_failure() -> None:
    with pytest.raises(KnownError), download_folder() as folder:
        (folder / "file").write_text("x")
        raise KnownError("the file cannot be written")
    assert not folder.exists()


def export(form: str) -> Any:
    """The callback of the button that exports in that form."""
    return partial(ModelsTab.export, form)  # type: ignore[arg-type]


def fetched(visitor: Visitor, form: str) -> bytes:
    """The file that a visitor gets."""
    (file,) = visitor.data(export(form))
    assert file["visible"] is True and file["value"]["orig_name"].endswith(f"-sections.{form}")
    with visitor.open(f"file={file['value']['path']}") as answer:
        return bytes(answer.read())


def names_in(form: str, content: bytes) -> list[str]:
    """The models that a file has, in its order."""
    if form == "parquet":
        return [str(name) for name in pq.read_table(BytesIO(content))["model"].to_pylist()]
    if form == "csv":
        return [row["model"] for row in csv.DictReader(StringIO(content.decode("utf-8-sig")))]
    lines = content.decode().splitlines()
    if form == "md":
        return [line.split("|")[2].strip() for line in lines if line.startswith("| ")][2:]
    return [line.split(" & ")[1] for line in lines if line.endswith("\\\\")][1:]


@pytest.mark.parametrize("form", BOARD_FORMATS)
def test_the_rows_that_are_shown_are_exported(visitor: Visitor, form: str) -> None:
    acted(visitor, "search", value="^openbmb/")
    acted(visitor, "sort", value="model")
    shown = acted(visitor, "hidden", value=["size"])
    assert len(models(shown)) == 4
    assert names_in(form, fetched(visitor, form)) == models(shown)


@pytest.mark.parametrize("form", BOARD_FORMATS)
def test_no_rows_are_no_file(visitor: Visitor, form: str) -> None:
    acted(visitor, "search", value="no such model")
    assert "no model to export" in visitor.refused(export(form))
