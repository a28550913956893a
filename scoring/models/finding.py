"""From what a person typed to a model, where its owner allows it: found, then fetched."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from scoring.errors import KnownError, shown
from scoring.hub.access import Hub, HubId, Listing, NotThere, parse_hub_id
from scoring.hub.search import without_address
from scoring.limits import MEGABYTE
from scoring.models.catalogue import CATALOGUE
from scoring.models.files import (
    WEIGHT_FILES,
    Config,
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
        """
        Raises:
            KnownError: the model is not listed.

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
        """
        Raises:
            KnownError: the server is not listed.
        """
        if self.servers is not None and url.rstrip("/") not in self.servers:
            raise KnownError(
                f"{shown(url)} is not among the servers that may be asked from here. Whoever runs "
                "this app lists them in EXPLORER_SERVERS; else choose a model that runs here."
            )


MOST_CONFIG_BYTES = MEGABYTE


@dataclass(frozen=True, slots=True)
class Found:
    """A model that can be loaded or asked, of which nothing but its config was fetched.

    spec: its folder is "" where files are still to be fetched.
    why: in one sentence, what its family was taken from.
    config: None for a baseline or a server's model.
    sizes: the files that loading needs -> bytes.
    listing: of its repository on the Hub; None for what lies in a folder of this machine.
    reference: what a DPO policy is compared with.
    tokenizer: that is taken in the place of its own.
    """

    spec: ModelSpec
    why: str
    config: Config | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    listing: Listing | None = None
    reference: "Found | None" = None
    tokenizer: "Found | None" = None

    @property
    def parts(self) -> list["Found"]:
        """All that is fetched: itself, then its reference and its tokenizer where it has them."""
        return [each for each in (self, self.reference, self.tokenizer) if each is not None]

    @property
    def repos(self) -> list[str]:
        """On the Hub, of all its parts."""
        listings = [each.listing for each in self.parts]
        return [listing.hub_id.repo for listing in listings if listing is not None]

    @property
    def missing(self) -> list[str]:
        """Its files that are still to be fetched."""
        return self.listing.missing([*self.sizes]) if self.listing else []


class Asked(TypedDict, total=False):
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
) -> Found:
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
        return _asked(typed, family, url, reading)
    family, reference, why = _as_known(typed, family, reference)
    found = _found(
        *(typed, policy, hub),
        token=token,
        family=family,
        reading=reading,
        has_tokenizer=not tokenizer,
    )
    if reference and found.spec.family != "dpo":
        raise KnownError(
            f"A reference model is of family dpo; {found.spec.family} has no use for one."
        )
    if reading is not None and found.spec.family != "classifier":
        raise KnownError(f"Labels are read of classifiers; family {found.spec.family} has none.")
    beside = None
    if reference:
        beside = _found(reference, policy, hub, token=token, family="dpo", reading=None)
    apart = _tokenizer(tokenizer, policy, hub, token=token) if tokenizer else None
    return replace(found, why=found.why or why, reference=beside, tokenizer=apart)


def _baseline(baseline: Family, typed: str, family: Family | None, *, more: bool) -> Found:
    """more: something was given that only models have."""
    if typed != baseline or more:
        raise KnownError(
            f"The baseline {baseline} has no model: give {baseline} for the model, and no "
            "reference, tokenizer, server or label."
        )
    if family not in (None, baseline):
        raise KnownError(f"{baseline} is a baseline, and no model of family {family}.")
    spec = ModelSpec(f"baseline/{baseline}", "", "", baseline)
    return Found(spec, "A baseline has no model: it is a rule.")


