"""Settings -> stores -> build -> launch."""

import logging
import os
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import gradio as gr

from explorer.outcomes import leaderboard_shelf
from explorer.runs import Runs
from explorer.settings import Settings, read_settings
from explorer.sources import pair_shelf
from explorer.text import text
from explorer.ui.page import Stores, build_page
from explorer.ui.theme import SCRIPT, STYLE, theme
from scoring.errors import KnownError
from scoring.hub import Hub


def build(settings: Settings) -> gr.Blocks:
    """The app on the best data that lies on this machine, asking the network in the background."""
    hub = Hub(settings.offline)
    pairs, boards = pair_shelf(settings, hub), leaderboard_shelf(settings, hub)
    if not settings.offline:
        pairs.fetch()
        boards.fetch()
    return build_page(Stores(settings, pairs, boards, Runs(settings, hub)))


def main() -> None:
    """Serve the app until it is interrupted."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        settings = read_settings(os.environ)
        build(settings).queue(default_concurrency_limit=8, max_size=64).launch(
            server_name=settings.server_name,
            server_port=settings.server_port,
            theme=theme(),
            css_paths=STYLE,
            js=SCRIPT.read_text(encoding="utf-8"),
            footer_links=[],
            run_history=False,
            max_file_size="1kb",
            share=False,
            ssr_mode=False,
        )
    except KnownError as error:
        sys.exit(str(error))
    except OSError as error:
        if "empty port" not in str(error):
            raise
        sys.exit(text("error.port", host=settings.server_name, port=settings.server_port))


if __name__ == "__main__":
    main()
