"""What the catalogue says runs, shrunk and with random weights; and docs/catalogue.md, by it.

`python -m tests.scoring.families.test_catalogue` writes the tables of that page anew.
"""

import re
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

from scoring.families import open_scorer
from scoring.models.catalogue import catalogue
from scoring.models.finding import locate
from tests.conftest import ROOT
from tests.support.rounding import assert_near
from tests.support.small_heads import HEADS, formula_rewards, write_headed
from tests.support.small_models import CPU, OFFLINE, OPEN, PAIRS, config_of, rewards, save

PAGE = ROOT / "docs" / "catalogue.md"
NAMES = {
    "deberta-v2": "DeBERTa", "gemma": "Gemma", "gemma2": "Gemma 2", "gpt2": "GPT-2",
    "gpt_neox": "GPT-NeoX", "internlm2": "InternLM2", "llama": "Llama", "mistral": "Mistral",
    "mixtral": "Mixtral", "qwen2": "Qwen 2", "qwen2_moe": "Qwen 2 MoE", "qwen3": "Qwen 3",
    "stablelm": "StableLM", "starcoder2": "Starcoder 2", "t5": "T5",
}  # fmt: skip
ELSEWHERE = {
    "judge": "test_judge.py", "judge qwen2": "test_judge.py", "pairrm": "test_pairrm.py",
}  # fmt: skip
"""Families that other tests run, and architectures of them."""


class Combination(NamedTuple):
    """What some models of the catalogue have in common. head, template: "" for none."""

    family: str
    built: str
    head: str
    template: str


def combination(model: dict[str, Any]) -> Combination:
    # Judges and PairRM are asked in words of their own.
    template = "" if model["family"] in ELSEWHERE else model.get("template", "")
    return Combination(model["family"], model["built"], model.get("head", ""), template)


COMBINATIONS = sorted({combination(model) for model in catalogue()["models"] if "built" in model})


def is_slow(each: Combination) -> bool:
    """Whether test_heads.py, test_dpo.py and test_classifier.py run about the same."""
    return bool(each.head) or each.family == "dpo" or not each.template


@pytest.mark.parametrize(
    "each",
    [
        pytest.param(each, id=" ".join(each), marks=[pytest.mark.slow] if is_slow(each) else [])
        for each in COMBINATIONS
        if each.head or each.family not in ELSEWHERE
    ],
)
def test_what_the_catalogue_says_runs_does(each: Combination, tmp_path: Path) -> None:
    settings = replace(CPU, chat_template=each.template)
    given: dict[str, Any] = {}
    folder = tmp_path / "policy"
    if each.head:
        folder, base, read = write_headed(tmp_path, each.head, each.built)
        if each.head in ("ArmoRM", "GPM", "QRM", "QRM v2"):
            settings = CPU  # its gate is read by the template of its tokenizer
    else:
        kind = AutoModelForCausalLM if each.family == "dpo" else AutoModelForSequenceClassification
        folders = [folder, tmp_path / "reference"] if each.family == "dpo" else [folder]
        for seed, path in enumerate(folders):
            save(path, config_of(each.built), auto=kind, seed=seed)
        models = [kind.from_pretrained(path, dtype=torch.float32).eval() for path in folders]
        if each.family == "dpo":
            given = {"family": "dpo", "reference": str(folders[1])}
    scorer = open_scorer(locate(str(folder), OPEN, OFFLINE, **given), settings)
    assert scorer.traits.template.startswith(each.template or "own")
    said = [pair for pair in PAIRS if pair.chosen and pair.rejected]
    prepared = scorer.prepare(said)
    if each.head:
        by_formula = formula_rewards(prepared, base, read)
    else:
        of_sides: list[torch.Tensor] = []
        with torch.inference_mode():
            for side in (side for pair in prepared for side in pair.sides):
                ids = torch.tensor([side.ids])
                if each.family == "dpo":
                    policy, reference = (likelihood(model, ids, side.tail - 1) for model in models)
                    of_sides.append(policy - reference)
                else:
                    of_sides.append(models[0](input_ids=ids).logits[0, 0])
        by_formula = torch.stack(of_sides)
    assert_near(rewards(scorer, said).flatten(), by_formula)
    assert len({round(value, 4) for value in by_formula.tolist()}) > len(said)


def likelihood(model: Any, ids: torch.Tensor, n: int) -> torch.Tensor:
    """The log-probability of the last n tokens, each after those before it."""
    log_probs = model(input_ids=ids).logits[0].float().log_softmax(1)
    places = range(ids.shape[1] - n, ids.shape[1])
    return torch.stack([log_probs[place - 1, ids[0, place]] for place in places]).sum()


def test_the_page_says_what_the_catalogue_does() -> None:
    assert PAGE.read_text("utf-8") == page(), "python -m tests.scoring.families.test_catalogue"


def test_each_model_that_runs_says_on_what_it_is_built() -> None:
    for model in catalogue()["models"]:
        needs = model.get("needs", "tokenizer")
        assert ("built" in model) == (needs == "tokenizer"), model["id"]
    assert {(each.head, each.built) for each in COMBINATIONS if each.head} <= {*HEADS}
    here = Path(__file__).parent
    assert all((here / name).is_file() for name in ELSEWHERE.values())


def page() -> str:
    """docs/catalogue.md, whole: its words as they stand there, with the numbers that are so."""
    of: dict[Combination, list[str]] = defaultdict(list)
    why: dict[str, list[str]] = defaultdict(list)
    for model in catalogue()["models"]:
        if "needs" in model:
            why[model["needs"]].append(model["id"])
        else:
            of[combination(model)].append(model["id"])
    code = ("code", "tokenizer")
    counts = Counter("others" if needs in code else "cannot" for needs in why for _ in why[needs])
    run = sum(map(len, of.values()))
    numbers = (
        f"Of the {run + counts.total()} models in `scoring/models/catalogue.toml` {run} run, "
        f"{counts['others']} may run with what their\nauthors wrote beside, "
        f"and {counts['cannot']} cannot."
    )
    words = PAGE.read_text("utf-8").partition("\n## Run")[0]
    lines = [re.sub(r"Of the .*?cannot\.", numbers, words, count=1, flags=re.DOTALL)]
    lines += ["## Run", "", "| architecture | as | template | tried | models |", "|" + "---|" * 5]
    for each in sorted(of, key=lambda each: (each.family, bool(each.head), each)):
        kind = f"{each.family}, {each.head}'s head" if each.head else each.family
        kind = kind.replace(", a cost's head", "'s head, a cost")
        tried = ELSEWHERE.get(f"{each.family} {each.built}", ELSEWHERE.get(each.family, ""))
        tried = "test_catalogue.py" if each.head or not tried else tried
        cells = NAMES[each.built], kind, each.template, f"`{tried}`", ", ".join(of[each])
        lines.append(f"| {' | '.join(cells)} |")
    for title, reasons in (
        ("May run with what their authors wrote", code),
        ("Cannot", tuple(needs for needs in why if needs not in code)),
    ):
        lines += ["", f"## {title}", "", "| why | tried | models |", "|---|---|---|"]
        for needs in reasons:
            tried = "`test_catalogue.py`, with one of ours" if needs == "tokenizer" else "nothing"
            lines.append(f"| {catalogue()['reasons'][needs]} | {tried} | {', '.join(why[needs])} |")
    return "\n".join(lines).replace("|  |", "| |") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
