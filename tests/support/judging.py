"""What judges and served models are asked and answer, and their rewards."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scoring.__main__ import main
from scoring.engine.scorer import Scorer
from scoring.families.chat import ChatJudge
from scoring.record import Run
from scoring.run import make_job, score
from scoring.spec import Family, ModelSpec, Pair, RunSettings, ScoredPair
from tests.support.chat_server import Answer, ChatServer, said
from tests.support.rewardbench2 import made_up_rows

LETTERS = "ABCD"
COLOURS = [
    Pair(f"mine:{n}", "mine", f"Name {n} colours.", f"Red {n}.", f"Soon {n}.") for n in range(8)
]


def judge(
    server: ChatServer, family: Family = "judge", name: str = "org/judge", **settings: Any
) -> ChatJudge:
    """One behind a server."""
    spec = ModelSpec(name, "", "", family, url=server.url + "/v1")
    return ChatJudge(spec, RunSettings(**settings))


def judged(server: ChatServer, folder: Path, pairs: str | Path, *given: str) -> Run:
    """A run of the command line with a judge behind a server."""
    model = ["--model", "org/judge", "--family", "judge", "--url", f"{server.url}/v1"]
    assert main([*model, "--pairs", str(pairs), "--out", str(folder), *given]) == 0
    return Run.open(folder)


def scored(scorer: Scorer, pairs: Sequence[Pair], seed: int = 0) -> dict[str, ScoredPair]:
    """Rows by their keys, in the packs that a run makes."""
    job = make_job(pairs, scorer, seed)
    return {row.key: row for pack in score(job, scorer) for row in pack.rows}


def rewards(scorer: Scorer, *pairs: Pair) -> list[tuple[float, ...]]:
    """Of each pair."""
    return scorer.rewards(scorer.prepare(pairs))


def asked(body: dict[str, Any]) -> str:
    """The last message of a request."""
    return str(body["messages"][-1]["content"])


def cut(text: str | None) -> Answer:
    """A chat completion that ended where its tokens did."""
    answer = said(text)
    answer.body["choices"][0]["finish_reason"] = "length"
    return answer


def some_rows() -> list[dict[str, Any]]:
    """30 rows of all subsets whose responses all differ: 20 of four, five prompts of Ties twice."""
    rows, counts = [], Counter[str]()
    for row in made_up_rows():
        responses = [*row["chosen"], *row["rejected"]]
        most = 10 if row["subset"] == "Ties" else 4
        is_twice = row["subset"] == "Ties" and int(row["id"].split(":")[1]) % 3 == 0
        if len({*responses}) == len(responses) and not is_twice and counts[row["subset"]] < most:
            counts[row["subset"]] += 1
            rows.append(row)
    assert len(rows) == 30
    return rows


def drawn(*words: str) -> int:
    """A number that these words alone say."""
    return int(hashlib.sha256("".join(words).encode()).hexdigest()[:8], 16)


def opinion(question: str) -> str:
    """What the judge of these tests says: verdicts and ratings, and now and then neither."""
    n = drawn(question)
    if question.endswith("[Your judgement]"):
        return ["Hm.", "8 or so", f"Fine.\n\n{n % 10 + 1}", f"{n // 10 % 10 + 1}\n"][n % 23 % 4]
    best = LETTERS[n // 8 % 4]
    texts = ["Nobody.", "", f"[[{best}]]", f"Not [[D]], but [[{best}]].", f"[[{best}]]"]
    return texts[n % 5]
