import math
import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from scoring.benchmark import SECTIONS, section_of
from scoring.engine.formatting import Prepared, TokenSequence
from scoring.engine.scorer import Scorer, Traits
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.pairs.opening import as_pairs, read_pairs
from scoring.run import make_job, score
from scoring.spec import ModelSpec, Pair, RunSettings, ScoredPack, ScoredPair, text_hash
from tests.conftest import DEMO_MODEL
from tests.scoring.engine.test_formatting import WITH_BOS, words_tokenizer
from tests.support.rounding import DEMO, near

CPU = RunSettings(device="cpu", dtype="float32")


class Around(Scorer):
    """A scorer with another budget and with memory for so many tokens at once.

    asked: keys of every part that was tried; refused: how many of them did not fit.
    """

    def __init__(
        self,
        scorer: Scorer,
        budget: int = 400,
        memory: float = math.inf,
        error: type[Exception] = torch.OutOfMemoryError,
        says: str = "CUDA out of memory.",
    ) -> None:
        self.spec = scorer.spec
        self._traits = replace(scorer.traits, budget=budget)
        self.asked: list[list[str]] = []
        self.refused = 0
        self.expected: list[int] = []
        self._scorer, self._memory, self._error, self._says = scorer, memory, error, says

    def prepare_for_tokens(self, tokens: int) -> None:
        self.expected.append(tokens)

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        return self._scorer.prepare(pairs)

    def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, ...]]:
        self.asked.append([prepared.pair.key for prepared in pack])
        if sum(prepared.cost for prepared in pack) > self._memory:
            self.refused += 1
            raise self._error(self._says)
        return self._scorer.rewards(pack)


class Saying(Scorer):
    """Says the rewards it was given, whatever the pair; sequences are as long as the texts."""

    spec = ModelSpec("saying", "", "")

    def __init__(self, *rewards: float, budget: int = 16) -> None:
        self._traits = Traits("what it was told", "no model", budget)
        self._rewards = rewards or (1.0, 0.0)

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        sizes = [len(pair.prompt + pair.chosen) // 4 for pair in pairs]
        return [
            Prepared(pair, TokenSequence((0,) * size), TokenSequence((1,)))
            for pair, size in zip(pairs, sizes, strict=True)
        ]

    def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, ...]]:
        chosen, rejected = self._rewards
        return [(chosen, rejected) for _ in pack]


def rows_of(packs: Sequence[ScoredPack]) -> dict[str, ScoredPair]:
    rows = {row.key: row for pack in packs for row in pack.rows}
    assert len(rows) == sum(len(pack.rows) for pack in packs)
    return rows


def rewards_of(row: ScoredPair) -> list[float]:
    """Of a row that has both."""
    assert row.chosen_reward is not None and row.rejected_reward is not None
    return [row.chosen_reward, row.rejected_reward]


def score_all(pairs: Sequence[Pair], scorer: Scorer, seed: int = 0) -> dict[str, ScoredPair]:
    return rows_of(list(score(make_job(pairs, scorer, seed), scorer)))


def pair(number: int, chosen: str, rejected: str, prompt: str = "Name a colour.") -> Pair:
    return Pair(f"mine:{number}", "mine", prompt, chosen, rejected)


def small_pairs(n: int) -> list[Pair]:
    return [pair(number, f"chosen {number}", f"rejected {number}") for number in range(n)]


def longer_wins() -> Scorer:
    return open_scorer(ModelSpec("longer", "", "", "longer"), CPU)


@pytest.fixture(scope="module")
def some_pairs(demo_pairs: list[Pair]) -> list[Pair]:
    """Short ones, so that the tests are quick."""
    return sorted(demo_pairs, key=lambda pair: len(pair.prompt + pair.chosen + pair.rejected))[:24]


@pytest.fixture(scope="module")
def all_scored(some_pairs: list[Pair], demo_scorer: Scorer) -> dict[str, ScoredPair]:
    return score_all(some_pairs, demo_scorer)


# What a row says.


