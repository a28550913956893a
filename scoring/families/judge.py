"""Generative models of this machine as judges, read by probabilities or by what they write."""

import logging
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from scoring.engine.attention import sent
from scoring.engine.formatting import Prepared, TokenSequence, joined_pairs
from scoring.engine.forward import running
from scoring.engine.packing import padded_batches
from scoring.engine.vocabulary import Vocabulary
from scoring.errors import KnownError
from scoring.families import prompts
from scoring.families.chat import Asked, BaseJudge, Reply
from scoring.families.local import WHOLE, LocalModel, local_traits
from scoring.families.prompts import LABELS, LEAST_TOKENS, RATINGS, Question
from scoring.models.files import trained_question
from scoring.models.loading import load
from scoring.spec import ModelSpec, Pair, RunSettings

logger = logging.getLogger(__name__)

_READINGS = {
    "judge": "probability of the response's label, both orders averaged",
    "rater": "expected rating, 1 to 10, by the probabilities of the numbers",
}

_PADDED = "answers written here, in padded batches"
_CONTINUOUS = "answers written here, by continuous batching"


class Judge(LocalModel):
    """Families judge (which of two is better) and rater (how good is each, 1 to 10).

    A judge is asked in both orders. The reward of a response is the mean, over the orders, of the
    probability of its label among the two labels, 0 to 1; a model that always names the first
    response ties every pair. A rater's reward is the expected rating, 1 to 10, by the
    probabilities of the ten numbers as the next words. Judges that were trained on one question,
    SteamSHP and pair-preference-model, are asked that.

    Raises a `KnownError` for a model that cannot be loaded, or has no single token for a label.
    """

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        self.spec = spec
        self._question = trained_question(spec.name) if spec.family == "judge" else ""
        self._is_whole = self._question == "SteamSHP"
        if self._is_whole:
            settings = replace(settings, chat_template="raw")
        kind = _first_token_model() if self._is_whole else "AutoModelForCausalLM"
        loaded = load(spec, settings, kind)
        self._formatter = loaded.formatter(settings)
        self.max_length = self._formatter.max_length
        if self.max_length < LEAST_TOKENS:
            raise KnownError(
                f"A judge's question does not fit in {self.max_length} tokens; {LEAST_TOKENS} are "
                "the least."
            )
        self.template = f"{self._formatter.template}, {prompts.digest(spec.family, self._question)}"
        self.reading = _READINGS[spec.family]
        self._vocabulary = Vocabulary(loaded.model)
        names = LABELS if spec.family == "judge" else [str(rating) for rating in RATINGS]
        # With and without a space before it.
        vocabulary: dict[str, int] = loaded.tokenizer.get_vocab()
        spaces = ("", "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}", "\u2581")
        self._labels = [
            [vocabulary[space + name] for space in spaces if space + name in vocabulary]
            for name in names
        ]
        if self._question == "pair-preference":  # whose authors read these tokens alone
            self._labels = [tokens[:1] for tokens in self._labels]
        # Many vocabularies have no token for 10: its probability is that of 1 and then of 0.
        self._ten: tuple[int, ...] = ()
        if spec.family == "rater":
            ten: list[int] = loaded.tokenizer.encode("10", add_special_tokens=False)
            self._ten = () if ten and ten[-1] in self._labels[-1] else (*ten[-2:],)
        if self._ten:
            self._labels.pop()
        if not all(self._labels) or len(self._ten) == 1:
            raise KnownError(f"{spec.name} has no token of its own for each of {', '.join(names)}.")
        checked = None if self._is_whole else self._vocabulary
        super().__init__(
            loaded, settings, whole=WHOLE if self._is_whole else "", vocabulary=checked
        )

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Questions as tokens: both orders, or both responses."""
        family, question = self.spec.family, self._question
        texts = [each for pair in pairs for each in prompts.questions(family, pair, question)]
        encoded = self._formatter.encode(texts, ask=not question)
        if question:  # which its authors ask without a BOS before it
            bos = self._formatter.tokenizer.bos_token_id
            encoded = [ids[ids[0] == bos :] for ids in encoded]
        sequences = [self._formatter.cut([*ids, *self._ten[:1]]) for ids in encoded]
        if self._ten:
            sequences = [replace(each, tail=min(2, len(each.ids))) for each in sequences]
        return joined_pairs(pairs, sequences)

    def read(self, rows: torch.Tensor, pairs: Sequence[Prepared]) -> torch.Tensor:
        """Rewards from the hidden states at the end of each question, or from logits there."""
        if self.spec.family == "judge":
            orders = self._probabilities(rows).view(-1, 2, 2)
            orders = torch.stack((orders[:, 0], orders[:, 1].flip(1)), dim=1)
            votes = torch.tensor([prompts.asks_both_orders(each.pair) for each in pairs])
            is_vote = sent(votes, rows.device)[:, None, None]
            return torch.where(is_vote, (orders > orders.flip(2)).to(orders), orders).mean(1)
        scale = sent(torch.tensor(RATINGS, dtype=torch.float64), rows.device)
        if not self._ten:
            return (self._probabilities(rows) @ scale).view(-1, 2)
        zero = self._vocabulary.label_log_probs(rows[1::2], self._ten[1:]).double().exp()[:, 0]
        ratings = self._probabilities(rows[::2])
        ten = ratings[:, 0] * zero
        ratings = torch.cat((ratings, ten[:, None]), dim=1)
        ratings[:, 0] -= ten
        return (ratings @ scale).view(-1, 2)

    def _probabilities(self, rows: torch.Tensor) -> torch.Tensor:
        """[rows, labels], each row summing to 1."""
        flat = [token for tokens in self._labels for token in tokens]
        of_token = (
            rows[:, flat] if self._is_whole else self._vocabulary.label_log_probs(rows, flat)
        ).double()
        parts = torch.split(of_token, [len(tokens) for tokens in self._labels], dim=1)
        return torch.stack([part.logsumexp(1) for part in parts], dim=1).softmax(1)


def _first_token_model() -> Any:
    # An encoder-decoder that gives the logits of the first token it would write.
    from transformers import T5ForConditionalGeneration
    from transformers.modeling_outputs import SequenceClassifierOutput

    class FirstToken(T5ForConditionalGeneration):  # type: ignore[misc]
        @classmethod
        def from_config(cls, config: Any, **_: Any) -> Any:
            return cls(config)

        def forward(self, input_ids: Any, attention_mask: Any = None) -> Any:
            start = input_ids.new_full((len(input_ids), 1), self.config.decoder_start_token_id)
            output = super().forward(input_ids, attention_mask, decoder_input_ids=start)
            return SequenceClassifierOutput(logits=output.logits[:, 0])

    return FirstToken


class Draws:
    """Makes the likeliest token one that is drawn at a temperature, of each row by its own seed.

    A draw depends neither on the other rows nor on where a run was stopped. The largest of logits
    with Gumbel noise is a draw of their softmax.
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


