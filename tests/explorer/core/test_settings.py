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


def test_defaults_on_ones_own_machine() -> None:
    assert read_settings({}) == Settings(
        home=Path.home() / ".cache" / "rewardbench-explorer",
        pairs=None,
        results=None,
        offline=False,
        public=False,
        max_pairs=None,
        max_model_gigabytes=None,
        models_gigabytes=None,
        proxies=0,
        max_rows=1_000_000,
        max_dataset_megabytes=2000.0,
        zero_gpu=False,
        models=(),
        own_code=(),
        servers=(),
        seconds_per_hour=None,
        sign_in="no",
        device="auto",
        server_name="127.0.0.1",
        server_port=7860,
    )


def test_what_the_owner_lists_is_the_policy() -> None:
    policy = read_settings(
        {
            **SPACE,
            "EXPLORER_MODELS": "org/a, org/b@v1,",
            "EXPLORER_OWN_CODE": "org/c",
            "EXPLORER_SERVERS": "https://host/v1/,http://gpu:8000",
        }
    ).model_policy
    assert policy.models == frozenset({"org/a", "org/b@v1"})
    assert policy.own_code == frozenset({"org/c"})
    assert policy.servers == frozenset({"https://host/v1", "http://gpu:8000"})


def test_each_variable_sets_its_field(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, str], str, object]] = [
        ({}, "limits", Limits(1_000_000, 2000.0)),
        (SPACE, "limits", Limits(300_000, 100.0)),
        ({"EXPLORER_PUBLIC": "1"}, "limits", Limits(300_000, 100.0)),
        (
            {**SPACE, "EXPLORER_MAX_ROWS": "10", "EXPLORER_MAX_DATASET_MB": "0.5"},
            "limits",
            Limits(10, 0.5),
        ),
        ({"EXPLORER_MAX_ROWS": "none", "EXPLORER_MAX_DATASET_MB": "none"}, "limits", NO_LIMITS),
        ({"EXPLORER_MAX_DATASET_MB": "1.5"}, "max_upload_bytes", 1_500_000),
        ({"EXPLORER_MAX_DATASET_MB": "none"}, "max_upload_bytes", None),
        ({}, "model_policy", ModelPolicy(DEMO_MODEL, servers=NONE)),
        (SPACE, "model_policy", ModelPolicy(DEMO_MODEL, False, 4.0, servers=NONE)),
        (SPACE, "public", True),
        (SPACE, "max_pairs", 300),
        (SPACE, "models_gigabytes", 40.0),
        (SPACE, "proxies", 1),
        (SPACE, "seconds_per_hour", 300.0),
        ({"EXPLORER_HOME": "/data/home"}, "home", Path("/data/home")),
        ({"EXPLORER_HOME": "~/x"}, "home", Path.home() / "x"),
        ({"EXPLORER_HOME": ""}, "home", Path.home() / ".cache" / "rewardbench-explorer"),
        ({"EXPLORER_PAIRS": " org/name:test "}, "pairs", "org/name:test"),
        ({"EXPLORER_PAIRS": "  "}, "pairs", None),
        ({"EXPLORER_RESULTS": "results"}, "results", "results"),
        ({"EXPLORER_RESULTS": ""}, "results", None),
        ({"EXPLORER_RESULTS_OF": " org/a:test@1 "}, "results_of", "org/a:test@1"),
        ({"EXPLORER_RESULTS_OF": "demo"}, "results_of", read_demo().id),
        (
            {"EXPLORER_RESULTS_OF": str(DEMO_PAIRS)},
            "results_of",
            str(read_pairs(DEMO_PAIRS).source),
        ),
        *(({"EXPLORER_OFFLINE": yes}, "offline", True) for yes in ("1", " TRUE ", "yes")),
        *(({"EXPLORER_OFFLINE": no}, "offline", False) for no in ("0", "no", "false", "")),
        ({"SPACE_ID": ""}, "public", False),
        (SPACE, "space", "me/space"),
        ({}, "space", ""),
        ({"EXPLORER_MAX_PAIRS": "50"}, "max_pairs", 50),
        ({**SPACE, "EXPLORER_MAX_PAIRS": "none"}, "max_pairs", None),
        ({**SPACE, "EXPLORER_MAX_PAIRS": " 5 "}, "max_pairs", 5),
        ({"EXPLORER_MAX_MODEL_GB": "0.5"}, "max_model_gigabytes", 0.5),
        ({**SPACE, "EXPLORER_MAX_MODEL_GB": "None"}, "max_model_gigabytes", None),
        ({**SPACE, "EXPLORER_MODELS_GB": "0.5"}, "models_gigabytes", 0.5),
        ({**SPACE, "EXPLORER_MODELS_GB": "none"}, "models_gigabytes", None),
        ({"EXPLORER_PROXIES": "1"}, "proxies", 1),
        ({"EXPLORER_PUBLIC": "1"}, "proxies", 0),
        (
            {"EXPLORER_MODELS": "demo,org/a@v1", "EXPLORER_OWN_CODE": "org/b"},
            "own_models",
            ["org/a", "org/b"],
        ),
        ({"EXPLORER_MODELS": "./checkpoint, demo"}, "models", ("./checkpoint", "demo")),
        ({**SPACE, "EXPLORER_MODELS": "demo,longer"}, "models", ("demo", "longer")),
        ({"EXPLORER_MODELS": " , "}, "models", ()),
        ({"EXPLORER_SECONDS_PER_HOUR": "60"}, "seconds_per_hour", 60.0),
        ({**SPACE, "EXPLORER_SECONDS_PER_HOUR": "none"}, "seconds_per_hour", None),
        ({"EXPLORER_SIGN_IN": "no"}, "sign_in", "no"),
        ({"EXPLORER_SIGN_IN": "offered"}, "sign_in", "offered"),
        ({"EXPLORER_DEVICE": "cuda:1"}, "device", "cuda:1"),
        ({"EXPLORER_DEVICE": " CPU "}, "device", "cpu"),
        ({"SPACES_ZERO_GPU": "true", "EXPLORER_MODELS": "a/b"}, "zero_gpu", True),
        ({"SPACES_ZERO_GPU": "false"}, "zero_gpu", False),
        ({"GRADIO_SERVER_NAME": "0.0.0.0"}, "server_name", "0.0.0.0"),
        ({"GRADIO_SERVER_NAME": "GPU"}, "hosts", {"localhost", "127.0.0.1", "::1", "gpu"}),
        ({"GRADIO_SERVER_NAME": "0.0.0.0"}, "hosts", set()),
        ({"EXPLORER_PROXIES": "1"}, "hosts", set()),
        (SPACE, "hosts", set()),
        ({"GRADIO_SERVER_NAME": ""}, "server_name", "127.0.0.1"),
        ({"GRADIO_SERVER_PORT": "8000"}, "server_port", 8000),
        ({"GRADIO_SERVER_PORT": ""}, "server_port", 7860),
    ]
    for environ, name, value in cases:
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


