"""Every environment variable the app reads, in one frozen value, read once."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from explorer.core.zero_gpu import is_zero_gpu
from scoring.errors import KnownError
from scoring.hub.access import parse_hub_id
from scoring.limits import MEGABYTE, Limits
from scoring.models.policy import DEMO, ModelPolicy
from scoring.spec import BASELINES, DEVICE_NAMES

OFF = ("", "0", "false", "no")
ON = ("1", "true", "yes")


def number(environ: Mapping[str, str], name: str, default: float | None) -> float | None:
    """A positive number, "none" for no limit, or the default where nothing is set.

    >>> number({"X": "2.5"}, "X", 1), number({}, "X", 1), number({"X": "none"}, "X", 1)
    (2.5, 1, None)
    """
    text = environ.get(name, "").strip()
    if not text:
        return default
    if text.lower() == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e12:
        raise KnownError(f"{name} is {text!r}; it must be a number above 0, or none.")
    return value


def switch(environ: Mapping[str, str], name: str) -> bool:
    """Whether a variable is on.

    >>> switch({"X": "yes"}, "X"), switch({}, "X")
    (True, False)
    """
    text = environ.get(name, "").strip().lower()
    if text not in (*OFF, *ON):
        raise KnownError(f"{name} is {text!r}; it must be 0 or 1.")
    return text in ON


def folder(environ: Mapping[str, str], name: str, default: str) -> Path:
    """A folder, with its user's home for a tilde."""
    text = environ.get(name) or default
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise KnownError(f"{name} is {text!r}; there is no such user.") from error


