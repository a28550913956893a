"""How the threads of a CPU wait for each other."""

import os

SPINS = "10000"
"""Turns of a waiting thread's loop, some ten microseconds, before it sleeps."""


def wait_briefly() -> None:
    """Let threads that wait for others soon sleep. Call it before torch is imported.

    By default they spin for long. Where another program wants the cores too, they keep it from
    them and are then kept waiting by it: packs, which make many small steps, took 17 times as
    long (2 cores, one of them busy). Sleeping at once would cost a third of the speed where
    nothing else runs.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
