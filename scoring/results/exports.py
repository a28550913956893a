"""A finished run as upstream's two result files, and sending them to a results dataset.

`eval-set/<org>/<model>.json` holds accuracies and `eval-set-scores/<org>/<model>.json` every pair,
in the dataset's order; of a prior set, `pref-sets/` and `pref-sets-scores/` do. Where rows have
more responses than two, the latter holds those of each row as one list, the right ones first.
Source: `save_to_hub` in upstream's rewardbench/utils.py, run_rm.py and run_v2.py.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.benchmarks import benchmark_of
from scoring.errors import KnownError, counted, first_line
from scoring.hub.access import HubId, parse_hub_id
from scoring.paths import atomic_write
from scoring.results.accuracies import PRIOR_SETS, set_kind_of
from scoring.rules import is_ties
from scoring.spec import Pair, RunFacts, ScoredPair, as_objects
from scoring.summary import tie_worth
from scoring.ties import TiesRow, ties_score

ALL_PAIRS = "all pairs"
"""The selection of a run that leaves none out."""
_NOT_SUBSETS = ("model", "model_type", "chat_template", "ref_model", "base_model")
"""Keys of a file of accuracies that are no subsets."""
_SETTINGS = (
    "revision", "reading", "dtype", "max_length", "truncation_side", "template", "pairs",
    "selection", "n_pairs",
)  # fmt: skip
"""Facts that the numbers rest on."""
_TOKEN = re.compile(r"[A-Za-z0-9_.~+/=-]{1,4000}")
_REFUSALS = {
    401: "it does not know the token, or the token has ended",
    403: "the token does not permit that",
    404: "there is no such dataset, or the token may not see it",
    429: "there were too many requests; wait a few minutes",
}
"""Status of an answer -> what it means."""
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
_UPSTREAM_TYPES: dict[str, str] = {
    "classifier": "Seq. Classifier", "served": "Seq. Classifier", "pairrm": "Custom Classifier",
    "dpo": "DPO", "logprob-sum": "DPO Ref. Free", "logprob-mean": "DPO Ref. Free",
    "judge": "Generative RM", "rater": "Generative RM",
}  # fmt: skip
"""Family -> upstream's word for it."""


def result_name(facts: RunFacts) -> str:
    """The name of a run's model in result files.

    A run of a part of its pairs says so, lest its scores be taken for the benchmark's.
    """
    model = public_name(facts.model)
    return model if facts.selection in ("", ALL_PAIRS) else f"{model}-part"


def public_name(model: str) -> str:
    """Return `org/model`: a Hub id as it is, anything else as "local/...", without its folder."""
    if parse_hub_id(model) != HubId(model) or Path(model).is_dir():
        model = "local/" + (re.sub(r"[^\w.-]+", "-", Path(model).name).strip("-.") or "model")
    return model


def public_pinned(model: str) -> str:
    """Return `model@revision` with the model's `public_name`; "" for ""."""
    name, at, revision = model.rpartition("@")
    return public_name(name) + at + revision if name else ""


def write_results(
    folder: Path, name: str, facts: RunFacts, pairs: Sequence[Pair], rows: Sequence[ScoredPair]
) -> list[Path]:
    """Write both files below a folder.

    By upstream's rules a missing reward is null in the scores and not won in the accuracies; a tie
    counts as `ScoredPair.credit` says. *Ties* has its own formula, null if no prompt has both its
    rows; a row's result is whether every right response beats every wrong one. Raises a
    `KnownError` if a pair was not scored.

    name: `org/model`. pairs: of the run, in the dataset's order. rows: in any order.
    """
    row_of = {row.key: row for row in rows}
    unscored = [pair.key for pair in pairs if pair.key not in row_of]
    if unscored:
        of_all = f"of {len(pairs):,} pairs"
        n_unscored = counted(len(unscored), f"{of_all} is", f"{of_all} are")
        raise KnownError(
            f"{n_unscored} not scored yet ({unscored[0]} is one). Finish the run (--resume), then "
            "export it."
        )
    subsets = [pair.subset for pair in pairs]
    hub_id = parse_hub_id(facts.pairs)
    if hub_id is not None and hub_id.split in PRIOR_SETS:
        # Its rows name parts of it: `load_eval_dataset` in upstream's rewardbench/utils.py.
        subsets = [hub_id.split] * len(pairs)
    in_order = [row_of[pair.key] for pair in pairs]
    tie = tie_worth(facts.family, facts.benchmark)
    about: dict[str, Any] = {
        "model": name,
        "model_type": _UPSTREAM_TYPES.get(facts.family, "Baseline"),
        "chat_template": "tokenizer" if facts.template.startswith("own") else facts.template,
    }
    values = {fact: getattr(facts, fact) for fact in _SETTINGS}
    if facts.tokenizer:
        values["tokenizer"] = public_pinned(facts.tokenizer)
    settings = "; ".join(f"{fact}={value}" for fact, value in values.items())
    columns = {"settings": f"{settings}; {tie=}", "subset": subsets}
    columns |= _columns(pairs, in_order, tie)
    reference = public_pinned(facts.reference).partition("@")[0]
    role = "ref_model" if facts.family == "dpo" else "base_model"
    numbers = ({role: reference} if reference else {}) | _accuracies(subsets, in_order, tie)
    kind = set_kind_of(subsets)
    texts = {}
    for place, content in ((kind, numbers), (f"{kind}-scores", columns)):
        text = json.dumps(about | content, indent=4, sort_keys=True)
        texts[folder / place / f"{name}.json"] = text
    return write_texts(texts)


