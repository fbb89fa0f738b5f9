"""The command line: one file a command. Exit codes: 0 done, 1 the check failed, 2 wrong use, 3 a fault of ours."""

from __future__ import annotations

import os
import sys

from shoal.errors import GroupTooSmall, LimitNotReached, ShoalError


def main() -> None:
    """Run the command line; a user's mistake becomes one sentence and exit code 2."""
    from shoal.cli.application import app

    try:
        app()
    except (GroupTooSmall, LimitNotReached) as problem:
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
    except Exception as fault:
        if os.environ.get("SHOAL_DEBUG"):
            raise
        sys.stderr.write(  # the text of a foreign error may quote values of records: it is not shown
            f"shoal: an error inside Shoal ({type(fault).__name__}), not of your making; nothing was written. "
            "Please report it with the output of the same command under SHOAL_DEBUG=1, after removing what is private\n"
        )
        sys.exit(3)


def _say(problem: ShoalError) -> None:
    sys.stderr.write(f"shoal: {problem}\n")
