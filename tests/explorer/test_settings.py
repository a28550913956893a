from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from explorer.settings import DEMO_MODEL, Settings, read_settings
from scoring.errors import KnownError
from scoring.limits import NO_LIMITS, Limits

SPACE = {"SPACE_ID": "me/space"}


def test_defaults_on_ones_own_machine() -> None:
    assert read_settings({}) == Settings(
        home=Path.home() / ".cache" / "rewardbench-explorer",
        pairs=None,
        results=None,
        offline=False,
        public=False,
        max_pairs=None,
        max_model_gigabytes=None,
        max_rows=1_000_000,
        max_dataset_megabytes=2000.0,
        server_name="127.0.0.1",
        server_port=7860,
    )


def test_defaults_on_a_space_limit_runs_and_models_and_refuse_local_folders() -> None:
    settings = read_settings(SPACE)
    assert settings.public
    assert settings.max_pairs == 300
    assert settings.max_model_gigabytes == 4.0
    assert not settings.model_policy.local_folders
    assert settings.model_policy.max_gigabytes == 4.0


@pytest.mark.parametrize(
    ("environ", "limits"),
    [
        ({}, Limits(1_000_000, 2000.0)),
        (SPACE, Limits(300_000, 100.0)),
        ({"EXPLORER_PUBLIC": "1"}, Limits(300_000, 100.0)),
        ({**SPACE, "EXPLORER_MAX_ROWS": "10", "EXPLORER_MAX_DATASET_MB": "0.5"}, Limits(10, 0.5)),
        ({"EXPLORER_MAX_ROWS": "none", "EXPLORER_MAX_DATASET_MB": "none"}, NO_LIMITS),
    ],
)
def test_the_limits_of_a_dataset(environ: dict[str, str], limits: Limits) -> None:
    assert read_settings(environ).limits == limits


def test_an_upload_may_be_as_large_as_a_dataset() -> None:
    assert read_settings({"EXPLORER_MAX_DATASET_MB": "1.5"}).max_upload_bytes == 1_500_000
    assert read_settings({"EXPLORER_MAX_DATASET_MB": "none"}).max_upload_bytes is None


def test_the_model_policy_of_ones_own_machine_allows_folders_of_any_size() -> None:
    policy = read_settings({}).model_policy
    assert policy.local_folders
    assert policy.max_gigabytes is None
    assert policy.demo == DEMO_MODEL


@pytest.mark.parametrize(
    ("environ", "name", "value"),
    [
        ({"EXPLORER_HOME": "/data/home"}, "home", Path("/data/home")),
        ({"EXPLORER_HOME": "~/x"}, "home", Path.home() / "x"),
        ({"EXPLORER_HOME": ""}, "home", Path.home() / ".cache" / "rewardbench-explorer"),
        ({"EXPLORER_PAIRS": " org/name:test "}, "pairs", "org/name:test"),
        ({"EXPLORER_PAIRS": "  "}, "pairs", None),
        ({"EXPLORER_RESULTS": "results"}, "results", "results"),
        ({"EXPLORER_RESULTS": ""}, "results", None),
        ({"EXPLORER_OFFLINE": "1"}, "offline", True),
        ({"EXPLORER_OFFLINE": " TRUE "}, "offline", True),
        ({"EXPLORER_OFFLINE": "yes"}, "offline", True),
        ({"EXPLORER_OFFLINE": "0"}, "offline", False),
        ({"EXPLORER_OFFLINE": "no"}, "offline", False),
        ({"EXPLORER_OFFLINE": "false"}, "offline", False),
        ({"EXPLORER_OFFLINE": ""}, "offline", False),
        ({"SPACE_ID": ""}, "public", False),
        (SPACE, "space", "me/space"),
        ({}, "space", ""),
        ({"EXPLORER_MAX_PAIRS": "50"}, "max_pairs", 50),
        ({**SPACE, "EXPLORER_MAX_PAIRS": "none"}, "max_pairs", None),
        ({**SPACE, "EXPLORER_MAX_PAIRS": " 5 "}, "max_pairs", 5),
        ({"EXPLORER_MAX_MODEL_GB": "0.5"}, "max_model_gigabytes", 0.5),
        ({**SPACE, "EXPLORER_MAX_MODEL_GB": "None"}, "max_model_gigabytes", None),
        ({"GRADIO_SERVER_NAME": "0.0.0.0"}, "server_name", "0.0.0.0"),
        ({"GRADIO_SERVER_NAME": ""}, "server_name", "127.0.0.1"),
        ({"GRADIO_SERVER_PORT": "8000"}, "server_port", 8000),
        ({"GRADIO_SERVER_PORT": ""}, "server_port", 7860),
    ],
)
def test_each_variable_sets_its_field(environ: dict[str, str], name: str, value: object) -> None:
    assert getattr(read_settings(environ), name) == value


@pytest.mark.parametrize(
    "variable",
    [
        "EXPLORER_MAX_PAIRS",
        "EXPLORER_MAX_MODEL_GB",
        "EXPLORER_MAX_ROWS",
        "EXPLORER_MAX_DATASET_MB",
    ],
)
@pytest.mark.parametrize("value", ["many", "0", "-1", "nan", "inf", "1e12", "3 pairs", "0x10"])
def test_a_bad_number_is_refused_by_name_and_value(variable: str, value: str) -> None:
    with pytest.raises(KnownError) as error:
        read_settings({variable: value})
    assert variable in str(error.value)
    assert repr(value) in str(error.value)


@pytest.mark.parametrize("value", ["on", "2", "maybe", "y"])
def test_a_bad_switch_is_refused_by_name_and_value(value: str) -> None:
    with pytest.raises(KnownError, match="EXPLORER_OFFLINE") as error:
        read_settings({"EXPLORER_OFFLINE": value})
    assert repr(value) in str(error.value)


@pytest.mark.parametrize("variable", ["EXPLORER_MAX_PAIRS", "EXPLORER_MAX_ROWS"])
def test_a_limit_of_pairs_is_a_whole_number(variable: str) -> None:
    with pytest.raises(KnownError, match=variable):
        read_settings({variable: "0.5"})


@pytest.mark.parametrize("value", ["0.5", "8000.7", "70000"])
def test_a_port_that_cannot_be_is_refused(value: str) -> None:
    with pytest.raises(KnownError, match="GRADIO_SERVER_PORT"):
        read_settings({"GRADIO_SERVER_PORT": value})


def test_a_home_of_a_user_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(KnownError, match="EXPLORER_HOME"):
        read_settings({"EXPLORER_HOME": "~nobody-of-that-name/x"})


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        read_settings({}).offline = True  # type: ignore[misc]


def test_runs_lie_below_home() -> None:
    assert read_settings({"EXPLORER_HOME": "/data"}).runs == Path("/data/runs")
