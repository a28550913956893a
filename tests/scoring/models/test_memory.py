"""How much memory a machine or a container has."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from scoring.models.memory import system_memory

KILO = 1024
MACHINE = (30_000 * KILO, 70_000 * KILO)


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with so much memory."""
    usage = SimpleNamespace(available=30_000 * KILO, total=70_000 * KILO)
    monkeypatch.setattr("psutil.virtual_memory", lambda: usage)


def system(root: Path, groups: str = "") -> Path:
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "cgroup").write_text(groups, encoding="ascii")
    return root


def group(folder: Path, names: tuple[str, str], limit: str, used: int, files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n", encoding="ascii")
    (folder / names[1]).write_text(f"{used}\n", encoding="ascii")
    (folder / "memory.stat").write_text(f"anon 1\n{files}\n", encoding="ascii")


V2 = ("memory.max", "memory.current")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")


def test_a_container_of_the_second_version_allows_less(tmp_path: Path) -> None:
    root = system(tmp_path, "0::/a/b\n")
    top = root / "sys" / "fs" / "cgroup"
    group(top / "a" / "b", V2, "max", 900_000, "inactive_file 5")
    group(top / "a", V2, "1000000", 900_000, "inactive_file 300000")
    assert system_memory(root) == (400_000, 1_000_000)


def test_a_container_of_the_first_version_allows_less(tmp_path: Path) -> None:
    root = system(tmp_path, "9:cpu:/x\n4:memory:/host/path\n0::/\n")
    group(root / "sys/fs/cgroup/memory", V1, "2000000", 700_000, "total_inactive_file 200000")
    assert system_memory(root) == (1_500_000, 2_000_000)


def test_groups_that_cannot_be_read_or_allow_more_than_there_is_change_nothing(
    tmp_path: Path,
) -> None:
    assert system_memory(tmp_path / "no") == MACHINE
    for place, groups in enumerate(("", "x", "0::/../../..", "::::\n\x00", "4:memory:/\n")):
        root = system(tmp_path / str(place), groups)
        group(root / "sys/fs/cgroup/memory", V1, str(2**63), 700, "total_inactive_file 2")
        assert system_memory(root) == MACHINE
