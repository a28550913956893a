"""How everything looks: the Gradio theme, and the colours of figures."""

from typing import Any

import gradio as gr

from explorer.core.figures import CORRELATION, MARK, SELECTED, SERIES
from explorer.core.settings import ASSETS

STYLES = [ASSETS / f"{name}.css" for name in ("style", "pairs", "models", "score", "try", "shell")]
_SCRIPTS = ("keys", "reader", "kept", "notes", "review", "list", "page")
SCRIPTS = tuple(ASSETS / f"{name}.js" for name in _SCRIPTS)

CHOSEN = "#0d9488"
REJECTED = "#e11d48"
PROMPT = "#6366f1"
_SERIES = ("#6366f1", "#d97706", "#0891b2", "#c026d3", "#65a30d", "#64748b", "#e11d48")
_COLOURS = {
    "chosen": CHOSEN,
    "rejected": REJECTED,
    "prompt": PROMPT,
    "same": "#94a3b8",
    MARK: "#64748b",
    **{f"{SERIES}-{number}": colour for number, colour in enumerate(_SERIES)},
}
_VARIABLES = {CHOSEN: "--chosen", REJECTED: "--rejected", PROMPT: "--bar"}
_FAINT = "rgba(128,128,128,.16)"
_GREY = "rgba(128,128,128,.8)"
_DIVERGING = (
    (0, "rgb(225,29,72)"),
    (0.3, "rgba(225,29,72,.5)"),
    (0.5, "rgba(225,29,72,0)"),
    (0.5, "rgba(99,102,241,0)"),
    (0.7, "rgba(99,102,241,.5)"),
    (1, "rgb(99,102,241)"),
)
"""See-through at zero, so that it is quiet there on light and dark alike."""
_SHADES = {"chosen": "rgba(13,148,136,.16)", "rejected": "rgba(225,29,72,.13)"}
_SHADE = "rgba(99,102,241,.16)"


def script() -> str:
    """What runs once when the page opens."""
    bodies = [path.read_text(encoding="utf-8").rstrip() for path in SCRIPTS]
    return "() => {" + "".join(f"({body})();" for body in bodies) + "}"


def theme() -> gr.themes.Base:
    """Indigo on slate, IBM Plex: the bundled fonts whose bold is complete."""
    sans = gr.themes.LocalFont("IBM Plex Sans", weights=(400, 700))
    mono = gr.themes.LocalFont("IBM Plex Mono", weights=(400, 700))
    return gr.themes.Base(
        primary_hue=gr.themes.colors.indigo,
        secondary_hue=gr.themes.colors.indigo,
        neutral_hue=gr.themes.colors.slate,
        radius_size=gr.themes.sizes.radius_md,
        text_size=gr.themes.sizes.text_sm,
        spacing_size=gr.themes.sizes.spacing_md,
        font=[sans, "ui-sans-serif", "system-ui", "sans-serif"],
        font_mono=[mono, "ui-monospace", "monospace"],
    ).set(**_LIGHT, **{f"{name}_dark": value for name, value in _DARK.items()})


_LIGHT: dict[str, Any] = {
    "body_background_fill": "#f6f7fb",
    "body_text_color": "*neutral_800",
    "body_text_color_subdued": "*neutral_600",
    "background_fill_primary": "white",
    "background_fill_secondary": "#f1f3f9",
    "block_background_fill": "white",
    "block_border_width": "1px",
    "block_border_color": "#e3e7ef",
    "border_color_primary": "#e3e7ef",
    "block_shadow": "0 1px 2px rgb(15 23 42 / .04), 0 1px 6px rgb(15 23 42 / .04)",
    "block_label_background_fill": "transparent",
    "block_label_border_width": "0px",
    "block_label_text_color": "*neutral_600",
    "block_title_text_weight": "700",
    "block_title_text_size": "*text_sm",
    "block_title_text_color": "*neutral_700",
    "block_info_text_color": "*neutral_600",
    "input_border_width": "1px",
    "input_radius": "8px",
    "input_background_fill": "white",
    "input_border_color": "#d5dbe7",
    "input_border_color_focus": "*primary_500",
    "input_shadow_focus": "0 0 0 3px rgb(99 102 241 / .18)",
    "input_placeholder_color": "*neutral_500",
    "button_primary_background_fill": "*primary_600",
    "button_primary_background_fill_hover": "*primary_700",
    "button_primary_text_color": "white",
    "button_secondary_background_fill": "white",
    "button_secondary_background_fill_hover": "#f1f3f9",
    "button_secondary_border_color": "#d5dbe7",
    "button_secondary_text_color": "*neutral_800",
    "button_border_width": "1px",
    "button_large_radius": "8px",
    "button_large_text_weight": "700",
    "button_large_text_size": "*text_md",
    "button_large_padding": "9px 16px",
    "button_medium_text_weight": "700",
    "checkbox_label_background_fill": "transparent",
    "checkbox_label_background_fill_hover": "transparent",
    "checkbox_label_background_fill_selected": "transparent",
    "checkbox_label_border_width": "0px",
    "checkbox_label_padding": "3px 2px",
    "checkbox_label_shadow": "none",
    "checkbox_label_text_color_selected": "*body_text_color",
    "checkbox_background_color_selected": "*primary_600",
    "slider_color": "*primary_600",
    "color_accent": "*primary_600",
    "color_accent_soft": "*primary_50",
    "loader_color": "*primary_500",
    "border_color_accent": "*primary_300",
    "table_even_background_fill": "white",
    "table_odd_background_fill": "#fafbfe",
    "table_border_color": "#e8ebf3",
    "table_row_focus": "*primary_50",
    "layout_gap": "14px",
    "link_text_color": "*primary_700",
}

