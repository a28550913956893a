"""Figures of models whose names attack the page."""

import json
import re
from typing import Any

import numpy as np

from explorer.tabs.models.charts import Alike, Point
from explorer.tabs.models.figures import Axis, alike_figure, models_figure
from scoring.interval import Interval
from tests.support.hostile import NAMES


def words_of(value: object) -> list[str]:
    """Every text that Plotly may draw: all but what is only carried."""
    if isinstance(value, dict):
        kept = (each for name, each in value.items() if name not in ("customdata", "hovertemplate"))
        return [words for each in kept for words in words_of(each)]
    if isinstance(value, list):
        return [words for each in value for words in words_of(each)]
    return [value] if isinstance(value, str) else []


def test_names_that_attack_the_page_stay_text_and_are_still_asked_for() -> None:
    points = [Point(name, 5.0, 5.0, "DPO", True, Interval(1.0, 9.0)) for name in NAMES]
    alike = Alike(NAMES, np.eye(len(NAMES)))
    drawn_points = models_figure(points, Axis("Chat, percent"), Axis("Safety, percent"))
    for figure in (drawn_points, alike_figure(alike)):
        read: dict[str, Any] = json.loads(figure.to_json())
        assert read["data"][0]["customdata"] == list(NAMES)
        drawn = words_of(read)
        assert any("&lt;script&gt;" in words for words in drawn)
        assert not any("&quot;" in words for words in drawn)  # which Plotly would show
        tags = {tag for words in drawn for tag in re.findall(r"<[^>]*>?", words)}
        assert tags <= {"<br>"}
        templates = {trace["hovertemplate"] for trace in read["data"]}
        assert not any(name in template for template in templates for name in NAMES)
