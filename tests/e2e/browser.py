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
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --disable-background-networking "
    "--disable-component-update --disable-sync --no-first-run"
).split()


def find() -> str | None:
    """The path of a browser, or None."""
    wanted = os.environ.get("EXPLORER_BROWSER")
    found = [path for name in ([wanted] if wanted else NAMES) if (path := shutil.which(name))]
    if found or wanted:
        return found[0] if found else None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if os.access(path, os.X_OK) else None


def install() -> None:
    """Try Debian's package, then Playwright's download; say nothing of what fails."""
    if shutil.which("apt-get"):
        become = [] if os.geteuid() == 0 else ["sudo", "-n"]
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "chromium"]):
            _quietly([*become, *command])
    if find() is None:
        _quietly([sys.executable, "-m", "playwright", "install", "chromium"])


def _quietly(command: list[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    if shutil.which(command[0]):
        subprocess.run(command, env=environment, capture_output=True, check=False, timeout=900)


if __name__ == "__main__":
    if find() is None and "--install" in sys.argv and not os.environ.get("EXPLORER_BROWSER"):
        print("No Chromium or Chrome on the PATH; installing one…")
        install()
    if find() is None:
        sys.exit("No browser for the tests: set EXPLORER_BROWSER, or install the package chromium.")
