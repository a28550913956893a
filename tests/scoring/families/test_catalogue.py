"""What the catalogue says runs, shrunk and with random weights; and docs/catalogue.md, by it.

`python -m tests.scoring.families.test_catalogue` writes that page anew.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    GPTNeoXConfig,
    MixtralConfig,
    Qwen2Config,
    Qwen2MoeConfig,
    StableLmConfig,
    Starcoder2Config,
)

from scoring.engine.formatting import Prepared
from scoring.families import open_scorer
from scoring.models.catalogue import catalogue
from scoring.models.finding import locate
from tests.conftest import ROOT
from tests.scoring.families.test_classifier import (
    CPU,
    PAIRS,
    SMALL,
    deberta,
    gemma,
    gemma2,
    gpt2,
    llama,
    mistral,
    qwen3,
)
from tests.scoring.families.test_heads import KINDS, as_rewards
from tests.scoring.families.test_nested import save
from tests.scoring.models.test_finding import OFFLINE, OPEN
from tests.support.rounding import assert_near

PAGE = ROOT / "docs" / "catalogue.md"
GROUPED = {"num_key_value_heads": 2}
EXPERTS: dict[str, Any] = {"num_experts_per_tok": 2, **GROUPED}
CONFIGS: dict[str, Callable[[], Any]] = {
    "deberta-v2": deberta,
    "gemma": gemma,
    "gemma2": gemma2,
    "gpt2": gpt2,
    "gpt_neox": lambda: GPTNeoXConfig(**SMALL),
    "llama": llama,
    "mistral": mistral,
    "mixtral": lambda: MixtralConfig(**SMALL, **EXPERTS, num_local_experts=4),
    "qwen2": lambda: Qwen2Config(**SMALL, **GROUPED),
    "qwen2_moe": lambda: Qwen2MoeConfig(
        **SMALL, **EXPERTS, num_experts=4, moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
    ),
    "qwen3": qwen3,
    "stablelm": lambda: StableLmConfig(**SMALL, **GROUPED),
    "starcoder2": lambda: Starcoder2Config(**SMALL, **GROUPED),
}  # fmt: skip
NAMES = {
    "deberta-v2": "DeBERTa", "gemma": "Gemma", "gemma2": "Gemma 2", "gpt2": "GPT-2",
    "gpt_neox": "GPT-NeoX", "internlm2": "InternLM2", "llama": "Llama", "mistral": "Mistral",
    "mixtral": "Mixtral", "qwen2": "Qwen 2", "qwen2_moe": "Qwen 2 MoE", "qwen3": "Qwen 3",
    "stablelm": "StableLM", "starcoder2": "Starcoder 2", "t5": "T5",
}  # fmt: skip
HEADS = {
    ("AceCode", "qwen2"): "acecode",
    ("ArmoRM", "llama"): "armorm",
    ("Athene", "llama"): "athene",
    ("Beaver", "llama"): "beaver",
    ("Beaver, a cost", "llama"): "beaver, a cost",
    ("Eurus-RM", "mistral"): "eurus",
    ("GPM", "llama"): "gpm-llama",
    ("GRM", "gemma"): "grm, gemma",
    ("GRM", "gemma2"): "grm, gemma 2",
    ("GRM", "llama"): "grm, llama",
    ("INF-ORM", "llama"): "inform",
    ("InternLM2", "internlm2"): "internlm",
    ("LDL", "gemma2"): "ldl-reward",
    ("Nemotron", "llama"): "nemotron-70b-reward",
    ("Nemotron-Principle", "llama"): "nemotron-70b-reward-principle",
    ("OpenAssistant", "gpt_neox"): "oasst",
    ("QRM", "llama"): "qrm",
    ("QRM v2", "gemma2"): "qrm, gemma 2",
    ("QRM v2", "llama"): "qrm v2",
    ("Starling", "llama"): "starling-rm-34b",
    ("UltraRM", "llama"): "ultra",
    ("WorldPM", "qwen2"): "worldpm",
    ("Ziya", "llama"): "ziya-llama-7b-reward",
}
"""Head and architecture -> what makes such a model in test_heads.py."""
ELSEWHERE = {
    "judge": "test_judge.py", "judge qwen2": "test_writer.py", "pairrm": "test_pairrm.py",
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
    """Whether other tests run about the same: that is done with the slow ones alone."""
    return not each.template and (bool(each.head) or each.family == "dpo")


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
    said = [pair for pair in PAIRS if pair.chosen and pair.rejected]
    expected: list[torch.Tensor] = []
    with torch.inference_mode():
        if each.family == "dpo":
            models = [
                save(tmp_path / name, AutoModelForCausalLM, CONFIGS[each.built](), seed)
                for seed, name in enumerate(("policy", "reference"))
            ]
            given = {"family": "dpo", "reference": str(tmp_path / "reference")}
            spec = locate(str(tmp_path / "policy"), OPEN, OFFLINE, **given)  # type: ignore[arg-type]
            scorer = open_scorer(spec, settings)
            pairs = scorer.prepare(said)
            for ids, tail in sides(pairs):
                policy, reference = (likelihood(model, ids, tail - 1) for model in models)
                expected.append(policy - reference)
        elif each.head:
            folder = tmp_path / HEADS[each.head, each.built]
            base, read = KINDS[folder.name](folder)
            if each.head in ("ArmoRM", "GPM", "QRM", "QRM v2"):
                settings = CPU  # its gate is read by the template of its tokenizer
            scorer = open_scorer(locate(str(folder), OPEN, OFFLINE), settings)
            pairs = scorer.prepare(said)
            for ids, tail in sides(pairs):
                states = base(input_ids=torch.tensor([ids])).last_hidden_state[0]
                expected.append(read(states, len(ids) - tail))
        else:
            model = save(tmp_path, AutoModelForSequenceClassification, CONFIGS[each.built]())
            scorer = open_scorer(locate(str(tmp_path), OPEN, OFFLINE), settings)
            pairs = scorer.prepare(said)
            for ids, _ in sides(pairs):
                expected.append(model(input_ids=torch.tensor([ids])).logits[0, 0])
    assert scorer.traits.template.startswith(each.template or "own")
    rewards = as_rewards(expected)
    assert_near(torch.tensor(scorer.rewards(pairs)).flatten(), rewards)
    assert len({round(value, 4) for value in rewards.tolist()}) > len(said)


def sides(pairs: Sequence[Prepared]) -> list[tuple[tuple[int, ...], int]]:
    """Each side's tokens, and how many of the last are read."""
    return [(side.ids, side.tail) for pair in pairs for side in pair.sides]