def _as_known(typed: str, family: Family | None, reference: str) -> tuple[Family | None, str, str]:
    """Family, reference and why, filled in from the catalogue where they were not given."""
    hub_id = parse_hub_id(typed)
    known = CATALOGUE.get(hub_id.repo) if hub_id else None
    why = "The family was chosen." if family else ""
    if family is None:
        why = (
            "A reference model was given, which only DPO policies have."
            if reference
            else f"It is listed here as one of family {known.family}."
            if known
            else ""
        )
        family = "dpo" if reference else known.family if known else None
    if family == "dpo":
        reference = reference or (known.reference if known else "")
        if not reference:
            raise KnownError(
                f"{typed[:200]} is a DPO policy, which is compared with the model it was trained "
                "from: give that (--ref-model), or family logprob-sum or logprob-mean to score "
                "without one."
            )
    return family, reference, why


def _asked(typed: str, family: Family | None, url: str, reading: LabelWeights | None) -> Found:
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
    return Found(spec, "The family was chosen; a server runs the model.")


def _found(
    typed: str,
    policy: ModelPolicy,
    hub: Hub,
    *,
    token: str | Literal[False],
    family: Family | None,
    reading: LabelWeights | None,
    has_tokenizer: bool = True,
) -> Found:
    """has_tokenizer: whether its own tokenizer is needed."""
    trusted = typed in policy.own_code
    place = _place(typed, policy)
    if not isinstance(place, HubId):
        name, folder = place
        return _in_folder(
            name, folder, family, reading, trusted=trusted, has_tokenizer=has_tokenizer
        )
    hub_id = place
    listing = _listing(hub_id, hub, token)
    if "config.json" not in listing.sizes:
        if "model_index.json" in listing.sizes:
            raise _diffusion(hub_id.repo)
        raise KnownError(
            f"{hub_id.repo} is not a transformers model: it has no config.json. Choose another."
        )
    if listing.sizes["config.json"] > MOST_CONFIG_BYTES:
        raise KnownError(
            f"The config.json of {hub_id.repo} is {listing.sizes['config.json'] / MEGABYTE:.1f} MB "
            f"large; at most {MOST_CONFIG_BYTES / MEGABYTE:g} MB are read, and those of models are "
            "far smaller."
        )
    names = wanted_files(listing.sizes, own_code=trusted)
    sizes = {name: listing.sizes[name] for name in names}
    n_bytes = sum(sizes.values())
    if policy.max_gigabytes is not None and n_bytes > policy.max_gigabytes * 1e9:
        raise KnownError(
            f"{hub_id.repo} is {n_bytes / 1e9:.1f} GB large; "
            f"at most {policy.max_gigabytes:g} GB are allowed here."
        )
    path = hub.fetch(listing, ["config.json"], token=token) / "config.json"
    config = read_config(path, hub_id.repo, family, reading, trusted=trusted)
    if not weight_files(names):
        raise KnownError(f"{hub_id.repo} has no weights: no {' or '.join(WEIGHT_FILES)}.")
    if has_tokenizer:
        check_tokenizer(names, hub_id.repo)
    spec = ModelSpec(
        hub_id.repo, "", listing.commit, config.family, reading, own_code=config.own_code
    )
    return Found(spec, config.why, config, sizes, listing)


def _place(typed: str, policy: ModelPolicy) -> tuple[str, Path] | HubId:
    """Where a model lies that a person typed: a folder and its name, or on the Hub."""
    if typed in DEMO_NAMES and policy.demo is not None:
        return DEMO_NAME, policy.demo
    hub_id = parse_hub_id(typed)
    looks_local = typed.startswith(("/", ".", "~", "\\")) or hub_id is None
    if policy.local_folders and (looks_local or is_folder(typed_path(typed))):
        return typed, typed_path(typed)
    if looks_local or hub_id is None or hub_id.split:
        allowed = "a Hub id such as org/name, or demo"
        if policy.local_folders:
            allowed = f"a folder, {allowed}"
        raise KnownError(f"{typed[:200]!r} is not a model that can be used here: give {allowed}.")
    return hub_id


