"""Scoring preference pairs with reward models; runs alone on a GPU machine."""

import os

__version__ = "1.0.0"
SPINS = "10000"
"""Turns of a waiting thread's loop, some ten microseconds, before it sleeps."""


def wait_briefly() -> None:
    """Let threads that wait for others soon sleep. Without effect once torch is imported.

    By default they spin for long: packs took 17 times as long on 2 cores, one of them busy with
    another program. Sleeping at once would cost a third of the speed where nothing else runs.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)


wait_briefly()  # here, because torch reads it when it is imported, and all of this imports torch
