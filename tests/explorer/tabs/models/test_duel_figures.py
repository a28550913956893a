from explorer.tabs.models.compared import margin_points
from explorer.tabs.models.figures import margins_figure
from explorer.tabs.models.scene import compared
from tests.explorer.boards import comparing
from tests.explorer.rival_fields import rivals


def test_each_pair_is_a_point_of_its_cell_that_names_it() -> None:
    points = margin_points(compared(comparing("org/a", "org/b"), rivals()))
    assert points is not None
    keys = [f"<b>:{row}" for row in points.rows.tolist()]
    figure = margins_figure(points, keys)
    seen = {
        trace.name: {
            key: (x, y) for key, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
        }
        for trace in figure.data
    }
    assert seen == {
        "both win (2)": {"<b>:0": (1, 1), "<b>:3": (2, 2)},
        "A alone wins (2)": {"<b>:1": (1, -1), "<b>:5": (1, -1)},
        "B alone wins (2)": {"<b>:2": (-1, 1), "<b>:6": (-1, 1)},
        "neither wins (1)": {"<b>:4": (-2, -2)},
    }
    assert len({trace.meta for trace in figure.data}) == 4
    assert {trace.type for trace in figure.data} == {"scatter"}
    assert figure.data[0].hovertext == ("&lt;b&gt;:0", "&lt;b&gt;:3")
    assert "%{x:.3f}" in figure.data[0].hovertemplate
