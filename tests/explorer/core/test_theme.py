"""What the theme adds to a figure."""

from explorer.core.theme import SCRIPTS, STYLES, script, theme


def test_every_script_runs_once_when_the_page_opens() -> None:
    whole = script()
    assert whole.startswith("() => {") and whole.endswith("}")
    for path in SCRIPTS:
        body = path.read_text(encoding="utf-8").rstrip()
        assert whole.count(f"({body})();") == 1
        assert body.endswith("})")  # a function that is not called yet


def test_scripts_and_styles_ask_no_other_server() -> None:
    for path in (*SCRIPTS, *STYLES):
        written = path.read_text(encoding="utf-8")
        assert "http:" not in written and "@import" not in written and "//fonts" not in written


def test_the_theme_has_dark_for_each_colour_of_light_and_fonts_that_are_bundled() -> None:
    look = theme()
    assert look.body_background_fill != look.body_background_fill_dark
    assert look.input_border_color != look.input_border_color_dark
    assert "googleapis" not in str(look._font_css) + str(look._stylesheets)
