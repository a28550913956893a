from pathlib import Path

import pytest

from explorer.core import settings as settings_module
from explorer.core.settings import DEMO_MODEL, DEMO_PAIRS, Settings, read_settings, with_home
from explorer.data.sources import read_demo
from scoring.errors import KnownError
from scoring.limits import NO_LIMITS, Limits
from scoring.models.finding import ModelPolicy
from scoring.pairs.opening import read_pairs

SPACE = {"SPACE_ID": "me/space"}
NONE: frozenset[str] = frozenset()
FEW, OWN = Limits(10, 0.5), ["org/a", "org/b"]


OAUTH = {
    "SYSTEM": "spaces",
    "OAUTH_CLIENT_ID": "id",
    "OAUTH_CLIENT_SECRET": "hush",
    "OAUTH_SCOPES": "openid profile",
    "OPENID_PROVIDER_URL": "https://huggingface.co",
}
LISTS = {
    "EXPLORER_MODELS": "org/a, org/b@v1,",
    "EXPLORER_OWN_CODE": "org/c",
    "EXPLORER_SERVERS": "https://host/v1/,http://gpu:8000",
}
LISTED = ModelPolicy(
    DEMO_MODEL,
    False,
    4.0,
    models=frozenset({"org/a", "org/b@v1"}),
    own_code=frozenset({"org/c"}),
    servers=frozenset({"https://host/v1", "http://gpu:8000"}),
)
FIELDS: list[tuple[dict[str, str], str, object]] = [
    ({}, "public", False),
    ({}, "offline", False),
    ({}, "max_pairs", None),
    ({}, "limits", Limits(1_000_000, 2000.0)),
    ({}, "model_policy", ModelPolicy(DEMO_MODEL, servers=NONE)),
    ({}, "sign_in", "no"),
    ({}, "hosts", {"localhost", "127.0.0.1", "::1"}),
    ({}, "server_port", 7860),
    ({"EXPLORER_PUBLIC": "1"}, "limits", Limits(300_000, 100.0)),
    ({"EXPLORER_PUBLIC": "1"}, "proxies", 0),
    ({"SPACE_ID": ""}, "public", False),
    (SPACE, "public", True),
    (SPACE, "limits", Limits(300_000, 100.0)),
    (SPACE, "model_policy", ModelPolicy(DEMO_MODEL, False, 4.0, servers=NONE)),
    (SPACE, "max_pairs", 300),
    (SPACE, "models_gigabytes", 40.0),
    (SPACE, "proxies", 1),
    (SPACE, "seconds_per_hour", 300.0),
    (SPACE, "space", "me/space"),
    (SPACE, "hosts", set()),
    ({**SPACE, "EXPLORER_MAX_ROWS": "10", "EXPLORER_MAX_DATASET_MB": "0.5"}, "limits", FEW),
    ({"EXPLORER_MAX_ROWS": "none", "EXPLORER_MAX_DATASET_MB": "none"}, "limits", NO_LIMITS),
    ({"EXPLORER_MAX_DATASET_MB": "1.5"}, "max_upload_bytes", 1_500_000),
    ({"EXPLORER_MAX_DATASET_MB": "none"}, "max_upload_bytes", None),
    ({**SPACE, "EXPLORER_MAX_PAIRS": " 5 "}, "max_pairs", 5),
    ({**SPACE, "EXPLORER_MAX_PAIRS": "none"}, "max_pairs", None),
    ({**SPACE, "EXPLORER_MAX_MODEL_GB": "None"}, "max_model_gigabytes", None),
    ({**SPACE, "EXPLORER_MODELS_GB": "0.5"}, "models_gigabytes", 0.5),
    ({**SPACE, "EXPLORER_SECONDS_PER_HOUR": "none"}, "seconds_per_hour", None),
    ({"EXPLORER_HOME": "~/x"}, "home", Path.home() / "x"),
    ({"EXPLORER_HOME": ""}, "home", Path.home() / ".cache" / "rewardbench-explorer"),
    ({"EXPLORER_PAIRS": " org/name:test "}, "pairs", "org/name:test"),
    ({"EXPLORER_PAIRS": "  "}, "pairs", None),
    ({"EXPLORER_RESULTS": "results"}, "results", "results"),
    ({"EXPLORER_RESULTS_OF": " org/a:test@1 "}, "results_of", "org/a:test@1"),
    ({"EXPLORER_RESULTS_OF": "demo"}, "results_of", read_demo().id),
    ({"EXPLORER_RESULTS_OF": str(DEMO_PAIRS)}, "results_of", str(read_pairs(DEMO_PAIRS).source)),
    ({"EXPLORER_OFFLINE": " TRUE "}, "offline", True),
    ({"EXPLORER_OFFLINE": "no"}, "offline", False),
    ({"EXPLORER_PROXIES": "1"}, "proxies", 1),
    ({"EXPLORER_PROXIES": "1"}, "hosts", set()),
    ({"EXPLORER_MODELS": "demo,org/a@v1", "EXPLORER_OWN_CODE": "org/b"}, "own_models", OWN),
    ({"EXPLORER_MODELS": "./checkpoint, demo"}, "models", ("./checkpoint", "demo")),
    ({"EXPLORER_MODELS": " , "}, "models", ()),
    ({**SPACE, **LISTS}, "model_policy", LISTED),
    ({**SPACE, **OAUTH, "EXPLORER_SIGN_IN": "1"}, "sign_in", "required"),
    ({**SPACE, **OAUTH, "EXPLORER_SIGN_IN": "offered"}, "sign_in", "offered"),
    ({**SPACE, **OAUTH, "EXPLORER_SIGN_IN": "offered"}, "has_sign_in", True),
    ({**SPACE, **OAUTH}, "has_sign_in", False),
    ({"EXPLORER_SIGN_IN": "offered"}, "has_sign_in", False),
    ({"EXPLORER_HOME": "/nowhere/home"}, "runs_last", True),
    ({**SPACE, "EXPLORER_HOME": "/nowhere/home"}, "runs_last", False),
    ({**SPACE, "EXPLORER_HOME": "/proc/a/b"}, "runs_last", Path("/proc").is_mount()),
    ({"EXPLORER_DEVICE": " CUDA:1 "}, "device", "cuda:1"),
    ({"SPACES_ZERO_GPU": "true", "EXPLORER_MODELS": "a/b"}, "zero_gpu", True),
    ({"GRADIO_SERVER_NAME": "GPU"}, "hosts", {"localhost", "127.0.0.1", "::1", "gpu"}),
    ({"GRADIO_SERVER_NAME": "0.0.0.0"}, "hosts", set()),
    ({"GRADIO_SERVER_PORT": "8000"}, "server_port", 8000),
]