def _pages(model: Any, budget: int) -> Any:
    """Memory of `budget` tokens for continuous batching; None if batches are to be padded.

    Without flash attention, each token would be compared with all that the pages hold: slower.
    """
    from transformers import ContinuousBatchingConfig
    from transformers.utils import is_flash_attn_2_available

    (device, *others) = {each.device for each in model.parameters()}
    if device.type != "cuda" or others or not is_flash_attn_2_available():
        return None
    try:
        model.set_attn_implementation("flash_attention_2")
    except (ImportError, ValueError):  # it has no such attention, or not with these numbers
        return None
    return ContinuousBatchingConfig(
        num_blocks=-(-budget // 256), page_size=256, auto_switch_to_flash=False
    )


class WritingJudge(BaseJudge):
    """A judge or rater that writes its answers here, by upstream's prompts.

    Answers are greedy at temperature 0; what else a model's own settings of generation say (top_p,
    penalties) is left out, as upstream does. Questions that leave no room for an answer lose their
    beginning. Raises a `KnownError` for a model that cannot be loaded, or has no room for both.
    """

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
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
        own, pad = self._model.generation_config, tokenizer.pad_token_id
        ends = own.eos_token_id if own.eos_token_id is not None else tokenizer.eos_token_id
        self._ends = {*(ends if isinstance(ends, list) else [ends])} - {None}
        self._pad = min(self._ends, default=0) if pad is None else pad
        self._model.generation_config = type(own)(
            max_new_tokens=self._tokens,
            do_sample=False,
            eos_token_id=sorted(self._ends) or None,
            pad_token_id=self._pad,
        )
        self._temperature = settings.temperature
        self._pages = None if self._temperature else _pages(self._model, self._budget)
        self._traits = local_traits(
            loaded,
            reading=self._reading,
            path=_CONTINUOUS if self._pages else _PADDED,
            budget=self._budget,
            max_length=self._room,
            template=f"{self._formatter.template}, {self._digest}",
        )

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Questions about each pair: one on both sides, or one a side."""
        asked = [self._encode(self._questions(pair)) or [TokenSequence()] for pair in pairs]
        return joined_pairs(pairs, [side for each in asked for side in (each[0], each[-1])])

    def _encode(self, questions: Sequence[Question]) -> list[TokenSequence]:
        encoded = self._formatter.encode(questions, ask=True)
        return [self._formatter.cut(ids, self._room) for ids in encoded]

    def _replies(self, asked: Sequence[Asked]) -> dict[Asked, Reply]:
        replies = {each: reply for each in asked if (reply := self._answers.get(*each))}
        sequences = [each.ids for each in self._encode([question for question, _ in asked])]
        # Whatever is known, the batches are the same, so that answers are to the last bit.
        if self._pages and not all(each in replies for each in asked):
            with running(self.spec.name):
                written = self._write_continuously(sequences)
            if written:
                self._keep(replies, asked, written)
        for batch in padded_batches([len(ids) + self._tokens for ids in sequences], self._budget):
            some = [asked[place] for place in batch]
            if not all(each in replies for each in some):
                with running(self.spec.name):
                    ids, repeats = [sequences[place] for place in batch], [each[1] for each in some]
                    self._keep(replies, some, self._write(ids, repeats))
            self._count_answers(len(batch))
        return replies

    def _keep(
        self, replies: dict[Asked, Reply], asked: Sequence[Asked], written: Sequence[Reply]
    ) -> None:
        for each, reply in zip(asked, written, strict=True):
            replies[each] = reply
            question, repeat = each
            self._answers.add(question, reply, repeat)

    def _write_continuously(self, sequences: Sequence[tuple[int, ...]]) -> list[Reply]:
        """All answers, or none: then padded batches write them, from here on."""
        found = self._model.generate_batch([*map(list, sequences)], None, self._pages)
        written = [each for each in found.values() if each.error is None]
        if len(written) == len(sequences):
            return [self._reply(each.generated_tokens) for each in written]
        logger.warning("%s: answers are written in padded batches from here on", self.spec.name)
        self._pages, self._traits = None, replace(self._traits, path=_PADDED)
        return []

    @torch.inference_mode()
    def _write(self, sequences: Sequence[tuple[int, ...]], repeats: Sequence[int]) -> list[Reply]:
        width = max(map(len, sequences))
        ids = torch.tensor([[self._pad] * (width - len(each)) + [*each] for each in sequences])
        mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in sequences])
        device = self._model.device
        draws: list[Any] = []
        if self._temperature:
            again = zip(sequences, repeats, strict=True)
            names = [f"{self._seed + repeat}:{each}" for each, repeat in again]
            seeds = [random.Random(name).getrandbits(63) for name in names]  # noqa: S311
            draws = [Draws(seeds, self._temperature, device)]
        output = self._model.generate(
            ids.to(device), attention_mask=mask.to(device), logits_processor=draws
        )
        return [*map(self._reply, output[:, width:].tolist())]

    def _reply(self, tokens: Sequence[int]) -> Reply:
        end = next((place for place, id_ in enumerate(tokens) if id_ in self._ends), None)
        return Reply(
            self._tokenizer.decode(tokens[:end], skip_special_tokens=True), cut=end is None
        )
