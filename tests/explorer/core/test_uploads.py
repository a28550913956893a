"""What anybody may have posted: where files are said to lie, known values, whose address it is."""

import json
from pathlib import Path

import pytest

from explorer.core.clients import client_address
from explorer.core.uploads import private_files, uploaded_files
from explorer.core.validation import one_of
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
    for path in (secret, link, around, sibling / "a.csv", uploads, *no_paths):
        with pytest.raises(KnownError, match="uploaded"):
            uploaded_files(json.dumps([str(good), str(path)]))


@pytest.mark.parametrize("sent", ["", "[]", "[5]", '{"path": "a"}', "[" * 10**5])
def test_what_is_no_list_of_paths_is_refused(sent: str) -> None:
    with pytest.raises(KnownError, match="uploaded"):
        uploaded_files(sent)


@pytest.mark.parametrize("value", [None, "A", ["a"], "x" * 10**6, float("nan"), 1, 1.0])
def test_what_is_not_known_or_only_equals_it_is_refused(value: object) -> None:
    assert one_of("A word", ("a", True), True) is True
    with pytest.raises(KnownError, match="A word is one of a, True, not ") as refused:
        one_of("A word", ("a", True), value)
    assert len(str(refused.value)) < 120


@pytest.mark.parametrize(
    ("peer", "forwarded", "counted"),
    [
        ("192.168.0.1", "1.1.1.1,8.8.8.8 , 10.0.0.1,127.0.0.1", "8.8.8.8"),
        ("::ffff:10.0.0.1", "8.8.8.8", "8.8.8.8"),
        ("10.1.2.3", "8.8.8.8, <script>", ""),
        (7, ["8.8.8.8"], ""),
        ("10.0.0.1", "8.8.8.8," + "10.0.0.1," * 100_000 + "10.0.0.2", ""),
    ],
)
def test_what_a_client_makes_up_does_not_hide_its_address(
    peer: object, forwarded: object, counted: str
) -> None:
    assert client_address(peer, forwarded, proxies=1) == counted
