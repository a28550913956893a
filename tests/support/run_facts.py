"""What the numbers of a made-up run rest on."""

from scoring.spec import RunFacts

MADE_UP = RunFacts(
    model="org/model",
    revision="abc",
    family="classifier",
    device="cpu",
    dtype="float32",
    max_length=4096,
    truncation_side="left",
    template="own:123",
    pairs="mine@123",
    n_pairs=3,
    seed=0,
)
