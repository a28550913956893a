"""A file that somebody says was uploaded: only what lies in the folder of uploads is one."""

import json
from pathlib import Path

import pytest

from explorer.core.uploads import private_files, uploaded_files
from scoring.errors import KnownError


def test_a_file_that_two_visitors_sent_is_read_by_one_and_the_other_is_told(uploads: Path) -> None:
    path = uploads / "0123" / "ours.csv"
    path.parent.mkdir()
    path.write_text("prompt")
    assert uploaded_files(json.dumps([str(path), str(path)])) == [path, path]
    with private_files([path, path]) as [file]:
        assert (file.name, file.read_text()) == ("ours.csv", "prompt")
        with pytest.raises(KnownError, match=r"^The uploaded file is gone\. Choose it again\.$"):
            private_files([path]).__enter__()
    assert not [*uploads.rglob("ours.csv")]


def test_what_lies_elsewhere_is_refused(uploads: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("secret")
    link = uploads / "link.csv"
    link.symlink_to(secret)
    around = f"{uploads}/../{tmp_path.name}/secret.csv"
    sibling = uploads.with_name(f"{uploads.name}-too")
    sibling.mkdir()
    (sibling / "a.csv").write_text("secret")
    good = uploads / "good.csv"
    good.write_text("prompt")
    no_paths = (f"{uploads}/{name}" for name in ("a\0b", "x" * 10**6, "x" * 300, "\ud800"))
    for path in (secret, link, around, sibling / "a.csv", "/etc/passwd", uploads, *no_paths):
        with pytest.raises(KnownError, match="uploaded"):
            uploaded_files(json.dumps([str(good), str(path)]))


@pytest.mark.parametrize("sent", ["", "[]", "null", "[5]", '{"path": "a"}', "a.csv", "[" * 10**5])
def test_what_is_no_list_of_paths_is_refused(sent: str) -> None:
    with pytest.raises(KnownError, match="uploaded"):
        uploaded_files(sent)