def likelihood(model: Any, ids: tuple[int, ...], n: int) -> torch.Tensor:
    """The log-probability of the last n tokens, each after those before it."""
    logits = model(input_ids=torch.tensor([ids])).logits[0].float().log_softmax(1)
    return torch.stack([logits[at - 1, ids[at]] for at in range(len(ids) - n, len(ids))]).sum()


def test_the_page_says_what_the_catalogue_does() -> None:
    assert PAGE.read_text("utf-8") == page(), "python -m tests.scoring.families.test_catalogue"


def test_each_model_that_runs_says_on_what_it_is_built() -> None:
    for model in catalogue()["models"]:
        needs = model.get("needs", "tokenizer")
        assert ("built" in model) == (needs == "tokenizer"), model["id"]
    assert {(each.head, each.built) for each in COMBINATIONS if each.head} == set(HEADS)
    here = Path(__file__).parent
    assert all((here / name).is_file() for name in ELSEWHERE.values())


INTRODUCTION = """\
# Which of the catalogue's models run here

Of the {n} models in `scoring/models/catalogue.toml` {run} run, {others} may run with what their
authors wrote beside, and {cannot} cannot. This page is written from that file by
`python -m tests.scoring.families.test_catalogue`, whose tests run each combination of architecture,
head and template that is listed here.

"Runs" means that such a model, shrunk and with random weights, was scored and its rewards compared
with plain transformers, or with the formula of its head written out, one sequence at a time in
float32. No checkpoint of them was loaded: none was at hand. The architecture is the one that the
model's name or its authors say that it is built on.

Layouts of heads are those of their authors' code or of upstream's copy of it, which
`scoring/models/heads.py` names; of ArmoRM and of InternLM2-1.8B the names in the real files are
public and the same. QRM, GRM, LDL, Starling, OpenAssistant's and InternLM2 were compared once with
upstream's or their authors' own code on such shrunk models, and differ by at most 4e-6 at rewards
that spread by 0.5 to 2. Of QRM v2's head (QRM-Gemma-2 has it, too) the authors' code was not at
hand: its layout is what others wrote from it, and a run with one says so. What the `config.json` of
GRM, QRM and WorldPM calls its architecture is taken from their code and not from the file itself;
that of Ziya, Starling, LDL and GPM is not known here, so they are recognised by their name, and so
are NVIDIA's language models whose logits are rewards.

AceCodeRM, Athene, GPM, AceMath's and NVIDIA's follow the code on their cards or in their authors'
repositories. Nemotron's are compared with what that code has transformers write; AceCodeRM and GPM
were compared once with their authors' code, and differ by at most 9e-7 at rewards that spread by
0.2 and 0.7. The names of the weights in their real files were not seen, nor those of
Qwen2.5-Math-RM-72B, which is taken for one of WorldPM's head as vLLM takes it. Of Gemma's GPM,
whose text ends otherwise, there is none here.

A template is the one that the board's configuration names (`--chat-template`); without it these
models score otherwise than there. Others have that of their tokenizer. The cards of AceMath and of
Qwen2.5-Math-RM-72B put a system message before each problem ("Please reason step by step, and check
your final answer within \\boxed{{}}." and "… and put your final answer within …"), and a run adds
none to pairs that have none. Llama-3.3-Nemotron-70B-Reward-Principle is asked for the principle of
its card's example, correctness, and for no other. RM-R1 is asked in its authors' words, and writes
what it thinks, with `--judge-prompt upstream`.
"""


def page() -> str:
    """docs/catalogue.md, whole."""
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
    lines = [INTRODUCTION.format(n=run + counts.total(), run=run, **counts)]
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
