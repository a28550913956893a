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
from pathlib import Path
from typing import Any, NamedTuple

from scoring.engine.formatting import Prepared
from scoring.engine.scorer import Rewards, Scorer
from scoring.errors import KnownError
from scoring.families import prompts
from scoring.families.prompts import Question
from scoring.families.server import ErrorTally, RequestFailed, Server
from scoring.rows import WHOLE_ROW
from scoring.spec import ModelSpec, Pair, RunSettings, as_objects, text_hash

logger = logging.getLogger(__name__)

_OPTIONAL = ("logprobs", "temperature", "seed", "max_completion_tokens", "max_tokens")
"""Values of a request that a server may refuse, and be asked again without."""
_THOUGHTS = re.compile(r"^.*</think>|<think>.*", re.DOTALL)
_Meaning = tuple[float, ...] | None
"""Probabilities of the labels, or a rating alone; None if a reply means neither."""
_Places = tuple[int, ...]
Asked = tuple[Question, int]
"""A question, and which time it is asked, from 0."""


class Reply(NamedTuple):
    """An answer to a question.

    first: tokens that it may begin with, and their log-probabilities.
    cut: whether it ended for want of tokens.
    """

    text: str
    first: tuple[tuple[str, float], ...] = ()
    cut: bool = False


class BaseJudge(Scorer):
    """Families judge (which of two is better) and rater (how good is each), by their answers.

    Rewards are as of `judge.Judge`, but that a rating is the one it gives; a pair with an answer
    that is missing or cannot be read is missing as a whole. With a prompt of upstream's, a judge is
    asked in one order and writes its verdict: the better response has the reward 1, the other 0,
    and both have one half where no verdict can be read. By upstream's prompt for rows of
    RewardBench 2 it is shown all four responses at once, each of which has one quarter where no
    verdict can be read, and rates those of *Ties*, -1 where no rating can be read.
    """

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        self.spec = spec
        self._is_judge = spec.family == "judge"
        self._seed, self.repeats = settings.seed, settings.repeats
        self._prompt = prompts.choose_prompt(settings.judge_prompt, spec.name)
        form = prompts.prompt_form(spec.family, self._prompt)
        self._tokens: int = settings.max_tokens or form["tokens"]
        self._reading: str = form["reading"]
        if settings.max_tokens or settings.temperature:
            self._reading += (
                f"; {self._tokens:,} tokens at most, temperature {settings.temperature:g}"
            )
        if settings.repeats > 1:
            self._reading += f"; the mean of {settings.repeats} repeats"
        self._digest = prompts.digest(spec.family, self._prompt)
        self._can_read = False
        self._answers = Answers()
        self.errors = ErrorTally()
        self._n_answered = self._n_questions = 0
        self._lock = threading.Lock()

    def family_for(self, row: Pair) -> str:
        """As of `Scorer`."""
        return prompts.family_for(row, self.spec.family, self._prompt)

    def keep_answers(self, folder: Path | None, part: str = "") -> None:
        """As of `Scorer`."""
        self._answers = Answers(folder, part)
        self.errors.clear()

    def error_counts(self) -> list[str]:
        """As of `Scorer`."""
        return self.errors.sentences()

    def rewards(self, pack: Sequence[Prepared]) -> Rewards:
        """Return probabilities or ratings, NaN on all sides of a missing pair, or a KnownError."""
        every = [[(each, part.repeat) for each in self._questions(part.pair)] for part in pack]
        families = {
            asked: self.family_for(part.pair)
            for part, questions in zip(pack, every, strict=True)
            for asked in questions
        }
        self._n_answered, self._n_questions = 0, len(families)
        replies = self._replies(list(families))
        meanings = {each: self._meaning(reply, families[each]) for each, reply in replies.items()}
        self._can_read = self._can_read or any(meanings.values())
        if replies and not self._can_read and all(reply.cut for reply in replies.values()):
            raise KnownError(
                f"{self.spec.name} had said nothing that can be read when its answers were cut off "
                f"at {self._tokens:,} tokens; models that think before they answer take thousands. "
                f"Allow more, such as --max-tokens {max(4096, 4 * self._tokens)}."
            )
        rewards: Rewards = []
        for prepared, sides in zip(pack, every, strict=True):
            if any(asked not in meanings for asked in sides):
                rewards.append((math.nan,) * len(prepared.pair.responses))
            else:
                rewards.append(self._rewards(prepared, [meanings[each] for each in sides]))
        return rewards

    def _replies(self, asked: Sequence[Asked]) -> Mapping[Asked, Reply]:
        # The answers to those questions that have one; derived classes set `_traits`, too.
        raise NotImplementedError

    def _count_answers(self, n: int = 1) -> None:
        with self._lock:
            self._n_answered += n
            if self.on_answers is not None:
                self.on_answers(self._n_answered, self._n_questions)

    def _questions(self, pair: Pair) -> tuple[Question, ...]:
        asked = pair_questions(self.spec.family, pair, self._prompt, self._seed)
        return tuple(question for question, _ in asked)

    def _meaning(self, reply: Reply, family: str) -> _Meaning:
        meaning = meaning_of(reply, family, self._prompt)
        if meaning is None:
            kind = "rating" if family == "rater" else "verdict"
            why = f" within {self._tokens} tokens" if reply.cut else ""
            self.errors.add(f"An answer is no {kind}{why}", repr(_final_text(reply)[:80]))
        return meaning

    def _rewards(self, prepared: Prepared, answers: Sequence[_Meaning]) -> tuple[float, ...]:
        # Sums of the same terms, whichever response is the chosen one.
        if self.family_for(prepared.pair) == WHOLE_ROW:
            order = response_order(prepared.pair, self._seed)
            shares = answers[0] or (1 / len(order),) * len(order)
            return tuple(shares[order.index(place)] for place in range(len(order)))
        if self._prompt in prompts.OF_ROWS:
            return tuple(-1.0 if rating is None else rating[0] for rating in answers)
        if self._is_judge and prompts.asks_both_orders(prepared.pair):
            return share_of_orders(answers)
        if self._prompt and self._is_judge:
            first, second = (answers and answers[0]) or (0.5, 0.5)
            is_swapped = shows_rejected_first(prepared.pair, self._seed)
            return (second, first) if is_swapped else (first, second)
        one, other = answers
        if self._prompt and prepared.row:
            return (one or (0.0,))[0], (other or (0.0,))[0]
        if one is None or other is None:
            return (0.0, 0.0) if self._prompt else (math.nan, math.nan)
        if not self._is_judge:
            return one[0], other[0]
        return (one[0] + other[1]) / 2, (one[1] + other[0]) / 2


