"""What a person types as a path."""

from pathlib import Path

import pytest

from scoring.paths import is_file, is_folder, typed_path

IMPOSSIBLE = ["x" * 300, "a\0b", "/".join(["x" * 200] * 50)]


def test_a_tilde_is_the_persons_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert typed_path("~/models") == Path("/home/ada/models")


@pytest.mark.parametrize("text", ["", "a b", "~no-such-user/x", "org/name", *IMPOSSIBLE])
def test_other_text_is_taken_as_it_is(text: str) -> None:
    assert typed_path(text) == Path(text)


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_a_name_that_none_can_have_is_neither_file_nor_folder(text: str) -> None:
    assert (is_file(Path(text)), is_folder(Path(text))) == (False, False)


def test_what_lies_there_is_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    below_file, gone = file / "x", tmp_path / "gone"
    paths = [file, tmp_path, below_file, gone]
    assert [is_file(path) for path in paths] == [True, False, False, False]
    assert [is_folder(path) for path in paths] == [False, True, False, False]
