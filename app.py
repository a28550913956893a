"""Settings -> stores -> build -> launch."""

import logging
import os
import signal
import sys
import threading
from importlib.util import find_spec

import explorer.core.zero_gpu  # noqa: F401 - before anything that knows CUDA

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")


def main() -> None:
    """Serve the app until it is interrupted."""
    # Workers import this file and have no use for these.
    from explorer.core.settings import read_settings, with_home
    from scoring.errors import KnownError

    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    for name in ("httpx", "httpx2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    try:
        settings = with_home(read_settings(os.environ))  # what is wrong there is said at once
        from explorer.core.served import launched, prepare_for_many
        from explorer.core.theme import STYLES, script, theme
        from explorer.page import build_page
        from explorer.stores import open_stores

        prepare_for_many()
        page, routes = build_page(stores := open_stores(settings))
        page.launch(
            server_name=settings.server_name,
            server_port=settings.server_port,
            theme=theme(),
            css_paths=STYLES,
            js=script(),
            mcp_server=find_spec("mcp") is not None,
            **launched(settings, routes),
        )
        stores.measuring.start()
        over.wait()
        stores.runs.live.end()
    except KnownError as error:
        sys.exit(str(error))
    except OSError as error:
        if "empty port" not in str(error):
            raise
        port = f"Port {settings.server_port} on {settings.server_name} is in use"
        sys.exit(f"{port}. Stop what listens there, or set GRADIO_SERVER_PORT to another.")
    os._exit(0)  # nobody who is connected still holds it up


if __name__ == "__main__":
    main()