def shows_rejected_first(pair: Pair, seed: int) -> bool:
    """Whether a judge that is asked in one order is shown the rejected response first."""
    return _dice(pair, seed).random() > 0.5


def _dice(pair: Pair, seed: int) -> random.Random:
    name = text_hash(pair.prompt, pair.chosen, pair.rejected)
    return random.Random(f"{seed}:{name}")  # noqa: S311 - it draws an order


def response_order(row: Pair, seed: int) -> _Places:
    """Return the places of a row's four responses in the order in which a judge is shown them.

    As upstream does it, the right one changes places with one of the four, drawn alike.
    """
    order = [0, 1, 2, 3]
    place = _dice(row, seed).randrange(4)
    order[0], order[place] = order[place], order[0]
    return tuple(order)


def pair_questions(
    family: str, pair: Pair, prompt: str, seed: int
) -> list[tuple[Question, _Places]]:
    """Return the questions about a pair or row, each with the places of the responses shown."""
    family = prompts.family_for(pair, family, prompt)
    if family == WHOLE_ROW:
        order = response_order(pair, seed)
        return [(prompts.row_question(prompt, pair, order), order)]
    orders: list[_Places] = [(0, 1), (1, 0)]
    if family == "rater":
        orders = [(0,), (1,)]
    elif prompt and not prompts.asks_both_orders(pair):
        orders = [orders[shows_rejected_first(pair, seed)]]
    swaps = [each == (1, 0) for each in orders] if prompt and family == "judge" else [False]
    asked = [
        question
        for swapped in swaps
        for question in prompts.questions(family, pair, prompt, swapped=swapped)
    ]
    return list(zip(asked, orders, strict=False))  # of some conversations nothing is asked


def meaning_of(reply: Reply, family: str, prompt: str) -> _Meaning:
    """Return the verdict or rating of an answer, by `prompts.family_for`; None without one."""
    text = _final_text(reply)
    if family != "rater":
        return verdict(reply._replace(text=text), prompt)
    rating = prompts.parse_rating(text, prompt)
    return None if rating is None else (rating,)


def _final_text(reply: Reply) -> str:
    return _THOUGHTS.sub("", reply.text).strip()


def share_of_orders(orders: Sequence[_Meaning]) -> tuple[float, float]:
    """Return the share of orders that prefer each response; in the second they are swapped."""
    if len(orders) != 2:  # no prompt was made of the conversation
        return 0.5, 0.5
    first, second = orders
    sides = [each for each in (first, second and second[::-1]) if each]
    chosen, rejected = (sum(each[at] > each[1 - at] for each in sides) for at in (0, 1))
    return chosen / 2, rejected / 2


