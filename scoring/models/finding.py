"""What a person typed -> a model or a tokenizer, where the owner of this machine allows it.

One path: a folder or repository -> config and files -> family and head -> a `LocatedModel`, which
`fetch_model` makes ready to be loaded.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from scoring.errors import KnownError, first_line, shown
from scoring.hub.access import Hub, HubId, Listing, RepoNotFound, Token, parse_hub_id
from scoring.hub.search import without_address
from scoring.limits import MEGABYTE
from scoring.models import adapters
from scoring.models.catalogue import known_models
from scoring.models.files import (
    BYTES,
    WEIGHT_FILES,
    check_tokenizer,
    count_weights,
    find_number,
    has_tokenizer,
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
MOST_TOKENIZER_MEGABYTES = 100  # of 10^6 bytes, of one that is fetched without its model
_DIGEST_BYTES = 2**26
_GUESSED_BYTES = 2  # of a weight if neither files nor config say
_LISTED = 10  # models that a refusal names
_DTYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}


@dataclass(frozen=True, slots=True)
class ModelPolicy:
    """Models, folders and servers that the owner of this machine allows.

    A model is listed as it is typed: `org/name` stands for its default branch alone, since at
    another revision, such as that of a pull request, anybody's files can lie.

    demo: folder of the bundled model. own_code: models whose own Python may run here.
    max_gigabytes: the largest model fetched from the Hub, in 10^9 bytes; None means no limit.
    models: which may be used beside the demo and baselines; None means any.
    servers: addresses that may be asked, without a slash at their end; None means any.
    """

    demo: Path | None
    local_folders: bool = True
    max_gigabytes: float | None = None
    models: frozenset[str] | None = None
    own_code: frozenset[str] = frozenset()
    servers: frozenset[str] | None = None

    def check_model(self, typed: str) -> None:
        """Raise a `KnownError` if the model is not listed."""
        if self.models is None or typed in self.models:
            return
        if typed not in DEMO_NAMES or self.demo is None:
            listed = sorted(self.models)
            more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
            raise KnownError(
                f"{shown(typed)} is not among the models that can be used here: give "
                f"{', '.join(listed[:_LISTED])}{more}" + (", or demo." if self.demo else ".")
            )


@dataclass(frozen=True, slots=True)
class LocatedModel:
    """A model or a tokenizer that can be loaded or asked; of a model the config was fetched.

    spec: its folder is "" if files are still to be fetched.
    why: in one sentence, what its family was taken from.
    sizes: file names -> bytes, of those that loading needs; fetch_bytes are still to be downloaded.
    listing: of its repository on the Hub; None for a folder of this machine.
    tokenizer: taken in place of its own. architecture: "" for a baseline or a server's model.
    is_counted: whether parameters were counted in the files, else guessed from the files' size.
    dtype: in which most weights are stored, such as "bfloat16"; "" if nothing says.
    is_quantized: whether its weights stay packed in memory, whatever dtype is asked for.
    positions, vocabulary, width, layers: of its config; None if it does not say.
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
    def weight_bytes(self) -> int:
        """Bytes of its files of weights, on disk."""
        return sum(self.sizes[name] for name in weight_files(self.sizes))

    @property
    def all_parts(self) -> "list[LocatedModel]":
        """The model, its reference and a tokenizer from elsewhere."""
        return [part for part in (self, self.reference, self.tokenizer) if part]

    @property
    def all_fetch_bytes(self) -> int:
        """Bytes to be downloaded, of all its parts."""
        return sum(part.fetch_bytes for part in self.all_parts)

    @property
    def all_parameters(self) -> int:
        """Weights that are computed with, the reference's included."""
        return sum(part.parameters for part in self.all_parts)

    def memory_bytes(self, dtype: str) -> int:
        """Bytes of the weights in memory, the reference's included. dtype: as of `BYTES`."""
        own = self.weight_bytes if self.is_quantized else int(self.parameters * BYTES[dtype])
        return own + (self.reference.memory_bytes(dtype) if self.reference else 0)


class ModelOptions(TypedDict, total=False):
    """Options of a model besides its name.

    family: None means what the catalogue or its config says. reference: of a DPO policy, or an
        adapter's base. tokenizer: a model or a folder whose tokenizer is taken; "" for its own.
    """

    token: Token
    family: Family | None
    reference: str
    reading: LabelWeights | None
    tokenizer: str
    url: str


