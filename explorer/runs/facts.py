"""What the numbers of a run rest on, in words."""

import time

from explorer.core.html import render
from explorer.runs.cards import card_of
from scoring.errors import counted
from scoring.record import Run
from scoring.summary import tie_worth


def tie_words(worth: float) -> str:
    """What a tie counts of a run; see `scoring.summary.tie_worth`."""
    return (
        "Ties count as half a win (official rule for judges)."
        if worth
        else "Ties do not count as wins (official rule for all models but judges)."
    )


def began(run: Run) -> str:
    """When a run began, by UTC: what tells runs of one model apart, wherever they are named."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(run.started))


def run_facts(run: Run) -> dict[str, str]:
    """What is told -> how it was: model, pairs, device, number type, versions, times.

    Names and versions in it may be anything. A server has no device, number type or length here.
    """
    facts = run.facts
    cut = "start" if facts.truncation_side == "left" else "end"
    n_tokens = counted(facts.max_length, "token", "tokens") if facts.max_length else ""
    role = "reference model" if facts.family == "dpo" else "base model"
    lines = {
        "model": facts.model,
        "revision": facts.revision,
        "reward": f"single-label {facts.family}"
        if facts.reading == "its one label"
        else f"{facts.family}: {facts.reading}",
        "computation": facts.path,
        "pairs": f"{facts.n_pairs:,} · {facts.pairs}",
        **({"benchmark": facts.benchmark} if facts.benchmark else {}),
        "selection": facts.selection,
        "device": facts.device,
        "dtype": facts.dtype,
        "max length": n_tokens and f"{n_tokens}; longer texts are cut at the {cut}",
        "chat template": facts.template,
        **({role: facts.reference} if facts.reference else {}),
        **({"tokenizer of": facts.tokenizer} if facts.tokenizer else {}),
        "ties": tie_words(tie_worth(facts.family, facts.benchmark)),
        "seed": str(facts.seed),
        **({"repeats": str(facts.repeats)} if facts.repeats > 1 else {}),
        "versions": ", ".join(f"{name} {version}" for name, version in facts.versions.items()),
        "started": f"{began(run)} UTC",
        "seconds": f"{run.seconds:.1f}" if run.seconds else "–",
    }
    card = card_of(run)
    if card.notes:
        lines["resumed"] = " ".join(card.notes)
    if card.wrong:
        lines["card"] = card.wrong
    return {name: words for name, words in lines.items() if words not in ("", "none")}


def facts_html(run: Run) -> str:
    """Everything that the numbers rest on, folded away."""
    return render("runs/facts.html", facts=run_facts(run))
