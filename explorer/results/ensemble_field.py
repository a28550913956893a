"""An ensemble as one more model of a field, so that its failures are read as any model's are."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from explorer.results.ensembles import LEAST_MEMBERS, WAYS, Way, ensemble, normalised_together
from explorer.results.field import Field

_JOINT = " + "


def ensemble_name(members: Sequence[str], way: Way) -> str:
    """What an ensemble is called among models; `with_ensemble` knows it by its name.

    >>> ensemble_name(["org/a", "b"], "worst")
    'worst: org/a + b'
    """
    return f"{way}: {_JOINT.join(members)}"


def members_of(name: object) -> tuple[Way, tuple[str, ...]] | None:
    """How an ensemble joins which models, by its name; None where the name is of none.

    >>> members_of("worst: org/a + b"), members_of("org/a")
    (('worst', ('org/a', 'b')), None)
    """
    if not isinstance(name, str):
        return None
    written, _, rest = name.partition(": ")
    way = next((each for each in WAYS if each == written), None)
    members = tuple(dict.fromkeys(rest.split(_JOINT)))
    return (way, members) if way is not None and len(members) >= LEAST_MEMBERS else None


def with_ensemble(field: Field, name: str, way: Way, members: Sequence[str]) -> Field:
    """The field with an ensemble of its models, under that name.

    Raises:
        KnownError: a member is not there or has no rewards.
    """
    matrix, places = field.matrix, [field.place(member) for member in members]
    models = normalised_together(matrix.chosen[places], matrix.rejected[places], None)
    joined = ensemble(models, range(len(places)), way)
    held = matrix.held[places].any(axis=0)
    grown = replace(
        matrix,
        models=(*matrix.models, name),
        model_types=(*matrix.model_types, "Ensemble"),
        files=(*matrix.files, ""),
        how=(*matrix.how, "position"),
        outcomes=_stacked(matrix.outcomes, joined.outcomes),
        chosen=_stacked(matrix.chosen, joined.chosen),
        rejected=_stacked(matrix.rejected, joined.rejected),
        held=np.vstack([matrix.held, held]),
        known_equal=np.vstack([matrix.known_equal, joined.chosen == joined.rejected]),
    )
    return replace(field, matrix=grown, key=(*field.key, name), own=field.own | {name})


def _stacked(of_all: NDArray[np.float32], added: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.vstack([of_all, added.astype(np.float32)])
