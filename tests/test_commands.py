"""README and docs: the head is as a Space wants it, links lead somewhere, nothing is missing.

Every command and snippet of Python in them is run, as far as it can be; `STAND_INS` has what stands
in for what a reader has of their own.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from huggingface_hub import metadata_load
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSequenceClassification

from explorer.reader.links import TABS
from scoring.__main__ import main as score
from tests.conftest import DEMO_MODEL, DEMO_PAIRS, DOCUMENTS, ROOT
from tests.support.files import write_jsonl
from tests.support.rewardbench2 import made_up_rows
from tests.support.serving import started

AGAIN = "OpenAssistant/reward-model-deberta-v3-large-v2"
STAND_INS = {
    **dict.fromkeys(("org/reward-model", "org/70b", "org/base"), "demo"),
    **dict.fromkeys(("reward-bench", "allenai/reward-bench:filtered"), "demo"),
    **dict.fromkeys(("cuda:1", "spread"), "cpu"),
    "org/adapter": "my-adapter",
    "allenai/reward-bench-2": "rb2.jsonl",
    "rm-bench": "chat_filtered.json",
    "judgebench:gpt": "judgebench.jsonl",
    "ppe-correctness:gpqa": "ppe.jsonl",
}
IN_PROCESS = ["--limit", "6", "--device", "cpu", "--offline"]


def blocks(language: str) -> Iterator[str]:
    for path in DOCUMENTS:
        yield from re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.M | re.S)


COMMANDS = sorted({line for block in blocks("sh") for line in block.splitlines() if line})
SCORED = [each for each in COMMANDS if re.match("python -m scoring (?!.* --export)", each)]
DRY = [each for each in COMMANDS if each.startswith(("make space", "make image-check"))]
"""What takes minutes, a registry or an account, and is asked what it would do."""
NOT_RUN = (
    "torchrun",  # tests/scoring/command/test_execution.py starts such
    "python -m explorer.rebuild",  # it needs the sources: tests/explorer/data/test_rebuilding.py
    "python -m scoring",  # --export, of the Hub's own pairs: tests/scoring/results/test_exchange.py
    "docker",  # it needs an engine: `make image-check`
    "pip install",  # it needs a registry; `tests/explorer/api` runs what it gives
    "make test",  # it runs this
)
"""How the others begin, but for those that serve what is asked below."""
SERVES = re.compile(r"((EXPLORER_PAIRS|EXPLORER_RESULTS|GRADIO_SERVER_PORT)=\S+ )*make run")


def snippet(first: str) -> str:
    [found] = [code for code in blocks("python") if code.startswith(first)]
    return found


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the files that the commands name, in which they are run."""
    folder = tmp_path_factory.mktemp("desk")
    copy(DEMO_PAIRS, folder / "pairs.jsonl")
    write_jsonl(folder / "rb2.jsonl", made_up_rows())
    said = [{"prompt": "Two and two?", "responses": ["4", "It is four.", "5"]}]
    write_jsonl(folder / "generations.jsonl", said)
    styles = ["4", "It is four.", "**It is four.**"]
    rm_bench = {"id": 1, "prompt": "Two and two?", "chosen": styles, "rejected": styles[::-1]}
    (folder / "chat_filtered.json").write_text(json.dumps([rm_bench]))
    judged = {"pair_id": "1", "source": "livebench-math", "question": "Two and two?"}
    judged |= {"response_model": "m", "response_A": "5", "response_B": "4", "label": "B>A"}
    write_jsonl(folder / "judgebench.jsonl", [judged])
    listed: dict[str, Any] = {"question_id": "1", "model_name": "m", "prompt": "Two and two?"}
    listed |= {"response_1": "5", "response_2": "4", "scores": [0, 1]}
    write_jsonl(folder / "ppe.jsonl", [listed | {"sampled_conflict_pairs": [[0, 1]]}])
    base = AutoModelForSequenceClassification.from_pretrained(DEMO_MODEL)
    lora = LoraConfig(target_modules=["q_proj"])
    get_peft_model(base, lora).save_pretrained(str(folder / "my-adapter"))
    with chdir(folder):
        yield folder


@pytest.fixture(scope="module")
def results(desk: Path) -> Path:
    """Results of the demo model in the name of one whose settings upstream published."""
    out = desk / "published"
    asked = ["--model", "demo", "--pairs", "demo", "--name", AGAIN, "--upstream-compatible"]
    assert score([*asked, *IN_PROCESS, "--dtype", "float32", "--out", str(out)]) == 0
    return out


