"""Judges that are read by their answers, and those behind an OpenAI-compatible server."""

import hashlib
import json
import logging
import math
import random
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from scoring.engine.formatting import Prepared
from scoring.engine.scorer import Rewards, Scorer
from scoring.errors import KnownError
from scoring.families.prompts import (
    LABELS,
    RATING_TOKENS,
    VERDICT_TOKENS,
    Question,
    asks_both_orders,
    digest,
    parse_rating,
    parse_verdict,
    prompt_for,
    questions,
)
from scoring.families.server import PATIENCE, ErrorTally, Patience, RequestFailed, Server
from scoring.spec import ModelSpec, Pair, RunSettings, as_objects, text_hash

logger = logging.getLogger(__name__)

ANSWER_TOKENS = 16
"""Tokens that an answer to our own prompts may have: enough for "Response A is better."."""
LABELS_EXPECTED = 0.5
"""The least probability of both labels together for an answer to be one of them."""
_LOGPROBS = {"logprobs": True, "top_logprobs": 20}
_OPTIONAL = ("logprobs", "temperature", "seed", "max_completion_tokens", "max_tokens")
"""Values of a request that a server may refuse, and be asked again without."""
_THOUGHTS = re.compile(r"^.*</think>|<think>.*", re.DOTALL)
_READINGS = {
    "judge": "probabilities of A and B, both orders averaged (of an answer without probabilities: "
    "the letter it names)",
    "rater": "the rating it gives, 1 to 10",
}
_UPSTREAM_READINGS = {
    "judge": "the verdict it writes, one order drawn by the seed and the pair's texts (an answer "
    "that names neither is a tie)",
    "rater": "the rating it ends with, 1 to 10 (where one cannot be read, both are 0: a tie)",
}

_Meaning = tuple[float, ...] | None
"""Probabilities of A and B, or a rating alone; None where a reply means neither."""


class Reply(NamedTuple):
    """An answer: what it says, and the tokens it may begin with, with their log-probabilities.

    cut: whether it ended for want of tokens.
    """

    text: str
    first: tuple[tuple[str, float], ...] = ()
    cut: bool = False