OAUTH = {
    "SYSTEM": "spaces",
    "OAUTH_CLIENT_ID": "id",
    "OAUTH_CLIENT_SECRET": "hush",
    "OAUTH_SCOPES": "openid profile",
    "OPENID_PROVIDER_URL": "https://huggingface.co",
}


@pytest.mark.parametrize(
    ("value", "wanted"), [("required", "required"), ("1", "required"), ("offered", "offered")]
)
def test_people_sign_in_on_a_space_that_is_set_up_for_it(value: str, wanted: str) -> None:
    settings = read_settings({**SPACE, **OAUTH, "EXPLORER_SIGN_IN": value})
    assert (settings.sign_in, settings.has_sign_in) == (wanted, True)
    assert not read_settings({**SPACE, **OAUTH}).has_sign_in
    assert not read_settings({"EXPLORER_SIGN_IN": "offered"}).has_sign_in


def test_runs_end_with_a_spaces_container_unless_home_is_mounted(tmp_path: Path) -> None:
    assert read_settings({"EXPLORER_HOME": "/nowhere/home"}).runs_last
    assert not read_settings({**SPACE, "EXPLORER_HOME": "/nowhere/home"}).runs_last
    mounts = [path for path in (Path("/dev/shm"), Path("/proc")) if path.is_mount()]
    if not mounts:
        pytest.skip("nothing is mounted here")
    assert read_settings({**SPACE, "EXPLORER_HOME": f"{mounts[0]}/a/b"}).runs_last


NUMBERS = ("EXPLORER_MAX_PAIRS", "EXPLORER_MAX_MODEL_GB", "EXPLORER_MODELS_GB", "EXPLORER_MAX_ROWS",
           "EXPLORER_MAX_DATASET_MB", "EXPLORER_SECONDS_PER_HOUR")  # fmt: skip
REFUSED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(NUMBERS, ("many", "0", "-1", "nan", "inf", "1e12", "3 pairs", "0x10")),
    "EXPLORER_OFFLINE": ("on", "2", "maybe", "y"),
    "EXPLORER_DEVICE": ("gpu", "cuda:", "cuda:x", "cpu; rm", "meta", "cuda:1234"),
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
        ({"EXPLORER_MAX_ROWS": "0.5"}, "EXPLORER_MAX_ROWS"),
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
