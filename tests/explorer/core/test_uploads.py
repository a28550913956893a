"""A file that somebody says was uploaded: only what lies in the folder of uploads is one."""

from pathlib import Path

import pytest

from explorer.core.parts import uploaded_file
from scoring.errors import KnownError


def test_an_uploaded_file_is_found(uploads: Path) -> None:
    path = uploads / "0123" / "mine.csv"
    path.parent.mkdir()
    path.write_text("prompt,chosen,rejected\n")
    assert uploaded_file(str(path)) == path


def test_what_lies_elsewhere_is_refused(uploads: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("secret")
    link = uploads / "link.csv"
    link.symlink_to(secret)
    around = f"{uploads}/../{tmp_path.name}/secret.csv"
    sibling = uploads.with_name(f"{uploads.name}-too")
    sibling.mkdir()
    (sibling / "a.csv").write_text("secret")
    for path in (secret, link, around, sibling / "a.csv", "/etc/passwd", uploads):
        with pytest.raises(KnownError, match="uploaded"):
            uploaded_file(str(path))


@pytest.mark.parametrize(
    "sent", [None, "", 5, ["a.csv"], {"path": "a"}, "a\0b", "x" * 10**6, "x" * 300, "\ud800"]
)
def test_what_is_no_path_is_refused(uploads: Path, sent: object) -> None:
    for each in (sent, f"{uploads}/{sent}"):
        with pytest.raises(KnownError, match="uploaded"):
            uploaded_file(each)