class BaseJudge(Scorer):
    """Families judge (which of two is better) and rater (how good is each), by their answers.

    A judge is asked in both orders. The reward of a response is the mean, over the orders, of the
    probability of its label among the two labels: a judge that always names the first response
    ties every pair, and so do two equal responses. A pair with an answer that is missing or cannot
    be read is missing as a whole.

    With a prompt of upstream's, a judge is asked in one order and writes its verdict: the better
    response has the reward 1, the other 0, and both have one half where no verdict can be read.
    """

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        """Derived classes set `traits` and give `_replies`."""
        self.spec = spec
        self._is_judge = spec.family == "judge"
        self._seed = settings.seed
        self._prompt = ""
        tokens = ANSWER_TOKENS
        if settings.judge_prompt != "probabilities":
            self._prompt = prompt_for(settings.judge_prompt, spec.name)
            tokens = VERDICT_TOKENS if self._is_judge else RATING_TOKENS
        self._tokens = settings.max_tokens or tokens
        self._has_read = False
        self._answers = Answers()
        self.errors = ErrorTally()
        self._n_answered = self._n_questions = 0
        self._lock = threading.Lock()
        self._reading = (_UPSTREAM_READINGS if self._prompt else _READINGS)[spec.family]
        if settings.max_tokens or settings.temperature:
            self._reading += (
                f"; {self._tokens:,} tokens at most, temperature {settings.temperature:g}"
            )
        self._digest = digest(spec.family, self._prompt)

    def keep_answers(self, folder: Path | None, part: str = "") -> None:
        """As of `Scorer`."""
        self._answers = Answers(folder, part)
        self.errors.clear()

    def error_counts(self) -> list[str]:
        """As of `Scorer`."""
        return self.errors.sentences()

    def rewards(self, pack: Sequence[Prepared]) -> Rewards:
        """Probabilities, 0 to 1, or ratings, 1 to 10; NaN for both sides of a missing pair.

        Raises:
            KnownError: nobody answers, or no answer was long enough to be read.
        """
        questions = [self._questions(prepared.pair) for prepared in pack]
        distinct = list(dict.fromkeys(question for both in questions for question in both))
        self._n_answered, self._n_questions = 0, len(distinct)
        replies = zip(distinct, self._replies(distinct), strict=True)
        answered = {question: reply for question, reply in replies if reply is not None}
        meanings = {question: self._meaning(reply) for question, reply in answered.items()}
        self._has_read = self._has_read or any(meanings.values())
        if answered and not self._has_read and all(reply.cut for reply in answered.values()):
            raise KnownError(
                f"{self.spec.name} had said nothing that can be read when its answers were cut off "
                f"at {self._tokens:,} tokens; models that think before they answer take thousands. "
                f"Allow more, such as --max-tokens {max(4096, 4 * self._tokens)}."
            )
        return [
            self._rewards(prepared, both, meanings)
            for prepared, both in zip(pack, questions, strict=True)
        ]

    def _replies(self, questions: Sequence[Question]) -> Sequence[Reply | None]:
        """What is answered to each; None where nothing is."""
        raise NotImplementedError

    def _count_answers(self, n: int = 1) -> None:
        """So many questions more of the pack are done with."""
        with self._lock:
            self._n_answered += n
            if self.on_answers is not None:
                self.on_answers(self._n_answered, self._n_questions)

    def _questions(self, pair: Pair) -> tuple[Question, ...]:
        ask = partial(questions, self.spec.family, pair, self._prompt)
        if self._prompt and self._is_judge and asks_both_orders(pair):
            return tuple(question for swapped in (False, True) for question in ask(swapped=swapped))
        return ask(swapped=self._is_swapped(pair))

    def _is_swapped(self, pair: Pair) -> bool:
        """Whether the rejected response is shown first."""
        name = text_hash(pair.prompt, pair.chosen, pair.rejected)
        return random.Random(f"{self._seed}:{name}").random() > 0.5  # noqa: S311 - a coin

    def _meaning(self, reply: Reply) -> _Meaning:
        text = _THOUGHTS.sub("", reply.text).strip()
        meaning: _Meaning
        if not self._is_judge:
            rating = parse_rating(text, self._prompt)
            meaning = None if rating is None else (rating,)
        else:
            meaning = verdict(reply._replace(text=text), self._prompt)
        if meaning is None:
            kind = "verdict" if self._is_judge else "rating"
            why = f" within {self._tokens} tokens" if reply.cut else ""
            self.errors.add(f"An answer is no {kind}{why}", repr(text[:80]))
        return meaning

    def _rewards(
        self,
        prepared: Prepared,
        questions: Sequence[Question],
        meanings: Mapping[Question, _Meaning],
    ) -> tuple[float, float]:
        """From what replies mean: sums of the same terms, whichever response is the chosen."""
        if any(question not in meanings for question in questions):
            return math.nan, math.nan
        found = [meanings[question] for question in questions]
        if self._is_judge and asks_both_orders(prepared.pair):
            return share_of_orders(found)
        if self._prompt and self._is_judge:
            first, second = (found and found[0]) or (0.5, 0.5)
            return (second, first) if self._is_swapped(prepared.pair) else (first, second)
        one, other = found
        if one is None or other is None:
            if self._prompt and prepared.row:
                return (one or (0.0,))[0], (other or (0.0,))[0]
            return (0.0, 0.0) if self._prompt else (math.nan, math.nan)
        if not self._is_judge:
            return one[0], other[0]
        return (one[0] + other[1]) / 2, (one[1] + other[0]) / 2


def share_of_orders(orders: Sequence[_Meaning]) -> tuple[float, float]:
    """The share of orders in which each response is preferred; in the second they are swapped."""
    if len(orders) != 2:  # no prompt was made of the conversation
        return 0.5, 0.5
    first, second = orders
    sides = [each for each in (first, second and second[::-1]) if each]
    chosen, rejected = (sum(each[at] > each[1 - at] for each in sides) for at in (0, 1))
    return chosen / 2, rejected / 2


