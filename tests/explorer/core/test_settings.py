from pathlib import Path

import pytest

from explorer.core import settings as settings_module
from explorer.core.settings import DEMO_MODEL, DEMO_PAIRS, Settings, read_settings, with_home
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
    ({}, "limits", Limits(1_000_000, 2000.0)),
    ({}, "model_policy", ModelPolicy(DEMO_MODEL, servers=NONE)),
    ({}, "sign_in", "no"),
    ({}, "hosts", {"localhost", "127.0.0.1", "::1"}),
    (SPACE, "public", True),
    (SPACE, "limits", Limits(300_000, 100.0)),
    (SPACE, "model_policy", ModelPolicy(DEMO_MODEL, False, 4.0, servers=NONE)),
    (SPACE, "max_pairs", 300),
    (SPACE, "proxies", 1),
    (SPACE, "space", "me/space"),
    (SPACE, "hosts", set()),
    ({**SPACE, "EXPLORER_MAX_ROWS": "10", "EXPLORER_MAX_DATASET_MB": "0.5"}, "limits", FEW),
    ({"EXPLORER_MAX_ROWS": "none", "EXPLORER_MAX_DATASET_MB": "none"}, "limits", NO_LIMITS),
    ({**SPACE, "EXPLORER_MAX_PAIRS": "none"}, "max_pairs", None),
    ({"EXPLORER_RESULTS_OF": " org/a:test@1 "}, "results_of", "org/a:test@1"),
    ({"EXPLORER_RESULTS_OF": str(DEMO_PAIRS)}, "results_of", str(read_pairs(DEMO_PAIRS).source)),
    ({"EXPLORER_OFFLINE": " TRUE "}, "offline", True),
    ({"EXPLORER_MODELS": "demo,org/a@v1", "EXPLORER_OWN_CODE": "org/b"}, "own_models", OWN),
    ({"EXPLORER_MODELS": "./checkpoint, demo"}, "models", ("./checkpoint", "demo")),
    ({**SPACE, **LISTS}, "model_policy", LISTED),
    ({**SPACE, **OAUTH, "EXPLORER_SIGN_IN": "offered"}, "has_sign_in", True),
    ({"EXPLORER_HOME": "/nowhere/home"}, "runs_last", True),
    ({"EXPLORER_DEVICE": " CUDA:1 "}, "device", "cuda:1"),
    ({"GRADIO_SERVER_NAME": "GPU"}, "hosts", {"localhost", "127.0.0.1", "::1", "gpu"}),
    ({"GRADIO_SERVER_NAME": "0.0.0.0"}, "hosts", set()),
]


def test_each_variable_sets_its_field() -> None:
    for environ, name, value in FIELDS:
        assert getattr(read_settings(environ), name) == value, (environ, name)


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


REFUSED: dict[str, tuple[str, ...]] = {
    "EXPLORER_MAX_PAIRS": ("many", "0", "0.5"),
    "EXPLORER_MODELS_GB": ("nan", "inf", "1e12"),
    "EXPLORER_OFFLINE": ("on",),
    "EXPLORER_DEVICE": ("gpu", "cuda:", "cpu; rm", "cuda:1234"),
    "EXPLORER_SERVERS": ("gpu:8000", "ftp://gpu/v1", "http://", "/v1", "http://[::1"),
    "EXPLORER_SIGN_IN": ("maybe",),
    "GRADIO_SERVER_PORT": ("0.5", "70000"),
    "EXPLORER_MODELS": ("/etc", "../x", "org/a b", "org/a:split", "https://x/y", "name"),
    "EXPLORER_OWN_CODE": ("../x", "name"),
}
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
