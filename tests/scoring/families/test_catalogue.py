"""What the catalogue says runs, shrunk and with random weights; and docs/catalogue.md, by it.

Rewards of heads that are no plain linear layer are what their formulas say.
`python -m tests.scoring.families.test_catalogue` writes the tables of that page anew.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from scoring.engine.formatting import TokenSequence
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.models.catalogue import catalogue
from scoring.models.finding import locate
from scoring.spec import Pair, RunSettings, as_objects
from tests.conftest import ROOT
from tests.support import small_models as small
from tests.support.refusals import by_sentence
from tests.support.rounding import assert_near
from tests.support.small_heads import HEADS, TURN, formula_rewards, write_headed
from tests.support.small_models import CPU, PACKED, PAIRS, rewards

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


def opened(folder: Path, settings: RunSettings = CPU, **given: Any) -> Any:
    return open_scorer(locate(str(folder), small.OPEN, small.OFFLINE, **given), settings)


@pytest.mark.parametrize(
    "each",
    [
        # Without a template other tests run about the same.
        pytest.param(each, id=" ".join(each), marks=[] if each.template else [pytest.mark.slow])
        for each in COMBINATIONS
        if each.family == "classifier" and not each.head
    ],
)
def test_classifiers_that_the_catalogue_says_run_do(each: Combination, tmp_path: Path) -> None:
    folder = small.save(tmp_path, small.config_of(each.built))
    scorer = opened(folder, replace(CPU, chat_template=each.template))
    assert scorer.traits.template.startswith(each.template or "own")
    ids = [side.ids for pair in scorer.prepare(PAIRS) for side in pair.sides]
    expected = small.one_at_a_time(small.plain(folder), ids)[:, 0]
    assert expected.std() > 0.01
    assert_near(rewards(scorer, PAIRS).flatten(), expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    "each", [each for each in COMBINATIONS if each.family == "dpo"], ids=" ".join
)
def test_policies_that_the_catalogue_says_run_do(each: Combination, tmp_path: Path) -> None:
    folders = [tmp_path / "policy", tmp_path / "reference"]
    for seed, path in enumerate(folders):
        small.save(path, small.config_of(each.built), auto=AutoModelForCausalLM, seed=seed)
    settings = replace(CPU, chat_template=each.template)
    scorer = opened(folders[0], settings, family="dpo", reference=str(folders[1]))
    assert scorer.traits.template.startswith(each.template or "own")
    said = [pair for pair in PAIRS if pair.chosen and pair.rejected]
    sides = [side for pair in scorer.prepare(said) for side in pair.sides]
    models = [AutoModelForCausalLM.from_pretrained(path).eval() for path in folders]
    policy, reference = ([likelihood(model, side) for side in sides] for model in models)
    expected = torch.stack(policy) - torch.stack(reference)
    assert expected.std() > 0.01
    assert_near(rewards(scorer, said).flatten(), expected)


def likelihood(model: Any, side: TokenSequence) -> torch.Tensor:
    """The log-probability of a response's tokens, each after those before it."""
    log_probs = small.one_at_a_time(model, [side.ids])[0].log_softmax(1)
    places = range(len(side.ids) - side.tail + 1, len(side.ids))
    return torch.stack([log_probs[place - 1, side.ids[place]] for place in places]).sum()


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


# Heads.


def with_head(folder: Path, head: str) -> Path:
    """A model's folder."""
    return write_headed(folder, *next(each for each in HEADS if each[0] == head))[0]


def sides(scorer: Any, pairs: Sequence[Pair] = PAIRS) -> list[tuple[tuple[int, ...], int]]:
    """Each side's tokens, and how many of the last are read."""
    return [(side.ids, side.tail) for pair in scorer.prepare(pairs) for side in pair.sides]


OTHERS = [each[1:] for each in COMBINATIONS if each.head and each.template]
"""Architecture, head and template, where it has one."""


@pytest.mark.parametrize(
    ("built", "head", "template"),
    [
        *(pytest.param(built, head, "", id=f"{head} {built}") for head, built in HEADS),
        *(pytest.param(*each, id=" ".join(each), marks=pytest.mark.slow) for each in OTHERS),
    ],
)
def test_a_reward_is_what_the_heads_formula_says(
    built: str, head: str, template: str, tmp_path: Path
) -> None:
    folder, base, read = write_headed(tmp_path, head, built)
    # A gate is read by the template of its tokenizer.
    is_gated = head in ("ArmoRM", "GPM", "QRM", "QRM v2")
    scorer = opened(folder, CPU if is_gated else replace(CPU, chat_template=template))
    assert scorer.traits.path == PACKED
    assert is_gated or scorer.traits.template.startswith(template)
    got = rewards(scorer, PAIRS).flatten()
    assert_near(got, formula_rewards(scorer.prepare(PAIRS), base, read))
    assert len({*got.tolist()}) > len(PAIRS)
    assert ("minus its cost" in scorer.traits.reading) == (head == "Beaver, a cost")
    assert ("not compared with its authors'" in scorer.traits.reading) == (head == "QRM v2")


def test_nemotrons_logit_is_its_cards_and_its_question_is_never_cut_off(tmp_path: Path) -> None:
    written = with_head(tmp_path, "Nemotron-Principle")
    names = AutoTokenizer.from_pretrained(written)
    model = AutoModelForCausalLM.from_pretrained(written, dtype=torch.float32).eval()
    question = (
        "Evaluate the response to the previous prompt in terms of whether it satisfies this "
        "principle: correctness. Only answer Yes or No."
    )
    expected = []
    for pair in PAIRS:
        for response in (pair.chosen, pair.rejected):
            messages = [*as_objects(pair.answered(response)), {"role": "user", "content": question}]
            ids = names.apply_chat_template(
                messages, add_generation_prompt=True, return_tensors="pt"
            )
            with torch.inference_mode():
                scores = model(**ids).logits[0, -1]
            expected.append(scores[9642] - scores[2822])
    assert_near(rewards(opened(written), PAIRS).flatten(), torch.stack(expected))
    end = tuple(ids.input_ids[0, -20:].tolist())
    for how in ({"max_length": 20}, {"upstream_compatible": True, "chat_template": "tulu"}):
        assert all(ids[-20:] == end for ids, _ in sides(opened(written, replace(CPU, **how))))
    with pytest.raises(KnownError, match="would be cut off: leave --truncation-side out"):
        opened(written, replace(CPU, truncation_side="right"))


