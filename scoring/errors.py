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


def first_line(error: BaseException) -> str:
    r"""Return the first line of an error's text, cut at 200 characters, or its type if it has none.

    >>> first_line(ValueError(" \n one\ntwo")), first_line(ValueError())
    ('one', 'ValueError')
    >>> len(first_line(ValueError("x" * 300)))
    200
    """
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