def test_each_pair_is_scored_once_and_says_what_it_is(
    all_scored: dict[str, ScoredPair], some_pairs: list[Pair], demo_scorer: Scorer
) -> None:
    assert all_scored.keys() == {each.key for each in some_pairs}
    for each, prepared in zip(some_pairs, demo_scorer.prepare(some_pairs), strict=True):
        row = all_scored[each.key]
        assert row.subset == each.subset
        assert row.text_hash == text_hash(each.prompt, each.chosen, each.rejected)
        lengths = len(prepared.chosen.ids), len(prepared.rejected.ids)
        assert (row.chosen_tokens, row.rejected_tokens) == lengths
        assert not (row.chosen_truncated or row.rejected_truncated)


def test_each_side_has_the_reward_that_transformers_gives_it(
    all_scored: dict[str, ScoredPair], some_pairs: list[Pair]
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(DEMO_MODEL)
    plain = AutoModelForSequenceClassification.from_pretrained(DEMO_MODEL, dtype=torch.float32)
    for each in some_pairs[::8]:
        row = all_scored[each.key]
        for response, reward in (
            (each.chosen, row.chosen_reward),
            (each.rejected, row.rejected_reward),
        ):
            text = (
                f"<|im_start|>user\n{each.prompt}<|im_end|>\n"
                f"<|im_start|>assistant\n{response}<|im_end|>"
            )
            ids = tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
            with torch.inference_mode():
                expected = plain.eval()(input_ids=ids).logits.item()
            assert [reward] == near([expected], **DEMO)


@pytest.mark.parametrize(("budget", "seed"), [(1, 0), (500, 0), (10**6, 0), (500, 7)])
def test_a_pair_scores_the_same_whatever_is_beside_it(
    budget: int,
    seed: int,
    all_scored: dict[str, ScoredPair],
    some_pairs: list[Pair],
    demo_scorer: Scorer,
) -> None:
    for row in score_all(some_pairs[5:18], Around(demo_scorer, budget), seed).values():
        assert rewards_of(row) == near(rewards_of(all_scored[row.key]), **DEMO)


def test_equal_responses_tie_exactly(demo_scorer: Scorer, some_pairs: list[Pair]) -> None:
    texts = ["", "Red.", "blue " * 50, "青い", *(each.chosen for each in some_pairs)]
    pairs = [pair(number, text, text) for number, text in enumerate(texts)]
    pairs.append(pair(99, "Red.", "Not red."))
    for budget in (1, 300, 10**6):
        scored = score_all(pairs, Around(demo_scorer, budget))
        assert scored.pop("mine:99").outcome != "tie"
        ties = [(row.margin, row.outcome) for row in scored.values()]
        assert ties == [(0.0, "tie")] * len(texts)


@pytest.mark.parametrize("response", ["", " ", "a", "\n", "\0", "🤔", "<|im_end|>", "\ufffd"])
def test_the_shortest_responses_have_rewards(response: str, demo_scorer: Scorer) -> None:
    row = score_all([pair(1, response, "Red, like a fire engine.")], demo_scorer)["mine:1"]
    assert row.outcome in ("win", "loss")
    assert row.chosen_tokens <= row.rejected_tokens


def test_the_responses_side_decides_and_not_the_place(demo_scorer: Scorer) -> None:
    scored = score_all([pair(1, "Red.", "No."), pair(2, "No.", "Red.")], demo_scorer)
    ours, swapped = scored["mine:1"], scored["mine:2"]
    assert ours.chosen_reward != ours.rejected_reward
    assert rewards_of(ours) == near(rewards_of(swapped)[::-1], **DEMO)


def test_a_prompt_of_100_000_characters_is_cut_and_said_on_both_sides(
    demo_scorer: Scorer,
) -> None:
    prompt = "Seven lazy foxes jump over it. " * 3300
    assert len(prompt) > 100_000
    row = score_all([pair(1, "Red.", "Blue.", prompt)], demo_scorer)["mine:1"]
    assert (row.chosen_truncated, row.rejected_truncated) == (True, True)
    assert (row.chosen_tokens, row.rejected_tokens) == (4096, 4096)
    assert row.outcome in ("win", "loss")


def test_cutting_on_the_left_keeps_the_response_and_on_the_right_the_prompt() -> None:
    long = pair(1, "Red.", "Blue.", "Seven lazy foxes jump over it. " * 20)
    spec = ModelSpec("demo", str(DEMO_MODEL), "test")
    rows = [
        score_all([long], open_scorer(spec, replace(CPU, max_length=50, truncation_side=side)))
        for side in ("left", "right")
    ]
    sides = [row["mine:1"] for row in rows]
    assert [(row.chosen_tokens, row.rejected_tokens) for row in sides] == [(50, 50)] * 2
    assert [row.outcome == "tie" for row in sides] == [False, True]


SMALL: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
    "num_labels": 1,
    "pad_token_id": 0,
}


