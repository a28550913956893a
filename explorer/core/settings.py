"""Every environment variable the app reads, in one frozen value, read once."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationInfo

from explorer.core.validation import validated
from explorer.core.zero_gpu import is_zero_gpu
from scoring.errors import KnownError
from scoring.hub.access import parse_hub_id
from scoring.limits import MEGABYTE, Limits
from scoring.models.finding import DEMO_NAME, ModelPolicy
from scoring.paths import HOME, file_digest, is_file, is_folder, typed_path
from scoring.spec import BASELINES, DEVICE_NAMES

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "assets"
DEMO_PAIRS = ASSETS / "demo" / "pairs.jsonl"
DEMO_MODEL = ASSETS / "demo" / "model"
SNAPSHOT = ASSETS / "leaderboard" / "paper-v2.csv"
SECOND_SNAPSHOT = ASSETS / "leaderboard" / "rewardbench-2.csv"

MAX_DATASET_MB = 2000.0
_OWN = {"EXPLORER_MAX_ROWS": "1000000", "EXPLORER_MAX_DATASET_MB": str(MAX_DATASET_MB)}
_PUBLIC = {
    "EXPLORER_MAX_PAIRS": "300",
    "EXPLORER_MAX_MODEL_GB": "4",
    "EXPLORER_MODELS_GB": "40",
    "EXPLORER_MAX_ROWS": "300000",
    "EXPLORER_MAX_DATASET_MB": "100",
    "EXPLORER_SECONDS_PER_HOUR": "300",
}
"""What holds where a variable is not set: on one's own machine, and where strangers use it."""
_SWITCH = {"0": False, "false": False, "no": False, "1": True, "true": True, "yes": True}
_SIGN_IN = {"offered": "offered", "required": "required"} | {
    word: "required" if is_on else "no" for word, is_on in _SWITCH.items()
}
_LOCAL = ("localhost", "127.0.0.1", "::1")
_EVERY_ADDRESS = ("0.0.0.0", "::", "[::]")  # noqa: S104 - what an owner may have chosen
_OAUTH = ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL")
"""What a Space whose card says `hf_oauth: true` is given."""


def _number(text: str) -> float | None:
    return None if text.strip().lower() == "none" else float(text)


