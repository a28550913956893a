"""What judges and served models are asked and answer, and their rewards."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scoring.engine.scorer import Scorer
from scoring.families.prompts import Question, questions
from scoring.spec import Pair
from tests.support.chat_server import Answer, said

COLOURS = [
    Pair(f"mine:{n}", "mine", f"Name {n} colours.", f"Red {n}.", f"Soon {n}.") for n in range(8)
]


def rewards(scorer: Scorer, *pairs: Pair) -> list[tuple[float, ...]]:
    """Of each pair."""
    return scorer.rewards(scorer.prepare(pairs))


def verdict_prompt(pair: Pair, first: str, second: str) -> Question:
    """What a judge is asked of these two."""
    return questions("judge", replace(pair, chosen=first, rejected=second))[0]


def rating_prompt(pair: Pair, response: str) -> Question:
    """What a rater is asked of this one."""
    return questions("rater", replace(pair, chosen=response))[0]


def asked(body: dict[str, Any]) -> str:
    """The last message of a request."""
    return str(body["messages"][-1]["content"])


def cut(text: str | None) -> Answer:
    """A chat completion that ended where its tokens did."""
    answer = said(text)
    answer.body["choices"][0]["finish_reason"] = "length"
    return answer


def labels(path: str, values: Sequence[Any]) -> Answer:
    """What a served classifier gives, by either of vLLM's paths."""
    if path == "/classify":
        data = {"index": 0, "label": "LABEL_0", "probs": values, "num_classes": len(values)}
    else:
        data = {"index": 0, "object": "pooling", "data": values}
    usage = {"prompt_tokens": 9, "total_tokens": 9, "completion_tokens": 0}
    return Answer({"object": "list", "model": "org/rm", "data": [data], "usage": usage})
