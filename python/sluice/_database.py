"""The database and what it is used with, on top of the extension module."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, cast, overload

from . import _core, statistics
from ._asynchronous import submit

if TYPE_CHECKING:
    from typing_extensions import Buffer, Unpack

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_D = TypeVar("_D")


class SubtableOptions(TypedDict, total=False):
    """What a sub-table has of its own; what is missing, or None, is as the database was opened with.

    include/sluice/options.h explains each option.
    """

    block_bytes: int | None
    compression: _core.Compression | None
    compression_per_level: list[_core.Compression] | None
    zstd_level: int | None
    zstd_dictionary_bytes: int | None
    bloom_bits_per_key: int | None
    prefix_bytes: int | None
    separate_value_bytes: int | None
    offload: bool | None
    level_tiers: list[int] | None


def _set(options: _core.Options | _core.SubtableOptions, name: str, value: object) -> None:
    try:
        setattr(options, name, value)
    except TypeError:
        raise TypeError(f"{value!r} is no value for option {name}") from None


def _subtable_options(values: SubtableOptions) -> _core.SubtableOptions:
    options = _core.SubtableOptions()
    for name, value in values.items():
        if name not in SubtableOptions.__annotations__:
            raise TypeError(f"there is no option {name!r} of a sub-table")
        _set(options, name, value)
    return options


class Batch(_core.Batch):
    """Writes, possibly to several sub-tables, that take effect together or not at all.

    A context manager, also an asynchronous one: leaving it writes, an exception discards.
    """

    def __init__(self, table: _core.Table, *, sync: bool = False) -> None:
        super().__init__(table)
        self._sync = sync

    def write(self) -> None:
        """Writes, and empties the batch. After an error, the batch is as before."""
        self._write(self._sync)

    def write_async(self) -> asyncio.Future[None]:
        """Sets the write under way, and empties the batch. Cancelling does not undo it."""
        return submit(lambda completions, i: self._write_async(self._sync, completions, i))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.write()
        else:
            self.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            await self.write_async()
        else:
            self.clear()


class Snapshot(_core.Snapshot):
    """A state of the whole database that reads can return to. A context manager."""

    def __init__(self, table: _core.Table) -> None:
        super().__init__(table)
        self._table = table

    @overload
    def get(
        self, key: Buffer, default: None = None, *, subtable: _core.Table | None = None
    ) -> bytes | None: ...
    @overload
    def get(
        self, key: Buffer, default: _D, *, subtable: _core.Table | None = None
    ) -> bytes | _D: ...
    def get(
        self, key: Buffer, default: object = None, *, subtable: _core.Table | None = None
    ) -> object:
        return (subtable or self._table).get(key, default, snapshot=self)

    def items(
        self,
        start: Buffer | None = None,
        stop: Buffer | None = None,
        *,
        prefix: Buffer | None = None,
        reverse: bool = False,
        subtable: _core.Table | None = None,
    ) -> _core.Iterator[tuple[bytes, bytes]]:
        return (subtable or self._table).items(
            start, stop, prefix=prefix, reverse=reverse, snapshot=self
        )

    def keys(
        self,
        start: Buffer | None = None,
        stop: Buffer | None = None,
        *,
        prefix: Buffer | None = None,
        reverse: bool = False,
        subtable: _core.Table | None = None,
    ) -> _core.Iterator[bytes]:
        return (subtable or self._table).keys(
            start, stop, prefix=prefix, reverse=reverse, snapshot=self
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.release()


class Transaction(_core.Transaction):
    """Reads that see one state and writes that take effect at one instant.

    A context manager: leaving it commits, an exception rolls back. What was ended or prepared
    within it stays so.
    """

    def commit_async(self) -> asyncio.Future[None]:
        """Sets the commit under way, and ends the transaction for its thread."""
        return submit(self._commit_async)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._ended:
            return
        if kind is None:
            self.commit()
        else:
            self.rollback()


class _Writes(_core.Table):
    """What a database and a sub-table have in common."""

    def options(self) -> SubtableOptions:
        """Its own options: those that are set."""
        found = _core.get_subtable_options(self)
        names = SubtableOptions.__annotations__
        values = {name: getattr(found, name) for name in names if getattr(found, name) is not None}
        return cast(SubtableOptions, values)

    def set_options(self, **options: Unpack[SubtableOptions]) -> None:
        """Gives it these options of its own in place of those it had, for what is written later.

        What is not given is as the database was opened with.
        """
        _core.set_subtable_options(self, _subtable_options(options))

    def batch(self, *, sync: bool = False) -> Batch:
        """A batch whose writes go to this sub-table, unless they name another one."""
        return Batch(self, sync=sync)

    def update(
        self, items: Mapping[Any, Buffer] | Iterable[tuple[Buffer, Buffer]], *, sync: bool = False
    ) -> None:
        """Puts all pairs at once, in one batch."""
        with Batch(self, sync=sync) as batch:
            batch.update(items)

    def put_async(self, key: Buffer, value: Buffer, *, sync: bool = False) -> asyncio.Future[None]:
        """Sets a put under way. Key and value are copied; cancelling does not undo it.

        Writes of one thread take effect in the order of its calls.
        """
        batch = Batch(self, sync=sync)
        batch.put(key, value)
        return batch.write_async()

    def delete_async(self, key: Buffer, *, sync: bool = False) -> asyncio.Future[None]:
        """Sets a deletion under way."""
        batch = Batch(self, sync=sync)
        batch.delete(key)
        return batch.write_async()


class Subtable(_Writes):
    """A sub-table: a key space of its own within the database. `DB.subtable` returns one."""


class DB(_Writes):
    """An open database, and its default sub-table. A context manager that closes it.

    Any number of threads may use it.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Waits for calls and asynchronous writes under way, then closes.

        Snapshots are released, iterators end, and transactions are rolled back; what still uses
        them gets a ClosedError.
        """
        _core.close(self)

    @property
    def closed(self) -> bool:
        return _core.is_closed(self)

    def create_subtable(self, name: str, **options: Unpack[SubtableOptions]) -> Subtable:
        """InvalidArgumentError if the name is taken or empty, or an option is out of its range."""
        _core.create_subtable(self, name, _subtable_options(options))
        return Subtable(self, name)

    def subtable(self, name: str) -> Subtable:
        """NotFoundError if there is none."""
        return Subtable(self, name)

    def subtables(self) -> list[str]:
        """Their names."""
        return _core.list_subtables(self)

    def drop_subtable(self, subtable: Subtable) -> None:
        """Its keys are gone at once."""
        _core.drop_subtable(self, subtable)

    def snapshot(self) -> Snapshot:
        return Snapshot(self)

    def transaction(
        self,
        *,
        isolation: _core.Isolation = _core.Isolation.SNAPSHOT,
        lock_timeout: float = 1.0,
        max_bytes: int = 64 << 20,
        sync: bool = False,
    ) -> Transaction:
        """`lock_timeout`, in seconds, limits each wait for a row that another one has locked."""
        return Transaction(self, isolation, lock_timeout, max_bytes, sync)

    def resume_transaction(self, name: Buffer, *, sync: bool = False) -> Transaction:
        """Takes up a prepared transaction, to commit it or to roll it back."""
        return Transaction(self, name, sync)

    def prepared(self) -> list[bytes]:
        """Names of the transactions that are prepared and not resolved."""
        return _core.list_prepared(self)

    def wait_for_background_work(self) -> None:
        """Waits until no flush or compaction is due or running."""
        _core.wait_for_background_work(self)

    def verify(self) -> None:
        """Reads everything and checks what can be checked; raises the first fault found."""
        _core.verify(self)

    def checkpoint(self, path: Path) -> None:
        """Makes a consistent copy in the directory `path`, which must be empty or not exist."""
        _core.checkpoint(self, os.fsencode(path))

    def statistics(self) -> statistics.Statistics:
        return statistics.from_fields(_core.get_statistics(self))


def _options(values: Mapping[str, object]) -> _core.Options:
    options = _core.Options()
    for name, value in values.items():
        if value is not None:
            _set(options, name, value)
    return options


def _level_paths(options: _core.Options, paths: Iterable[Path]) -> None:
    options.set_level_paths([os.fsencode(path) for path in paths])


def open(
    path: Path,
    *,
    create_if_missing: bool = False,
    error_if_exists: bool = False,
    read_only: bool = False,
    compression: _core.Compression | None = None,
    compression_per_level: list[_core.Compression] | None = None,
    zstd_level: int | None = None,
    zstd_dictionary_bytes: int | None = None,
    memtable_bytes: int | None = None,
    max_waiting_memtables: int | None = None,
    write_buffer_bytes: int | None = None,
    row_cache_bytes: int | None = None,
    block_cache_bytes: int | None = None,
    table_cache_bytes: int | None = None,
    direct_io: bool | None = None,
    transaction_memory_bytes: int | None = None,
    extent_bytes: int | None = None,
    block_bytes: int | None = None,
    restart_interval: int | None = None,
    bloom_bits_per_key: int | None = None,
    prefix_bytes: int | None = None,
    separate_value_bytes: int | None = None,
    l0_compaction_runs: int | None = None,
    l0_slowdown_runs: int | None = None,
    l0_stop_runs: int | None = None,
    l1_bytes: int | None = None,
    max_space_amplification: float | None = None,
    deletion_share: float | None = None,
    automatic_compactions: bool | None = None,
    level_paths: Iterable[Path] = (),
    write_queues: int | None = None,
    compaction_threads: int | None = None,
    flush_threads: int | None = None,
    background_bytes_per_second: int | None = None,
    log_segment_bytes: int | None = None,
    max_log_bytes: int | None = None,
    task_bytes: int | None = None,
    compaction_bytes: int | None = None,
) -> DB:
    """Opens the database in the directory `path`.

    What is None is left to the engine; include/sluice/options.h explains each option.
    NotFoundError if there is none and create_if_missing is false; BusyError if it is open
    elsewhere.
    """
    values = dict(locals())
    del values["path"], values["level_paths"]
    options = _options(values)
    _level_paths(options, level_paths)
    return DB(os.fsencode(path), options)


def destroy(path: Path, *, level_paths: Iterable[Path] = ()) -> None:
    """Removes the database in `path` and all its files; nothing happens if there is none."""
    options = _core.Options()
    _level_paths(options, level_paths)
    _core.destroy(os.fsencode(path), options)


def repair(path: Path, to: Path, *, level_paths: Iterable[Path] = ()) -> statistics.RepairReport:
    """Saves what can be read of the database in `path` as a new one in `to`, which must not exist.

    The database in `path` is only read. For some keys of which newer versions are lost, older ones
    may reappear; the report names them.
    """
    options = _core.Options()
    _level_paths(options, level_paths)
    report = _core.repair(os.fsencode(path), os.fsencode(to), options)
    return statistics.RepairReport(losses=tuple(report.pop("losses")), **report)
