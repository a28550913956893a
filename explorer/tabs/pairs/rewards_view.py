"""Rewards of one model: margins, calibration, and both sides' rewards."""

from dataclasses import dataclass

import gradio as gr

from explorer.core.html import note
from explorer.core.parts import Filling
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.reader.scene import Scene
from explorer.stats.margins import calibration, margin_histogram, reward_histogram
from explorer.tabs.pairs.rewards import calibration_figure, margins_figure, rewards_figure


@dataclass(frozen=True)
class RewardsParts:
    """The panel's components."""

    words: gr.HTML
    margins: gr.Plot
    calibration: gr.Plot
    rewards: gr.Plot


def build_rewards() -> RewardsParts:
    """Lay the panel out where it is called."""
    words = gr.HTML()
    plots = [gr.Plot(show_label=False, container=True, visible=False) for _ in range(3)]
    return RewardsParts(words, *plots)


def rewards_shown(parts: RewardsParts, now: Scene) -> Filling:
    """The panel of a scene: of the pairs that pass the filters and slices, whatever their kind."""
    state, field = now.state, now.known
    plots = (parts.margins, parts.calibration, parts.rewards)
    hidden: Filling = dict.fromkeys(plots, gr.update(visible=False))
    if not state.model or not field.has_rewards(state.model):
        words = text("fails.rewards_model" if not state.model else "fails.rewards_missing")
        return hidden | {parts.words: note(words)}
    place, rows = field.place(state.model), now.passing
    sides = field.matrix.chosen[place][rows], field.matrix.rejected[place][rows]
    spread, sure = margin_histogram(*sides), calibration(*sides)
    if sure.error is None:
        return hidden | {parts.words: note(text("fails.rewards_missing"))}
    words = text(
        "fails.rewards_about", n=f"{sure.n:,}", wins=f"{spread.wins:,}",
        losses=f"{spread.losses:,}", ties=f"{spread.ties:,}", error=f"{100 * sure.error:.1f}",
    )  # fmt: skip
    figures = (
        margins_figure(spread), calibration_figure(sure), rewards_figure(reward_histogram(*sides)),
    )  # fmt: skip
    drawn = [gr.update(value=painted(figure, 330), visible=True) for figure in figures]
    return {parts.words: note(words), **dict(zip(plots, drawn, strict=True))}
