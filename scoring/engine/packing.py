"""In which order pairs are scored, which of them share a forward pass, and if compiling pays.

Compiling a model's layers takes 11 to 18 s once and spares 3 to 6 microseconds a token (0.6B and
8B, on one H200 and one H100). Where code is kept in a folder, a process finds it there, but imports
the compiler and traces a layer again, which is about half of that.
"""

import os
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

TOKENS, TOKENS_KEPT = 3_000_000, 2_000_000
"""Tokens of a process that repay compiling, and where compiled code is kept."""
_FOLDER = "TORCHINDUCTOR_CACHE_DIR"  # where torch keeps compiled code


def plan_packs(costs: Sequence[int], budget: int, seed: int) -> list[list[int]]:
    """Indices of all pairs, in packs: what is scored so far is a random sample of all.

    Pairs fill packs in a seeded random order, sorted by cost only within a pack. The costliest
    pack comes first, so that running out of memory shows at once.

    costs: of each pair, in tokens. budget: the most a pack may cost, which always holds one pair.

    >>> plan_packs([3, 9, 2, 8, 1], budget=10, seed=0)
    [[1], [2], [0, 4], [3]]
    """
    packs = split(random_order(len(costs), seed), costs, budget)
    for pack in packs:
        pack.sort(key=lambda index: -costs[index])
    longest = max(range(len(packs)), key=lambda place: _cost(packs[place], costs), default=0)
    return packs[longest : longest + 1] + packs[:longest] + packs[longest + 1 :]


def random_order(n: int, seed: int) -> list[int]:
    """The seeded order in which n pairs fill packs."""
    order = list(range(n))
    random.Random(seed).shuffle(order)  # noqa: S311 - an order, not a secret
    return order


def split(pack: Sequence[int], costs: Sequence[int], budget: float) -> list[list[int]]:
    """A pack in parts that cost at most a smaller budget, or hold one pair."""
    parts: list[list[int]] = []
    room = 0.0
    for index in pack:
        if costs[index] > room or not parts:
            parts.append([])
            room = budget
        parts[-1].append(index)
        room -= costs[index]
    return parts


def share_out(packs: Sequence[Sequence[int]], costs: Sequence[int], n: int) -> list[list[int]]:
    """The places of each process's packs: the costliest go first to whom has the least."""
    shares: list[list[int]] = [[] for _ in range(n)]
    loads = [0] * n
    for place in sorted(range(len(packs)), key=lambda place: -_cost(packs[place], costs)):
        least = loads.index(min(loads))
        shares[least].append(place)
        loads[least] += _cost(packs[place], costs)
    return [sorted(share) for share in shares]


def padded_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Indices of sequences in batches of similar length, longest first.

    A batch holds at most `batch_tokens` tokens, padding counted, but always one sequence.

    >>> list(padded_batches([3, 9, 2, 8], batch_tokens=18))
    [[1, 3], [0, 2]]
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > batch_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _cost(pack: Sequence[int], costs: Sequence[int]) -> int:
    return sum(costs[index] for index in pack)


def keep_compiled_in(folder: Path) -> None:
    """Keep compiled code in a folder, unless the owner named another; made when it is needed.

    It is compiled in this process: torch would begin one for each core, which on 16 hold 3.9 GB,
    more than a worker of the app may take, for the few kernels of one layer.
    """
    os.environ.setdefault(_FOLDER, str(folder))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")


def is_compiling_repaid(tokens: int) -> bool:
    """Whether compiling repays for so many tokens of this process, past and to come."""
    is_kept = False
    with suppress(OSError, KeyError):
        is_kept = any(Path(os.environ[_FOLDER]).iterdir())
    return tokens >= (TOKENS_KEPT if is_kept else TOKENS)
