"""Who wins more, where, and how sure that is, as HTML; every count leads to its pairs."""

from functools import partial
from typing import Any

from explorer.core.html import note, render
from explorer.core.text import text
from explorer.stats.duels import Duel
from explorer.stats.paired import holm
from explorer.tabs.models.compare_head import LETTERS
from explorer.tabs.models.compared import (
    CHANGES,
    cell_query,
    change_of,
    each_headline,
    first_duel,
    is_whole,
    scores,
    standings,
)
from explorer.tabs.models.scene import Compared, subsets_in

_OF_TWO = ("models", "pairs", "difference", "interval", "p", "first", "second")
_OF_SUBSETS = (
    "subset", "pairs", "a", "b", "a_minus_b", "interval", "only_a", "only_b", "p", "change",
)  # fmt: skip


def table_html(now: Compared) -> str:
    """The comparison in numbers."""
    found = first_duel(now)
    if not found.all_pairs.n:
        return note(text("compare.no_pairs"), "wrong")
    return render(
        "tabs/models/duel.html",
        found=found,
        is_whole=is_whole(now, 2),
        several=_several(now) if now.state.more else None,
        chosen_section=now.state.section,
        query=partial(cell_query, now),
        change_of=change_of,
        **_subsets(now, found),
    )


def _several(now: Compared) -> dict[str, Any]:
    """Accuracies of three or four models side by side, and each two of them."""
    names, found = now.state.named, each_headline(now)
    counted = [each for each in standings(now) if each.n]
    heads = [text("compare.head_model")]
    for each in counted:
        name = each.section or text("compare.all_pairs")
        heads.append(text("compare.head_with_pairs", name=name, n=f"{each.n:,}"))
    heads.append(text("compare.score" if is_whole(now, len(names)) else "compare.score_part"))
    letter = dict(zip(names, LETTERS, strict=False))
    rows = [
        (f"{letter[name]}: {name}", [*(each.scores[place] for each in counted), score])
        for place, (name, score) in enumerate(zip(names, scores(now), strict=True))
    ]
    adjusted = holm([each.test.p for _, _, each in found]).tolist()
    pairwise = [
        (f"{letter[a]} − {letter[b]}", each, p)
        for (a, b, each), p in zip(found, adjusted, strict=True)
    ]
    pairwise_heads = [text(f"compare.head_{name}") for name in _OF_TWO]
    return {"heads": heads, "rows": rows, "pairwise": pairwise, "pairwise_heads": pairwise_heads}


def _subsets(now: Compared, found: Duel) -> dict[str, Any]:
    named = dict(zip(now.field.matrix.pairs.names, found.subsets, strict=True))
    changes = [change_of(part) for part in named.values() if part.n]
    counts = {each: f"{changes.count(each):,}" for each in CHANGES}
    shown = {name: named[name] for name in subsets_in(now.field, now.state.section)}
    return {
        "changes": text("compare.subsets_about", n=len(changes), **counts),
        "subsets": {name: part for name, part in shown.items() if part.n},
        "subset_heads": [text(f"compare.head_{name}") for name in _OF_SUBSETS],
    }
