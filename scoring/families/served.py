"""A reward model behind a running vLLM server, which applies its own chat template.

Written against the protocol that vLLM documents (POST /classify and POST /pooling, both with
`messages`) and tested against a small server of our own, not against a real vLLM.
"""

import logging
import math
from collections.abc import Sequence
from typing import Any

from scoring.engine.formatting import Conversation, Prepared, conversations
from scoring.engine.scorer import Rewards, Scorer
from scoring.errors import KnownError
from scoring.families import label_weights
from scoring.families.server import PATIENCE, Patience, RequestFailed, Server
from scoring.spec import Message, ModelSpec, RunSettings, as_objects

logger = logging.getLogger(__name__)

PROBE = (Message("user", "What is 2 + 2?"), Message("assistant", "It is 4."))
"""Scored when a server is connected to, to learn how it answers."""
SWITCHES = ("use_activation", "activation", "softmax")
"""What the switch of the sigmoid or softmax over the labels is called, newest vLLM first."""


_ROUTES: dict[str, tuple[str, dict[str, Any]]] = {
    "/classify": ("probs", {}),
    # Which would else give a reward for each token.
    "/pooling": ("data", {"task": "classify"}),
}
"""Path -> the field of the answer's data with the labels, and what a request says besides."""


class Served(Scorer):
    """Family served: one request a conversation; the server batches them.

    The server cuts nothing: what is longer than it allows is refused, and its pair is missing.
    """

    def __init__(
        self, spec: ModelSpec, settings: RunSettings, patience: Patience = PATIENCE
    ) -> None:
        """
        Raises:
            KnownError: the server cannot be reached, runs no reward model of this name, or gives
                several labels of which no reading is declared.
        """
        self.spec = spec
        root = spec.url.rstrip("/").removesuffix("/v1")
        self._server = Server(root, settings.parallel, patience)
        self._route = ""
        n_labels = len(self._find_route())
        switch = self._find_switch()
        self._switch = switch or SWITCHES[0]
        self._weights, reading = label_weights(spec, n_labels)
        if switch is None:
            logger.warning(
                "%s gives values from 0 to 1, and its server has no switch for that: large rewards "
                "may be equal",
                spec.name,
            )
            reading += ", maybe after a sigmoid or softmax"
        else:
            reading += f", raw ({switch} off)"
        reading += f", from POST {self._route}"
        self._traits = self._server.traits(reading, "the server's own")

    def error_counts(self) -> list[str]:
        """As of `Scorer`."""
        return self._server.errors.sentences()

    def rewards(self, pack: Sequence[Prepared]) -> Rewards:
        """The reward of each conversation; NaN where there is none.

        Raises:
            KnownError: the server cannot be reached, or refuses everything.
        """
        given = [tuple(each) for each in conversations([prepared.pair for prepared in pack])]
        distinct = list(dict.fromkeys(given))
        found = dict(zip(distinct, self._server.each(self._reward, distinct), strict=True))
        rewards = [found[conversation] for conversation in given]
        sides = [math.nan if reward is None else reward for reward in rewards]
        return list(zip(sides[::2], sides[1::2], strict=True))

    def _reward(self, conversation: Conversation) -> float:
        labels = self._labels(conversation, {self._switch: False})
        if len(labels) != len(self._weights):
            raise RequestFailed(f"its answer has {len(labels)} labels, not {len(self._weights)}")
        return sum(weight * label for weight, label in zip(self._weights, labels, strict=True))

    def _find_route(self) -> tuple[float, ...]:
        """Choose the first route that is answered, and return its labels of the probe."""
        tried = []
        for self._route in _ROUTES:
            try:
                return self._labels(PROBE, {SWITCHES[0]: False})
            except RequestFailed as failure:
                if failure.refuses_all and failure.status not in (404, 405):
                    raise self._server.hopeless(failure) from failure
                tried.append(f"to POST {self._route} with messages, {failure}")
        raise KnownError(
            f"The server at {self._server.url} gives no rewards under the model name "
            f"{self.spec.name}: {'; '.join(tried)}. Start it with vllm serve MODEL --runner "
            "pooling --convert classify, and give the name that it serves the model under."
        )

    def _find_switch(self) -> str | None:
        """The name that switches the activation off; None where no name makes a difference.

        A server ignores names that it does not know. So a name is believed where values show that
        nothing was applied, by lying outside of 0 to 1, or where off and on differ.
        """
        for name in SWITCHES:
            try:
                off = self._labels(PROBE, {name: False})
                if not all(0 <= label <= 1 for label in off):
                    return name
                on = self._labels(PROBE, {name: True})
            except RequestFailed:
                continue
            if any(not math.isclose(*both, rel_tol=1e-3) for both in zip(off, on, strict=False)):
                return name
        return None

    def _labels(self, conversation: Conversation, switch: dict[str, bool]) -> tuple[float, ...]:
        field, more = _ROUTES[self._route]
        body = {
            "model": self.spec.name,
            "messages": as_objects(conversation),
            "add_generation_prompt": False,
            **more,
            **switch,
        }
        labels = self._server.post(self._route, body, lambda it: _numbers(it["data"][0][field]))
        if labels is None:
            raise KnownError(
                f"The server at {self._server.url} gives a reward for each token, not one for a "
                f"conversation, as a reward model should; serve {self.spec.name} as a sequence "
                "classifier (vllm serve MODEL --runner pooling --convert classify)."
            )
        return labels


def _numbers(found: Any) -> tuple[float, ...] | None:
    """One number a label; None where there is a list for each token."""
    if not isinstance(found, list) or not found:
        raise TypeError("labels come as a list")
    if any(isinstance(each, list) for each in found):
        return None
    return tuple(float(each) for each in found)
