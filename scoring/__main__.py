"""`python -m scoring`: score preference pairs with a reward model. `--help` says how."""

import json
import signal
import sys
import threading
from typing import NoReturn

from scoring.arguments import parse
from scoring.errors import KnownError
from scoring.models.devices import wait_briefly
from scoring.record import has_run
from scoring.report import as_table, report_json


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def main(given: list[str] | None = None) -> int:
    """Run the command line; its exit code."""
    arguments = parse(given)
    wait_briefly()
    try:
        from scoring.command import execute
        from scoring.processes import Processes

        processes = Processes.join()
        if processes.n == 1 and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _interrupt)  # with others, waiting for them holds it up
        done = execute(arguments, processes)
    except KnownError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        way = f" Go on with --resume --out {arguments.out}." if has_run(arguments.out) else ""
        print(f"Stopped.{way}", file=sys.stderr)
        return 130
    if done is not None and arguments.json:
        print(
            json.dumps(
                report_json(done.run, done.files, done.sent, dry_run=arguments.dry_run), indent=1
            )
        )
    elif done is not None:
        print(as_table(done.run, done.files, done.sent, dry_run=arguments.dry_run))
    processes.leave()
    return 0


if __name__ == "__main__":
    sys.exit(main())
