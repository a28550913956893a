"""From what a person typed to a model, where its owner allows it: found, then fetched."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from scoring.errors import KnownError, shown
from scoring.hub.access import Hub, HubId, Listing, RepoNotFound, parse_hub_id
from scoring.hub.search import without_address
from scoring.limits import MEGABYTE
from scoring.models.catalogue import known_models
from scoring.models.files import (
    WEIGHT_FILES,
    check_tokenizer,
    folder_digest,
    read_config,
    wanted_files,
    weight_files,
)
from scoring.paths import is_folder, typed_path
from scoring.spec import ASKED, BASELINES, Family, LabelWeights, ModelSpec

DEMO_NAME = "demo"
DEMO_NAMES = (DEMO_NAME, "assets/demo/model")
MOST_TOKENIZER_MEGABYTES = 100
"""What the files of a tokenizer may weigh that is fetched apart from its model, in 10^6 bytes."""
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
        """Raise a `KnownError` where the model is not listed.

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
        """Raise a `KnownError` where the server is not listed."""
        if self.servers is not None and url.rstrip("/") not in self.servers:
            raise KnownError(
                f"{shown(url)} is not among the servers that may be asked from here. Whoever runs "
                "this app lists them in EXPLORER_SERVERS; else choose a model that runs here."
            )


MOST_CONFIG_BYTES = MEGABYTE


@dataclass(frozen=True, slots=True)
class LocatedModel:
    """A model that can be loaded or asked, of which nothing but its config was fetched.

    spec: its folder is "" where files are still to be fetched.
    why: in one sentence, what its family was taken from.
    config: what it holds; None for a baseline or a server's model.
    sizes: the files that loading needs -> bytes.
    listing: of its repository on the Hub; None for what lies in a folder of this machine.
    reference: what a DPO policy is compared with.
    tokenizer: that is taken in the place of its own.
    """

    spec: ModelSpec
    why: str
    config: dict[str, Any] | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    listing: Listing | None = None
    reference: "LocatedModel | None" = None
    tokenizer: "LocatedModel | None" = None


class ModelOptions(TypedDict, total=False):
    """What may be said of a model besides its name; all of it as of `find`."""

    token: str | Literal[False]
    family: Family | None
    reference: str
    reading: LabelWeights | None
    tokenizer: str
    url: str


def find(
    typed: str,
    policy: ModelPolicy,
    hub: Hub,
    *,
    token: str | Literal[False] = False,
    family: Family | None = None,
    reference: str = "",
    reading: LabelWeights | None = None,
    tokenizer: str = "",
    url: str = "",
) -> LocatedModel:
    """Find the model a person typed, and check all of it but its weights.

    typed: "demo", a local folder, a Hub id `org/name[@revision]` or the address of its page; the
        name of a baseline or of a server's model, where the family or the url says so.
    token: the visitor's own; False sends none.
    family: None means what the catalogue or its config says.
    reference: for family "dpo", what a DPO policy is compared with, typed likewise.
    tokenizer: a model or a folder whose tokenizer is taken, typed likewise; "" for the model's own.

    Raises:
        KnownError: nothing was typed, it is not allowed, not found, or not a reward model.
    """
    typed = typed.strip()
    baseline = next((name for name in BASELINES if name in (typed, family)), None)
    if baseline is not None:
        more = bool(reference or url or tokenizer) or reading is not None
        return _baseline(baseline, typed, family, more=more)
    if not typed:
        raise KnownError("No model was given. Type a Hub id (org/name), a folder, or demo.")
    typed, reference, tokenizer = (
        without_address(each.strip()) for each in (typed, reference, tokenizer)
    )
    for given in (typed, reference, tokenizer):
        if given:
            policy.check_model(given)
    if url or family == "served":
        policy.check_server(url)
        if tokenizer:
            raise KnownError("A server has a tokenizer of its own: give none beside its model.")
        return _on_server(typed, family, url, reading)
    family, reference, why = _with_catalogue(typed, family, reference)
    model = _model(typed, policy, hub, token, family, reading, has_tokenizer=not tokenizer)
    if reference and model.spec.family != "dpo":
        raise KnownError(
            f"A reference model is of family dpo; {model.spec.family} has no use for one."
        )
    if reading is not None and model.spec.family != "classifier":
        raise KnownError(f"Labels are read of classifiers; family {model.spec.family} has none.")
    return replace(
        model,
        why=model.why or why,
        reference=_model(reference, policy, hub, token, "dpo", None) if reference else None,
        tokenizer=_tokenizer(tokenizer, policy, hub, token) if tokenizer else None,
    )


