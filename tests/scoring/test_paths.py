"""What a person types as a path."""

from pathlib import Path

import pytest

from scoring.paths import is_file, is_folder, typed_path


def test_a_tilde_is_the_persons_home_and_other_text_is_taken_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert typed_path("~/models") == Path("/home/ada/models")
    for text in ("", "a b", "~no-such-user/x", "org/name", "a\0b"):
        assert typed_path(text) == Path(text)


def test_what_lies_there_is_told_apart_also_by_names_that_none_can_have(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    impossible = [Path("x" * 300), Path("a\0b"), Path("/".join(["x" * 200] * 50))]
    paths = [file, tmp_path, file / "x", tmp_path / "gone", *impossible]
    assert [path for path in paths if is_file(path)] == [file]
    assert [path for path in paths if is_folder(path)] == [tmp_path]