_DARK: dict[str, Any] = {
    "body_background_fill": "#0b1120",
    "body_text_color": "*neutral_100",
    "body_text_color_subdued": "*neutral_400",
    "background_fill_primary": "#111a2e",
    "background_fill_secondary": "#16213a",
    "block_background_fill": "#111a2e",
    "block_border_color": "#22304d",
    "border_color_primary": "#22304d",
    "block_shadow": "none",
    "block_label_background_fill": "transparent",
    "block_label_border_width": "0px",
    "block_label_text_color": "*neutral_300",
    "block_title_text_color": "*neutral_200",
    "block_info_text_color": "*neutral_400",
    "input_border_width": "1px",
    "input_background_fill": "#0e172b",
    "input_border_color": "#2a3a5c",
    "input_border_color_focus": "*primary_400",
    "input_placeholder_color": "*neutral_400",
    "button_primary_background_fill": "*primary_600",
    "button_primary_background_fill_hover": "*primary_700",
    "button_secondary_background_fill": "#16213a",
    "button_secondary_background_fill_hover": "#1d2a49",
    "button_secondary_border_color": "#2a3a5c",
    "button_secondary_text_color": "*neutral_100",
    "checkbox_label_background_fill": "transparent",
    "checkbox_label_background_fill_hover": "transparent",
    "checkbox_label_background_fill_selected": "transparent",
    "checkbox_label_border_width": "0px",
    "checkbox_background_color_selected": "*primary_500",
    "slider_color": "*primary_400",
    "color_accent_soft": "#1e2a52",
    "border_color_accent": "*primary_700",
    "table_even_background_fill": "#111a2e",
    "table_odd_background_fill": "#0f182b",
    "table_border_color": "#22304d",
    "table_row_focus": "#1e2a52",
    "link_text_color": "*primary_300",
}


def figure_json(figure: Any, height: int) -> str:
    """A painted figure as Plotly's JSON, with the page's variables for colours that it has."""
    written = painted(figure, height).to_json()
    for colour, name in _VARIABLES.items():
        written = written.replace(f'"{colour}"', f'"var({name})"')
    return str(written)


def painted(figure: Any, height: int = 260) -> Any:
    """Give a figure its size, colours and quiet axes; its text follows light and dark by CSS.

    Traces are painted by their `meta`: "chosen" teal, "rejected" rose, "prompt" indigo, "series-0"
    and on in a row of colours. A shape whose name begins with "selected" is a shade in the colour
    of what it selects, any other a line.
    height: of a figure that has none of its own.
    """
    for trace in figure.data:
        if trace.meta == CORRELATION:
            trace.colorscale = _DIVERGING
            trace.colorbar.update(thickness=12, outlinewidth=0)
            continue
        colour = _COLOURS[trace.meta]
        if trace.type == "bar":
            trace.marker = {"color": colour, "opacity": 0.6}
        elif trace.type == "box":
            trace.update(line={"color": colour, "width": 2}, fillcolor=_FAINT)
        else:
            trace.line.update(color=colour, width=2)
            if trace.fill:
                trace.fillcolor = _SHADES.get(trace.meta, _SHADE)
            trace.marker.update(color=colour, line={"color": _GREY})
            trace.error_y.color = _GREY
    for shape in figure.layout.shapes:
        kind, _, measure = (shape.name or "").partition("-")
        if kind == SELECTED:
            shape.update(fillcolor=_SHADES.get(measure, _SHADE), line={"width": 0})
        else:
            shape.line.update(color=_GREY, width=1)
    figure.update_layout(
        template="none",
        height=figure.layout.height or height,
        margin={
            "l": figure.layout.margin.l or 44,
            "r": 12,
            "t": 64 if figure.layout.title.text else 36,
            "b": 40,
        },
        title={
            "x": 0.02,
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 10},
            "font": {"size": 14, "weight": 700},
        },
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        hoverlabel={"bgcolor": "#1e293b", "font": {"color": "#fff"}},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": _GREY, "activecolor": PROMPT},
    )
    figure.for_each_annotation(lambda words: words.update(font={"size": words.font.size or 12}))
    figure.for_each_xaxis(
        lambda axis: axis.update(
            showgrid=bool(axis.showgrid), zeroline=False, nticks=axis.nticks or 7
        )
    )
    figure.for_each_yaxis(
        lambda axis: axis.update(
            showgrid=axis.showgrid is not False, zeroline=False, nticks=axis.nticks or 5
        )
    )
    return figure
