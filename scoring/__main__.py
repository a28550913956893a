"""`python -m scoring`: score preference pairs with a reward model. `--help` says how."""

import json
import os
import signal
import sys
import threading
from typing import NoReturn

from scoring.command.arguments import parse
from scoring.command.best_of import as_best_of, best_of_json
from scoring.command.report import as_table, report_json
from scoring.engine.packing import keep_compiled_in
from scoring.errors import KnownError
from scoring.paths import COMPILED, HOME, typed_path
from scoring.record import has_run
from scoring.results.reproduction import reproduction_json, reproduction_lines


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def main(given: list[str] | None = None) -> int:
    """Run the command line; its exit code."""
    arguments = parse(given)
    keep_compiled_in(typed_path(os.environ.get("EXPLORER_HOME") or HOME) / COMPILED)
    try:
        from scoring.command.execution import execute
        from scoring.command.processes import Processes

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
    check = None if done is None else done.check
    if done is not None and arguments.best_of:
        values = best_of_json(done.run, done.files)
        print(json.dumps(values, indent=1) if arguments.json else as_best_of(values))
    elif done is not None and arguments.json:
        values = report_json(done.run, done.files, done.sent, dry_run=arguments.dry_run)
        reproduction = {} if check is None else {"reproduction": reproduction_json(check)}
        print(json.dumps(values | reproduction, indent=1))
    elif done is not None:
        print(as_table(done.run, done.files, done.sent, dry_run=arguments.dry_run))
        if check is not None:
            print(*reproduction_lines(check), sep="\n")
    processes.leave()
    return 3 if check is not None and check.verdict in {"unknown", "unexplained"} else 0


if __name__ == "__main__":
    sys.exit(main())
