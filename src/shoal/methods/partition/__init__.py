"""Methods that cut the table into parts and group inside the parts.

The scans, which help to choose options of the methods on principal components, can be imported from here.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.methods.partition.scans import ScanRow, choose_components, scan_components, scan_distal

__all__ = ["ScanRow", "choose_components", "scan_components", "scan_distal"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shoal.methods.partition import scans

    return getattr(scans, name)
