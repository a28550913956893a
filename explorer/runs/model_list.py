"""Well-known reward models, to choose from: scoring/models/catalogue.toml."""

import re
from dataclasses import dataclass
from functools import cache

from explorer.core.settings import Settings
from explorer.data.search import resolve_name
from scoring.hub.access import Hub
from scoring.hub.cache import is_cached
from scoring.models.catalogue import KnownModel, board_models, catalogue, known_models
from scoring.models.files import BYTES
from scoring.models.finding import DEMO_NAME
from scoring.paths import is_folder, typed_path
from scoring.spec import BASELINES, Family


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One well-known reward model.

    id: on the Hub.
    billions: parameters in 10^9, as its name or its authors round them.
    board: None where the board has no configuration of it.
    why_not: in one sentence, why it cannot run here; "" where it can.
    """

    id: str
    family: Family
    billions: float
    board: KnownModel | None = None
    why_not: str = ""

    @property
    def reference(self) -> str:
        """The Hub id of what a DPO policy is compared with; "" for others."""
        return known_models()[self.id].reference

    def memory_bytes(self, dtype: str = "bfloat16") -> int:
        """About what its weights take in memory, a reference of the same size included."""
        return int(self.billions * 1e9 * BYTES[dtype]) * (2 if self.reference else 1)


@cache
def model_list() -> tuple[ModelEntry, ...]:
    """All of them: those that can run here by name, then the others.

    >>> model_list()[0].why_not, bool(model_list()[-1].why_not)
    ('', True)
    """
    values, board = catalogue(), board_models()
    return tuple(
        ModelEntry(
            model["id"],
            model["family"],
            model["billions"],
            board.get(model["id"]),
            values["reasons"][model["needs"]] if "needs" in model else "",
        )
        for model in values["models"]
    )


def entry_of(name: object) -> ModelEntry | None:
    """The model of that Hub id, a revision behind it aside; None where it is not listed.

    >>> entry_of("HuggingFaceH4/zephyr-7b-beta@main").reference
    'HuggingFaceH4/mistral-7b-sft-beta'
    """
    if not isinstance(name, str):
        return None
    repo = name.strip().partition("@")[0]
    return next((entry for entry in model_list() if entry.id == repo), None)


def offered_names(settings: Settings) -> list[str]:
    """The models that are offered by name: what the owner allows, or all known."""
    others = settings.models or (*BASELINES, *(entry.id for entry in model_list()))
    return list(dict.fromkeys((DEMO_NAME, *others)))


def resolve_model(typed: str, settings: Settings) -> str:
    """The model that is offered and has what was typed as a part of its name, if it is one.

    What is a Hub id or a folder stays as typed.

    Raises:
        KnownError: several have.
    """
    name = typed.strip()
    is_local = settings.model_policy.local_folders and is_folder(typed_path(name))
    if is_local or any(sign in name for sign in "/\\@~"):
        return typed
    return resolve_name(name, offered_names(settings))


def base_licence(name: str) -> tuple[str, str]:
    """The model that one of that Hub id is built from by its name, and that one's licence.

    Both are "" where the name does not tell.

    >>> base_licence("someone/RM-Gemma-2B")
    ('Gemma', 'Gemma Terms of Use')
    """
    lowered = name.casefold()
    for licence in catalogue()["licences"]:
        if any(part in lowered for part in licence["parts"]):
            return licence["base"], licence["licence"]
    return "", ""


def licence_note(name: str) -> str:
    """A model's own licence, and what binds it by what its name says it is built from; else ""."""
    base, licence = base_licence(name)
    own = known_models()[name].licence if name in known_models() else ""
    notes = [f"{own} by its card"] if own else []
    return "; ".join([*notes, *([f"Built from {base} by its name: {licence}"] if base else [])])


# "1_8b" is a size, but "Llama_3_8B" ends in one of 8.
_SIZE = re.compile(
    r"(?:(?<![\w.])[01]_[0-9]{1,3}|(?:(?<![\w.])|(?<=_))[0-9]{1,4}(?:\.[0-9]{1,3})?)([bBmM])"
    r"(?![A-Za-z0-9])",
    re.ASCII,
)

# Archangel's models are called pythia2-8b and llama13b.
_AFTER_FAMILY = re.compile(r"(?:pythia|llama)([0-9]{1,3})(?:-([0-9]))?b(?![A-Za-z0-9])", re.ASCII)


def size_of(model: str) -> float | None:
    """Parameters in 10^9, where the model's name states one size.

    >>> [size_of(name) for name in ("a/RM-13B-v2", "a/internlm2-1_8b-reward", "a/rm-435M")]
    [13.0, 1.8, 0.435]
    >>> size_of("a/archangel_sft-kto_pythia2-8b"), size_of("a/archangel_sft_llama30b")
    (2.8, 30.0)
    >>> [size_of(name) for name in ("70b/rm", "a/Mixtral-8x7B", "a/ppo-13b-uf-70b-rm")]
    [None, None, None]
    """
    name = model.partition("/")[2] or model
    after_family = _AFTER_FAMILY.search(name)
    if after_family:
        return float(f"{after_family[1]}.{after_family[2] or 0}")
    found = {
        float(match[0][:-1].replace("_", ".")) * (0.001 if match[1] in "mM" else 1)
        for match in _SIZE.finditer(name)
    }
    return round(found.pop(), 6) if len(found) == 1 else None


def offered_models(settings: Settings, hub: Hub) -> list[tuple[str, str]]:
    """(words, name) of each of `offered_names`, what can run first.

    Without a network it is said which are not on this machine.
    """
    first = [("Demo model (bundled, tiny)", DEMO_NAME)]
    if settings.models:
        return [*first, *((name, name) for name in settings.models if name != DEMO_NAME)]
    words = {"random": "random", "longer": "the longer response", "shorter": "the shorter response"}
    rules = [(f"Baseline: {words[name]}", name) for name in BASELINES]
    away = {each.id for each in model_list() if hub.reason and not is_cached(each.id)}

    def place(each: ModelEntry) -> tuple[object, ...]:
        why_not, is_away = bool(each.why_not), each.id in away
        return why_not, is_away, each.family != "classifier", each.billions, each.id

    known = sorted(model_list(), key=place)
    models = [(_words(entry, is_away=entry.id in away), entry.id) for entry in known]
    return [*first, *rules, *models]


def _words(entry: ModelEntry, *, is_away: bool) -> str:
    size = f"{entry.billions:g}"
    if entry.why_not:
        return f"{entry.id} · {size}B · cannot run here"
    if is_away:
        return f"{entry.id} · {size}B · not on this machine"
    return f"{entry.id} · {size}B · {entry.family}"
