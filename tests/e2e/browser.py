"""Find a Chromium or Chrome for the browser tests, and install one where there is none.

Usage: python tests/e2e/browser.py [--install]

In this order: the setting EXPLORER_BROWSER; a browser on the PATH; with --install, Debian's
`chromium` package where it may be installed, else Playwright's own download.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def find() -> str | None:
    """The path of a browser, or None."""
    wanted = os.environ.get("EXPLORER_BROWSER")
    if wanted:
        return shutil.which(wanted)
    if path := next(filter(None, map(shutil.which, NAMES)), None):
        return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if os.access(own, os.X_OK) else None


def install() -> None:
    """Try Debian's package, then Playwright's download; say nothing of what fails."""
    become = [] if os.geteuid() == 0 else ["sudo", "-n"]
    for command in (
        [*become, "apt-get", "update"],
        [*become, "apt-get", "install", "-y", "chromium"],
        [sys.executable, "-m", "playwright", "install", "chromium"],
    ):
        if find() is None and shutil.which(command[0]):
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run(command, env=environment, capture_output=True, check=False, timeout=900)


def main() -> int:
    """Exit code 0 where there is a browser."""
    if find() is None and "--install" in sys.argv and not os.environ.get("EXPLORER_BROWSER"):
        print("No Chromium or Chrome on the PATH; installing one…")
        install()
    if find() is None:
        print(
            "No browser for the tests: set EXPLORER_BROWSER to a Chromium or Chrome, "
            "or install the package chromium."
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