class ChatJudge(BaseJudge):
    """A judge or rater that is asked over HTTP."""

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        super().__init__(spec, settings)
        self._server = Server(spec.url, settings.parallel)
        self.errors = self._server.errors
        self._common: dict[str, Any] = {
            "model": spec.name,
            "temperature": settings.temperature,
            "max_tokens": self._tokens,
        }
        if self._is_judge and not self._prompt:
            self._common |= {"logprobs": True, "top_logprobs": 20}
        self._refused: tuple[str, ...] = ()
        self._has_answered = False
        self._traits = self._server.traits(self._reading, self._digest)

    def _replies(self, asked: Sequence[Asked]) -> Mapping[Asked, Reply]:
        return self._server.each(self._ask, asked)

    def _ask(self, asked: Asked) -> Reply:
        reply = self._answers.get(*asked)
        if reply is None:
            reply = self._post(*asked)
            self._answers.add(asked[0], reply, asked[1])
        self._count_answers()
        return reply

    def _post(self, question: Question, repeat: int) -> Reply:
        """Ask, again without what the server refuses, which stays away once it then answers."""
        refused = self._refused
        while True:
            body = {**self._common, "seed": self._seed + repeat, "messages": as_objects(question)}
            if "max_tokens" in refused:  # the name that newer servers give it
                body["max_completion_tokens"] = body["max_tokens"]
            if "logprobs" in refused:
                body.pop("top_logprobs", None)
            for name in refused:
                body.pop(name, None)
            try:
                reply = self._server.post("/chat/completions", body, _reply)
                break
            except RequestFailed as failure:
                if refused != self._refused and self._has_answered:
                    refused = self._refused  # another thread found out meanwhile
                    continue
                named = [name for name in _OPTIONAL if name in body and name in str(failure)]
                if not named and "logprobs" in body:  # perhaps it is these
                    named = ["logprobs"]
                # Once it has answered, it is the text's fault.
                if self._has_answered or failure.status not in (400, 422) or not named:
                    raise
                refused = (*refused, named[0])
        if refused != self._refused:
            logger.warning("The server takes no %s: it is asked without.", ", ".join(refused))
            self._refused = refused
        self._has_answered = True
        return reply


class Answers:
    """Replies by question, in JSON Lines of a folder if one is given; torn lines are left out."""

    def __init__(self, folder: Path | None = None, part: str = "") -> None:
        self._replies: dict[str, Reply] = {}
        self._lock = threading.Lock()
        self._path = folder and folder / f"answers{part}.jsonl"
        try:
            for path in folder.glob("answers*.jsonl") if folder else ():
                for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
                    if (answer := parse_answer(line)) is not None:
                        self._replies[answer[0]] = answer[1]
            if self._path and self._path.exists():
                with self._path.open("ab") as file:
                    file.write(b"\n")  # the end of a torn line
        except OSError as error:
            raise KnownError(f"The answers in {folder} cannot be kept: {error}.") from error

    def get(self, question: Question, repeat: int = 0) -> Reply | None:
        """Return the stored answer, or None. repeat: as of `Asked`."""
        return self._replies.get(question_key(question, repeat))

    def add(self, question: Question, reply: Reply, repeat: int = 0) -> None:
        """Store an answer, if there is a folder."""
        if self._path is None:
            return
        key = question_key(question, repeat)
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            self._replies[key] = reply
            file.write(json.dumps({"question": key, **reply._asdict()}) + "\n")


def parse_answer(line: str) -> tuple[str, Reply] | None:
    """Return the key of a question and the answer that a line holds; None if it is torn."""
    with suppress(ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
        answer = json.loads(line)
        first = tuple((str(token), float(logprob)) for token, logprob in answer["first"])
        return str(answer["question"]), Reply(str(answer["text"]), first, answer["cut"] is True)
    return None


def question_key(question: Question, repeat: int = 0) -> str:
    """Return the name under which the answer to a question is kept. repeat: as of `Asked`."""
    named = json.dumps([question, repeat] if repeat else question)
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def verdict(reply: Reply, prompt: str = "") -> _Meaning:
    """Return the probabilities of the labels in one order, summing to 1; None if it names none.

    Read from the first token of an answer to our own prompt, if it is probably a label; else from
    the text.
    """
    first, second = (
        math.fsum(
            math.exp(min(0.0, logprob)) for token, logprob in reply.first if token.strip() == label
        )
        for label in prompts.LABELS
    )
    if not prompt and first + second >= 0.5:
        return first / (first + second), second / (first + second)
    label = prompts.parse_verdict(reply.text, prompt)
    return None if label is None else tuple(float(label == e) for e in prompts.labels_of(prompt))


def _reply(answer: Any) -> Reply:
    # Raises LookupError or TypeError where an answer has another shape.
    choice = answer["choices"][0]
    text = choice["message"]["content"]
    if not isinstance(text, str | None):
        raise TypeError("the content of an answer is text")
    first: tuple[tuple[str, float], ...] = ()
    with suppress(LookupError, TypeError, ValueError):  # the server gives no probabilities
        taken = choice["logprobs"]["content"][0]
        # A word may stand there several times: as tokens that are written alike.
        tokens = [(str(each["token"]), float(each["logprob"])) for each in taken["top_logprobs"]]
        if all(token != taken["token"] for token, _ in tokens):
            tokens.append((str(taken["token"]), float(taken["logprob"])))
        first = tuple((token, logprob) for token, logprob in tokens if not math.isnan(logprob))
    return Reply(text or "", first, choice.get("finish_reason") == "length")