class ChatJudge(BaseJudge):
    """A judge or rater that is asked over HTTP."""

    def __init__(
        self, spec: ModelSpec, settings: RunSettings, patience: Patience = PATIENCE
    ) -> None:
        """
        Raises:
            KnownError: the server's address or the settings cannot be used.
        """
        super().__init__(spec, settings)
        self._server = Server(spec.url, settings.parallel, patience, self.errors)
        self._common = {
            "model": spec.name,
            "temperature": settings.temperature,
            "seed": settings.seed,
            "max_tokens": self._tokens,
            **(_LOGPROBS if self._is_judge and not self._prompt else {}),
        }
        self._refused: tuple[str, ...] = ()
        self._answered = False
        self._traits = self._server.traits(self._reading, self._digest)

    def _replies(self, questions: Sequence[Question]) -> Sequence[Reply | None]:
        return self._server.each(self._ask, questions)

    def _ask(self, question: Question) -> Reply:
        reply = self._answers.get(question)
        if reply is None:
            reply = self._post(question, self._refused)
            self._answers.add(question, reply)
        self._count_answers()
        return reply

    def _post(self, question: Question, refused: tuple[str, ...]) -> Reply:
        """Ask, again without what the server refuses, which stays away once it then answers."""
        body = {**self._common, "messages": as_objects(question)}
        if "max_tokens" in refused:  # the name that newer servers give it
            body["max_completion_tokens"] = body["max_tokens"]
        if "logprobs" in refused:
            body.pop("top_logprobs", None)
        for name in refused:
            body.pop(name, None)
        try:
            reply = self._server.post("/chat/completions", body, _reply)
        except RequestFailed as failure:
            if refused != self._refused and self._answered:  # another thread found out meanwhile
                return self._post(question, self._refused)
            if failure.status not in (400, 422) or self._answered:  # then it is the text's fault
                raise
            named = [name for name in _OPTIONAL if name in body and name in str(failure)]
            if not named and "logprobs" in body:  # perhaps it is these
                named = ["logprobs"]
            if not named:
                raise
            return self._post(question, (*refused, named[0]))
        if refused != self._refused:
            logger.warning("The server takes no %s: it is asked without.", ", ".join(refused))
            self._refused = refused
        self._answered = True
        return reply


class Answers:
    """Replies by question, in JSON Lines of a folder if one is given; torn lines are left out."""

    def __init__(self, folder: Path | None = None, part: str = "") -> None:
        """
        Raises:
            KnownError: the folder cannot be read or written to.
        """
        self._known: dict[str, Reply] = {}
        self._lock = threading.Lock()
        self._path = None if folder is None else folder / f"answers{part}.jsonl"
        if folder is None or self._path is None:
            return  # without a folder nothing is known or stored
        try:
            for path in folder.glob("answers*.jsonl"):
                for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
                    self._read(line)
            if self._path.exists():
                with self._path.open("ab") as file:
                    file.write(b"\n")  # what was torn apart ends here
        except OSError as error:
            raise KnownError(f"The answers in {folder} cannot be kept: {error}.") from error

    def _read(self, line: str) -> None:
        with suppress(ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
            kept = json.loads(line)
            first = tuple((str(token), float(logprob)) for token, logprob in kept["first"])
            reply = Reply(str(kept["text"]), first, kept["cut"] is True)
            self._known[str(kept["question"])] = reply

    def get(self, question: Question) -> Reply | None:
        """The stored answer, or None."""
        return self._known.get(_key(question))

    def add(self, question: Question, reply: Reply) -> None:
        """Store an answer, if there is a folder."""
        if self._path is None:
            return
        line = json.dumps({"question": _key(question), **reply._asdict()}) + "\n"
        with self._lock:
            self._known[_key(question)] = reply
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)


def _key(question: Question) -> str:
    return hashlib.sha256(json.dumps(question).encode()).hexdigest()[:32]


def verdict(reply: Reply, prompt: str = "") -> _Meaning:
    """The probabilities of A and of B in one order, summing to 1; None where it names neither.

    To our own prompt by the first token, where that is most likely a label; else by the text.

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
    if not prompt and first + second >= LABELS_EXPECTED:
        return first / (first + second), second / (first + second)
    named = parse_verdict(reply.text, prompt)
    return None if named is None else (float(named == LABELS[0]), float(named == LABELS[1]))


def _reply(answer: Any) -> Reply:
    """The first choice of an answer; raises LookupError, TypeError where it has another shape."""
    choice = answer["choices"][0]
    text = choice["message"]["content"]
    if not isinstance(text, str | None):
        raise TypeError("the content of an answer is text")
    cut = choice.get("finish_reason") == "length"
    return Reply(text or "", _first_token(choice.get("logprobs")), cut)


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
