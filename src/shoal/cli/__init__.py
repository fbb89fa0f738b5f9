"""The command line: one file a command. Exit codes: 0 done, 1 the check failed, 2 wrong use."""

from __future__ import annotations

import sys

from shoal.errors import GroupTooSmall, ShoalError


def main() -> None:
    """Run the command line; a user's mistake becomes one sentence and exit code 2."""
    from shoal.cli.application import app

    try:
        app()
    except GroupTooSmall as problem:
        _say(problem)
        sys.exit(1)
    except ShoalError as problem:
        _say(problem)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("shoal: stopped; nothing was written\n")
        sys.exit(130)
    except MemoryError:
        sys.stderr.write("shoal: the table does not fit into memory; nothing was written\n")
        sys.exit(2)


def _say(problem: ShoalError) -> None:
    sys.stderr.write(f"shoal: {problem}\n")
