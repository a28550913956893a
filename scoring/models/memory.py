"""Memory of this machine, and what its processes take of it and wait for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

_GROUP_FILES = {
    "": ("memory.max", "memory.current"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}
"""Version of control groups, as /proc/self/cgroup names it -> files with the limit and the use."""

_SPARE_ADDRESSES = 2**30
"""What threads and allocators reserve and do not use."""


def system_memory(root: Path = Path("/")) -> tuple[int, int]:
    """Bytes that this process may still take, and bytes of memory in all.

    As the system says, or as the control groups of a container do where they allow less. What files
    lie in memory counts as free.

    root: where the files about control groups are.
    """
    memory = psutil.virtual_memory()
    free, total = memory.available, memory.total
    for limit, used in _control_groups(root):
        free, total = min(free, max(0, limit - used)), min(total, limit)
    return free, total


def group_bytes(pid: int) -> int:
    """Memory that a process and those it began hold for themselves; 0 if there is none."""
    total = 0
    with suppress(psutil.Error, OSError):
        memory = psutil.Process(pid).memory_info()
        total = memory.rss - getattr(memory, "shared", 0)
        # psutil finds children by looking at every process of the machine, which takes too long.
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            total += sum(map(group_bytes, map(int, children.read_text().split())))
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

    held = psutil.Process().memory_info().vms
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + n_bytes + _SPARE_ADDRESSES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _control_groups(root: Path) -> Iterator[tuple[int, int]]:
    """Limit and use of each control group of memory that this process is in, of both versions."""
    lines: list[str] = []
    with suppress(OSError):
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    for line in lines:
        _, kind, path = (*line.split(":", 2), "", "")[:3]
        if kind not in _GROUP_FILES:
            continue
        top = root / "sys/fs/cgroup" / kind
        # Inside a container the path may be that of the host, where nothing lies.
        group = top / path.lstrip("/")
        for folder in (each for each in (group, *group.parents) if each.is_relative_to(top)):
            with suppress(OSError, ValueError):
                limit, used = (int((folder / name).read_text()) for name in _GROUP_FILES[kind])
                # Memory that holds files, which the system takes back when it needs to.
                stat = dict(map(str.split, (folder / "memory.stat").read_text().splitlines()))
                files = stat.get("total_inactive_file", stat.get("inactive_file", 0))
                yield limit, used - int(files)
