"""The one kind of error that is meant for a person."""


class KnownError(ValueError):
    """An error that the person at the screen can mend.

    Its message is a sentence that names what was given, what is allowed and what to do. Interfaces
    show it; any other exception is a bug and is logged with its traceback.
    """


class Stopped(KnownError):  # noqa: N818
    """Somebody ended what was being done; nothing is wrong."""


def is_panic(error: BaseException) -> bool:
    """Whether a library's compiled Rust part failed, which is no `Exception`."""
    return type(error).__name__ == "PanicException"


def counted(n: int, one: str, many: str) -> str:
    """Return a number with what it counts.

    >>> counted(1, "pair is left", "pairs are left"), counted(2985, "pair", "pairs")
    ('1 pair is left', '2,985 pairs')
    """
    return f"{n:,} {one if n == 1 else many}"


def shown(value: object) -> str:
    """Return a hostile value for a message: short, never nested; of long texts the length.

    >>> shown("x"), shown(-1), shown([[]])
    ("'x'", '-1', 'list')
    """
    if isinstance(value, str):
        return repr(value[:40]) if len(value) <= 1_000 else f"{len(value):,} characters"
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**20):
        return str(value)
    return "nothing" if value is None else type(value).__name__
