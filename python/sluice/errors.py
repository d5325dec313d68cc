"""What goes wrong, as a tree of exceptions. Their texts are the engine's messages.

    Error
    ├── NotFoundError (LookupError)         what was asked for by name does not exist
    ├── CorruptionError                     stored bytes are not what they must be
    ├── NotSupportedError                   valid, but this version or device cannot do it
    ├── InvalidArgumentError (ValueError)
    ├── BusyError                           held by another process or object
    ├── IoError (OSError)
    │   └── NoSpaceError                    the device is full: free some space and go on
    ├── ClosedError (ValueError)            used after it was closed, or in a forked process
    ├── TooLargeError                       split the transaction
    ├── CancelledError                      somebody does not want it done any more
    └── RetryableError                      begin the transaction again
        ├── DeadlockError
        ├── ConflictError
        └── TimedOutError (TimeoutError)
"""


class Error(Exception):
    """Anything that the engine reports."""


class NotFoundError(Error, LookupError):
    """What was asked for by name does not exist: a database, a sub-table, a prepared transaction.

    Reads of keys do not raise it: `get` returns its default, and `db[key]` raises KeyError.
    """


class CorruptionError(Error):
    """Stored bytes are not what they must be; the message names file and offset."""


class NotSupportedError(Error):
    """Valid, but this version or this device cannot do it."""


class InvalidArgumentError(Error, ValueError):
    """Misuse, which the message describes."""


class BusyError(Error):
    """Held by another process or object."""


class IoError(Error, OSError):
    """The system failed to read or write."""


class NoSpaceError(IoError):
    """The device is full. It passes: free some space and go on."""


class ClosedError(Error, ValueError):
    """Used after it was closed, released or ended, or after a fork, by the child."""


class TooLargeError(Error):
    """The transaction, or all of them together, would need more memory than they may."""


class CancelledError(Error):
    """Somebody cancelled the wait for a row. No call of this package does that."""


class RetryableError(Error):
    """The transaction may succeed when it is begun again."""


class DeadlockError(RetryableError):
    """The transaction would have waited for itself; it is rolled back."""


class ConflictError(RetryableError):
    """The row was written since the transaction's snapshot."""


class TimedOutError(RetryableError, TimeoutError):
    """Another transaction held the row's lock for longer than lock_timeout."""
