"""Judges behind a server that answers POST /chat/completions as OpenAI's does."""

import logging
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from scoring.engine.formatting import Prepared
from scoring.engine.scorer import TEXTS_A_PACK, TextScorer, Traits
from scoring.families.prompts import (
    LABELS,
    digest,
    rating_prompt,
    said_rating,
    said_verdict,
    verdict_prompt,
)
from scoring.families.server import PATIENCE, Patience, RequestFailed, Server
from scoring.spec import Message, ModelSpec, Pair, RunSettings, as_objects

logger = logging.getLogger(__name__)

ANSWER_TOKENS = 16
"""Tokens an answer may have: enough for "Response A is better."."""
LABELS_EXPECTED = 0.5
"""The least probability of both labels together for an answer to be one of them."""
_LOGPROBS = {"logprobs": True, "top_logprobs": 20}
_READINGS = {
    "judge": "probabilities of A and B, both orders averaged (of an answer without probabilities: "
    "the letter it names)",
    "rater": "the rating it gives, 1 to 10",
}

_Question = tuple[Message, ...]
_Meaning = tuple[float, ...] | None
"""Probabilities of A and B, or a rating alone; None where a reply means neither."""


class Reply(NamedTuple):
    """An answer: what it says, and the tokens it may begin with, with their log-probabilities."""

    text: str
    first: tuple[tuple[str, float], ...] = ()


class ChatJudge(TextScorer):
    """Families judge (which of two is better) and rater (how good is each), asked over HTTP.

    A judge is asked in both orders. The reward of a response is the mean, over the orders, of the
    probability of its label among the two labels: a judge that always names the first response
    ties every pair, and so do two equal responses. A pair with an answer that is missing or cannot
    be read is missing as a whole.
    """

    def __init__(
        self, spec: ModelSpec, settings: RunSettings, patience: Patience = PATIENCE
    ) -> None:
        """
        Raises:
            KnownError: the server's address cannot be used.
        """
        self.spec = spec
        self._server = Server(spec.url, settings.parallel, patience)
        self._common = {
            "model": spec.name,
            "temperature": 0,
            "seed": settings.seed,
            "max_tokens": ANSWER_TOKENS,
        }
        self._is_judge = spec.family == "judge"
        self._ask_logprobs = self._is_judge
        self._takes_logprobs = False
        self.traits = Traits(
            reading=_READINGS[spec.family],
            path=self._server.path,
            # Two requests a pair: as many pairs keep the server busy to the end of a pack.
            budget=max(TEXTS_A_PACK, settings.parallel),
            template=digest(spec.family),
            libraries=("httpx",),
        )

    def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, float]]:
        """Probabilities, 0 to 1, or ratings, 1 to 10; NaN for both sides of a missing pair.

        Raises:
            KnownError: the server cannot be reached, or refuses everything.
        """
        asked = [self._questions(prepared.pair) for prepared in pack]
        questions = list(dict.fromkeys(question for both in asked for question in both))
        replies = self._server.each(self._ask, questions)
        said = {
            question: None if reply is None else self._said(reply)
            for question, reply in zip(questions, replies, strict=True)
        }
        return [self._rewards(said[first], said[second]) for first, second in asked]

    def _questions(self, pair: Pair) -> tuple[_Question, _Question]:
        if self._is_judge:
            return (
                tuple(verdict_prompt(pair, pair.chosen, pair.rejected)),
                tuple(verdict_prompt(pair, pair.rejected, pair.chosen)),
            )
        return tuple(rating_prompt(pair, pair.chosen)), tuple(rating_prompt(pair, pair.rejected))

    def _ask(self, question: _Question) -> Reply:
        if not self._ask_logprobs:
            return self._post(question)
        try:
            reply = self._post(question, **_LOGPROBS)
        except RequestFailed as failure:
            if failure.status not in (400, 422) or self._takes_logprobs:
                raise
        else:
            self._takes_logprobs = True
            return reply
        reply = self._post(question)
        self._ask_logprobs = False
        return reply

    def _post(self, question: _Question, **more: Any) -> Reply:
        body = {**self._common, "messages": as_objects(question), **more}
        return self._server.post("/chat/completions", body, _reply)

    def _said(self, reply: Reply) -> _Meaning:
        if self._is_judge:
            meaning, kind = verdict(reply), "verdict"
        else:
            rating, kind = said_rating(reply.text), "rating"
            meaning = None if rating is None else (rating,)
        if meaning is None:
            logger.warning("An answer is no %s: %r", kind, reply.text[:80])
        return meaning

    def _rewards(self, first: _Meaning, second: _Meaning) -> tuple[float, float]:
        """From what two replies mean: sums of the same terms, whichever response is the chosen."""
        if first is None or second is None:
            return math.nan, math.nan
        if not self._is_judge:
            return first[0], second[0]
        return (first[0] + second[1]) / 2, (first[1] + second[0]) / 2


def verdict(reply: Reply) -> _Meaning:
    """The probabilities of A and of B in one order, summing to 1; None where it names neither.

    By the first token, where that is most likely a label; else by the letter that the text names.

    >>> verdict(Reply("A", (("A", 0.0), (" A", 0.0), ("A.", 0.0), ("B ", 0.0))))
    (0.6666666666666666, 0.3333333333333333)
    >>> verdict(Reply("B")), verdict(Reply("Hm."))
    ((0.0, 1.0), None)
    """
    first, second = (
        math.fsum(
            math.exp(min(0.0, logprob)) for token, logprob in reply.first if token.strip() == label
        )
        for label in LABELS
    )
    if first + second >= LABELS_EXPECTED:
        return first / (first + second), second / (first + second)
    named = said_verdict(reply.text)
    return None if named is None else (float(named == LABELS[0]), float(named == LABELS[1]))


def _reply(answer: Any) -> Reply:
    """The first choice of an answer; raises LookupError, TypeError where it has another shape."""
    choice = answer["choices"][0]
    text = choice["message"]["content"]
    if not isinstance(text, str | None):
        raise TypeError("the content of an answer is text")
    return Reply(text or "", _first_token(choice.get("logprobs")))


def _first_token(logprobs: Any) -> tuple[tuple[str, float], ...]:
    """Tokens that stood to choice as the first one; () where the server does not say.

    The same word may stand there several times: as several tokens that are written alike.
    """
    try:
        taken = logprobs["content"][0]
        found = [(str(each["token"]), float(each["logprob"])) for each in taken["top_logprobs"]]
        if all(token != taken["token"] for token, _ in found):
            found.append((str(taken["token"]), float(taken["logprob"])))
    except (LookupError, TypeError, ValueError):
        return ()
    return tuple((token, logprob) for token, logprob in found if not math.isnan(logprob))
