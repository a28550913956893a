"""Start the app as other machines do: new packages, another user, files that cannot be written.

`python -m tests.shipping.clean_start space` assembles the folder of a Space and starts it;
`python -m tests.shipping.clean_start image` executes the Dockerfile step by step in a new
folder. Each says what it could not do.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from urllib.request import urlopen

from tests.shipping.space import ROOT, assemble

NOBODY = 65534
AS_NOBODY = [
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    # its Python may lie in a home that only its owner may enter
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
]
"""Before a command: another user, who may read all, and write what is theirs and /tmp."""
IS_ROOT = os.geteuid() == 0
START_SECONDS = 300.0
BY_THE_HUB = ("spaces",)
"""What the Hub installs in every Gradio Space, and Gradio looks for there."""
ON_A_SPACE = {
    "SPACE_ID": "org/name",
    "SYSTEM": "spaces",
    "GRADIO_SERVER_NAME": "0.0.0.0",
    "OAUTH_CLIENT_ID": "id",
    "OAUTH_CLIENT_SECRET": "secret",
    "OAUTH_SCOPES": "openid profile read-repos write-discussions",
    "OPENID_PROVIDER_URL": "https://huggingface.co",
}
ASK = """
import sys
from gradio_client import Client
client = Client(sys.argv[1], verbose=False)
found = client.predict(api_name="/search_pairs")
scored = client.predict(
    model="demo", prompt="Say hello.", chosen="Hello!", rejected="No.", api_name="/score_pair"
)
print(found["total"], "pairs;", {name: scored[name] for name in list(scored)[:4]})
"""
"""What a visitor's program does: list pairs, score one."""


say = partial(print, flush=True)


def answers(address: str) -> bool:
    """Whether the page comes whole."""
    try:
        with urlopen(address, timeout=30) as answer:
            return b"gradio" in answer.read()
    except OSError:
        return False


def try_out(
    command: Sequence[str],
    folder: Path,
    programs: Path,
    given: Mapping[str, str],
    health: Sequence[str] = (),
) -> None:
    """Start the app as nobody, ask it for its page, for pairs and a score, and end it.

    command: starts it in the folder, nothing of which can be written; its program is in `programs`,
        `bin` of its virtual environment. given: its environment, besides PATH and HOME.
    health: a command that must succeed while it runs.
    """
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    home = folder.parent / "home"
    home.mkdir()
    started = [str(programs / command[0]), *command[1:]]
    if IS_ROOT:
        shutil.chown(home, NOBODY, NOBODY)
        started = [*AS_NOBODY, *started]
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(home), **given}
    environment["GRADIO_SERVER_PORT"] = str(port)
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o555 | 0o444)
    log = home / "log.txt"
    with log.open("wb") as written:
        app = subprocess.Popen(started, cwd=folder, env=environment, stdout=written, stderr=written)
    try:
        address, began = f"http://127.0.0.1:{port}/", time.monotonic()
        while not answers(address):
            if app.poll() is not None or time.monotonic() - began > START_SECONDS:
                sys.exit(f"error: the app did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.5)
        say(f"  it answered after {time.monotonic() - began:.0f} s")
        if health:
            at = [part.replace(":7860/", f":{port}/") for part in health]
            subprocess.run([str(programs / at[0]), *at[1:]], check=True)
            say("  its health check succeeds")
        ask = [str(programs / "python"), "-c", ASK, address]
        asked = subprocess.run(ask, capture_output=True, text=True, check=False, env=environment)
        if asked.returncode:
            sys.exit(f"error: a program was refused:\n{asked.stderr[-2000:]}\n{log.read_text()}")
        say(f"  a program was answered: {asked.stdout.strip()}")
        refused = re.findall(r"^.*(?:PermissionError|Read-only).*$", log.read_text(), re.M)
        if refused:
            sys.exit(f"error: it tried to write where it may not: {refused[0]}")
    finally:
        app.terminate()
        app.wait(30)


def try_space(root: Path, hardware: str) -> None:
    """The folder that would be uploaded, started as a Space does it."""
    folder, programs = root / "space", root / "venv" / "bin"
    files = assemble(folder, hardware)
    say(f"Assembled {len(files)} files for {hardware}; installing its requirements…")
    subprocess.run([sys.executable, "-m", "venv", str(programs.parent)], check=True)
    wanted = ["-r", str(folder / "requirements.txt"), *BY_THE_HUB]
    subprocess.run([str(programs / "pip"), "install", "--quiet", *wanted], check=True)
    say("Starting python app.py as on a Space…")
    try_out(["python", "app.py"], folder, programs, ON_A_SPACE)
    say("Not tried: the Hub's own image, its Python, signing in, its hardware.")


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    r"""The instructions of a Dockerfile: (name, the rest in one line).

    >>> instructions("# x\nFROM a\nRUN b \\\n  && c")
    [('FROM', 'a'), ('RUN', 'b    && c')]
    """
    lines = [line for line in dockerfile.splitlines() if not line.lstrip().startswith("#")]
    whole = "\n".join(lines).replace("\\\n", " ")
    parted = (line.partition(" ") for line in whole.split("\n"))
    return [(name, rest) for name, _, rest in parted if name]


def try_image(root: Path) -> None:
    """Every step of the Dockerfile, in a folder for the image's root and a new environment."""
    folder, programs = root / "app", root / "venv" / "bin"
    given: dict[str, str] = {}
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    health: list[str] = []
    for name, rest in instructions((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        say(f"{name} {rest[:100]}")
        match name:
            case "FROM":
                subprocess.run([sys.executable, "-m", "venv", str(programs.parent)], check=True)
                say("  not done: the Python of this machine")
            case "WORKDIR":
                folder.mkdir(exist_ok=True)
            case "ARG":
                argument, _, default = rest.partition("=")
                environment.setdefault(argument, default)
            case "COPY":
                *sources, target = shlex.split(rest)
                for source in sources:
                    copy(source, folder / target)
            case "RUN" if rest.startswith("useradd") or "apt-get" in rest:
                say("  not done: another user's home, and the packages of this machine")
            case "RUN":
                subprocess.run(rest, shell=True, check=True, cwd=folder, env=environment)
            case "ENV":
                given |= dict(part.split("=", 1) for part in shlex.split(rest))
            case "HEALTHCHECK":
                health = json.loads(rest[rest.index("CMD") + 3 :])
            case "CMD":
                try_out(json.loads(rest), folder, programs, given, health)
            case "USER" | "EXPOSE":
                say("  not done: nobody, or who runs this without the right to write; a free port")
            case _:
                sys.exit(f"error: {name} is no instruction that this knows")


def copy(source: str, target: Path) -> None:
    """A file or folder, as COPY copies it, without what .dockerignore leaves out."""
    left_out = shutil.ignore_patterns("__pycache__", "*.pyc", "*.pyi", "pictures")
    if (ROOT / source).is_dir():
        shutil.copytree(ROOT / source, target, ignore=left_out)
    else:
        shutil.copy(ROOT / source, target)


def main() -> None:
    program = "python -m tests.shipping.clean_start"
    parser = argparse.ArgumentParser(prog=program, description=__doc__)
    parser.add_argument("what", choices=("space", "image"))
    parser.add_argument("--hardware", default="cpu-basic", help="of the Space")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        root = Path(made)
        root.chmod(0o755)
        try:
            if asked.what == "space":
                try_space(root, asked.hardware)
            else:
                try_image(root)
        finally:
            for path in [root, *(each for each in root.rglob("*") if each.is_dir())]:
                path.chmod(0o755)
    say("All well.")


if __name__ == "__main__":
    main()
