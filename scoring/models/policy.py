"""What the owner of this machine allows to be loaded or asked."""

from dataclasses import dataclass
from pathlib import Path

from scoring.errors import KnownError, shown

DEMO = "demo"
DEMO_NAMES = (DEMO, "assets/demo/model")
_LISTED = 10
"""Models that a refusal names."""


@dataclass(frozen=True, slots=True)
class ModelPolicy:
    """What the owner of this machine allows.

    A model is listed as it is typed: `org/name` stands for its default branch alone, since at
    another revision, such as that of a pull request, anybody's files can lie.

    demo: folder of the bundled model; None where there is none.
    local_folders: whether any folder of this machine may be loaded.
    max_gigabytes: the largest model fetched from the Hub, in 10^9 bytes; None means no limit.
    models: which may be used, the demo and baselines beside them; None means any.
    own_code: of which the Python that comes with them may run here.
    servers: addresses that may be asked, without a slash at their end; None means any.
    """

    demo: Path | None
    local_folders: bool = True
    max_gigabytes: float | None = None
    models: frozenset[str] | None = None
    own_code: frozenset[str] = frozenset()
    servers: frozenset[str] | None = None

    def check_model(self, typed: str) -> None:
        """Whether a model is one of those that may be used; its files are not looked at.

        Raises:
            KnownError: it is not listed.

        >>> ModelPolicy(None, models=frozenset({"org/a"})).check_model("org/a")
        """
        if self.models is None or typed in self.models:
            return
        if typed not in DEMO_NAMES or self.demo is None:
            listed = sorted(self.models)
            more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
            raise KnownError(
                f"{shown(typed)} is not among the models that can be used here: give "
                f"{', '.join(listed[:_LISTED])}{more}" + (", or demo." if self.demo else ".")
            )

    def check_server(self, url: str) -> None:
        """Whether a server may be asked.

        Raises:
            KnownError: it is not listed.
        """
        if self.servers is not None and url.rstrip("/") not in self.servers:
            raise KnownError(
                f"{shown(url)} is not among the servers that may be asked from here. Whoever runs "
                "this app lists them in EXPLORER_SERVERS; else choose a model that runs here."
            )