def test_no_command_is_told_that_is_not_run_or_made_by_no_target() -> None:
    others = {*COMMANDS} - {*SCORED, *DRY}
    assert SCORED and DRY
    assert all(each.startswith(NOT_RUN) or SERVES.fullmatch(each) for each in others)
    assert {code.splitlines()[0] for code in blocks("python")} == {"import time", "import json"}
    fences = [line for path in DOCUMENTS for line in path.read_text().splitlines() if "```" in line]
    assert set(fences) == {"```sh", "```python", "```toml", "```"}
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M))
    made = {name for each in DOCUMENTS for name in re.findall(r"`make ([a-z-]+)", each.read_text())}
    assert made and made <= targets


@pytest.mark.parametrize("command", SCORED)
def test_what_scores_scores(command: str, desk: Path, results: Path, tmp_path: Path) -> None:
    asked = [STAND_INS.get(word, word) for word in shlex.split(command)[3:]]
    if "--reproduce" in asked:
        asked += ["--model", "demo", "--pairs", "demo", "--published", str(results)]
    out = str(tmp_path / "out")
    asked[asked.index("--out") + 1] = out
    if "--resume" in asked:
        assert score([*(each for each in asked if each != "--resume"), *IN_PROCESS]) == 0
    assert score([*asked, *IN_PROCESS]) == 0
    if "--json" in asked:
        with chdir(tmp_path):
            Path("out").rename("my-run")
            told: dict[str, Any] = {}
            exec(snippet("import json"), told)
        assert told["subsets"] and all(0 <= each <= 1 for each in told["subsets"].values())


@pytest.mark.parametrize("command", DRY)
def test_what_ships_says_what_it_would_do(command: str) -> None:
    name, *given = shlex.split(command)[1:]
    how = ["--dry-run"] if "--dry-run" not in given else []
    program = ["make", name, *given, *how, f"PY={sys.executable}"]
    ran = subprocess.run(program, check=False, capture_output=True, text=True, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    assert ("  app.py\n" if name == "space" else "tests.shipping.clean_start") in ran.stdout


@pytest.mark.slow
def test_what_is_served_answers_programs(desk: Path, results: Path, tmp_path: Path) -> None:
    pairs = str(desk / "pairs.jsonl")
    with started(tmp_path, EXPLORER_PAIRS=pairs, EXPLORER_RESULTS=str(results)) as (address, _):
        told: dict[str, Any] = {}
        code = snippet("import time").replace("http://127.0.0.1:7860", address)
        exec(code, told)
    assert told["keys"] and told["run"]["status"] == "finished"
    assert isinstance(told["failed"], list)


def test_the_head_keeps_to_the_hubs_limits_and_asks_who_signs_in_for_no_more() -> None:
    head = metadata_load(ROOT / "README.md") or {}
    assert head["sdk"] == "gradio" and head["license"] == "apache-2.0"
    assert f"gradio=={head['sdk_version']}" in (ROOT / "requirements.txt").read_text().split()
    assert (ROOT / head["app_file"]).is_file()
    assert len(head["short_description"]) <= 60
    assert head["hf_oauth"] is True
    assert head["hf_oauth_scopes"] == ["read-repos", "write-discussions"]


def test_every_setting_and_tab_is_told_and_the_readme_is_short_and_leads_everywhere() -> None:
    settings = (ROOT / "explorer" / "core" / "settings.py").read_text()
    wanted = set(re.findall(r'"((?:EXPLORER|GRADIO_SERVER)_\w+)"', settings))
    table = (ROOT / "docs" / "settings.md").read_text()
    assert len(wanted) >= 7
    assert [name for name in sorted(wanted) if f"| `{name}` |" not in table] == []
    told = re.findall(r"^## (.+)$", (ROOT / "docs" / "browsing.md").read_text(), re.M)
    assert told[: len(TABS)] == ["Pairs", "Models", "Score", "Try", "About the data"]
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) < 120 and readme.count("<picture>") == 2
    linked = set(re.findall(r"\]\((docs/[\w-]+\.md)", readme))
    assert linked == {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}


def test_links_and_pictures_lead_somewhere() -> None:
    links = r'\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"'
    for page in DOCUMENTS:
        for link in map("".join, re.findall(links, page.read_text())):
            if link.startswith("https://"):
                continue
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), (page.name, link)
            if anchor:  # of a heading, as GitHub makes them
                headings = re.findall(r"^#+ (.+)$", target.read_text().lower(), re.M)
                anchors = [re.sub(r"[^\w -]", "", each).replace(" ", "-") for each in headings]
                assert anchor in anchors, (page.name, link)
