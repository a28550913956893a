"""The public endpoints on single pairs: what models fail, how two differ, what is hard."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.api.fail_json import compare_json, failures_json, hardest_json, pair_json
from explorer.core.parts import guarded
from explorer.results.field import Field
from explorer.results.fields import Fields


@dataclass(frozen=True)
class PairEndpoints:
    """What can be asked without a browser, of public results alone: nobody's own runs or files.

    Where results of each pair were not read yet on this server, they are read first, which can take
    minutes. Types are checked by `explorer.api.fail_json`: Gradio does not.
    """

    fields: Fields

    @guarded
    def failures(self, model: str, subset: str | None = None, limit: int = 100) -> dict[str, Any]:
        """The pairs that a model loses or ties on RewardBench, the worst margin first.

        Where its rewards are not known, the most surprising come first: those that most others win.

        Args:
            model: as /leaderboard names it.
            subset: only of this one, such as "hep-go"; null for all.
            limit: pairs at most, 1 to 3000.

        Returns:
            {"rows": a list of {"key": of the pair, "subset", "outcome": "loss" or "tie",
            "margin": chosen reward minus rejected reward, null where not known, "difficulty":
            the share of the other models that fail the pair, 0 to 1; null where there is none}}.
        """
        return failures_json(self._read(), model, subset, limit)

    @guarded
    def compare(self, model_a: str, model_b: str) -> dict[str, Any]:
        """How two models differ on the pairs of RewardBench that both have results of.

        Args:
            model_a: as /leaderboard names it.
            model_b: the other.

        Returns:
            {"both", "only_a", "only_b", "neither": how many pairs both win, only one, or neither,
            each counted once, "score_a", "score_b": by RewardBench's weights over these pairs,
            0 to 1, "p_value": of the two scores being equal, a paired test by the same weights,
            two-sided and not corrected for several tests, "sections": {name: the same seven}}. In
            the four counts a tie is no win; in the scores and their test it counts half a win for
            judges and nothing for others. Where no pair counts in RewardBench's score, all weigh
            alike.
        """
        return compare_json(self._read(), model_a, model_b)

    @guarded
    def pair(self, key: str) -> dict[str, Any]:
        """One pair with its texts, and what every model made of it.

        Args:
            key: the subset and the id, as "hep-rust:4348".

        Returns:
            {"key", "prompt": a conversation as its transcript, "chosen", "rejected", "subset",
            "section", "models": {"chosen": who wrote it, "rejected"}, "source": {"name", "split",
            "revision"}, "outcomes": a list of {"model", "outcome": "win", "loss" or "tie",
            "chosen_reward", "rejected_reward"}}. What is not known is null.
        """
        fields = self._read()
        return pair_json(fields, self.fields.tables.shelf.all()[::-1], key)

    @guarded
    def hardest(self, limit: int = 50) -> dict[str, Any]:
        """The pairs of RewardBench that the most models fail, the hardest first.

        Args:
            limit: pairs at most, 1 to 3000.

        Returns:
            {"rows": a list of {"key": of the pair, "subset", "failed": models that do not win it,
            "known": models with a result, "difficulty": failed / known, "item_rest": how far
            models that win it do better on the other pairs of its subset, a correlation, below 0
            where better models fail it more often, which a wrong label causes, too; null where
            not known}}.
        """
        return hardest_json(self._read(), limit)

    def _read(self) -> Sequence[Field]:
        """The public results, read where they were not."""
        if self.fields.unread(None):
            for _ in self.fields.reading(None):
                pass
        return self.fields.published()


def publish_pairs(endpoints: PairEndpoints) -> None:
    """Make the endpoints part of the page that is being built."""
    for name in ("failures", "compare", "pair", "hardest"):
        gr.api(getattr(endpoints, name), api_name=name, concurrency_limit=1, concurrency_id="pairs")
