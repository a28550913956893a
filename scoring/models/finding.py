"""What a person typed -> a model or a tokenizer, where its owner allows it.

One path: what was typed -> a `Place` (folder or repository) -> config and files -> family and head
-> a `LocatedModel`, which `fetch_model` makes ready to be loaded.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

from scoring.errors import KnownError, shown
from scoring.hub.access import Hub, HubId, Listing, RepoNotFound, first_line, parse_hub_id
from scoring.hub.search import without_address
from scoring.limits import MEGABYTE
from scoring.models.catalogue import known_models
from scoring.models.files import (
    BYTES,
    WEIGHT_FILES,
    check_tokenizer,
    counted_weights,
    find_number,
    folder_digest,
    main_dtype,
    read_config,
    wanted_files,
    weight_files,
)
from scoring.models.heads import architectures_of
from scoring.paths import is_folder, typed_path
from scoring.spec import ASKED, BASELINES, Family, LabelWeights, ModelSpec

DEMO_NAME = "demo"
DEMO_NAMES = (DEMO_NAME, "assets/demo/model")
MOST_CONFIG_BYTES = MEGABYTE
MOST_TOKENIZER_MEGABYTES = 100
"""Largest tokenizer fetched without its model, in 10^6 bytes."""
_GUESSED_BYTES = 2
"""Bytes of a weight, where neither files nor config say."""
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


@dataclass(frozen=True, slots=True)
class LocatedModel:
    """A model that can be loaded or asked, of which no more than its config was fetched.

    A tokenizer without its model is one, too; `spec` and `sizes` are all that is known of it.

    spec: its folder is "" where files are still to be fetched.
    why: in one sentence, what its family was taken from.
    sizes: the files that loading needs -> bytes.
    listing: of its repository on the Hub; None for what lies in a folder of this machine.
    fetch_bytes: to be downloaded before it can be loaded; 0 where it is here.
    reference: what a DPO policy is compared with.
    tokenizer: that is taken in the place of its own.
    architecture: of its config; "" for what has none, a baseline or a server's model.
    parameters: 0 where it has none.
    is_counted: whether they were counted in the files, else guessed from the files' size.
    dtype: in which most weights are stored, such as "bfloat16"; "" where nothing says.
    is_quantized: whether its weights stay packed in memory, whatever dtype is asked for.
    positions, vocabulary, width, layers: of its config; None where it does not say.
    """

    spec: ModelSpec
    why: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    listing: Listing | None = None
    fetch_bytes: int = 0
    reference: "LocatedModel | None" = None
    tokenizer: "LocatedModel | None" = None
    architecture: str = ""
    parameters: int = 0
    is_counted: bool = True
    dtype: str = ""
    is_quantized: bool = False
    positions: int | None = None
    vocabulary: int | None = None
    width: int | None = None
    layers: int | None = None

    @property
    def name(self) -> str:
        """As runs name it."""
        return self.spec.name

    @property
    def family(self) -> Family:
        """How it scores."""
        return self.spec.family

    @property
    def weight_bytes(self) -> int:
        """Bytes of its files of weights, on disk."""
        return sum(self.sizes[name] for name in weight_files(self.sizes))

    @property
    def all_fetch_bytes(self) -> int:
        """Bytes to be downloaded, with the reference and a tokenizer from elsewhere."""
        parts = (self.reference, self.tokenizer)
        return self.fetch_bytes + sum(part.fetch_bytes for part in parts if part)

    @property
    def all_parameters(self) -> int:
        """Weights that are computed with, the reference's included."""
        return self.parameters + (self.reference.all_parameters if self.reference else 0)

    def memory_bytes(self, dtype: str) -> int:
        """Bytes that the weights take in memory in a dtype, the reference's included.

        dtype: "float32", "bfloat16" or "float16".

        >>> LocatedModel(ModelSpec("org/a", "", ""), parameters=8_000_000).memory_bytes("bfloat16")
        16000000
        """
        own = self.weight_bytes if self.is_quantized else self.parameters * BYTES[dtype]
        return own + (self.reference.memory_bytes(dtype) if self.reference else 0)


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
        if {typed, family or typed} != {baseline} or [reference, url, tokenizer, reading] != [
            "",
            "",
            "",
            None,
        ]:
            raise KnownError(
                f"The baseline {baseline} has no model: give {baseline} for the model, no other "
                "family, and no reference, tokenizer, server or label."
            )
        spec = ModelSpec(f"baseline/{baseline}", "", "", baseline)
        return LocatedModel(spec, "A baseline has no model: it is a rule.")
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
        tokenizer=_lent_tokenizer(tokenizer, policy, hub, token) if tokenizer else None,
    )


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
    place = look_up(typed, policy, hub, token)
    name, files, listing = place.name, place.sizes, place.listing
    if "config.json" not in files and "model_index.json" in files:
        raise KnownError(
            f"{name} is a diffusion pipeline, which makes pictures: it has a model_index.json and "
            "no config.json. Choose a model that gives rewards for text."
        )
    if "config.json" not in files and listing is not None:
        raise KnownError(
            f"{name} is not a transformers model: it has no config.json. Choose another."
        )
    _check_size(f"The config.json of {name}", [files.get("config.json", 0)], 1, "MB")
    sizes = {each: files[each] for each in wanted_files(files, own_code=trusted)}
    path = Path(place.folder)
    if listing is not None:
        if policy.max_gigabytes is not None:
            _check_size(name, sizes.values(), policy.max_gigabytes, "GB")
        files, path = sizes, hub.fetch(listing, ["config.json"], token=token)
    config, family, own_code, why = read_config(
        path / "config.json", name, family, reading, trusted=trusted
    )
    if not weight_files(files):
        whole = name if listing else f"The folder {name}"
        raise KnownError(f"{whole} has no weights: no {' or '.join(WEIGHT_FILES)}.")
    if has_tokenizer:
        check_tokenizer(files, name)
    revision = place.revision(place.sizes)
    spec = ModelSpec(name, place.folder, revision, family, reading, own_code=own_code)
    return _located(place, spec, sizes, why, config)


