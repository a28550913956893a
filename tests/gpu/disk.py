"""What reads a model and pairs from a folder: the command line, killed and resumed; and the app."""

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from scoring.engine.scorer import Scorer
from scoring.families import open_scorer
from scoring.pairs.opening import as_pairs, read_pairs
from scoring.run import make_job, score
from scoring.spec import ModelSpec, Pair, RunSettings
from tests.gpu.report import Report
from tests.support.files import write_jsonl

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = "--offline --budget 2048 --max-length 2048 --compile off".split()

Rewards = dict[str, tuple[float, float]]
"""Both rewards of each pair, by its key."""


def write_pairs(folder: Path, pairs: Sequence[Pair]) -> None:
    rows = [
        {"id": place, "prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected}
        for place, pair in enumerate(pairs)
    ]
    write_jsonl(folder / "pairs.jsonl", [{**row, "subset": "alpacaeval-easy"} for row in rows])


def check_command(report: Report, folder: Path, device: str) -> None:
    """Killed and resumed, files are equal to the byte; over two cards, rewards are near."""
    with report.point("kill and resume"):
        took = _command(folder, "whole", device)
        killed = _started(folder, "killed", device)
        rows = folder / "killed" / "rewards.jsonl"
        while killed.poll() is None and not (rows.exists() and rows.stat().st_size > 4000):
            time.sleep(0.002)
        killed.kill()
        killed.communicate()
        _command(folder, "killed", device, "--resume")
        wrote = sorted((folder / "whole").glob("eval-set*/**/*.json"))
        again = [folder / "killed" / each.relative_to(folder / "whole") for each in wrote]
        pairs = zip(wrote, again, strict=True)
        same = [one.read_bytes() == other.read_bytes() for one, other in pairs]
        words = f"from start to files {took:.1f} s; killed with -9 and resumed: {sum(same)} of "
        words += f"{len(same)} files equal to the byte"
        report.tell("kill and resume", len(same) == 2 and all(same), words, seconds=took)
    with report.point("spread"):
        if torch.cuda.device_count() < 2 or not importlib.util.find_spec("accelerate"):
            report.tell("spread", None, "there is one card, or accelerate is not installed")
            return
        _command(folder, "spread", "spread")
        one, two = (_stored(folder / each) for each in ("whole", "spread"))
        off = _apart(one, two)
        n, spread = torch.cuda.device_count(), _spread(one)
        words = f"over {n} cards off by {off:.1e} (spread {spread:.2g})"
        report.tell("spread", off <= 0.1 * spread, words, off=off)


def _started(folder: Path, out: str, device: str, *more: str) -> "subprocess.Popen[str]":
    paths = {"--model": folder / "model", "--pairs": folder / "pairs.jsonl", "--out": folder / out}
    command = [sys.executable, "-m", "scoring", *OPTIONS, "--device", device, *more]
    command += [str(each) for named in paths.items() for each in named]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def _command(folder: Path, out: str, device: str, *more: str) -> float:
    """Seconds that a run of the command line takes."""
    began = time.perf_counter()
    process = _started(folder, out, device, *more)
    said = process.communicate()[1] or ""
    if process.returncode:
        raise RuntimeError(f"the command line ended with {process.returncode}: {said[-300:]}")
    return time.perf_counter() - began


def check_app(report: Report, folder: Path, device: str) -> None:
    """The same pairs by /score_selection: how long, and the same rewards."""
    name = "the app's path"
    if not (importlib.util.find_spec("gradio") and importlib.util.find_spec("pydantic")):
        report.tell(name, None, "gradio is not installed")
        return
    with report.point(name):
        import gradio as gr
        from gradio_client import Client  # type: ignore[import-untyped]

        from explorer.api.scoring import ScoreEndpoints, publish_scoring
        from explorer.core.settings import Settings
        from explorer.stores import open_stores

        model, pairs = str(folder / "model"), str(folder / "pairs.jsonl")
        settings = Settings(home=folder / "home", pairs=pairs, offline=True, device=device)
        stores = open_stores(settings)
        with gr.Blocks() as page:
            publish_scoring(ScoreEndpoints(stores.runs, stores.pairs, stores.settings))
        page.queue().launch(_frontend=False, prevent_thread_lock=True, quiet=True)
        try:
            client = Client(page.local_url, verbose=False)
            cold, rows = _asked(client, model)
            seconds = min(_asked(client, model)[0] for _ in range(3))
        finally:
            page.close()
            stores.runs.scorers.models.release()
        scorer = open_scorer(ModelSpec("on disk", model, "random"), RunSettings(device=device))
        engine = min(_engine_seconds(scorer, pairs) for _ in range(3))
        stored = _stored(folder / "whole")
        told = {row["key"]: (row["chosen_reward"], row["rejected_reward"]) for row in rows}
        off = _apart(stored, told)
        spread, bound = _spread(stored), 1.05 * engine + 0.25
        is_quick = device == "cpu" or seconds <= bound
        report.tell(
            name,
            is_quick and len(rows) == len(stored) and off <= 0.1 * spread,
            f"{len(rows)} pairs in {cold:.1f} s cold, {seconds:.2f} s warm (at most {bound:.2f} "
            f"on a card: the engine's {engine:.2f} s, 5 % and 0.25 s for asking); off the "
            f"command line by {off:.1e} (at most a tenth of the spread, {spread:.2g})",
            **{"cold": cold, "seconds": seconds, "engine": engine, "off": off},
        )


def _asked(client: Any, model: str) -> tuple[float, list[dict[str, Any]]]:
    """Seconds to the last row, and the rows.

    The client's own loop over answers sleeps with the lock that its threads need to take them.
    """
    began = time.perf_counter()
    job = client.submit(api_name="/score_selection", model=model, per_subset=1000)
    while not job.done():
        time.sleep(0.005)
    seconds = time.perf_counter() - began
    if error := job.exception():
        raise error
    return seconds, job.outputs()[-1]["rows"]


def _engine_seconds(scorer: Scorer, pairs: str) -> float:
    """Of the same pairs by the engine alone, warm."""
    table = read_pairs(Path(pairs)).table
    rows = as_pairs(table, range(table.num_rows))
    began = time.perf_counter()
    list(score(make_job(rows, scorer, 0), scorer))
    return time.perf_counter() - began


def _stored(run: Path) -> Rewards:
    """Both rewards of each pair of a run on disk."""
    lines = (run / "rewards.jsonl").read_text(encoding="utf-8").splitlines()
    rows = map(json.loads, lines)
    return {row["key"]: (row["chosen_reward"], row["rejected_reward"]) for row in rows}


def _apart(one: Rewards, other: Rewards) -> float:
    """The most that rewards of the other's pairs differ by."""
    return max(abs(a - b) for key in other for a, b in zip(one[key], other[key], strict=True))


def _spread(stored: Rewards) -> float:
    return float(torch.tensor([*stored.values()]).std())
