"""How several labels of a classifier are one reward."""

from scoring.errors import KnownError
from scoring.spec import ModelSpec


def label_weights(spec: ModelSpec, n_labels: int) -> tuple[tuple[float, ...], str]:
    """What each label weighs in the reward, and that in words.

    Raises:
        KnownError: there are several labels and no reading, or it does not fit them.
    """
    reading = spec.reading
    if reading is None:
        if n_labels != 1:
            raise KnownError(
                f"{spec.name} has {n_labels} labels, and which of them is the reward is not "
                "known: declare one (--label INDEX) or a weight for each (--label-weights W,W,…)."
            )
        return (1.0,), "its one label"
    if isinstance(reading, int):
        if not 0 <= reading < n_labels:
            raise KnownError(
                f"{spec.name} has {n_labels} labels; there is no label {reading} "
                f"(0 to {n_labels - 1} are allowed)."
            )
        weights = tuple(float(label == reading) for label in range(n_labels))
        return weights, f"label {reading} of {n_labels}"
    if len(reading) != n_labels:
        raise KnownError(
            f"{spec.name} has {n_labels} labels, and {len(reading)} weights were given."
        )
    return reading, f"labels weighted {', '.join(f'{weight:g}' for weight in reading)}"
