"""What is told of an error, to whom it concerns."""

import errno
import logging

from explorer.core.text import text
from scoring.errors import KnownError

logger = logging.getLogger(__name__)
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Numbers of the errors by which a disk takes no more."""


def disk_is_full(error: Exception) -> bool:
    """Whether the disk did not take what was written."""
    return isinstance(error, OSError) and error.errno in _FULL


def user_message(error: Exception) -> str:
    """Message to show for an error; unknown errors are logged and reported as a bug."""
    if isinstance(error, KnownError):
        return str(error)
    if disk_is_full(error):
        return text("error.full")
    logger.error("a callback failed", exc_info=error)
    return text("error.bug")