def _folder(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ValueError from error


def _here(text: str) -> Path:
    if not is_folder(path := typed_path(text.strip())):
        raise ValueError
    return path


def _listed(text: str) -> list[str]:
    """What stands between commas, each once."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _model(typed: str, info: ValidationInfo) -> str:
    hub_id = parse_hub_id(typed)
    is_id = hub_id is not None and hub_id.split is None
    if not (is_id or typed in (DEMO_NAME, *BASELINES) or not info.data.get("public")):
        raise ValueError
    return typed


def _dataset(text: str) -> str:
    is_demo = text.strip() == "demo"
    path, hub_id = DEMO_PAIRS if is_demo else typed_path(text.strip()), parse_hub_id(text)
    if is_file(path):
        try:
            return f"{'demo pairs' if is_demo else path.name}@{file_digest(path)}"
        except OSError as error:
            raise ValueError from error
    if hub_id is None or hub_id.split is None:
        raise ValueError
    return str(hub_id)


def _address(text: str) -> str:
    if "@" in text:
        raise KnownError(
            "EXPLORER_SERVERS has an address with a user or a password. Leave them out: the key of "
            "a server belongs in OPENAI_API_KEY."
        )
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError
    return text.rstrip("/")


def _device(text: str) -> str:
    if not DEVICE_NAMES.fullmatch(name := text.strip().lower()):
        raise ValueError
    return name


def _variable(name: str, must: str = "") -> Any:
    """The variable that sets a field, and what its value must be, in words."""
    return Field(alias=name, description=must)


def _proxies(text: str) -> int | None:
    return int(text) if text.strip() in tuple("0123456789") else None


Switch = Annotated[bool, BeforeValidator(lambda text: _SWITCH.get(text.strip().lower()))]
_PositiveNumber = Annotated[float | None, Field(gt=0, lt=1e12), BeforeValidator(_number)]
_PositiveWhole = Annotated[int | None, Field(gt=0, lt=10**12), BeforeValidator(_number)]
Text = Annotated[str | None, BeforeValidator(str.strip)]
_ModelNames = Annotated[
    tuple[Annotated[str, AfterValidator(_model)], ...], BeforeValidator(_listed)
]
SignIn = Literal["no", "offered", "required"]
_FLAG = "it must be 0 or 1"
_LIMIT = "it must be a number above 0, or none"
_COUNT = "it must be a whole number above 0, or none"
_IDS = "it must hold ids of the Hub such as org/name or org/name@revision, with commas between them"


@dataclass(frozen=True, slots=True)
class Settings:
    """How this copy of the app was set up. `docs/settings.md` says what each variable means.

    pairs, results: what the owner wants shown; None means the default.
    results_of: the pairs that those results are of if they hold no texts, as `PairSource` names
        them; None goes by their subsets.
    outputs: a folder of further results, as benchmarks' own tools leave them; None for none.
    max_pairs: pairs one run may score; None means no limit.
    max_model_gigabytes: weights a model may have, in 10^9 bytes; None means no limit.
    models_gigabytes: of the Hub's models that are kept on disk, in 10^9 bytes; None means no limit.
    max_rows: pairs a dataset that is opened on screen may have; None means no limit.
    max_dataset_megabytes: size of its files, in 10^6 bytes; None means no limit.
    public: whether strangers use this server; local paths are refused then.
    space: the Space's id, such as "org/name"; "" off Spaces.
    proxies: how many stand before the server, one after the other, and write down who asks.
    zero_gpu: whether it is a Space that lends its GPU for one call at a time.
    models: those that may be scored with, as typed; () means any.
    own_code: those whose own Python may run.
    servers: addresses of servers that may be asked to score.
    seconds_per_hour: of scoring that a visitor has in any hour; None means no limit.
    sign_in: whether visitors can, or must, sign in with Hugging Face to score.
    device: where models are computed, as of `RunSettings`.
    """

    home: Annotated[
        Path, BeforeValidator(_folder), _variable("EXPLORER_HOME", "there is no such user")
    ]
    pairs: Annotated[Text, _variable("EXPLORER_PAIRS")] = None
    results: Annotated[Text, _variable("EXPLORER_RESULTS")] = None
    results_of: Annotated[
        str | None,
        BeforeValidator(_dataset),
        _variable(
            "EXPLORER_RESULTS_OF",
            "it must be a file, a dataset of the Hub with its split as org/name:split, or demo",
        ),
    ] = None
    outputs: Annotated[
        Path | None, BeforeValidator(_here), _variable("EXPLORER_OUTPUTS", "it must be a folder")
    ] = None
    offline: Annotated[Switch, _variable("EXPLORER_OFFLINE", _FLAG)] = False
    public: Annotated[Switch, _variable("EXPLORER_PUBLIC", _FLAG)] = False
    space: Annotated[str, _variable("SPACE_ID")] = ""
    proxies: Annotated[
        int, BeforeValidator(_proxies), _variable("EXPLORER_PROXIES", "it must be a number, 0 to 9")
    ] = 0
    max_pairs: Annotated[_PositiveWhole, _variable("EXPLORER_MAX_PAIRS", _COUNT)] = None
    max_model_gigabytes: Annotated[_PositiveNumber, _variable("EXPLORER_MAX_MODEL_GB", _LIMIT)] = (
        None
    )
    models_gigabytes: Annotated[_PositiveNumber, _variable("EXPLORER_MODELS_GB", _LIMIT)] = None
    max_rows: Annotated[_PositiveWhole, _variable("EXPLORER_MAX_ROWS", _COUNT)] = None
    max_dataset_megabytes: Annotated[
        _PositiveNumber, _variable("EXPLORER_MAX_DATASET_MB", _LIMIT)
    ] = None
    zero_gpu: Annotated[Switch, _variable("SPACES_ZERO_GPU")] = False
    models: Annotated[_ModelNames, _variable("EXPLORER_MODELS", _IDS)] = ()
    own_code: Annotated[_ModelNames, _variable("EXPLORER_OWN_CODE", _IDS)] = ()
    servers: Annotated[
        tuple[Annotated[str, AfterValidator(_address)], ...],
        BeforeValidator(_listed),
        _variable(
            "EXPLORER_SERVERS",
            "it must hold addresses such as http://localhost:8000/v1, with commas between them",
        ),
    ] = ()
    seconds_per_hour: Annotated[_PositiveNumber, _variable("EXPLORER_SECONDS_PER_HOUR", _LIMIT)] = (
        None
    )
    sign_in: Annotated[
        SignIn,
        BeforeValidator(lambda text: _SIGN_IN.get(text.strip().lower())),
        _variable("EXPLORER_SIGN_IN", "it must be 0, offered or required"),
    ] = "no"
    device: Annotated[
        str,
        BeforeValidator(_device),
        _variable("EXPLORER_DEVICE", "auto, cpu, cuda, cuda:N, mps and spread are allowed"),
    ] = "auto"
    server_name: Annotated[str, _variable("GRADIO_SERVER_NAME")] = "127.0.0.1"
    server_port: Annotated[
        int,
        Field(gt=0, le=65535),
        BeforeValidator(float),
        _variable("GRADIO_SERVER_PORT", "it must be a whole number up to 65535"),
    ] = 7860

    @property
    def runs(self) -> Path:
        """The folder that holds one folder a run."""
        return self.home / "runs"

    @property
    def hosts(self) -> frozenset[str]:
        """The names under which the server answers; none where not all of them are known."""
        if self.any_name or self.server_name in _EVERY_ADDRESS:
            return frozenset()
        return frozenset({*_LOCAL, self.server_name.strip("[]").lower()})

    @property
    def any_name(self) -> bool:
        """Whether the server may be called anything, as others use it."""
        return self.public or self.proxies > 0

    @property
    def model_policy(self) -> ModelPolicy:
        """What may be loaded here."""
        return ModelPolicy(
            DEMO_MODEL,
            not self.public,
            self.max_model_gigabytes,
            frozenset(self.models) if self.models else None,
            frozenset(self.own_code),
            frozenset(self.servers),
        )

    @property
    def own_models(self) -> list[str]:
        """Repositories of the Hub whose models the owner chose."""
        ids = [parse_hub_id(each) for each in (*self.models, *self.own_code)]
        return [each.repo for each in ids if each]

    @property
    def has_sign_in(self) -> bool:
        """Whether the page has a button to sign in; only a Space can offer that."""
        return bool(self.space) and self.sign_in != "no"

    @property
    def runs_last(self) -> bool:
        """Whether runs outlive the server: not in a Space's container, but for a mounted volume."""
        return not self.space or _mount_of(self.home) != Path("/")

    @property
    def limits(self) -> Limits:
        """How large a dataset may be that is opened on screen."""
        return Limits(self.max_rows, self.max_dataset_megabytes)

    @property
    def link_base(self) -> str:
        """Where a link to this app begins; "" for the address of the page itself."""
        return f"https://huggingface.co/spaces/{self.space}" if self.space else ""

    @property
    def max_upload_bytes(self) -> int | None:
        """How large an uploaded file may be; None means no limit."""
        limit = self.max_dataset_megabytes
        return None if limit is None else int(limit * MEGABYTE)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """The settings that the environment asks for.

    Raises:
        KnownError: naming the variable, its value and what is allowed.

    >>> read_settings({"GRADIO_SERVER_PORT": "8000", "SPACE_ID": "me/space"}).server_port
    8000
    """
    given = {name: text for name, text in environ.items() if text.strip()}
    if "SPACE_ID" in given:
        given |= {"EXPLORER_PUBLIC": "1", "EXPLORER_PROXIES": "1"}
    given["SPACES_ZERO_GPU"] = str(int(is_zero_gpu(environ)))
    public = _SWITCH.get(given.get("EXPLORER_PUBLIC", "0").strip().lower(), False)
    home = {"EXPLORER_HOME": HOME}
    values = {**home, **(_PUBLIC if public else _OWN), **given}
    settings = validated(TypeAdapter(Settings), values)
    if settings.zero_gpu and not settings.models:
        raise KnownError(
            "EXPLORER_MODELS is empty; on ZeroGPU it must name the models to score with, such as "
            "org/name, since they are placed on the GPU when the Space starts."
        )
    if settings.sign_in != "no":
        _check_sign_in(settings, given)
    return settings


def _check_sign_in(settings: Settings, given: Mapping[str, str]) -> None:
    """Whether visitors can sign in: on a Space that is set up for it."""
    text = given["EXPLORER_SIGN_IN"].strip().lower()
    # Where Gradio sees no Space, it signs everybody in as the owner of the server's token.
    missing = [name for name in _OAUTH if name not in given]
    if settings.space and (missing or given.get("SYSTEM") != "spaces"):
        lacking = ", ".join(missing) or "SYSTEM=spaces"
        raise KnownError(
            f"EXPLORER_SIGN_IN is {text!r}, and this Space is not set up to sign people in: there "
            f"is no {lacking}. Write hf_oauth: true into the head of its README.md."
        )
    if settings.sign_in == "required" and not settings.space:
        raise KnownError(
            f"EXPLORER_SIGN_IN is {text!r}; people can sign in with Hugging Face on a Space alone, "
            "so nobody could score here. Leave it out."
        )


def with_home(settings: Settings) -> Settings:
    """The same, with a home that can be written: a folder for this run where the default cannot.

    Raises:
        KnownError: the home that the owner chose cannot be written.
    """
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=settings.home).close()
    except OSError as error:
        why = f"Nothing can be written in {settings.home}: {error.strerror}."
        if settings.home != Path(HOME).expanduser():
            raise KnownError(f"{why} Set EXPLORER_HOME to a folder that can be written.") from error
        other = Path(mkdtemp(prefix="rewardbench-explorer-"))
        logger.warning("%s Runs of this server are kept in %s.", why, other)
        return replace(settings, home=other)
    return settings


def _mount_of(path: Path) -> Path:
    """Where what holds a path is mounted; the path need not be there yet."""
    path = path.absolute()
    while not path.is_mount() and path != path.parent:
        path = path.parent
    return path
