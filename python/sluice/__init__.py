"""Sluice: an LSM storage engine.

    import sluice

    with sluice.open("/data/db", create_if_missing=True) as db:
        db[b"key"] = b"value"
        for key, value in db.items(prefix=b"k"):
            print(key, value)

docs/python.md is the manual.
"""

import atexit

from . import _core
from ._core import Compression, Isolation, Iterator
from ._database import (
    DB,
    Batch,
    Snapshot,
    Subtable,
    SubtableOptions,
    Transaction,
    destroy,
    open,
    repair,
)
from .errors import (
    BusyError,
    CancelledError,
    ClosedError,
    ConflictError,
    CorruptionError,
    DeadlockError,
    Error,
    InvalidArgumentError,
    IoError,
    NoSpaceError,
    NotFoundError,
    NotSupportedError,
    RetryableError,
    TimedOutError,
    TooLargeError,
)
from .statistics import RepairReport, Statistics

__all__ = [
    "DB",
    "Batch",
    "BusyError",
    "CancelledError",
    "ClosedError",
    "Compression",
    "ConflictError",
    "CorruptionError",
    "DeadlockError",
    "Error",
    "InvalidArgumentError",
    "IoError",
    "Isolation",
    "Iterator",
    "NoSpaceError",
    "NotFoundError",
    "NotSupportedError",
    "RepairReport",
    "RetryableError",
    "Snapshot",
    "Statistics",
    "Subtable",
    "SubtableOptions",
    "TimedOutError",
    "TooLargeError",
    "Transaction",
    "destroy",
    "open",
    "repair",
]

# While threads and modules are still there.
atexit.register(_core.close_all)
