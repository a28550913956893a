"""Rewards of one model: margins, calibration, and both sides' rewards."""

from dataclasses import dataclass
from typing import Any, ClassVar

import gradio as gr

from explorer.core.html import note
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.stats.margins import calibration, margin_histogram, reward_histogram
from explorer.tabs.pairs.fail_state import FailScene
from explorer.tabs.pairs.rewards import calibration_figure, margins_figure, rewards_figure


@dataclass(frozen=True)
class RewardsView:
    """The panel's components."""

    N: ClassVar[int] = 4

    words: gr.HTML
    margins: gr.Plot
    calibration: gr.Plot
    rewards: gr.Plot

    @property
    def outputs(self) -> list[gr.components.Component]:
        """The components that `rewards_shown` fills."""
        return [self.words, self.margins, self.calibration, self.rewards]

    @classmethod
    def unchanged(cls) -> list[Any]:
        """Values that leave the panel as it is."""
        return [gr.skip()] * cls.N


def build_rewards() -> RewardsView:
    """Lay the panel out where it is called."""
    words = gr.HTML()
    plots = [gr.Plot(show_label=False, container=True, visible=False) for _ in range(3)]
    return RewardsView(words, *plots)


def rewards_shown(now: FailScene) -> list[Any]:
    """The panel of a scene: of the pairs that pass the filters and slices, whatever their kind."""
    view, field = now.view, now.field
    if not view.model or not field.has_rewards(view.model):
        words = note(text("fails.rewards_model" if not view.model else "fails.rewards_missing"))
        return [words, *[gr.update(visible=False)] * 3]
    place, rows = field.place(view.model), now.passing
    sides = field.matrix.chosen[place][rows], field.matrix.rejected[place][rows]
    spread, sure = margin_histogram(*sides), calibration(*sides)
    if sure.error is None:
        return [note(text("fails.rewards_missing")), *[gr.update(visible=False)] * 3]
    words = text(
        "fails.rewards_about", n=f"{sure.n:,}", wins=f"{spread.wins:,}",
        losses=f"{spread.losses:,}", ties=f"{spread.ties:,}", error=f"{100 * sure.error:.1f}",
    )  # fmt: skip
    figures = (
        margins_figure(spread), calibration_figure(sure), rewards_figure(reward_histogram(*sides)),
    )  # fmt: skip
    drawn = [gr.update(value=painted(figure, 330), visible=True) for figure in figures]
    return [note(words), *drawn]
