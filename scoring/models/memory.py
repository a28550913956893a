"""Memory of this machine, and what its processes take of it and wait for."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_GROUP_FILES = {
    "": ("memory.max", "memory.current"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}
"""Version of control groups, as /proc/self/cgroup names it -> files with the limit and the use."""

_SPARE_ADDRESSES = 2**30
"""What threads and allocators reserve and do not use."""


def system_memory(root: Path = Path("/")) -> tuple[int, int]:
    """Bytes that this process may still take, and that there are in all; 0 where nobody says.

    As the system says, or as the control groups of a container do where they allow less. What files
    lie in memory counts as free.

    root: where the files of the system are.
    """
    try:
        numbers = _numbers(root / "proc/meminfo")
        free, total = numbers["MemAvailable:"] * 1024, numbers["MemTotal:"] * 1024
    except (OSError, ValueError, LookupError):
        free, total = _memory_by_sysconf()
    for limit, used in _control_groups(root):
        if limit < total or not total:
            total = limit
        free = min(free, max(0, limit - used))
    return free, total


def group_bytes(pid: int) -> int:
    """Memory that a process and those it began hold for themselves; 0 where that cannot be told."""
    total = 0
    try:
        total = _status_bytes(pid, "RssAnon:", "RssShmem:")
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children = (thread / "children").read_text(encoding="ascii")
            total += sum(group_bytes(int(child)) for child in children.split())
    except (OSError, ValueError):
        return total
    return total


def waited_seconds(pid: int) -> float:
    """In which a process could have run, and others had the processors; 0 where nobody says.

    Of its first thread. Source: Linux's Documentation/scheduler/sched-stats.rst.
    """
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    return 0.0


@contextmanager
def limit_memory(n_bytes: int | None, *, in_addresses: bool) -> Iterator[None]:
    """Let this process ask for so many bytes more inside, and not for others; None for any.

    Whoever asks for more gets a `MemoryError`, or whatever compiled code makes of it.

    in_addresses: whether of the machine's memory; else of each GPU's.
    """
    if n_bytes is None or sys.platform != "linux":
        yield
        return
    if not in_addresses:
        import torch

        gpus = range(torch.cuda.device_count())
        for gpu in gpus:
            total = torch.cuda.get_device_properties(gpu).total_memory
            most = torch.cuda.memory_reserved(gpu) + n_bytes
            torch.cuda.set_per_process_memory_fraction(min(1.0, most / total), gpu)
        try:
            yield
        finally:
            for gpu in gpus:
                torch.cuda.set_per_process_memory_fraction(1.0, gpu)
        return
    import resource

    held = _status_bytes("self", "VmSize:")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + n_bytes + _SPARE_ADDRESSES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _status_bytes(pid: int | str, *names: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(names))


def _numbers(path: Path) -> dict[str, int]:
    lines = path.read_text(encoding="ascii").splitlines()
    return {name: int(number) for name, number, *_ in map(str.split, lines)}


def _memory_by_sysconf() -> tuple[int, int]:
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total = free = page * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0, 0
    with suppress(OSError, ValueError):  # not every system has it
        free = page * os.sysconf("SC_AVPHYS_PAGES")
    return free, total


def _control_groups(root: Path) -> Iterator[tuple[int, int]]:
    """Limit and use of each control group of memory that this process is in, of both versions."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = (*line.split(":", 2), "", "")[:3]
        if kinds not in ("", "memory"):
            continue
        top = root / "sys/fs/cgroup" / kinds
        names = _GROUP_FILES[kinds]
        group = top / path.lstrip("/")
        # Inside a container the path may be that of the host, where nothing lies.
        for folder in (group, *group.parents):
            if not folder.is_relative_to(top):
                break
            with suppress(OSError, ValueError):
                limit, used = (int((folder / name).read_text("ascii")) for name in names)
                files = 0  # bytes of files in memory, which the system takes back when it needs to
                with suppress(OSError, ValueError):
                    stat = _numbers(folder / "memory.stat")
                    files = stat.get("total_inactive_file", stat.get("inactive_file", 0))
                yield limit, used - files