def listed(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    """What stands between commas, each once; nothing where nothing is set.

    >>> listed({"X": " a, b,,a "}, "X")
    ('a', 'b')
    """
    parts = (part.strip() for part in environ.get(name, "").split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def models(environ: Mapping[str, str], name: str, *, folders: bool) -> tuple[str, ...]:
    """Models as they are typed. folders: whether some may lie on this machine.

    >>> models({"X": "org/a, org/b@v1"}, "X", folders=False)
    ('org/a', 'org/b@v1')
    """
    found = listed(environ, name)
    for each in found:
        hub_id = parse_hub_id(each)
        is_id = hub_id is not None and hub_id.split is None
        if not (is_id or folders or each in (DEMO, *BASELINES)):
            raise KnownError(
                f"{name} names {each!r}; it must hold ids of the Hub such as org/name or "
                "org/name@revision, with commas between them."
            )
    return found


def addresses(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Addresses of servers, without a slash at their end.

    >>> addresses({"X": "http://gpu:8000/v1/"}, "X")
    ('http://gpu:8000/v1',)
    """
    found = listed(environ, name)
    for each in found:
        if "@" in each:
            raise KnownError(
                f"{name} has an address with a user or a password. Leave them out: the key of a "
                "server belongs in OPENAI_API_KEY."
            )
        if not _is_address(each):
            raise KnownError(
                f"{name} names {each!r}; it must hold addresses such as http://localhost:8000/v1, "
                "with commas between them."
            )
    return tuple(each.rstrip("/") for each in found)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "assets"
DEMO_PAIRS = ASSETS / "demo" / "pairs.jsonl"
DEMO_MODEL = ASSETS / "demo" / "model"
SNAPSHOT = ASSETS / "leaderboard" / "paper-v2.csv"

PUBLIC_MAX_PAIRS = 300
PUBLIC_MAX_MODEL_GB = 4.0
PUBLIC_MODELS_GB = 40.0
MAX_ROWS = 1_000_000
PUBLIC_MAX_ROWS = 300_000
MAX_DATASET_MB = 2000.0
PUBLIC_MAX_DATASET_MB = 100.0
PUBLIC_SECONDS_PER_HOUR = 300.0

SignIn = Literal["no", "offered", "required"]
_OAUTH = ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL")
"""What a Space whose card says `hf_oauth: true` is given."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How this copy of the app was set up. The README's table says what each variable means.

    pairs, results: what the owner wants shown; None means the default.
    max_pairs: pairs one run may score; None means no limit.
    max_model_gigabytes: weights a model may have, in 10^9 bytes; None means no limit.
    models_gigabytes: of the Hub's models that are kept on disk, in 10^9 bytes; None means no limit.
    max_rows: pairs a dataset that is opened on screen may have; None means no limit.
    max_dataset_megabytes: size of its files, in 10^6 bytes; None means no limit.
    public: whether strangers use this server; local paths are refused then.
    space: the Space's id, such as "org/name"; "" off Spaces.
    proxied: whether a proxy stands before the server and writes down who asks.
    zero_gpu: whether it is a Space that lends its GPU for one call at a time.
    models: those that may be scored with, as typed; () means any.
    own_code: those whose own Python may run.
    servers: addresses of servers that may be asked to score.
    seconds_per_hour: of scoring that a visitor has in any hour; None means no limit.
    sign_in: whether visitors can, or must, sign in with Hugging Face to score.
    device: where models are computed, as of `RunSettings`.
    """

    home: Path
    pairs: str | None = None
    results: str | None = None
    offline: bool = False
    public: bool = False
    space: str = ""
    proxied: bool = False
    max_pairs: int | None = None
    max_model_gigabytes: float | None = None
    models_gigabytes: float | None = None
    max_rows: int | None = None
    max_dataset_megabytes: float | None = None
    zero_gpu: bool = False
    models: tuple[str, ...] = ()
    own_code: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    seconds_per_hour: float | None = None
    sign_in: SignIn = "no"
    device: str = "auto"
    server_name: str = "127.0.0.1"
    server_port: int = 7860

    @property
    def runs(self) -> Path:
        """The folder that holds one folder a run."""
        return self.home / "runs"

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
    public = bool(environ.get("SPACE_ID")) or switch(environ, "EXPLORER_PUBLIC")
    zero_gpu = is_zero_gpu(environ)
    max_pairs = number(environ, "EXPLORER_MAX_PAIRS", PUBLIC_MAX_PAIRS if public else None)
    max_rows = number(environ, "EXPLORER_MAX_ROWS", PUBLIC_MAX_ROWS if public else MAX_ROWS)
    port = number(environ, "GRADIO_SERVER_PORT", 7860) or 7860
    for name, value, most in (
        ("EXPLORER_MAX_PAIRS", max_pairs or 1, 1e12),
        ("EXPLORER_MAX_ROWS", max_rows or 1, 1e12),
        ("GRADIO_SERVER_PORT", port, 65535),
    ):
        if value != int(value) or value > most:
            raise KnownError(f"{name} is {value:g}; it must be a whole number up to {most:g}.")
    return Settings(
        home=folder(environ, "EXPLORER_HOME", "~/.cache/rewardbench-explorer"),
        pairs=environ.get("EXPLORER_PAIRS", "").strip() or None,
        results=environ.get("EXPLORER_RESULTS", "").strip() or None,
        offline=switch(environ, "EXPLORER_OFFLINE"),
        public=public,
        space=environ.get("SPACE_ID", ""),
        proxied=bool(environ.get("SPACE_ID")) or switch(environ, "EXPLORER_PROXIES"),
        zero_gpu=zero_gpu,
        models=_allowed(environ, public=public, zero_gpu=zero_gpu),
        own_code=models(environ, "EXPLORER_OWN_CODE", folders=not public),
        servers=addresses(environ, "EXPLORER_SERVERS"),
        seconds_per_hour=number(
            environ, "EXPLORER_SECONDS_PER_HOUR", PUBLIC_SECONDS_PER_HOUR if public else None
        ),
        sign_in=_sign_in(environ),
        device=_device(environ),
        max_pairs=None if max_pairs is None else int(max_pairs),
        max_model_gigabytes=number(
            environ, "EXPLORER_MAX_MODEL_GB", PUBLIC_MAX_MODEL_GB if public else None
        ),
        models_gigabytes=number(
            environ, "EXPLORER_MODELS_GB", PUBLIC_MODELS_GB if public else None
        ),
        max_rows=None if max_rows is None else int(max_rows),
        max_dataset_megabytes=number(
            environ, "EXPLORER_MAX_DATASET_MB", PUBLIC_MAX_DATASET_MB if public else MAX_DATASET_MB
        ),
        server_name=environ.get("GRADIO_SERVER_NAME") or "127.0.0.1",
        server_port=int(port),
    )


def _allowed(environ: Mapping[str, str], *, public: bool, zero_gpu: bool) -> tuple[str, ...]:
    """The models that may be scored with."""
    found = models(environ, "EXPLORER_MODELS", folders=not public)
    if zero_gpu and not found:
        raise KnownError(
            "EXPLORER_MODELS is empty; on ZeroGPU it must name the models to score with, such as "
            "org/name, since they are placed on the GPU when the Space starts."
        )
    return found


def _sign_in(environ: Mapping[str, str]) -> SignIn:
    """Whether visitors sign in, on a Space that is set up for it."""
    text = environ.get("EXPLORER_SIGN_IN", "").strip().lower()
    if text in OFF:
        return "no"
    if text not in ("offered", "required", *ON):
        raise KnownError(f"EXPLORER_SIGN_IN is {text!r}; it must be 0, offered or required.")
    on_space = bool(environ.get("SPACE_ID"))
    # Where Gradio sees no Space, it signs everybody in as the owner of the server's token.
    seen = environ.get("SYSTEM") == "spaces"
    missing = [name for name in _OAUTH if not environ.get(name)]
    if on_space and (missing or not seen):
        lacking = ", ".join(missing) or "SYSTEM=spaces"
        raise KnownError(
            f"EXPLORER_SIGN_IN is {text!r}, and this Space is not set up to sign people in: there "
            f"is no {lacking}. Write hf_oauth: true into the head of its README.md."
        )
    if text != "offered" and not on_space:
        raise KnownError(
            f"EXPLORER_SIGN_IN is {text!r}; people can sign in with Hugging Face on a Space alone, "
            "so nobody could score here. Leave it out."
        )
    return "offered" if text == "offered" else "required"


def _device(environ: Mapping[str, str]) -> str:
    text = environ.get("EXPLORER_DEVICE", "").strip().lower() or "auto"
    if not DEVICE_NAMES.fullmatch(text):
        raise KnownError(
            f"EXPLORER_DEVICE is {text!r}; auto, cpu, cuda, cuda:N, mps and spread are allowed."
        )
    return text


def _mount_of(path: Path) -> Path:
    """Where what holds a path is mounted; the path need not be there yet."""
    path = path.absolute()
    while not path.is_mount() and path != path.parent:
        path = path.parent
    return path
