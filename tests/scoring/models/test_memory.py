from pathlib import Path

import pytest

from scoring.models.memory import system_memory

KILO = 1024


def system(root: Path, *, free: int, total: int, groups: str = "") -> Path:
    (root / "proc" / "self").mkdir(parents=True)
    text = f"MemTotal: {total} kB\nMemFree: 1 kB\nMemAvailable: {free} kB\nHugePages_Total: 0\n"
    (root / "proc" / "meminfo").write_text(text, encoding="ascii")
    (root / "proc" / "self" / "cgroup").write_text(groups, encoding="ascii")
    return root


def group(folder: Path, names: tuple[str, str], limit: str, used: int, files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n", encoding="ascii")
    (folder / names[1]).write_text(f"{used}\n", encoding="ascii")
    (folder / "memory.stat").write_text(f"anon 1\n{files}\n", encoding="ascii")


V2 = ("memory.max", "memory.current")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")


def test_the_system_says_what_is_free(tmp_path: Path) -> None:
    assert system_memory(system(tmp_path, free=30, total=70)) == (30 * KILO, 70 * KILO)


def test_a_container_of_the_second_version_allows_less(tmp_path: Path) -> None:
    root = system(tmp_path, free=30_000, total=70_000, groups="0::/a/b\n")
    top = root / "sys" / "fs" / "cgroup"
    group(top / "a" / "b", V2, "max", 900_000, "inactive_file 5")
    group(top / "a", V2, "1000000", 900_000, "inactive_file 300000")
    assert system_memory(root) == (400_000, 1_000_000)


def test_a_container_of_the_first_version_allows_less(tmp_path: Path) -> None:
    root = system(
        tmp_path, free=30_000, total=70_000, groups="9:cpu:/x\n4:memory:/host/path\n0::/\n"
    )
    group(root / "sys/fs/cgroup/memory", V1, "2000000", 700_000, "total_inactive_file 200000")
    assert system_memory(root) == (1_500_000, 2_000_000)


def test_a_group_that_allows_more_than_there_is_says_nothing(tmp_path: Path) -> None:
    root = system(tmp_path, free=30, total=70, groups="4:memory:/\n")
    group(root / "sys/fs/cgroup/memory", V1, str(2**63), 700, "total_inactive_file 2")
    assert system_memory(root) == (30 * KILO, 70 * KILO)


@pytest.mark.parametrize("groups", ["", "x", "0::", "0::/../../..", "4:memory:", "::::\n\x00"])
def test_groups_that_cannot_be_read_change_nothing(groups: str, tmp_path: Path) -> None:
    assert system_memory(system(tmp_path, free=30, total=70, groups=groups)) == (30720, 71680)


def test_without_proc_the_system_is_asked_otherwise(tmp_path: Path) -> None:
    free, total = system_memory(tmp_path)
    assert 0 <= free <= total


def test_this_machine_has_memory() -> None:
    free, total = system_memory()
    assert 0 < free < total