def test_a_head_that_compares_is_of_a_family_that_does(tmp_path: Path) -> None:
    written = with_head(tmp_path, "GPM")
    scorer = opened(written, replace(CPU, dtype="bfloat16"))
    assert (scorer.spec.family, scorer.traits.dtype) == ("pairrm", "float32")
    assert "not comparable between pairs" in scorer.traits.reading
    swapped = [replace(pair, chosen=pair.rejected, rejected=pair.chosen) for pair in PAIRS]
    assert_near(rewards(scorer, PAIRS).flip(1), rewards(scorer, swapped))


@pytest.mark.parametrize("head", ["ArmoRM", "GPM"])
def test_a_gate_is_read_where_the_response_is_about_to_begin(head: str, tmp_path: Path) -> None:
    written = with_head(tmp_path, head)
    scorer = opened(written)
    names = scorer.formatter.tokenizer
    for ids, tail in sides(scorer):
        assert names.convert_ids_to_tokens(list(ids[len(ids) - tail :][:4])) == TURN
    # Cut off on the left, the gate is gone, and the pair has no reward; a shorter one has.
    short = Pair("s:1", "s", "w4", "w5", "w6")
    long = Pair("s:2", "s", "w4", "w5", " ".join(["w6"] * 30))
    known, other = rewards(opened(written, replace(CPU, max_length=12)), [short, long])
    assert known.isfinite().all()
    assert other.isnan().tolist() == [written.name == "gpm-llama", True]
    with pytest.raises(KnownError, match=r"which 4 tokens leave no room for\. .*--max-length"):
        opened(written, replace(CPU, max_length=4))


def test_a_head_stays_in_float32_where_the_model_does_not(tmp_path: Path) -> None:
    written = with_head(tmp_path, "QRM")
    stored = load_file(written / "model.safetensors")
    model = opened(written, replace(CPU, dtype="bfloat16")).loaded.model
    assert model.dtype == torch.bfloat16
    head = {name: each for name, each in model.state_dict().items() if name[:6] != "model."}
    assert head and all(torch.equal(each, stored[name]) for name, each in head.items())


@pytest.mark.parametrize("head", ["ArmoRM", "InternLM2", "Nemotron-Principle"])
def test_a_head_that_wants_more_than_a_last_token_has_no_reward_after_each(
    head: str, tmp_path: Path
) -> None:
    written = with_head(tmp_path, head)
    scorer = opened(written)
    with pytest.raises(KnownError, match="has no reward after each token"):
        scorer.at_tails(scorer.prepare(PAIRS[:1])[0])


def test_a_sequence_that_is_cut_keeps_the_reward_token(tmp_path: Path) -> None:
    written = with_head(tmp_path, "InternLM2")
    whole = [ids for pair in PAIRS for ids in small.token_ids(pair)]
    assert [list(ids) for ids, _ in sides(opened(written))] == [[*ids, 50] for ids in whole]
    cut = sides(opened(written, replace(CPU, max_length=8)))
    assert {(len(ids), ids[-1]) for ids, _ in cut if len(ids) > 7} == {(8, 50)}
    assert {ids for ids, _ in sides(opened(written, replace(CPU, max_length=1)))} == {(50,)}


def lay(name: str, *shape: int, instead: str = "") -> Callable[[Path], None]:
    """Puts weights into a model's file, or in the place of others."""

    def harm(folder: Path) -> None:
        path = folder / "model.safetensors"
        weights = {**load_file(path), name: torch.zeros(shape)}
        weights.pop(instead, None)
        save_file(weights, path, {"format": "pt"})

    return harm


def widen_gate(folder: Path) -> None:
    wide = {"network.0.weight": torch.zeros(3, 33), "network.0.bias": torch.zeros(3)}
    torch.save(wide, folder / "gating_layer.pt")


def forget_tokens(folder: Path) -> None:
    small.tokenizer().save_pretrained(folder)


HEAD = "regression_head.weight"


@pytest.mark.parametrize(
    ("head", "harm", "said"),
    by_sentence(
        ("UltraRM", lay(HEAD, 1, 33), f"its {HEAD} is of 1 × 33, and its config says 1 × 32"),
        ("GPM", lay("prompt_head.weight", 2, 32), "2 × 32, and its config says 3 × 32"),
        ("UltraRM", lay("v_head.weight", 1, 32, instead=HEAD), f"its weights lack {HEAD}"),
        ("LDL", widen_gate, "gating_layer.network.0.weight is of 3 × 33, and 32"),
        ("LDL", lambda folder: (folder / "gating_layer.pt").unlink(), "gating_layer.pt"),
        ("Athene", forget_tokens, "token 128,003, <|reserved_special_token_1|>, and its tokenizer"),
        ("QRM", forget_tokens, "<|end_header_id|>', which its chat template"),
    ),
)
def test_what_is_not_such_a_head_is_refused(
    head: str, harm: Callable[[Path], object], said: str, tmp_path: Path
) -> None:
    written = with_head(tmp_path, head)
    harm(written)
    with pytest.raises(KnownError, match=re.escape(said)):
        opened(written)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
