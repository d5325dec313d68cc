"""What a database consists of, and what it has done since it was opened.

The fields are those of include/sluice/statistics.h, which explains them; sizes are in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    hits: int
    misses: int
    evictions: int
    entries: int
    used_bytes: int
    capacity_bytes: int


@dataclass(frozen=True, slots=True)
class LevelStatistics:
    runs: int
    extents: int
    bytes: int
    records: int
    tombstones: int


@dataclass(frozen=True, slots=True)
class SubtableStatistics:
    name: str
    options: str  # its own, as "compression=zstd block_bytes=16384"; see DB.options
    memtable_bytes: int
    waiting_memtables: int
    levels: tuple[LevelStatistics, LevelStatistics, LevelStatistics]
    value_extents: int
    value_bytes: int
    value_live_bytes: int
    set_aside: LevelStatistics


@dataclass(frozen=True, slots=True)
class OffloadStatistics:
    executor: str
    device_tasks: int
    cpu_tasks: int
    retries: int
    cpu_tasks_small: int
    cpu_tasks_queue: int
    cpu_tasks_slow: int
    units: int
    units_in_service: int
    card_cpu_microseconds: int
    unit_microseconds: int
    unit_busy_microseconds: int


@dataclass(frozen=True, slots=True)
class TransactionStatistics:
    active: int
    prepared: int
    locks: int
    committed: int
    lock_waits: int
    lock_timeouts: int
    deadlocks: int
    conflicts: int
    memory_bytes: int
    memory_limit_bytes: int
    prepared_log_bytes: int


@dataclass(frozen=True, slots=True)
class Compactions:
    """How many compactions there were of each kind."""

    deletion: int
    intra_l1: int
    minor: int
    major: int
    self_major: int
    manual: int
    values: int


@dataclass(frozen=True, slots=True)
class Statistics:
    subtables: tuple[SubtableStatistics, ...]
    row_cache: CacheStatistics
    block_cache: CacheStatistics
    table_cache: CacheStatistics
    offload: OffloadStatistics
    transactions: TransactionStatistics
    last_sequence: int
    data_file_bytes: int
    log_file_bytes: int
    extent_bytes: int
    live_bytes: int
    most_space_amplification: float
    user_bytes_written: int
    log_bytes_written: int
    flush_bytes_written: int
    ingestion_bytes_written: int
    compaction_bytes_read: int
    compaction_bytes_written: int
    compaction_cpu_microseconds: int
    extents_reused: int
    blocks_copied: int
    flushes: int
    range_cuts: int
    cut_extents: int
    cut_records: int
    compactions_abandoned: int
    compactions: Compactions
    stall_microseconds: int

    @property
    def write_amplification(self) -> float:
        """Bytes that flushes, ingestions and compactions wrote per byte that the user did."""
        if self.user_bytes_written == 0:
            return 0.0
        written = (
            self.flush_bytes_written + self.ingestion_bytes_written + self.compaction_bytes_written
        )
        return written / self.user_bytes_written

    @property
    def space_amplification(self) -> float:
        """Bytes that extents take of the device per byte of live data."""
        return self.extent_bytes / self.live_bytes if self.live_bytes else 0.0


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What `repair` saved, and what it could not."""

    extents: int
    extents_damaged: int
    records_saved: int
    records_lost: int
    log_writes_saved: int
    prepared_saved: int
    losses: tuple[str, ...]


def _subtable(fields: dict[str, Any]) -> SubtableStatistics:
    first, second, third = (LevelStatistics(**level) for level in fields.pop("levels"))
    set_aside = LevelStatistics(**fields.pop("set_aside"))
    return SubtableStatistics(levels=(first, second, third), set_aside=set_aside, **fields)


def from_fields(fields: dict[str, Any]) -> Statistics:
    """Of the engine's fields by name."""
    return Statistics(
        subtables=tuple(_subtable(subtable) for subtable in fields.pop("subtables")),
        row_cache=CacheStatistics(**fields.pop("row_cache")),
        block_cache=CacheStatistics(**fields.pop("block_cache")),
        table_cache=CacheStatistics(**fields.pop("table_cache")),
        offload=OffloadStatistics(**fields.pop("offload")),
        transactions=TransactionStatistics(**fields.pop("transactions")),
        compactions=Compactions(*fields.pop("compactions")),
        **fields,
    )
