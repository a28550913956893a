"""The Models tab on small published results of the demo pairs, with runs of one visitor."""

from pathlib import Path
from typing import Any

import numpy as np

from explorer.core.settings import Settings
from explorer.data.tokens import TokenCounter
from explorer.page import views_of
from explorer.reader.scene import Scenes
from explorer.runs.cards import RunCard, change_card
from explorer.runs.visitors import Visitor
from explorer.stats.rules import RULES
from explorer.stores import open_stores
from explorer.tabs.models.view import ModelsView
from explorer.tabs.pairs.view import PairsView
from scoring.hub.access import Hub
from scoring.record import Run
from scoring.spec import RunFacts, ScoredPair
from tests.conftest import until
from tests.support.board_data import OF_DEMO, write_model
from tests.support.files import write_json
from tests.support.hostile import NAME
from tests.support.run_facts import recorded_run

A, B, PLAIN, HALF, ELSEWHERE = "org/a-7B", "org/b-70B", "org/plain", "org/half", "org/elsewhere"
"""Published models: two with rewards, as `NAME` has; two without; one of other pairs."""
ME, STRANGER = Visitor("browser:me"), Visitor("browser:stranger")
_MEANS = {A: 1.2, B: 0.8, NAME: 0.2, PLAIN: 0.5, HALF: 0.0, ELSEWHERE: 5.0}


def write_published(folder: Path, keys: list[str]) -> Path:
    """Results in upstream's layout. keys: of the demo pairs."""
    drawn = np.random.default_rng(5)
    pairs = {"subset": [each.partition(":")[0] for each in keys]}
    pairs["id"] = [each.partition(":")[2] for each in keys]
    for number, (model, mean) in enumerate(_MEANS.items()):
        chosen = drawn.normal(mean, 1.0, len(keys)).round(3)
        n = {HALF: 100, ELSEWHERE: 2}.get(model, len(keys))
        values: dict[str, Any] = {name: each[:n] for name, each in pairs.items()}
        values["results"] = (chosen > 0).astype(float).tolist()[:n]
        if model in (A, B, NAME):
            values |= {"scores_chosen": chosen.tolist(), "scores_rejected": [0.0] * len(keys)}
        if model == ELSEWHERE:
            values |= {"subset": ["own"] * 2, "id": ["x", "y"]}
        kind = "Generative RM" if model == PLAIN else "Seq. Classifier"
        write_model(folder, f"{number}", {"model": model, "model_type": kind}, values)
    prior = {"model": A, **dict.fromkeys(RULES["prior"].subsets, 0.5)}
    write_json(folder / "pref-sets" / "a.json", prior)
    return folder


def open_models(home: Path, results: Path) -> ModelsView:
    """The tab on a public server without a network."""
    settings = Settings(
        home, pairs="demo", results=str(results), results_of=OF_DEMO, offline=True, public=True
    )
    return views_of(open_stores(settings)).models


def pairs_beside(models: ModelsView) -> PairsView:
    """The Pairs tab of the same server."""
    settings, fields = models.settings, models.fields
    counter = TokenCounter(settings.home, Hub(offline=True), settings.model_policy)
    return PairsView(Scenes(fields.tables, counter, fields), settings)


def write_run(models: ModelsView, title: str, n: int, *, keys: list[str] | None = None) -> Run:
    """A finished run of `ME`, of the first n demo pairs, or of pairs that are nowhere else."""
    [table] = models.tables()
    texts = table.hashes if keys is None else [f"no text {key}" for key in keys]
    keys = (table.keys if keys is None else keys)[:n]
    facts = RunFacts("org/run", "", "classifier", "cpu", "float32", 99, "left", "", table.id, n, 0)
    rows = [
        ScoredPair(key, key.partition(":")[0], texts[at], float(at % 4), 0.5, 1, 1)
        for at, key in enumerate(keys)
    ]
    run = recorded_run(models.settings.runs, facts, rows)
    change_card(run, lambda _: RunCard(ME.owner, title))
    return run


def name_of(run: Run, models: ModelsView) -> str:
    """What a run is called among models."""
    return models.fields.name_of(run.id, None, None, ME)


def upload(models: ModelsView, folder: Path, **files: object) -> str:
    """Put files of `ME` beside the results; gives their token."""
    written = (write_json(folder / f"{name}.json", values) for name, values in files.items())
    paths = {path.name: path for path in written}
    results = models.boards.library.upload(None, paths, owner=ME.owner)
    assert results.uploaded is not None
    return results.uploaded.token


def written(models: ModelsView, query: str, visitor: Visitor = ME) -> dict[str, str]:
    """Every region of an address as it is now."""
    _, regions = models.regions(query, visitor)
    return {name: write() for name, write in regions.items()}


def measured(models: ModelsView, query: str, visitor: Visitor = ME) -> dict[str, str]:
    """Every region of an address once results are read and nothing goes on any more."""

    def is_over(query: str) -> bool:
        return "data-refresh" not in models.regions(query, visitor)[1]["status"]()

    until(lambda: is_over("?tab=models") and is_over(query))
    return written(models, query, visitor)