def _baseline(baseline: Family, typed: str, family: Family | None, *, more: bool) -> LocatedModel:
    """more: something was given that only models have."""
    if typed != baseline or more:
        raise KnownError(
            f"The baseline {baseline} has no model: give {baseline} for the model, and no "
            "reference, tokenizer, server or label."
        )
    if family not in (None, baseline):
        raise KnownError(f"{baseline} is a baseline, and no model of family {family}.")
    spec = ModelSpec(f"baseline/{baseline}", "", "", baseline)
    return LocatedModel(spec, "A baseline has no model: it is a rule.")


def _on_server(
    typed: str, family: Family | None, url: str, reading: LabelWeights | None
) -> LocatedModel:
    if family not in ASKED:
        raise KnownError(
            "A server (--url) can run the families judge, rater and served; say which."
        )
    if not url.startswith(("http://", "https://")):
        raise KnownError(
            f"Family {family} of {typed!r} needs the address of its server, such as "
            f"http://host:8000/v1 (--url); {url!r} is not one."
        )
    spec = ModelSpec(typed, "", "", family, reading, url=url.rstrip("/"))
    return LocatedModel(spec, "The family was chosen; a server runs the model.")


def _with_catalogue(
    typed: str, family: Family | None, reference: str
) -> tuple[Family | None, str, str]:
    """Family, reference and why, filled in from the catalogue where they were not given."""
    hub_id = parse_hub_id(typed)
    known = known_models().get(hub_id.repo) if hub_id else None
    why = ""
    if family:
        why = "The family was chosen."
    elif reference:
        family, why = "dpo", "A reference model was given, which only DPO policies have."
    elif known and known.family in ("dpo", "pairrm"):  # a config says the other families
        family, why = known.family, f"It is listed here as one of family {known.family}."
    if family == "dpo":
        reference = reference or (known.reference if known else "")
        if not reference:
            raise KnownError(
                f"{typed[:200]} is a DPO policy, which is compared with the model it was trained "
                "from: give that (--ref-model), or family logprob-sum or logprob-mean to score "
                "without one."
            )
    return family, reference, why


def _model(  # noqa: PLR0917
    typed: str,
    policy: ModelPolicy,
    hub: Hub,
    token: str | Literal[False],
    family: Family | None,
    reading: LabelWeights | None,
    *,
    has_tokenizer: bool = True,
) -> LocatedModel:
    """has_tokenizer: whether its own tokenizer is needed."""
    trusted = typed in policy.own_code
    name, folder, files, listing = _files(typed, policy, hub, token, "model")
    if "config.json" not in files and "model_index.json" in files:
        raise KnownError(
            f"{name} is a diffusion pipeline, which makes pictures: it has a model_index.json and "
            "no config.json. Choose a model that gives rewards for text."
        )
    if "config.json" not in files and listing is not None:
        raise KnownError(
            f"{name} is not a transformers model: it has no config.json. Choose another."
        )
    n_bytes = files.get("config.json", 0)
    if n_bytes > MOST_CONFIG_BYTES:
        raise KnownError(
            f"The config.json of {name} is {n_bytes / MEGABYTE:.1f} MB large; at most "
            f"{MOST_CONFIG_BYTES / MEGABYTE:g} MB are read, and those of models are far smaller."
        )
    sizes = {each: files[each] for each in wanted_files(files, own_code=trusted)}
    if listing is not None:
        n_bytes = sum(sizes.values())
        if policy.max_gigabytes is not None and n_bytes > policy.max_gigabytes * 1e9:
            raise KnownError(
                f"{name} is {n_bytes / 1e9:.1f} GB large; "
                f"at most {policy.max_gigabytes:g} GB are allowed here."
            )
        files, path = sizes, hub.fetch(listing, ["config.json"], token=token)
    else:
        path = Path(folder)
    config, family, own_code, why = read_config(
        path / "config.json", name, family, reading, trusted=trusted
    )
    if not weight_files(files):
        whole = name if listing else f"The folder {name}"
        raise KnownError(f"{whole} has no weights: no {' or '.join(WEIGHT_FILES)}.")
    if has_tokenizer:
        check_tokenizer(files, name)
    revision = listing.commit if listing else folder_digest(path)
    spec = ModelSpec(name, folder, revision, family, reading, own_code=own_code)
    return LocatedModel(spec, why, config, sizes, listing)


