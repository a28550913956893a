"""What is told of an error, to whom it concerns."""

import errno
import logging

from scoring.errors import KnownError, first_line

logger = logging.getLogger(__name__)
BUG = (
    "This is a bug in the app, not your mistake; details are in the server's log. Nothing you "
    "did is lost: try again."
)
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Numbers of the errors by which a disk takes no more."""


def disk_is_full(error: Exception) -> bool:
    """Whether the disk did not take what was written."""
    return isinstance(error, OSError) and error.errno in _FULL


def disk_cannot_hold(error: OSError) -> KnownError:
    """What to raise where pairs that are open do not fit."""
    return KnownError(
        f"The disk of this server cannot hold the pairs while they are open: {first_line(error)}. "
        "Try again later, or with a smaller file."
    )


def user_message(error: Exception) -> str:
    """Message to show for an error; unknown errors are logged and reported as a bug."""
    if isinstance(error, KnownError):
        return str(error)
    if disk_is_full(error):
        return "The disk of this server is full. Nothing you did is lost: try again later."
    logger.error("a callback failed", exc_info=error)
    return BUG
