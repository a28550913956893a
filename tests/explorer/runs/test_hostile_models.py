"""Models of strangers that take time, memory or the process: each ends in one sentence."""

import json
from collections.abc import Iterator, Mapping

import pytest

from explorer.core import workers
from explorer.core.settings import DEMO_MODEL, Settings
from explorer.runs import models as limits
from explorer.runs.models import ModelStore, WarmModel
from explorer.runs.orders import ModelOrder
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.spec import Pair, RunSettings
from tests.support.hub_server import Repo, served_hub

ME = Visitor()
FILES = {path.name: path.read_bytes() for path in DEMO_MODEL.iterdir()}
PAIR = Pair("a:1", "a", "Two and two?", "It is 4.", "It is 5.")
SECONDS = 10.0
"""What loading and rendering have here, so that what never ends is ended soon."""
ODD = ("nothing", "no-model")
"""Those that can be scored with all the same."""
MEMORY = r"needed more than the 2(\.\d)? GB allowed here"
TIME = "took longer than the 10 s allowed here"
TOLD = {
    **dict.fromkeys(("power", "loops"), TIME),
    **dict.fromkeys(("long-string", "long-list", "grows"), MEMORY),
    "deep-but-whole": "nested too deeply",
    "many-tensors": f"org/|{TIME}",  # where the machine is slow
}
"""What is told of those that meet a limit."""


def with_template(template: str) -> Mapping[str, bytes]:
    return {**FILES, "chat_template.jinja": template.encode()}


def with_json(name: str, **values: object) -> Mapping[str, bytes]:
    return {**FILES, name: json.dumps(json.loads(FILES[name]) | values).encode()}


def with_header(n_bytes: int, header: bytes) -> Mapping[str, bytes]:
    return {**FILES, "model.safetensors": n_bytes.to_bytes(8, "little") + header}


def with_index(name: str) -> Mapping[str, bytes]:
    """A model whose weights are said to lie elsewhere than in its own file of weights."""
    index = {"metadata": {}, "weight_map": {"score.weight": name}}
    others = {name: body for name, body in FILES.items() if name != "model.safetensors"}
    return {
        **others,
        "model.safetensors.index.json": json.dumps(index).encode(),
        "model-1.safetensors": FILES["model.safetensors"],
    }


NEVER = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
REPLACES = {"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 5_000}
TENSOR = b'"t%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},'
MANY = b"".join(map(TENSOR.__mod__, range(99_999)))
HOSTILE: dict[str, Mapping[str, bytes]] = {
    # Templates
    "power": with_template("{{ 7 ** (7 ** 12) }}"),
    "loops": with_template(NEVER * 9),
    "long-string": with_template("{{ 'x' * 9000000000 }}"),
    "long-list": with_template("{{ ([1] * 2000000000) | length }}"),
    "recursion": with_template("{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}"),
    "globals": with_template("{{ cycler.__init__.__globals__.os.system('true') }}"),
    "raises": with_template("{{ raise_exception('no' * 9999) }}"),
    "nothing": with_template(""),
    "syntax": with_template("{% for %}"),
    # Configs
    "layers": with_json("config.json", num_hidden_layers=2_000_000),
    "width": with_json("config.json", hidden_size=4_000_000),
    "vocabulary": with_json("config.json", vocab_size=2_000_000_000),
    "negative": with_json("config.json", num_attention_heads=-1),
    "quantised-wide": with_json(
        "config.json", vocab_size=9_000_000, quantization_config={"quant_method": "bitsandbytes"}
    ),
    "own-code": with_json("config.json", auto_map={"AutoConfig": "mine.Config"}),
    "deep": {**FILES, "config.json": b'{"a":' * 90_000},
    "deep-but-whole": with_json("config.json", a=json.loads(b'{"a":' * 899 + b"1" + b"}" * 899)),
    "odd-name": {**FILES, "..\\evil.json": b"{}"},
    # Weights
    "pickle": {
        **{name: body for name, body in FILES.items() if "safetensors" not in name},
        "pytorch_model.bin": b"\x80\x04cos\nsystem\n(S'true'\ntR.",
    },
    "index-of-devices": with_index("/dev/zero"),
    "index-of-others": with_index(str(DEMO_MODEL / "model.safetensors")),
    "index-upwards": with_index("../../../models--org--good/snapshots/x/model.safetensors"),
    "truncated": {**FILES, "model.safetensors": FILES["model.safetensors"][:99_999]},
    "long-header": with_header(90_000_000, b"{" + b" " * 89_999_999),
    "huge-tensor": with_header(
        90, b'{"a":{"dtype":"F32","shape":[9999999999],"data_offsets":[0,39999999996]}}'.ljust(90)
    ),
    "many-tensors": with_header(len(many := b"{" + MANY[:-1] + b"}"), many),
    # Tokenizers
    "grows": with_json(
        "tokenizer.json", normalizer={"type": "Sequence", "normalizers": [REPLACES] * 3}
    ),
    "no-model": with_json("tokenizer.json", model={"type": "BPE", "vocab": {}, "merges": []}),
}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelStore]:
    repos = {f"models/org/{name}": Repo(files) for name, files in HOSTILE.items()}
    repos["datasets/allenai/reward-bench"] = Repo({"README.md": b""})
    repos["models/org/good"] = Repo(FILES)
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, served_hub(repos, home / "hub", patch):
        patch.setattr(workers, "TEXT_SECONDS", SECONDS)
        patch.setattr(limits, "LOAD_SECONDS", SECONDS)
        models = ModelStore(Settings(home=home, public=True), Hub(shared=True))
        yield models
        models.release()


def scored(models: ModelStore, name: str) -> float | None:
    order = ModelOrder(name)
    models.preview(ME, order)
    model = models.load(ME, order)
    assert isinstance(model, WarmModel)
    ready = model.ready([PAIR], RunSettings())
    [pack] = [pack for pack in model.packs(ready.plan) if pack]
    return pack.rows[0].margin


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_model_is_one_sentence_and_the_next_is_served(
    name: str, there: ModelStore
) -> None:
    if name in ODD:
        scored(there, f"org/{name}")
    else:
        with pytest.raises(KnownError, match=TOLD.get(name, "org/|chat template fails")) as refused:
            scored(there, f"org/{name}")
        assert len(str(refused.value)) < 1000
    assert scored(there, "org/good") == scored(there, "demo")
