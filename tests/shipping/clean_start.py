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
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.error import URLError
from urllib.request import urlopen

from tests.shipping.space import ROOT, assemble

NOBODY = 65534
AS_NOBODY = [
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    # its Python may lie in a home that only its owner may enter
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
]
"""Before a command: another user, who may read all, and write what is theirs and /tmp."""
START_SECONDS = 300.0
BY_THE_HUB = ("spaces",)
"""What the Hub installs in every Gradio Space, and Gradio looks for there."""
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


class Failed(Exception):  # noqa: N818
    """A step did not do what it should."""


def say(words: str) -> None:
    """Tell how far it is."""
    print(words, flush=True)


def new_packages(folder: Path, requirements: Path, *more: str) -> Path:
    """A new virtual environment with the requirements, and more, alone; its `bin`."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [str(folder / "bin" / "pip"), "install", "--quiet", "-r", str(requirements), *more]
    subprocess.run(install, check=True)
    return folder / "bin"


def locked(folder: Path) -> None:
    """Take the right to write from everybody; all may read."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o555 | 0o444)


def is_root() -> bool:
    """Whether another user can be had."""
    return os.geteuid() == 0


def try_out(
    command: list[str],
    folder: Path,
    programs: Path,
    home: Path,
    given: Mapping[str, str],
    health: list[str] | None = None,
) -> None:
    """Start the app as nobody, ask it for its page, for pairs and a score, and end it.

    Args:
        command: starts it.
        folder: where it is started; nothing of it can be written.
        programs: `bin` of its virtual environment.
        home: the one folder besides /tmp that can be written.
        given: its environment, besides PATH and HOME.
        health: a command that must succeed while it runs.

    Raises:
        Failed: it did not start, or answered otherwise than it should.
    """
    port = free_port()
    if is_root():
        shutil.chown(home, NOBODY, NOBODY)
        command = [*AS_NOBODY, *command]
    environment = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(home),
        **given,
        "GRADIO_SERVER_PORT": str(port),
    }
    locked(folder)
    log = home / "log.txt"
    with log.open("wb") as written:
        app = subprocess.Popen(command, cwd=folder, env=environment, stdout=written, stderr=written)
    try:
        address, started = f"http://127.0.0.1:{port}/", time.monotonic()
        while not answers(address):
            if app.poll() is not None or time.monotonic() - started > START_SECONDS:
                raise Failed(f"the app did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.5)
        say(f"  it answered after {time.monotonic() - started:.0f} s")
        if health:
            at = [part.replace(":7860/", f":{port}/") for part in health]
            subprocess.run([str(programs / at[0]), *at[1:]], check=True)
            say("  its health check succeeds")
        asked = subprocess.run(
            [str(programs / "python"), "-c", ASK, address],
            capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
        if asked.returncode:
            raise Failed(
                f"a program was refused:\n{asked.stderr[-2000:]}\n{log.read_text()[-2000:]}"
            )
        say(f"  a program was answered: {asked.stdout.strip()}")
        refused = re.findall(r"^.*(?:PermissionError|Read-only).*$", log.read_text(), re.M)
        if refused:
            raise Failed(f"it tried to write where it may not: {refused[0]}")
    finally:
        app.terminate()
        app.wait(30)


def answers(address: str) -> bool:
    """Whether the page comes whole."""
    try:
        with urlopen(address, timeout=30) as answer:
            return answer.status == 200 and b"gradio" in answer.read()
    except (URLError, OSError):
        return False


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def try_space(root: Path, hardware: str) -> None:
    """The folder that would be uploaded, started as a Space does it."""
    folder, home = root / "space", root / "home"
    home.mkdir()
    files = assemble(folder, hardware)
    say(f"Assembled {len(files)} files for {hardware}; installing its requirements…")
    programs = new_packages(root / "venv", folder / "requirements.txt", *BY_THE_HUB)
    say("Starting python app.py as on a Space…")
    given = {
        "SPACE_ID": "org/name",
        "SYSTEM": "spaces",
        "GRADIO_SERVER_NAME": "0.0.0.0",
        "OAUTH_CLIENT_ID": "id",
        "OAUTH_CLIENT_SECRET": "secret",
        "OAUTH_SCOPES": "openid profile read-repos write-discussions",
        "OPENID_PROVIDER_URL": "https://huggingface.co",
    }
    try_out([str(programs / "python"), "app.py"], folder, programs, home, given)
    say("Not tried: the Hub's own image, its Python, signing in, its hardware.")


Instruction = tuple[str, str]


def instructions(dockerfile: str) -> list[Instruction]:
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
    folder, home, not_done = root / "app", root / "home", list[str]()
    home.mkdir()
    given: dict[str, str] = {}
    arguments: dict[str, str] = {}
    command: list[str] = []
    health: list[str] | None = None
    programs = root / "venv" / "bin"
    for name, rest in instructions((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        say(f"{name} {rest[:100]}")
        match name:
            case "FROM":
                subprocess.run([sys.executable, "-m", "venv", str(programs.parent)], check=True)
                not_done.append(f"FROM {rest}: Python {sys.version.split()[0]} of this machine")
            case "WORKDIR":
                folder.mkdir(exist_ok=True)
            case "ARG":
                argument, _, default = rest.partition("=")
                arguments[argument] = os.environ.get(argument, default)
            case "COPY":
                *sources, target = shlex.split(rest)
                for source in sources:
                    copied(source, folder / target)
            case "RUN" if rest.startswith("useradd"):
                not_done.append(f"RUN {rest}: another user's home in its place")
            case "RUN" if "apt-get" in rest:
                not_done.append(f"RUN {rest}: the packages of this machine")
            case "RUN":
                subprocess.run(
                    rest, shell=True, check=True, cwd=folder,
                    env={**os.environ, **arguments, "PATH": f"{programs}:{os.environ['PATH']}"},
                )  # fmt: skip
            case "ENV":
                for part in shlex.split(rest):
                    variable, _, value = part.partition("=")
                    given[variable] = value
            case "HEALTHCHECK":
                health = json.loads(rest[rest.index("CMD") + 3 :])
            case "CMD":
                command = json.loads(rest)
            case "USER":
                if not is_root():
                    not_done.append(f"USER {rest}: who runs this, without the right to write")
            case "EXPOSE":
                not_done.append(f"EXPOSE {rest}: a free port")
            case _:
                raise Failed(f"{name} is no instruction that this knows")
    del given["GRADIO_SERVER_PORT"]
    try_out([str(programs / command[0]), *command[1:]], folder, programs, home, given, health)
    say("Otherwise than in an engine:")
    for each in not_done:
        say(f"  {each}")


def copied(source: str, target: Path) -> None:
    """A file or folder, as COPY copies it, without what .dockerignore leaves out."""
    left_out = shutil.ignore_patterns("__pycache__", "*.pyc", "*.pyi", "pictures")
    if (ROOT / source).is_dir():
        shutil.copytree(ROOT / source, target, ignore=left_out)
    else:
        shutil.copy(ROOT / source, target)


def main(given: list[str] | None = None) -> int:
    """Run the command line; its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.shipping.clean_start",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("space", "image"))
    parser.add_argument("--hardware", default="cpu-basic", help="of the Space")
    arguments = parser.parse_args(given)
    what: Literal["space", "image"] = arguments.what
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        root = Path(made)
        root.chmod(0o755)
        try:
            if what == "space":
                try_space(root, arguments.hardware)
            else:
                try_image(root)
        except (Failed, subprocess.CalledProcessError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        finally:
            for path in [root, *(each for each in root.rglob("*") if each.is_dir())]:
                path.chmod(0o755)
    say("All well.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
