"""Memory of this machine and of this process, and giving back what is no longer needed."""

import ctypes
import gc
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
    free, total = _said_by_proc(root) or _said_by_sysconf()
    for limit, used in _control_groups(root):
        if limit < total or not total:
            total = limit
        free = min(free, max(0, limit - used))
    return free, total


def resident_bytes() -> int:
    """Memory that this process holds for itself alone; 0 where that cannot be told.

    What files lie in memory for it is not counted: the system takes that back when it needs to.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def group_bytes(pid: int) -> int:
    """Memory that a process and those it began hold for themselves; 0 where that cannot be told."""
    total = 0
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        for line in status.splitlines():
            if line.startswith(("RssAnon:", "RssShmem:")):
                total += int(line.split()[1]) * 1024
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children = (thread / "children").read_text(encoding="ascii")
            total += sum(group_bytes(int(child)) for child in children.split())
    except (OSError, ValueError):
        return total
    return total


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
        with _limited_gpus(n_bytes):
            yield
        return
    import resource

    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    held = sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmSize:"))
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + n_bytes + _SPARE_ADDRESSES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def _limited_gpus(n_bytes: int) -> Iterator[None]:
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


def _said_by_proc(root: Path) -> tuple[int, int] | None:
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        said = {name: int(rest.split()[0]) * 1024 for name, _, rest in _parted(lines, ":")}
        return said["MemAvailable"], said["MemTotal"]
    except (OSError, ValueError, LookupError):
        return None


def _said_by_sysconf() -> tuple[int, int]:
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total = page * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0, 0
    try:
        return page * os.sysconf("SC_AVPHYS_PAGES"), total
    except (OSError, ValueError):
        return total, total


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
                yield limit, used - _of_files(folder)


def _of_files(group: Path) -> int:
    """Bytes of a group that hold files and that the system takes back when it needs to."""
    with suppress(OSError, ValueError):
        lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
        said = {name: int(value) for name, _, value in _parted(lines, " ")}
        return said.get("total_inactive_file", said.get("inactive_file", 0))
    return 0


def _parted(lines: list[str], by: str) -> Iterator[tuple[str, str, str]]:
    return (line.partition(by) for line in lines)


def give_back() -> None:
    """Let go of what nobody refers to, and hand it to the system and to other processes."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        elif torch.backends.mps.is_available():
            torch.mps.empty_cache()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library has no such function
            ctypes.CDLL("libc.so.6").malloc_trim(0)