def test_each_variable_sets_its_field(subtests: pytest.Subtests) -> None:
    for environ, name, value in FIELDS:
        with subtests.test(environ=environ, name=name, value=value):
            assert getattr(read_settings(environ), name) == value


def test_a_home_that_cannot_be_written_is_refused_and_the_default_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    below = tmp_path / "file" / "home"
    with pytest.raises(KnownError, match=r"Nothing can be written in .* Set EXPLORER_HOME"):
        with_home(Settings(home=below))
    monkeypatch.setattr(settings_module, "HOME", str(below))
    other = with_home(Settings(home=below)).home
    assert other.is_dir() and str(other) in caplog.text
    other.rmdir()
    assert with_home(Settings(home=tmp_path / "new")).home.is_dir()


NUMBERS = ("EXPLORER_MAX_PAIRS", "EXPLORER_MAX_MODEL_GB", "EXPLORER_MODELS_GB", "EXPLORER_MAX_ROWS",
           "EXPLORER_MAX_DATASET_MB", "EXPLORER_SECONDS_PER_HOUR")  # fmt: skip
REFUSED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(NUMBERS, ("many", "0", "nan", "inf", "1e12")),
    "EXPLORER_OFFLINE": ("on", "2"),
    "EXPLORER_DEVICE": ("gpu", "cuda:", "cpu; rm", "cuda:1234"),
    "EXPLORER_SERVERS": ("gpu:8000", "ftp://gpu/v1", "http://", "/v1", "http://[::1"),
    "EXPLORER_SIGN_IN": ("on", "maybe", "2"),
    "GRADIO_SERVER_PORT": ("0.5", "8000.7", "70000"),
    **dict.fromkeys(("EXPLORER_MODELS", "EXPLORER_OWN_CODE"), (
        "/etc", "../x", "org/a b", "org/a:split", "https://x/y", "name")),
}  # fmt: skip
"""Variable -> values that it cannot have on a Space."""


@pytest.mark.parametrize("variable", REFUSED)
def test_a_value_that_cannot_be_is_refused_by_name(variable: str) -> None:
    for value in REFUSED[variable]:
        with pytest.raises(KnownError, match=variable) as error:
            read_settings({**SPACE, **OAUTH, variable: value})
        assert repr(value) in str(error.value)


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"EXPLORER_MAX_PAIRS": "0.5"}, "EXPLORER_MAX_PAIRS"),
        ({"EXPLORER_RESULTS_OF": "org/name"}, r"EXPLORER_RESULTS_OF is .* with its split"),
        ({"EXPLORER_RESULTS_OF": "no/such.jsonl"}, r"EXPLORER_RESULTS_OF is .* with its split"),
        ({"EXPLORER_HOME": "~nobody-of-that-name/x"}, "EXPLORER_HOME"),
        ({"EXPLORER_SERVERS": "http://me:hush@host/v1"}, "EXPLORER_SERVERS"),
        ({**OAUTH, "EXPLORER_SIGN_IN": "required"}, r"EXPLORER_SIGN_IN.* on a Space alone"),
        ({**SPACE, "SPACES_ZERO_GPU": "true"}, "EXPLORER_MODELS is empty; on ZeroGPU"),
        *(({**SPACE, **OAUTH, "EXPLORER_SIGN_IN": "offered", name: ""}, name) for name in OAUTH),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)  # fmt: skip
def test_settings_that_do_not_go_together_are_refused_and_no_secret_is_repeated(
    environ: dict[str, str], words: str
) -> None:
    with pytest.raises(KnownError, match=words) as error:
        read_settings(environ)
    assert "hush" not in str(error.value)