def write_texts(contents: Mapping[Path, str]) -> list[Path]:
    """Write files, each of them whole, into folders that are made."""
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            part.write_text(content, encoding="utf-8")
    return list(contents)


def _accuracies(subsets: Sequence[str], rows: Sequence[ScoredPair], tie: float) -> dict[str, Any]:
    of_subset: dict[str, list[ScoredPair]] = {}
    for subset, row in zip(subsets, rows, strict=True):
        of_subset.setdefault(subset, []).append(row)
    is_second = benchmark_of(of_subset).rule_name == "rewardbench_2"
    numbers: dict[str, float | None] = {}
    for subset, some in of_subset.items():
        name = f"{subset} (subset)" if subset in _NOT_SUBSETS else subset
        if is_second and is_ties(subset):
            ties = [TiesRow(row.id, row.n_chosen, row.all_rewards) for row in some]
            numbers[name] = ties_score(ties, "loss").score
        else:
            numbers[name] = sum(row.credit(tie) or 0 for row in some) / len(some)
    return numbers


def _columns(pairs: Sequence[Pair], rows: Sequence[ScoredPair], tie: float) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {"results": [row.credit(tie) for row in rows]}
    # Messages, as upstream has them for dialogues: exact texts, whatever the template.
    texts = [[as_objects(pair.answered(text)) for text in pair.responses] for pair in pairs]
    if any(row.rewards for row in rows):
        return columns | {
            "id": [row.id for row in rows],
            "scores": [list(row.all_rewards) for row in rows],
            "num_correct": [row.n_chosen for row in rows],
            "text": texts,
        }
    return columns | {
        "id": [int(row.id) if _NUMBER.fullmatch(row.id) else row.id for row in rows],
        "scores_chosen": [row.chosen_reward for row in rows],
        "scores_rejected": [row.rejected_reward for row in rows],
        "text_chosen": [chosen for chosen, _ in texts],
        "text_rejected": [rejected for _, rejected in texts],
    }


def check_upload(repo: str, *, dry_run: bool) -> None:
    """Refuse what is no name of a dataset, and sending without a token, by a KnownError."""
    from huggingface_hub import get_token

    if parse_hub_id(repo) != HubId(repo):
        raise KnownError(f"{repo!r} is no dataset of the Hub: give org/name.")
    if not dry_run and get_token() is None:
        raise KnownError(f"Sending to {repo} needs a token: set HF_TOKEN, or run hf auth login.")


def upload(folder: Path, files: Sequence[Path], repo: str, *, dry_run: bool) -> list[str]:
    """Send result files as `send`, with HF_TOKEN or the login of this machine, unless `dry_run`.

    Return a line a file: what is sent, or would be. repo: let pass by `check_upload`.
    """
    from huggingface_hub import get_token

    if not dry_run:
        try:
            send(folder, files, repo, token=get_token() or "")
        except KnownError as error:
            raise KnownError(
                f"{error} They are in {folder}; --resume with --upload sends them again."
            ) from error
    return [
        f"{path.relative_to(folder).as_posix()} ({path.stat().st_size:,} bytes) -> {repo}"
        for path in files
    ]


def send(
    folder: Path, files: Sequence[Path], repo: str, *, token: str, create_pr: bool = False
) -> str:
    """Send files to a dataset in a commit or pull request; return its address, or a `KnownError`.

    folder: what the files' paths in the dataset are relative to.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    token = checked_token(token)
    names = [path.relative_to(folder).as_posix() for path in files]
    about = f"Results of {names[0].partition('/')[2].removesuffix('.json')}"
    try:
        operations = [CommitOperationAdd(*each) for each in zip(names, files, strict=True)]
        sent = HfApi(token=token).create_commit(
            repo, operations, commit_message=about, repo_type="dataset", create_pr=create_pr
        )
    except Exception as error:  # the client lets its transport's errors through
        raise KnownError(
            f"The Hub did not take the results for {repo}: {why_refused(error, token)}."
        ) from error
    return str(sent.pr_url or sent.commit_url)


def checked_token(token: object) -> str:
    """A token as it can stand in a header, or a `KnownError` that does not repeat it."""
    words = token.strip() if isinstance(token, str) else ""
    if not _TOKEN.fullmatch(words):
        raise KnownError(
            "That is not a token of the Hub, which is one word such as hf_… Make one with write "
            "permission at huggingface.co/settings/tokens."
        )
    return words


def why_refused(error: BaseException, token: str) -> str:
    """Why the Hub refuses a request, in words without the token and a full stop."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in _REFUSALS:
        return f"{_REFUSALS[status]} ({status})"
    # A long token that was cut would not be found.
    said = first_line(RuntimeError(str(error).replace(token, "…") or type(error).__name__))
    return said.rstrip(".")