def words_scorer(folder: Path, kind: str, template: str, **more: Any) -> Scorer:
    """A random model of another kind, with a tokenizer that sets no limit."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **{**SMALL, **more})
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    words_tokenizer(template, bos_token="<s>", eos_token="</s>").save_pretrained(folder)
    return open_scorer(ModelSpec(kind, str(folder), ""), CPU)


@pytest.mark.parametrize(
    ("kind", "n_tokens"), [("llama", 64), ("gpt2", 64), ("bert", 64), ("roberta", 62)]
)
def test_a_prompt_above_a_models_positions_is_cut_to_them(
    kind: str, n_tokens: int, tmp_path: Path
) -> None:
    more = {"pad_token_id": 1} if kind == "roberta" else {}
    scorer = words_scorer(tmp_path, kind, WITH_BOS, **more)
    row = score_all([pair(1, "two", "three", "one " * 100)], scorer)["mine:1"]
    assert row.chosen_truncated
    assert row.chosen_tokens == n_tokens


def test_a_template_that_says_nothing_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(KnownError, match="chat template fails"):
        words_scorer(tmp_path, "llama", "{{ '' }}")


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_model_that_gives_no_number_leaves_the_pair_missing(bad: float, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(DEMO_MODEL, tmp_path / "model"))
    weights = load_file(folder / "model.safetensors")
    weights["score.weight"].fill_(bad)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    broken = open_scorer(ModelSpec("broken", str(folder), "x"), CPU)
    row = score_all([pair(1, "Red.", "No.")], broken)["mine:1"]
    assert (row.chosen_reward, row.rejected_reward) == (None, None)
    assert (row.margin, row.outcome) == (None, "missing")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_side_without_a_number_is_missing_and_the_other_is_kept(bad: float) -> None:
    chosen = score_all([pair(1, "a", "b")], Saying(bad, 2.5))["mine:1"]
    rejected = score_all([pair(1, "a", "b")], Saying(2.5, bad))["mine:1"]
    assert (chosen.chosen_reward, chosen.rejected_reward) == (None, 2.5)
    assert (rejected.chosen_reward, rejected.rejected_reward) == (2.5, None)
    assert (chosen.outcome, rejected.outcome) == ("missing", "missing")


# The order.


def test_the_order_is_seeded_and_random() -> None:
    pairs = small_pairs(50)

    def order(seed: int) -> list[str]:
        scorer = longer_wins()
        return [
            row.key for pack in score(make_job(pairs, scorer, seed), scorer) for row in pack.rows
        ]

    first, second = order(0), order(1)
    assert order(0) == first
    assert first != second
    assert sorted(first) == sorted(second) == sorted(each.key for each in pairs)
    assert first != [each.key for each in pairs]


def test_packs_hold_what_the_plan_says(some_pairs: list[Pair], demo_scorer: Scorer) -> None:
    scorer = Around(demo_scorer)
    job = make_job(some_pairs, scorer, 3)
    packs = list(score(job, scorer))
    assert [pack.place for pack in packs] == list(range(len(job.plan)))
    for pack, planned in zip(packs, job.plan, strict=True):
        assert [row.key for row in pack.rows] == [some_pairs[place].key for place in planned]
        costs = [job.costs[place] for place in planned]
        assert (pack.tokens, pack.parts) == (sum(costs), 1)
        assert sum(costs) <= 400 or len(costs) == 1
    assert scorer.expected == [sum(pack.tokens for pack in packs)]
    assert scorer.asked == [[row.key for row in pack.rows] for pack in packs]


def test_a_template_that_fails_later_names_its_pair() -> None:
    class Refusing(Saying):
        """As a template that takes no system prompt."""

        def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
            if any(each.prompt == "no" for each in pairs):
                raise KnownError("The model's chat template fails: no system role.")
            return super().prepare(pairs)

    scorer = Refusing(budget=100)
    scorer._traits = replace(scorer.traits, vocabulary=9)
    pairs = small_pairs(40)
    last = make_job(pairs, scorer, 0, sample=9).plan[-1][-1]
    pairs[last] = replace(pairs[last], prompt="no")
    job = make_job(pairs, scorer, 0, sample=9)
    with pytest.raises(KnownError) as refused:
        list(score(job, scorer))
    said = f"On the pair mine:{last}, the model's chat template fails: no system role."
    assert str(refused.value) == said


def test_the_same_job_is_planned_again(some_pairs: list[Pair], demo_scorer: Scorer) -> None:
    jobs = [make_job(some_pairs, Around(demo_scorer), seed) for seed in (5, 5, 6)]
    assert jobs[0].plan == jobs[1].plan != jobs[2].plan


@pytest.fixture(scope="module")
def real_pairs(shared_data: Path) -> list[Pair]:
    table = read_pairs(shared_data / "reward-bench" / "filtered.parquet").table
    return as_pairs(table, range(table.num_rows))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_scored_first_is_a_fair_sample_of_all(real_pairs: list[Pair], seed: int) -> None:
    """Costliest first would put Safety 16 points off after a quarter of the pairs."""
    scorer = Saying(budget=8192)
    job = make_job(real_pairs, scorer, seed)
    order = [place for pack in job.plan for place in pack]
    assert sorted(order) == list(range(2985))
    quarter = Counter(section_of(real_pairs[place].subset) for place in order[: 2985 // 4])
    whole = Counter(section_of(each.subset) for each in real_pairs)
    for section in SECTIONS:
        share = quarter[section] / (2985 // 4)
        assert share == pytest.approx(whole[section] / 2985, abs=0.05)


def test_the_costliest_pack_comes_first_and_the_others_as_drawn() -> None:
    drawn = random.Random(0)
    pairs = [pair(number, "x" * 4 * drawn.randint(1, 90), "r") for number in range(200)]
    for seed in range(5):
        job = make_job(pairs, Saying(budget=400), seed)
        costs = [sum(job.costs[place] for place in pack) for pack in job.plan]
        assert costs[0] == max(costs)
        assert costs[1:] != sorted(costs[1:], reverse=True)


# Part of a run.


def test_no_pairs_is_told(demo_scorer: Scorer) -> None:
    with pytest.raises(KnownError, match="No pairs are selected"):
        make_job([], demo_scorer, 0)


def test_packs_that_are_done_are_not_scored_again(
    some_pairs: list[Pair], demo_scorer: Scorer
) -> None:
    scorer = Around(demo_scorer)
    job = make_job(some_pairs, scorer, 0)
    whole = list(score(job, scorer))
    n_packs = len(whole)
    done = {0, 2, n_packs - 1}
    left = [pack for pack in whole if pack.place not in done]
    assert list(score(job, scorer, done=done)) == left  # to the last bit
    assert list(score(job, scorer, done=range(n_packs))) == []


def test_only_the_packs_asked_for_are_scored(some_pairs: list[Pair], demo_scorer: Scorer) -> None:
    scorer = Around(demo_scorer)
    job = make_job(some_pairs, scorer, 0)
    whole = list(score(job, scorer))
    assert list(score(job, scorer, packs=[3, 1])) == [whole[3], whole[1]]
    assert list(score(job, scorer, packs=[3, 1], done={1})) == [whole[3]]
    assert list(score(job, scorer, packs=[])) == []


# Packs on their way.


class Reading(Saying):
    """Reads tokens, as models do: pairs are made ready when their pack is next.

    ready: pairs made ready so far; told: what was begun and waited for, by the pack's first key.
    """

    def __init__(self, budget: int = 40) -> None:
        super().__init__(budget=budget)
        self._traits = replace(self.traits, vocabulary=10)
        self.ready = 0
        self.told: list[str] = []

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        self.ready += len(pairs)
        if any("fails" in each.prompt for each in pairs):
            raise KnownError("The model's chat template fails: on purpose")
        return super().prepare(pairs)

    def begin(self, pack: Sequence[Prepared]) -> Callable[[], list[tuple[float, ...]]]:
        key = pack[0].pair.key
        self.told.append(f"begun {key}")

        def wait() -> list[tuple[float, ...]]:
            self.told.append(f"done {key}")
            return self.rewards(pack)

        return wait


def uneven_pairs(n: int) -> list[Pair]:
    """Characters tell only roughly how many tokens they are: those of rejected make none."""
    drawn = random.Random(0)
    return [
        pair(number, "x" * 4 * drawn.randint(1, 9), "r" * drawn.randint(1, 200))
        for number in range(n)
    ]


def test_the_first_pack_leaves_before_all_pairs_are_tokens() -> None:
    pairs, scorer = uneven_pairs(2000), Reading()
    packs = score(make_job(pairs, scorer, 0), scorer)
    first = next(packs)
    assert scorer.ready < 400
    rows = rows_of([first, *packs])
    assert scorer.ready == 2000
    assert rows.keys() == {each.key for each in pairs}
    again = Reading()
    assert list(rows) == list(score_all(pairs, again))


def test_where_costs_are_estimated_no_forward_pass_is_larger_than_the_budget() -> None:
    scorer = Reading()
    job = make_job(uneven_pairs(2000), scorer, 0)
    packs = list(score(job, scorer))
    assert max(pack.tokens for pack in packs) > 40
    assert {pack.parts for pack in packs} == {1}  # for lack of memory none was
    asked: list[int] = []

    class Counting(Reading):
        def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, ...]]:
            asked.append(sum(prepared.cost for prepared in pack))
            return super().rewards(pack)

    assert list(score(job, Counting())) == packs
    assert max(asked) <= 40


def test_a_pack_is_begun_while_the_one_before_it_is_computed() -> None:
    scorer = Reading()
    job = make_job(uneven_pairs(30), scorer, 0)
    list(score(job, scorer))
    keys = [f"mine:{pack[0]}" for pack in job.plan]
    assert len(keys) > 2
    expected = [f"begun {keys[0]}"]
    for before, key in pairwise(keys):
        expected += [f"begun {key}", f"done {before}"]
    assert scorer.told == [*expected, f"done {keys[-1]}"]


def test_a_template_that_fails_in_the_middle_loses_nothing_before_it() -> None:
    pairs, scorer = uneven_pairs(1000), Reading()
    job = make_job(pairs, scorer, 0)
    last = job.plan[-1][0]
    broken = tuple(
        replace(each, prompt="fails") if at == last else each for at, each in enumerate(pairs)
    )
    packs = []
    with pytest.raises(KnownError, match="on purpose"):
        for pack in score(replace(job, pairs=broken), scorer):
            packs.append(pack)
    assert len(packs) == len(job.plan) - 1


def test_a_pack_that_did_not_fit_beside_another_is_tried_again() -> None:
    class Full(Reading):
        def begin(self, pack: Sequence[Prepared]) -> Callable[[], list[tuple[float, ...]]]:
            if len(self.told) % 3 == 1:
                self.told.append("refused")
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return super().begin(pack)

    pairs, scorer = uneven_pairs(60), Full()
    rows = score_all(pairs, scorer)
    assert rows.keys() == {each.key for each in pairs}
    assert "refused" in scorer.told


def test_a_pack_that_was_planned_for_a_larger_budget_is_computed_in_parts_of_this_one() -> None:
    """As of a run that goes on where there is less room."""
    scorer = Around(longer_wins(), budget=16)  # each pair costs 1
    job = make_job(small_pairs(64), scorer, 0)
    scorer._traits = replace(scorer.traits, budget=5)
    assert rows_of(list(score(job, scorer))).keys() == {each.key for each in job.pairs}
    assert max(map(len, scorer.asked)) <= 5


# Memory.

NO_MEMORY: list[tuple[type[Exception], str]] = [
    (torch.OutOfMemoryError, "CUDA out of memory. Tried to allocate 2.00 GiB."),
    (MemoryError, ""),
    (RuntimeError, "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
    (RuntimeError, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
]


@pytest.mark.parametrize(("error", "says"), NO_MEMORY)
def test_where_memory_runs_out_a_pack_is_scored_in_parts(
    error: type[Exception],
    says: str,
    some_pairs: list[Pair],
    all_scored: dict[str, ScoredPair],
    demo_scorer: Scorer,
) -> None:
    most = max(prepared.cost for prepared in demo_scorer.prepare(some_pairs))
    scorer = Around(demo_scorer, budget=2000, memory=most + 100, error=error, says=says)
    job = make_job(some_pairs, scorer, 0)
    packs = list(score(job, scorer))
    assert scorer.refused > 0
    rows = rows_of(packs)
    assert rows.keys() == all_scored.keys()
    for key, row in rows.items():
        assert rewards_of(row) == near(rewards_of(all_scored[key]), **DEMO)
    assert packs[0].tokens > most + 100
    assert all(pack.parts > 1 or pack.tokens <= most + 100 for pack in packs)
    assert sum(pack.parts for pack in packs) == len(scorer.asked) - scorer.refused
    for pack, planned in zip(packs, job.plan, strict=True):
        assert [row.key for row in pack.rows] == [some_pairs[place].key for place in planned]


def test_after_memory_ran_out_later_packs_are_split_at_once() -> None:
    scorer = Around(longer_wins(), budget=16, memory=5)  # each pair costs 1
    stream = score(make_job(small_pairs(64), scorer, 0), scorer)
    assert next(stream).parts == 4
    refused = scorer.refused
    assert refused > 0
    assert [pack.parts for pack in stream] == [4, 4, 4]
    assert scorer.refused == refused
    assert {len(keys) for keys in scorer.asked[-12:]} == {4}


def test_a_pair_too_large_for_memory_is_named_and_the_packs_before_it_are_kept() -> None:
    class TooLarge(Around):
        def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, ...]]:
            if any(prepared.pair.key == "mine:7" for prepared in pack):
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return super().rewards(pack)

    scorer = TooLarge(longer_wins(), budget=4)
    job = make_job(small_pairs(40), scorer, 0)
    bad = next(place for place, pack in enumerate(job.plan) if 7 in pack)
    assert 0 < bad < len(job.plan) - 1
    packs = []
    with pytest.raises(KnownError, match=r"The pair mine:7 alone, 1 tokens, does not fit") as told:
        for pack in score(job, scorer):
            packs.append(pack)
    assert [pack.place for pack in packs] == list(range(bad))
    assert isinstance(told.value.__cause__, torch.OutOfMemoryError)


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("of ours"), RuntimeError("shape mismatch"), KnownError("known")]
)
def test_other_errors_pass_through(error: Exception) -> None:
    class Breaking(Around):
        def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, ...]]:
            if len(self.asked) == 2:
                raise error
            return super().rewards(pack)

    scorer = Breaking(longer_wins(), budget=4)
    stream = score(make_job(small_pairs(20), scorer, 0), scorer)
    assert [next(stream).place, next(stream).place] == [0, 1]
    with pytest.raises(type(error)) as raised:
        next(stream)
    assert raised.value is error


def test_memory_of_any_size_loses_no_pair() -> None:
    """Uneven costs, and any limit from the costliest pair up."""
    drawn = random.Random(0)
    pairs = [pair(number, "x" * 4 * drawn.randint(1, 60), "r") for number in range(60)]
    job = make_job(pairs, Saying(budget=400), 0)
    most = max(job.costs)
    for memory in range(most, 500, 23):
        rows = rows_of(list(score(job, Around(Saying(budget=400), 400, memory))))
        assert rows.keys() == {each.key for each in pairs}
