"""What docs say that `scoring/` needs is all that it needs."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scoring.families.server import KEY_VARIABLE
from scoring.spec import BASELINES, FAMILIES
from tests.conftest import DEMO_MODEL, ROOT
from tests.support.chat_server import Answer, ChatServer, said
from tests.support.forks import environment
from tests.support.judging import labels
from tests.support.small_language_models import save_tiny
from tests.support.small_pairrm import random_weights, write

PATIENCE = 600.0


def packages_of_the_docs() -> list[str]:
    page = (ROOT / "docs" / "scoring.md").read_text(encoding="utf-8")
    [sentence] = re.findall(r"`scoring/` runs alone: it needs ([^.]*)\.", page)
    return re.findall(r"`([\w-]+)`", sentence)


def answers(path: str, body: dict[str, Any]) -> Answer:
    """As a server of a judge, of a rater and of a reward model does."""
    if path == "/classify":
        return labels(path, [len(body["messages"][-1]["content"]) - 50.0])
    wants_rating = "1 to 10" in json.dumps(body["messages"])
    return said("7") if wants_rating else said("A", {"A": 0.75, "B": 0.25})


def test_what_the_docs_name_is_declared() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").split()
    declared = {re.split(r"[=<>\[]", line)[0] for line in lines}
    assert set(packages_of_the_docs()) - declared == set()


@pytest.mark.slow
def test_every_family_scores_with_nothing_but_what_the_docs_name(tmp_path: Path) -> None:
    causal = save_tiny(tmp_path / "causal", "qwen3", 0)
    pairrm = write(tmp_path / "pairrm", random_weights())
    with ChatServer(answers) as server:
        beside = {
            "classifier": ("--model", str(DEMO_MODEL)),
            "dpo": ("--model", causal, "--ref-model", causal),
            "logprob-sum": ("--model", causal),
            "logprob-mean": ("--model", causal),
            "judge": ("--model", causal),
            "rater": ("--model", causal),
            "pairrm": ("--model", str(pairrm)),
            "served": ("--model", "org/rm", "--url", server.url),
            **{family: ("--model", family) for family in BASELINES},
        }
        assert set(beside) == set(FAMILIES)
        asked = ("--model", "m", "--url", server.url)
        runs = [
            [*given, "--family", family]
            for family, given in (*beside.items(), ("judge", asked), ("rater", asked))
        ]
        common = ["--pairs", "demo", "--limit", "2", "--device", "cpu", "--json"]
        commands = [
            [*given, *common, "--out", str(tmp_path / str(place))]
            for place, given in enumerate(runs)
        ]
        packages = ",".join(packages_of_the_docs())
        done = subprocess.run(
            [sys.executable, "tests/support/alone.py", packages, json.dumps(commands)],
            cwd=ROOT,
            env={**environment(HF_HUB_OFFLINE="1"), KEY_VARIABLE: ""},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
    assert done.returncode == 0, done.stderr
    for place, given in enumerate(runs):
        assert list((tmp_path / str(place)).glob("eval-set-scores/*/*.json")), given