def find(
    typed: str, policy: ModelPolicy, hub: Hub, **options: Unpack[ModelOptions]
) -> LocatedModel:
    """Find the model a person typed, check all of it but its weights, or raise a `KnownError`.

    typed: "demo", a local folder, a Hub id `org/name[@revision]` or the address of its page; the
        name of a baseline or of a server's model, where the family or the url says so.
    """
    token, family = options.get("token", False), options.get("family")
    reference, tokenizer = options.get("reference", ""), options.get("tokenizer", "")
    reading, url = options.get("reading"), options.get("url", "")
    typed = typed.strip()
    baseline = next((name for name in BASELINES if name in (typed, family)), None)
    if baseline is not None:
        has_more = reference or url or tokenizer or reading is not None
        if has_more or {typed, family or typed} != {baseline}:
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
    for name in filter(None, (typed, reference, tokenizer)):
        policy.check_model(name)
    if url or family == "served":
        if policy.servers is not None and url.rstrip("/") not in policy.servers:
            raise KnownError(
                f"{shown(url)} is not among the servers that may be asked from here. Whoever runs "
                "this app lists them in EXPLORER_SERVERS; else choose a model that runs here."
            )
        if tokenizer:
            raise KnownError("A server has a tokenizer of its own: give none beside its model.")
        return _find_on_server(typed, family, url, reading)
    place = look_up(typed, policy, hub, token)
    options["reference"] = reference
    if adapters.is_adapter(place.sizes):
        model = _find_adapter(place, policy, hub, options)
    else:
        model = _find_full_model(place, typed, policy, hub, options)
    if reading is not None and model.spec.family != "classifier":
        raise KnownError(f"Labels are read from classifiers; family {model.spec.family} has none.")
    if tokenizer:
        place = look_up(tokenizer, policy, hub, token, "tokenizer")
        model = replace(model, tokenizer=_own_tokenizer(place))
    return model


def _find_full_model(
    place: LocatedModel, typed: str, policy: ModelPolicy, hub: Hub, options: ModelOptions
) -> LocatedModel:
    """A model with its reference, if it is a DPO policy."""
    family, reference, why = _with_catalogue(typed, options.get("family"), options["reference"])
    model = _find_model(place, policy, hub, family, options, trusted=typed in policy.own_code)
    model = replace(model, why=model.why or why)
    if not reference:
        return model
    if model.spec.family != "dpo":
        raise KnownError(
            f"A reference model is of family dpo; {model.spec.family} has no use for one."
        )
    token = options.get("token", False)
    place, trusted = look_up(reference, policy, hub, token), reference in policy.own_code
    compared = _find_model(place, policy, hub, "dpo", {"token": token}, trusted=trusted)
    return replace(model, reference=compared)


def _find_adapter(
    place: LocatedModel, policy: ModelPolicy, hub: Hub, options: ModelOptions
) -> LocatedModel:
    """An adapter with its base as the reference, whose sizes and architecture are its own."""
    name, listing = place.spec.name, place.listing
    token, typed_base = options.get("token", False), options.get("reference", "")
    if options.get("family") not in (None, "classifier"):
        raise KnownError(
            f"{name} is an adapter, which is scored as a classifier; family {options['family']} "
            "needs a whole model. Merge it into its base, and give the merged model."
        )
    weights = next(filter(place.sizes.__contains__, adapters.WEIGHTS))
    heads = filter(place.sizes.__contains__, adapters.HEADS)
    wanted = {adapters.CONFIG, weights, *heads, *tokenizer_files(place)}
    adapter = _with_files(place, wanted, wanted)
    _check_size(f"The config of {name}", [place.sizes[adapters.CONFIG]], 1, "MB")
    folder = Path(place.spec.folder)
    if listing is not None:
        if policy.max_gigabytes is not None:
            _check_size(name, adapter.sizes.values(), policy.max_gigabytes, "GB")
        folder = hub.fetch(listing, [adapters.CONFIG], token=token)
        if not typed_base:  # a stranger's config names no folder of this machine
            policy = replace(policy, local_folders=False, demo=None)
    base = typed_base or adapters.read_adapter(folder, name).base
    try:
        if not base:
            raise KnownError(f"Its {adapters.CONFIG} names none.")
        policy.check_model(base)
        base_place = look_up(without_address(base), policy, hub, token, "base")
        found = _find_model(base_place, policy, hub, "classifier", {"token": token}, is_base=True)
    except KnownError as error:
        raise KnownError(
            f"{name} is an adapter, and its base cannot be had: {error} Give the base that it was "
            "trained on (--ref-model; on the page, Reference model)."
        ) from error
    if listing is not None and listing.missing([weights]):
        counted = listing.weights
    else:
        counted = count_weights([folder / weights])
    has_own = has_tokenizer(adapter.sizes) or options.get("tokenizer", "").strip()
    base_tokenizer = None if has_own else _own_tokenizer(base_place)
    return replace(
        found,
        spec=replace(adapter.spec, reading=options.get("reading")),
        why=f"It is a LoRA adapter of {found.spec.name}.",
        sizes=adapter.sizes,
        listing=listing,
        fetch_bytes=adapter.fetch_bytes,
        reference=found,
        tokenizer=base_tokenizer,
        parameters=sum(counted.values()),
        is_quantized=False,
    )


