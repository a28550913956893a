"""Memory of this machine, and what its processes take of it and wait for."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

_GROUP_FILES = {
    "": ("memory.max", "memory.current"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}
"""Kind of a control group, as /proc/self/cgroup names it -> files with its limit and use."""
_SPARE_ADDRESSES = 2**30  # which threads and allocators reserve and do not use


def system_memory(root: Path = Path("/")) -> tuple[int, int]:
    """Bytes that this process may still take, cached files counted as free, and bytes in all.

    The control groups of a container may allow less than the system. root: where their files are.
    """
    memory = psutil.virtual_memory()
    free, total = memory.available, memory.total
    for limit, used in _control_groups(root):
        free, total = min(free, max(0, limit - used)), min(total, limit)
    return free, total


def group_bytes(pid: int) -> int:
    """Bytes that a process and its children hold for themselves; 0 if there is none."""
    total = 0
    with suppress(psutil.Error, OSError):
        memory = psutil.Process(pid).memory_info()
        total = memory.rss - getattr(memory, "shared", 0)
        # psutil finds children by looking at every process of the machine, which takes too long.
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            total += sum(map(group_bytes, map(int, children.read_text().split())))
    return total


def waited_seconds(pid: int) -> float:
    """Seconds that a first thread waited for a processor; 0 if unknown. Source: sched-stats.rst."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    return 0.0


@contextmanager
def limit_memory(n_bytes: int | None, *, in_addresses: bool) -> Iterator[None]:
    """Let this process take so many bytes more inside, None for any; else it gets a `MemoryError`.

    in_addresses: whether of the machine's memory; else of each GPU's.
    """
    if n_bytes is None or sys.platform != "linux":
        yield
        return
    with ExitStack() as stack:
        if in_addresses:
            import resource

            held = psutil.Process().memory_info().vms
            before = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (held + n_bytes + _SPARE_ADDRESSES, before[1]))
            stack.callback(resource.setrlimit, resource.RLIMIT_AS, before)
        else:
            import torch

            for gpu in range(torch.cuda.device_count()):
                total = torch.cuda.get_device_properties(gpu).total_memory
                most = torch.cuda.memory_reserved(gpu) + n_bytes
                stack.callback(torch.cuda.set_per_process_memory_fraction, 1.0, gpu)
                torch.cuda.set_per_process_memory_fraction(min(1.0, most / total), gpu)
        yield


def _control_groups(root: Path) -> Iterator[tuple[int, int]]:
    # Limit and use of each one of memory that this process is in.
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
