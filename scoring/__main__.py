"""`python -m scoring`: score preference pairs with a reward model. `--help` says how."""

import os
import signal
import sys
import threading

from scoring.command.arguments import parse
from scoring.engine.packing import keep_compiled_in
from scoring.errors import KnownError
from scoring.paths import COMPILED, HOME, typed_path
from scoring.record import has_run


def main(given: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = parse(given)
    keep_compiled_in(typed_path(os.environ.get("EXPLORER_HOME") or HOME) / COMPILED)
    try:
        from scoring.command.execution import execute
        from scoring.command.processes import Processes

        processes = Processes.join()
        if processes.n == 1 and threading.current_thread() is threading.main_thread():
            # With others, waiting for them holds it up.
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        code = execute(arguments, processes)
    except KnownError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        way = f" Go on with --resume --out {arguments.out}." if has_run(arguments.out) else ""
        print(f"Stopped.{way}", file=sys.stderr)
        return 130
    processes.leave()
    return code


if __name__ == "__main__":
    sys.exit(main())
