"""Amounts of memory, time and weights, in a reader's units."""


def bytes_words(n_bytes: int) -> str:
    """Bytes in 10^6 or 10^9, with three digits at most.

    >>> [bytes_words(n) for n in (7_581_480, 850, 16_060_000_000, 141_107_412_992)]
    ['7.6 MB', '0.0008 MB', '16.1 GB', '141 GB']
    """
    if n_bytes < 1e9:
        size = n_bytes / 1e6
        return (
            f"{size:.0f} MB" if size >= 100 else f"{size:.1f} MB" if size >= 1 else f"{size:.1g} MB"
        )
    size = n_bytes / 1e9
    return f"{size:,.0f} GB" if size >= 100 else f"{size:.1f} GB"


def count_words(number: int) -> str:
    """A number of weights in 10^6 or 10^9.

    >>> [count_words(n) for n in (3_787_648, 8_030_261_248, 70_553_706_496, 0)]
    ['3.8 million', '8.0 billion', '70.6 billion', '0']
    """
    if number >= 1e9:
        return f"{number / 1e9:.1f} billion"
    return f"{number / 1e6:.1f} million" if number >= 1e5 else f"{number:,}"


def time_words(seconds: float) -> str:
    """A time in a reader's units.

    >>> [time_words(s) for s in (0.03, 0.34, 8.2, 59.7, 95, 1234, 7500, 200_000)]
    ['under 0.1 s', '0.3 s', '8 s', '1 min', '1 min 35 s', '21 min', '2 h 5 min', '56 h']
    """
    if seconds < 9.5:
        short = f"{seconds:.1f}" if seconds < 2 else f"{seconds:.0f}"
        return "under 0.1 s" if seconds < 0.1 else f"{short} s"
    whole = round(seconds)
    if whole >= 36_000:
        return f"{round(whole / 3600):,} h"
    if whole >= 3600:
        hours, minutes = divmod(round(whole / 60), 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if whole >= 60:
        minutes, rest = divmod(whole, 60) if whole < 600 else (round(whole / 60), 0)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{whole} s"