def _tokenizer(
    typed: str, policy: ModelPolicy, hub: Hub, token: str | Literal[False]
) -> LocatedModel:
    """A tokenizer alone, of a model or of nothing else."""
    name, folder, files, listing = _files(typed, policy, hub, token, "tokenizer")
    if listing is None:
        check_tokenizer(files, name)
        return LocatedModel(ModelSpec(name, folder, folder_digest(Path(folder))), "")
    sizes = {each: files[each] for each in wanted_files(files) if not weight_files([each])}
    check_tokenizer(sizes, name)
    megabytes = sum(sizes.values()) / 1e6
    if megabytes > MOST_TOKENIZER_MEGABYTES:
        raise KnownError(
            f"The tokenizer of {name} is {megabytes:.0f} MB large; at most "
            f"{MOST_TOKENIZER_MEGABYTES} MB are fetched for one."
        )
    return LocatedModel(ModelSpec(name, "", listing.commit), "", None, sizes, listing)


def _files(
    typed: str, policy: ModelPolicy, hub: Hub, token: str | Literal[False], what: str
) -> tuple[str, str, dict[str, int], Listing | None]:
    """Where a model lies that a person typed.

    Returns its name, its folder on this machine ("" on the Hub), the bytes of its files, and the
    listing of its repository (None in a folder).
    """
    hub_id = parse_hub_id(typed)
    looks_local = typed.startswith(("/", ".", "~", "\\")) or hub_id is None
    name, folder = typed, None
    if typed in DEMO_NAMES and policy.demo is not None:
        name, folder = DEMO_NAME, policy.demo
    elif policy.local_folders and (looks_local or is_folder(typed_path(typed))):
        folder = typed_path(typed)
    if folder is not None:
        if not is_folder(folder):
            raise KnownError(
                f"There is no {what} {name[:200]!r}: it is neither a folder nor a Hub id."
            )
        sizes: dict[str, int] = {}
        with suppress(OSError):  # what cannot be read has no config
            sizes = {each.name: each.stat().st_size for each in folder.iterdir() if each.is_file()}
        return name, str(folder), sizes, None
    if looks_local or hub_id is None or hub_id.split:
        allowed = "a Hub id such as org/name, or demo"
        if policy.local_folders:
            allowed = f"a folder, {allowed}"
        raise KnownError(f"{typed[:200]!r} is not a model that can be used here: give {allowed}.")
    try:
        listing = hub.look(hub_id, "model", token=token)
    except RepoNotFound:
        with suppress(RepoNotFound):
            hub.look(HubId(hub_id.repo), "dataset", token=token)
            raise KnownError(
                f"{hub_id.repo} is a dataset, and no model. Its pairs are chosen elsewhere; give "
                "the model that is to score them."
            ) from None
        raise
    return hub_id.repo, "", listing.sizes, listing


def locate(typed: str, policy: ModelPolicy, hub: Hub, **options: Unpack[ModelOptions]) -> ModelSpec:
    """Find the model a person typed, as of `find`, and download it where need be."""
    token = options.get("token", False)

    def fetch(listing: Listing, names: Sequence[str]) -> str:
        return str(hub.fetch(listing, names, token=token))

    return fetch_model(find(typed, policy, hub, **options), hub, fetch)


def fetch_model(
    model: LocatedModel, hub: Hub, fetch: Callable[[Listing, Sequence[str]], str]
) -> ModelSpec:
    """What can be loaded. fetch: gives the folder of a repository's files, as of `Hub.fetch`."""

    def with_folder(part: LocatedModel) -> ModelSpec:
        if part.listing is None:
            return part.spec
        return replace(part.spec, folder=fetch(part.listing, [*part.sizes]))

    parts = (model, model.reference, model.tokenizer)
    repos = [each.listing.hub_id.repo for each in parts if each and each.listing]
    with hub.quota.pinned(repos):
        return replace(
            with_folder(model),
            reference=with_folder(model.reference) if model.reference else None,
            tokenizer=with_folder(model.tokenizer) if model.tokenizer else None,
        )
