"""Generative models of this machine that write verdicts or ratings, by upstream's prompts."""

import random
from collections.abc import Sequence
from typing import Any

import torch

from scoring.engine.formatting import Prepared, TokenSequence, joined_pairs
from scoring.engine.forward import running
from scoring.engine.packing import padded_batches
from scoring.engine.scorer import Traits
from scoring.errors import KnownError
from scoring.families.chat import BaseJudge, Reply
from scoring.families.local import with_model
from scoring.families.prompts import LEAST_TOKENS, Question
from scoring.models.loading import load
from scoring.spec import ModelSpec, Pair, RunSettings


class Draws:
    """Makes the likeliest token one that is drawn at a temperature, of each row by a seed of its
    own: whatever stands beside it, and wherever a run was stopped.

    The largest of logits with Gumbel noise is a draw of their softmax.
    """

    def __init__(self, seeds: Sequence[int], temperature: float, device: torch.device) -> None:
        self._temperature = temperature
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]

    def __call__(self, _: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        """[rows, tokens], as a processor of logits in transformers."""
        noise = torch.empty_like(logits, dtype=torch.float32)
        for row, generator in zip(noise, self._generators, strict=True):
            row.exponential_(generator=generator)
        return logits.float() / self._temperature - noise.log()


class WritingJudge(BaseJudge):
    """A judge or rater that is loaded and writes its answers here.

    Answers are greedy at temperature 0; what else a model's own settings of generation say (top_p,
    penalties) is left out, as upstream does. Questions that leave no room for an answer lose their
    beginning.
    """

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        """
        Raises:
            KnownError: the model cannot be loaded, or there is no room for questions and answers.
        """
        super().__init__(spec, settings)
        loaded = load(spec, settings, "AutoModelForCausalLM")
        self._model: Any = loaded.model
        self._formatter = loaded.formatter(settings)
        self._room = min(self._formatter.max_length, self._formatter.limit - self._tokens)
        if self._room < LEAST_TOKENS:
            raise KnownError(
                f"{spec.name} reads {self._formatter.limit:,} tokens, which leaves {self._room:,} "
                f"for a question beside an answer of {self._tokens:,}: {LEAST_TOKENS} are the "
                "least. Allow shorter answers (--max-tokens)."
            )
        self._budget = loaded.budget(settings)
        tokenizer = self._tokenizer = loaded.tokenizer
        own = self._model.generation_config
        ends = own.eos_token_id if own.eos_token_id is not None else tokenizer.eos_token_id
        self._ends = {*(ends if isinstance(ends, list) else [ends])} - {None}
        pad = tokenizer.pad_token_id
        self._pad = min(self._ends, default=0) if pad is None else pad
        self._model.generation_config = type(own)(
            max_new_tokens=self._tokens,
            do_sample=False,
            eos_token_id=sorted(self._ends) or None,
            pad_token_id=self._pad,
        )
        self._temperature = settings.temperature
        traits = Traits(
            reading=self._reading,
            path="answers written here, in padded batches",
            budget=self._budget,
            max_length=self._room,
            template=f"{self._formatter.template}, {self._digest}",
        )
        self._traits = with_model(traits, loaded)

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """What is asked of each pair: one question on both sides, or one a side."""
        asked = [self._questions(pair) for pair in pairs]
        ready = iter(self._encode([question for each in asked for question in each]))
        sides: list[TokenSequence] = []
        for questions in asked:
            each = [next(ready) for _ in questions] or [TokenSequence(())]
            sides += [each[0], each[-1]]
        return joined_pairs(pairs, sides)

    def _encode(self, questions: Sequence[Question]) -> list[TokenSequence]:
        encoded = self._formatter.encode(questions, ask=True)
        return [self._formatter.cut(ids, self._room) for ids in encoded]

    def _replies(self, questions: Sequence[Question]) -> list[Reply | None]:
        replies = [self._answers.get(question) for question in questions]
        asked = [sequence.ids for sequence in self._encode(questions)]
        # Whatever is known, the batches are the same, so that answers are to the last bit.
        for batch in padded_batches([len(ids) + self._tokens for ids in asked], self._budget):
            if all(replies[place] for place in batch):
                self._count_answers(len(batch))
                continue
            with running(self.spec.name):
                written = self._written([asked[place] for place in batch])
            for place, reply in zip(batch, written, strict=True):
                replies[place] = reply
                self._answers.add(questions[place], reply)
            self._count_answers(len(batch))
        return replies

    @torch.inference_mode()
    def _written(self, asked: Sequence[tuple[int, ...]]) -> list[Reply]:
        width = max(map(len, asked))
        ids = torch.tensor([[self._pad] * (width - len(each)) + [*each] for each in asked])
        mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in asked])
        device = self._model.device
        draws: list[Any] = []
        if self._temperature:
            names = [f"{self._seed}:{each}" for each in asked]
            seeds = [random.Random(name).getrandbits(63) for name in names]  # noqa: S311
            draws = [Draws(seeds, self._temperature, device)]
        made = self._model.generate(
            ids.to(device), attention_mask=mask.to(device), logits_processor=draws
        )
        replies = []
        for tokens in made[:, width:].tolist():
            end = next((place for place, id_ in enumerate(tokens) if id_ in self._ends), None)
            text = self._tokenizer.decode(tokens[:end], skip_special_tokens=True)
            replies.append(Reply(text, cut=end is None))
        return replies
