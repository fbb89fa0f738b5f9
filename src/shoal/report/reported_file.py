"""What a report says about the released file and about itself: name, SHA-256 and date."""

from __future__ import annotations

import os
import time
from calendar import month_name
from dataclasses import dataclass


@dataclass(frozen=True)
class ReportedFile:
    """The released file that a report is about.

    Parameters
    ----------
    name
        The name of the file, without its directory.
    sha256
        The digest of its bytes, which ``shoal fingerprint`` and ``sha256sum`` recompute; empty for a table of a
        database, which has no bytes of its own.
    """

    name: str
    sha256: str = ""


def report_date() -> str:
    """Return the date of today (UTC), or that of the environment variable ``SOURCE_DATE_EPOCH``.

    Examples
    --------
    >>> len(report_date().split())
    3
    """
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = time.gmtime(int(given)) if given.isdecimal() else time.gmtime()
    return f"{moment.tm_mday} {month_name[moment.tm_mon]} {moment.tm_year}"
