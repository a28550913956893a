"""Every environment variable the app reads, in one frozen value, read once."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scoring.errors import KnownError
from scoring.limits import MEGABYTE, Limits
from scoring.models import ModelPolicy

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "assets"
DEMO_PAIRS = ASSETS / "demo" / "pairs.jsonl"
DEMO_MODEL = ASSETS / "demo" / "model"
SNAPSHOT = ASSETS / "leaderboard" / "paper-v2.csv"

PUBLIC_MAX_PAIRS = 300
PUBLIC_MAX_MODEL_GB = 4.0
MAX_ROWS = 1_000_000
PUBLIC_MAX_ROWS = 300_000
MAX_DATASET_MB = 2000.0
PUBLIC_MAX_DATASET_MB = 100.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How this copy of the app was set up. The README's table says what each variable means.

    pairs, results: what the owner wants shown; None means the default.
    max_pairs: pairs one run may score; None means no limit.
    max_model_gigabytes: weights a model may have, in 10^9 bytes; None means no limit.
    max_rows: pairs a dataset that is opened on screen may have; None means no limit.
    max_dataset_megabytes: size of its files, in 10^6 bytes; None means no limit.
    public: whether strangers use this server; local paths are refused then.
    space: the Space's id, such as "org/name"; "" off Spaces.
    """

    home: Path
    pairs: str | None = None
    results: str | None = None
    offline: bool = False
    public: bool = False
    space: str = ""
    max_pairs: int | None = None
    max_model_gigabytes: float | None = None
    max_rows: int | None = None
    max_dataset_megabytes: float | None = None
    server_name: str = "127.0.0.1"
    server_port: int = 7860

    @property
    def runs(self) -> Path:
        """The folder that holds one folder a run."""
        return self.home / "runs"

    @property
    def model_policy(self) -> ModelPolicy:
        """What may be loaded here."""
        return ModelPolicy(DEMO_MODEL, not self.public, self.max_model_gigabytes)

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
    public = bool(environ.get("SPACE_ID")) or _switch(environ, "EXPLORER_PUBLIC")
    home = environ.get("EXPLORER_HOME") or "~/.cache/rewardbench-explorer"
    max_pairs = _number(environ, "EXPLORER_MAX_PAIRS", PUBLIC_MAX_PAIRS if public else None)
    max_rows = _number(environ, "EXPLORER_MAX_ROWS", PUBLIC_MAX_ROWS if public else MAX_ROWS)
    port = _number(environ, "GRADIO_SERVER_PORT", 7860) or 7860
    for name, value, most in (
        ("EXPLORER_MAX_PAIRS", max_pairs or 1, 1e12),
        ("EXPLORER_MAX_ROWS", max_rows or 1, 1e12),
        ("GRADIO_SERVER_PORT", port, 65535),
    ):
        if value != int(value) or value > most:
            raise KnownError(f"{name} is {value:g}; it must be a whole number up to {most:g}.")
    return Settings(
        home=_folder("EXPLORER_HOME", home),
        pairs=environ.get("EXPLORER_PAIRS", "").strip() or None,
        results=environ.get("EXPLORER_RESULTS", "").strip() or None,
        offline=_switch(environ, "EXPLORER_OFFLINE"),
        public=public,
        space=environ.get("SPACE_ID", ""),
        max_pairs=None if max_pairs is None else int(max_pairs),
        max_model_gigabytes=_number(
            environ, "EXPLORER_MAX_MODEL_GB", PUBLIC_MAX_MODEL_GB if public else None
        ),
        max_rows=None if max_rows is None else int(max_rows),
        max_dataset_megabytes=_number(
            environ, "EXPLORER_MAX_DATASET_MB", PUBLIC_MAX_DATASET_MB if public else MAX_DATASET_MB
        ),
        server_name=environ.get("GRADIO_SERVER_NAME") or "127.0.0.1",
        server_port=int(port),
    )


def _folder(name: str, text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise KnownError(f"{name} is {text!r}; there is no such user.") from error


def _number(environ: Mapping[str, str], name: str, default: float | None) -> float | None:
    """A positive number, "none" for no limit, or the default where nothing is set."""
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


def _switch(environ: Mapping[str, str], name: str) -> bool:
    text = environ.get(name, "").strip().lower()
    if text not in ("", "0", "1", "false", "true", "no", "yes"):
        raise KnownError(f"{name} is {text!r}; it must be 0 or 1.")
    return text in ("1", "true", "yes")