def _lent_tokenizer(
    typed: str, policy: ModelPolicy, hub: Hub, token: str | Literal[False]
) -> LocatedModel:
    place = look_up(typed, policy, hub, token, "tokenizer")
    files = [name for name in wanted_files(place.sizes) if not weight_files([name])]
    return locate_tokenizer(place, files, place.revision(place.sizes))


def locate_tokenizer(place: "Place", files: Iterable[str], revision: str) -> LocatedModel:
    """A tokenizer without its model. files: that it needs. revision: to name it by.

    Raises:
        KnownError: there is none, or too large a one.
    """
    sizes = {name: place.sizes[name] for name in files}
    check_tokenizer(sizes, place.name)
    if place.listing is not None:
        what = f"The tokenizer of {place.name}"
        _check_size(what, sizes.values(), MOST_TOKENIZER_MEGABYTES, "MB")
    return _located(place, ModelSpec(place.name, place.folder, revision), sizes)


def _check_size(what: str, sizes: Iterable[int], most: float, unit: Literal["GB", "MB"]) -> None:
    size = sum(sizes) / (1e9 if unit == "GB" else MEGABYTE)
    if size > most:
        raise KnownError(
            f"{what} is {size:.1f} {unit} large; at most {most:g} {unit} are allowed here."
        )


def _located(
    place: "Place",
    spec: ModelSpec,
    sizes: dict[str, int],
    why: str = "",
    config: Mapping[str, Any] | None = None,
) -> LocatedModel:
    """config: what it holds; None for a tokenizer, of which no size but its files' is known."""
    listing, folder = place.listing, Path(place.folder)
    missing = listing.missing([*sizes]) if listing else []
    located = LocatedModel(spec, why, sizes, listing, sum(sizes[name] for name in missing))
    if config is None:
        return located
    # As the files say where they are here, else as the Hub says.
    files = weight_files(sizes)
    if listing is not None and not {*missing}.isdisjoint(files):
        weights = listing.weights
    else:
        weights = counted_weights((listing.folder if listing else folder) / name for name in files)
    stored = config.get("dtype") or config.get("torch_dtype")
    named = stored.removeprefix("torch.") if isinstance(stored, str) else ""
    dtype, parameters = main_dtype(weights) or named, sum(weights.values())
    return replace(
        located,
        architecture=next(iter(architectures_of(config)), ""),
        parameters=parameters or located.weight_bytes // BYTES.get(dtype, _GUESSED_BYTES),
        is_counted=parameters > 0,
        dtype=dtype,
        is_quantized=isinstance(config.get("quantization_config"), dict),
        positions=find_number(config, "max_position_embeddings", "n_positions"),
        vocabulary=find_number(config, "vocab_size"),
        width=find_number(config, "hidden_size", "n_embd", "d_model"),
        layers=find_number(config, "num_hidden_layers", "n_layer", "num_layers"),
    )


class Place(NamedTuple):
    """Where a model or a tokenizer lies.

    name: as runs name it.
    folder: on this machine; "" on the Hub.
    sizes: the names of all its files -> bytes.
    listing: of its repository on the Hub; None for a folder.
    """

    name: str
    folder: str
    sizes: dict[str, int]
    listing: Listing | None = None

    def revision(self, names: Iterable[str]) -> str:
        """The commit on the Hub, or a digest of these files in a folder."""
        if self.listing is not None:
            return self.listing.commit
        try:
            return folder_digest(Path(self.folder), names)
        except OSError as error:
            raise KnownError(
                f"The folder {self.name[:200]} cannot be read: {first_line(error)}."
            ) from error


def local_folder(typed: str, policy: ModelPolicy) -> Path | None:
    """The folder of this machine that was typed and may be used; None for any other text."""
    if typed in DEMO_NAMES and policy.demo is not None:
        return policy.demo
    is_local = policy.local_folders and is_folder(typed_path(typed))
    return typed_path(typed) if is_local else None


def look_up(
    typed: str,
    policy: ModelPolicy,
    hub: Hub,
    token: str | Literal[False],
    what: Literal["model", "tokenizer"] = "model",
) -> Place:
    """Where the model or tokenizer lies that a person typed: a folder or an id on the Hub.

    Raises:
        KnownError: it is not there, or may not be used.
    """
    folder = local_folder(typed, policy)
    if folder is not None:
        sizes: dict[str, int] = {}
        with suppress(OSError):  # what cannot be read has no config
            sizes = {each.name: each.stat().st_size for each in folder.iterdir() if each.is_file()}
        return Place(
            DEMO_NAME if typed in DEMO_NAMES and folder == policy.demo else typed,
            str(folder),
            sizes,
        )
    hub_id = parse_hub_id(typed)
    is_path = typed.startswith(("/", ".", "~", "\\")) or hub_id is None
    if is_path and policy.local_folders:
        raise KnownError(
            f"There is no {what} {typed[:200]!r}: it is neither a folder nor a Hub id."
        )
    if is_path or hub_id is None or hub_id.split:
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
    return Place(hub_id.repo, "", listing.sizes, listing)


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
