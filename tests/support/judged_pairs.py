"""What the Pairs tab lists and shows of a judge's run."""

import json
from html import unescape
from urllib.parse import urlencode

from explorer.runs.visitors import Visitor
from explorer.tabs.pairs.view import PairsView

ME = Visitor("browser:me", "page")


def listed(pairs: PairsView, model: str, **asked: str) -> tuple[set[str], str]:
    """The keys that are listed with every kind of outcome, and the filters as they are said."""
    query = f"?tab=pairs&{urlencode({'model': model, 'show': 'all', **asked})}"
    file = b"".join(pairs.outcomes_file("jsonl", query, ME, "").parts)
    _, regions = pairs.regions(query, ME)
    return {json.loads(line)["key"] for line in file.splitlines()}, unescape(regions["bar"]())


def shown(pairs: PairsView, model: str, key: str) -> str:
    """What the judge wrote of a pair, as HTML."""
    query = f"?tab=pairs&{urlencode({'model': model, 'show': 'all', 'pair': key})}"
    _, regions = pairs.regions(query, ME)
    return regions["tokens"]()