def _tokenizer(typed: str, policy: ModelPolicy, hub: Hub, *, token: str | Literal[False]) -> Found:
    """A tokenizer alone, of a model or of nothing else."""
    place = _place(typed, policy)
    if not isinstance(place, HubId):
        name, folder = place
        if not is_folder(folder):
            raise _nowhere(name, "tokenizer")
        check_tokenizer((path.name for path in folder.iterdir()), name)
        return Found(ModelSpec(name, str(folder), folder_digest(folder)), "")
    listing = _listing(place, hub, token)
    names = [name for name in wanted_files(listing.sizes) if not weight_files([name])]
    check_tokenizer(names, place.repo)
    sizes = {name: listing.sizes[name] for name in names}
    megabytes = sum(sizes.values()) / 1e6
    if megabytes > MOST_TOKENIZER_MEGABYTES:
        raise KnownError(
            f"The tokenizer of {place.repo} is {megabytes:.0f} MB large; at most "
            f"{MOST_TOKENIZER_MEGABYTES} MB are fetched for one."
        )
    return Found(ModelSpec(place.repo, "", listing.commit), "", None, sizes, listing)


def _nowhere(name: str, what: str) -> KnownError:
    return KnownError(f"There is no {what} {name[:200]!r}: it is neither a folder nor a Hub id.")


def _listing(hub_id: HubId, hub: Hub, token: str | Literal[False]) -> Listing:
    try:
        return hub.look(hub_id, "model", token=token)
    except NotThere:
        with suppress(NotThere):
            hub.look(HubId(hub_id.repo), "dataset", token=token)
            raise KnownError(
                f"{hub_id.repo} is a dataset, and no model. Its pairs are chosen elsewhere; give "
                "the model that is to score them."
            ) from None
        raise


def _diffusion(name: str) -> KnownError:
    return KnownError(
        f"{name} is a diffusion pipeline, which makes pictures: it has a model_index.json and "
        "no config.json. Choose a model that gives rewards for text."
    )


def _in_folder(
    name: str,
    folder: Path,
    family: Family | None,
    reading: LabelWeights | None,
    *,
    trusted: bool,
    has_tokenizer: bool,
) -> Found:
    if not is_folder(folder):
        raise _nowhere(name, "model")
    path = folder / "config.json"
    if not path.exists() and (folder / "model_index.json").exists():
        raise _diffusion(name)
    config = read_config(path, name, family, reading, trusted=trusted)
    files = {each.name: each.stat().st_size for each in folder.iterdir() if each.is_file()}
    if not weight_files(files):
        raise KnownError(f"The folder {name} has no weights: no {' or '.join(WEIGHT_FILES)}.")
    if has_tokenizer:
        check_tokenizer(files, name)
    sizes = {each: files[each] for each in wanted_files(files, own_code=trusted)}
    spec = ModelSpec(
        name, str(folder), folder_digest(folder), config.family, reading, own_code=config.own_code
    )
    return Found(spec, config.why, config, sizes)


def locate(typed: str, policy: ModelPolicy, hub: Hub, **asked: Unpack[Asked]) -> ModelSpec:
    """Find the model a person typed, as of `find`, and download it where need be."""
    found = find(typed, policy, hub, **asked)
    token = asked.get("token", False)
    with hub.room.staying(found.repos):
        return with_folders(found, [_fetched(each, hub, token) for each in found.parts])


def _fetched(found: Found, hub: Hub, token: str | Literal[False]) -> str:
    if found.listing is None:
        return found.spec.folder
    return str(hub.fetch(found.listing, [*found.sizes], token=token))


def with_folders(found: Found, folders: list[str]) -> ModelSpec:
    """What can be loaded. folders: of its parts."""
    specs = iter(
        each.spec
        if each.listing is None
        else replace(each.spec, folder=folder, revision=each.listing.commit)
        for each, folder in zip(found.parts, folders, strict=True)
    )
    return replace(
        next(specs),
        reference=next(specs) if found.reference else None,
        tokenizer=next(specs) if found.tokenizer else None,
    )