def _find_on_server(
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


def _find_model(
    place: LocatedModel,
    policy: ModelPolicy,
    hub: Hub,
    family: Family | None,
    options: ModelOptions,
    *,
    trusted: bool = False,
    is_base: bool = False,
) -> LocatedModel:
    """Check a model. trusted: whether its code may run. is_base: whether an adapter's base."""
    token, reading = options.get("token", False), options.get("reading")
    name, files, listing = place.spec.name, place.sizes, place.listing
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
    wanted = wanted_files(files, own_code=trusted)
    folder = Path(place.spec.folder)
    if listing is not None:
        if policy.max_gigabytes is not None:
            _check_size(name, map(files.__getitem__, wanted), policy.max_gigabytes, "GB")
        folder = hub.fetch(listing, ["config.json"], token=token)
    config, family, own_code, why = read_config(
        folder / "config.json", name, family, reading, trusted=trusted, is_base=is_base
    )
    weights = weight_files(wanted)
    if not weights:
        whole = name if listing else f"The folder {name}"
        raise KnownError(f"{whole} has no weights: no {' or '.join(WEIGHT_FILES)}.")
    if not is_base and not options.get("tokenizer", "").strip():
        check_tokenizer(wanted if listing else files, name)
    if listing is not None and listing.missing(weights):
        counted = listing.weights
    else:
        counted = count_weights(folder / each for each in weights)
    model = _with_config(_with_files(place, wanted, files), config, counted)
    spec = replace(model.spec, family=family, reading=reading, own_code=own_code)
    return replace(model, spec=spec, why=why)


def _with_config(
    model: LocatedModel, config: Mapping[str, Any], weights: Mapping[str, int]
) -> LocatedModel:
    # weights: dtype -> numbers, as counted; empty if nobody did.
    stored = config.get("dtype") or config.get("torch_dtype")
    named = stored.removeprefix("torch.") if isinstance(stored, str) else ""
    most = max(weights, key=weights.__getitem__, default="")
    dtype, parameters = _DTYPES.get(most, most.lower()) or named, sum(weights.values())
    return replace(
        model,
        architecture=next(iter(architectures_of(config)), ""),
        parameters=parameters or int(model.weight_bytes / BYTES.get(dtype, _GUESSED_BYTES)),
        is_counted=parameters > 0,
        dtype=dtype,
        is_quantized=isinstance(config.get("quantization_config"), dict),
        positions=find_number(config, "max_position_embeddings", "n_positions"),
        vocabulary=find_number(config, "vocab_size"),
        width=find_number(config, "hidden_size", "n_embd", "d_model"),
        layers=find_number(config, "num_hidden_layers", "n_layer", "num_layers"),
    )


def tokenizer_files(place: LocatedModel) -> list[str]:
    """The files that loading needs but weights."""
    return [name for name in wanted_files(place.sizes) if not weight_files([name])]


def _own_tokenizer(place: LocatedModel) -> LocatedModel:
    return locate_tokenizer(place, tokenizer_files(place), place.sizes)


def locate_tokenizer(
    place: LocatedModel, names: Iterable[str], revised: Iterable[str]
) -> LocatedModel:
    """A tokenizer without its model, or a `KnownError`. revised: files that name its revision."""
    tokenizer = _with_files(place, names, revised)
    check_tokenizer(tokenizer.sizes, place.spec.name)
    if place.listing is not None:
        what = f"The tokenizer of {place.spec.name}"
        _check_size(what, tokenizer.sizes.values(), MOST_TOKENIZER_MEGABYTES, "MB")
    return tokenizer


def _check_size(what: str, sizes: Iterable[int], most: float, unit: Literal["GB", "MB"]) -> None:
    size = sum(sizes) / (1e9 if unit == "GB" else MEGABYTE)
    if size > most:
        raise KnownError(
            f"{what} is {size:.1f} {unit} large; at most {most:g} {unit} are allowed here."
        )


def _with_files(place: LocatedModel, names: Iterable[str], revised: Iterable[str]) -> LocatedModel:
    sizes = {name: place.sizes[name] for name in names}
    listing = place.listing
    missing = listing.missing([*sizes]) if listing else []
    revision = listing.commit if listing else _folder_digest(place, revised)
    return replace(
        place,
        spec=replace(place.spec, revision=revision),
        sizes=sizes,
        fetch_bytes=sum(sizes[name] for name in missing),
    )


def _folder_digest(place: LocatedModel, names: Iterable[str]) -> str:
    # It changes with name and content of each file, or the time of a large one.
    digest = hashlib.sha256()
    try:
        for name in sorted(names):
            path = Path(place.spec.folder, name)
            stat = path.stat()
            digest.update(f"{name}:{stat.st_size}:".encode())
            is_large = stat.st_size > _DIGEST_BYTES
            digest.update(str(stat.st_mtime_ns).encode() if is_large else path.read_bytes())
    except OSError as error:
        raise KnownError(
            f"The folder {place.spec.name[:200]} cannot be read: {first_line(error)}."
        ) from error
    return digest.hexdigest()[:12]


def local_folder(typed: str, policy: ModelPolicy) -> Path | None:
    """The folder of this machine that was typed and may be used; None for any other text."""
    if typed in DEMO_NAMES and policy.demo is not None:
        return policy.demo
    is_local = policy.local_folders and is_folder(typed_path(typed))
    return typed_path(typed) if is_local else None


def look_up(
    typed: str, policy: ModelPolicy, hub: Hub, token: Token, what: str = "model"
) -> LocatedModel:
    """Look up the files of a typed folder or repository, or raise a `KnownError`."""
    folder = local_folder(typed, policy)
    if folder is not None:
        sizes: dict[str, int] = {}
        with suppress(OSError):  # what cannot be read has no config
            sizes = {each.name: each.stat().st_size for each in folder.iterdir() if each.is_file()}
        name = DEMO_NAME if typed in DEMO_NAMES and folder == policy.demo else typed
        return LocatedModel(ModelSpec(name, str(folder), ""), sizes=sizes)
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
    return LocatedModel(ModelSpec(hub_id.repo, "", ""), sizes=listing.sizes, listing=listing)


def locate(typed: str, policy: ModelPolicy, hub: Hub, **options: Unpack[ModelOptions]) -> ModelSpec:
    """Find the model a person typed, as of `find`, and download it if need be."""
    fetch = partial(hub.fetch, token=options.get("token", False))
    return fetch_model(find(typed, policy, hub, **options), hub, fetch)


def fetch_model(
    model: LocatedModel, hub: Hub, fetch: Callable[[Listing, Sequence[str]], str | Path]
) -> ModelSpec:
    """Make a located model ready to be loaded. fetch: as of `Hub.fetch`."""

    def fetched(part: LocatedModel) -> ModelSpec:
        if part.listing is None:
            return part.spec
        return replace(part.spec, folder=str(fetch(part.listing, [*part.sizes])))

    listings = [part.listing for part in model.all_parts if part.listing]
    with hub.quota.pinned(listing.hub_id.repo for listing in listings):
        reference, tokenizer = model.reference, model.tokenizer
        return replace(
            fetched(model),
            reference=fetched(reference) if reference else None,
            tokenizer=fetched(tokenizer) if tokenizer else None,
        )
