"""The Hub in a worker of a test; it imports no more than workers have."""

from huggingface_hub import constants

from scoring.hub.access import Hub


def hub_of_worker(settings: dict[str, str], state: dict[str, object]) -> Hub:
    """A Hub as it was sent, with a client of the same settings."""
    vars(constants).update(settings)
    hub = Hub()
    vars(hub).update(state)
    return hub
