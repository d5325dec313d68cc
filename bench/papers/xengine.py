"""X-Engine (SIGMOD'19), section 4: what it does under SQL, beside InnoDB and MyRocks."""

from __future__ import annotations

import contextlib
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping

from figure import Figure, Row
from runs import Bench
from sql import CACHES, ENGINES, INSERT_BENCHMARK, Chunk, Run, Servers, Settings, System, median, ratio

HOST = (
    "Theirs is MySQL 5.7 on 32 cores, with clients on another machine; here it is MariaDB 10.11, and two cores have "
    "the clients, too. \"BLACKHOLE\" is the server with an engine that does nothing: none can be much faster.",
    "All are given the same memory, one and a half times the data, and compress nothing. Each row is the median of "
    "three runs, taken in turn by the engines; the ratios, too, are of runs that followed each other. What an engine "
    "has left to do in the background it does in its own runs.",
    "CPU time is the server's, with that of connecting.",
)
SYNCED = "Commits survive a loss of power (innodb_flush_log_at_trx_commit=1 and its like), and there is no binary log."
BINLOG = "Commits survive a loss of power, in the engine and in the binary log (sync_binlog=1, ROW)."
UNSYNCED = "Commits survive the end of the server, but no loss of power, and there is no binary log."


def rows(runs: dict[str, list[Run]], x: float | str) -> Iterable[Row]:
    best = ratio(runs, "Sluice", ("InnoDB", "MyRocks"))
    innodb = ratio(runs, "Sluice", ("InnoDB",))
    for name, of_name in runs.items():
        run = median(of_name)
        values = {
            "1000 statements/s": run.statements / 1000,
            "mean, ms": run.mean_ms,
            "p95, ms": run.p95_ms,
            "server's CPU, us/statement": run.cpu_us,
        }
        if run.errors > 0:
            values["retries/s"] = run.errors
        if name == "Sluice":
            values |= {"to InnoDB": innodb, "to the better of both": best}
        yield Row(name, x, values)


def over_connections(settings: Settings, *options: str) -> Callable[[Bench], Iterable[Row]]:
    def measure(bench: Bench) -> Iterable[Row]:
        for connections in bench.connections:
            yield from rows(bench.servers.measure(connections, settings, *options), connections)

    return measure


def over_workloads(workloads: Mapping[str, tuple[str, ...]]) -> Callable[[Bench], Iterable[Row]]:
    """With the most connections of at most 64."""

    def measure(bench: Bench) -> Iterable[Row]:
        connections = max((n for n in bench.connections if n <= 64), default=min(bench.connections))
        for name, options in workloads.items():
            yield from rows(bench.servers.measure(connections, Settings(), *options), name)

    return measure


def ranges(bench: Bench) -> Iterable[Row]:
    connections = max((n for n in bench.connections if n <= 64), default=min(bench.connections))
    for size in (10, 100, 1000):
        yield from rows(bench.servers.measure(connections, Settings(), "--mix=range=1", f"--range={size}"), size)


ON_CPU = "Sluice, CPU"
ON_CARD = "Sluice, card"


def card_rows(runs: dict[str, list[Run]], x: str) -> Iterable[Row]:
    for name, of_name in runs.items():
        run = median(of_name)
        values = {
            "1000 statements/s": run.statements / 1000,
            "of the slowest second": run.slowest / 1000,
            "host's CPU, us/statement": run.cpu_us,
            "of that, compactions": run.compaction_us,
            "card's model, us/statement": run.card_us,
            "MB merged": run.merged_mb,
        }
        if name == ON_CARD:
            values["to the CPU"] = ratio(runs, ON_CARD, (ON_CPU,))
        yield Row(name, x, values)


def open_with_card(bench: Bench) -> Servers:
    """Buffers for writes are small, so that there are compactions in runs of some seconds."""
    library = bench.build / "plugin/sluice/units.so"
    if not library.exists():
        sys.exit(f"there is no {library}: make build")
    card = ("--sluice-executor=model:fast20x4", f"--sluice-executor-library={library.resolve()}", "--sluice-always-offload=ON")
    return bench.open_servers((System(ON_CPU, "SLUICE"), System(ON_CARD, "SLUICE", card)), buffers=8 << 20)


def with_card(bench: Bench) -> Iterable[Row]:
    connections = max((n for n in bench.connections if n <= 64), default=min(bench.connections))
    with contextlib.closing(open_with_card(bench)) as servers:
        for name in ("insert", "update"):
            yield from card_rows(servers.measure(connections, Settings(sync=False), f"--mix={name}=1"), name)


def cores_over_time(bench: Bench) -> Iterable[Row]:
    """Both do half as many updates per second as the slower one can."""
    connections = max((n for n in bench.connections if n <= 64), default=min(bench.connections))
    with contextlib.closing(open_with_card(bench)) as servers:
        settings = Settings(sync=False)
        fastest = servers.measure(connections, settings, "--mix=update=1")
        rate = int(min(median(runs).statements for runs in fastest.values()) / 2)
        found = servers.over_time(WINDOWS, connections, settings, "--mix=update=1", f"--rate={rate}")
    for name, windows in found.items():
        for i, window in enumerate(windows):
            cores = [earlier.cores for earlier in windows[: i + 1]]
            values = {
                "host's cores": window.cores,
                "mean so far": statistics.mean(cores),
                "standard deviation so far": statistics.pstdev(cores),
                "1000 statements/s": window.statements / 1000,
            }
            yield Row(name, (i + 2) * bench.seconds, values)


def mix(selects: int, ranges_: int, updates: int, inserts: int) -> tuple[str, ...]:
    return (f"--mix=select={selects},range={ranges_},update={updates},insert={inserts}", "--range=10")


MIXES = {
    "80:11:6:3": mix(80, 11, 6, 3),
    "61:10:19:10": mix(61, 10, 19, 10),
    "42:10:32:16": mix(42, 10, 32, 16),
}
WINDOWS = 20


def hits_over_time(bench: Bench) -> Iterable[Row]:
    """Caches are a quarter of the data, as the paper's are."""
    connections = max((n for n in bench.connections if n <= 64), default=min(bench.connections))
    systems = tuple(system for system in ENGINES if system.engine in CACHES)
    with contextlib.closing(bench.open_servers(systems, cached=0.25)) as servers:
        found = servers.over_time(WINDOWS, connections, Settings(sync=False), *MIXES["42:10:32:16"])
    for name, windows in found.items():
        for number, window in enumerate(windows, 2):
            values = {"found in the cache, %": 100 * window.hits, "1000 statements/s": window.statements / 1000}
            yield Row(name, number * bench.seconds, values)


# Nothing is read through the page cache, or caches would be as large as the machine's memory.
INSERTERS = (
    System("Sluice", "SLUICE", ("--sluice-direct-io=ON",)),
    System("Sluice, ZSTD", "SLUICE", ("--sluice-direct-io=ON", "--sluice-compression=zstd")),
    System("InnoDB", "InnoDB", ("--innodb-flush-method=O_DIRECT",)),
    System("MyRocks", "ROCKSDB", ("--rocksdb-use-direct-reads=ON", "--rocksdb-use-direct-io-for-flush-and-compaction=ON")),
)
PURCHASE = 130  # bytes of a row and its index entries, without what engines add
BATCH = 1000  # rows of a statement
CHUNKS = 20


def insert_benchmark(bench: Bench) -> Iterable[Row]:
    """Caches are a fifth of the data, once all is there."""
    statements = max(1, int(bench.data_gb * 1e9 / PURCHASE / BATCH / CHUNKS))
    with contextlib.closing(bench.open_servers(INSERTERS, cached=0.2, script=INSERT_BENCHMARK)) as servers:
        all_chunks: list[dict[str, Chunk]] = []
        for found in servers.fill(CHUNKS, statements, BATCH, 2, Settings(sync=False)):
            all_chunks.append(found)
            rows_ = statements * BATCH * len(all_chunks)
            so_far = {name: sum(chunks[name].seconds for chunks in all_chunks) for name in found}
            for name, chunk in found.items():
                values = {
                    "1000 rows/s": chunk.rows / chunk.seconds / 1000,
                    "1000 rows/s so far": rows_ / so_far[name] / 1000,
                    "server's CPU, us/row": chunk.cpu_us,
                }
                if name.startswith("Sluice"):
                    values["so far, to InnoDB"] = so_far["InnoDB"] / so_far[name]
                    values["so far, to MyRocks"] = so_far["MyRocks"] / so_far[name]
                if len(all_chunks) == CHUNKS:
                    values["bytes/row"] = servers.table_bytes()[name] / rows_
                yield Row(name, rows_ / 1e6, values)


WRITES = "update_index,update,delete,replace"
OLTP = {
    "update index": ("--mix=update_index=1",),
    "read/write": ("--transaction=" + "select," * 10 + "range,sum,order,distinct," + WRITES,),
    "write only": ("--transaction=" + WRITES,),
}


def panel(name: str, title: str, settings: Settings, differs: str, paper_says: str, options: str) -> Figure:
    return Figure(
        name,
        f"X-Engine, Figures 12 and 13: {title}",
        "connections",
        "1000 statements/s",
        over_connections(settings, options),
        (*HOST, differs),
        log_x=True,
        paper_says=paper_says,
    )


INSERTS = "4.25 times the second best."
UPDATES = "2.99 times the second best."
FIGURES = (
    Figure(
        "xengine-figure-9",
        "X-Engine, Figure 9: X-Bench's mixes of point selects, ranges, updates and inserts",
        "mix",
        "1000 statements/s",
        over_workloads(MIXES),
        (*HOST, SYNCED, "The middle mix is between the two that the paper names. A range has ten rows."),
        paper_says="42:10:32:16 is 1.44 times InnoDB and 1.31 times MyRocks; the others are up to 10 % behind InnoDB.",
    ),
    panel("xengine-figure-12-select", "point selects", Settings(), "Rows are chosen as sysbench does by default: some "
          "more often.", "1.60 times the second best.", "--mix=select=1"),
    panel("xengine-figure-12-insert", "inserts", Settings(), SYNCED, INSERTS, "--mix=insert=1"),
    panel("xengine-figure-12-insert-binlog", "inserts with a binary log", Settings(binlog=True), BINLOG, INSERTS,
          "--mix=insert=1"),
    panel("xengine-figure-12-insert-unsynced", "inserts without sync", Settings(sync=False), UNSYNCED, INSERTS,
          "--mix=insert=1"),
    panel("xengine-figure-12-update", "updates of a column without index", Settings(), SYNCED, UPDATES,
          "--mix=update=1"),
    panel("xengine-figure-12-update-binlog", "the same with a binary log", Settings(binlog=True), BINLOG, UPDATES,
          "--mix=update=1"),
    panel("xengine-figure-12-update-unsynced", "the same without sync", Settings(sync=False), UNSYNCED, UPDATES,
          "--mix=update=1"),
    Figure(
        "xengine-figure-14",
        "X-Engine, Figure 14: ranges of the primary key",
        "rows in a range",
        "1000 statements/s",
        ranges,
        HOST,
        log_x=True,
        paper_says="InnoDB is ahead of both.",
    ),
    Figure(
        "xengine-figure-15",
        "X-Engine, Figure 15: inserts with and without a card",
        "workload",
        "1000 statements/s",
        with_card,
        (
            *HOST,
            UNSYNCED,
            "The card is `model:fast20x4`: results are the CPU's, and what stands for the card takes CPU time of the same "
            "cores, more than merging would. So statements per second say little of a card; the host's CPU for a "
            "statement, without that, is what it would spare.",
            "Updates of a column without index are not in the paper's figure. Inserts are in the order of the primary key, "
            "so that compactions merge little but the other index.",
        ),
        paper_says="27 % more inserts with a card, and less variance.",
    ),
    Figure(
        "xengine-figure-17",
        "X-Engine, Figure 17: blocks found in the cache while rows are written",
        "seconds",
        "found in the cache, %",
        hits_over_time,
        (
            "Theirs is X-Engine with and without the incremental replacement of cached blocks by compactions, which cannot be "
            "turned off here (src/compaction/block_cache_handover.h); beside it are two engines without it. InnoDB, which has no "
            "compactions, caches pages.",
            "All are given the same memory, a quarter of the data, and compress nothing. Sluice uses a quarter of that for "
            "a cache of rows: what it finds there, often the hottest rows, it does not look up among blocks.",
            "One run of each engine, with X-Bench's mix 42:10:32:16; each point is the end of a window.",
            UNSYNCED,
        ),
        paper_says="Without it, the share of hits varies, and statements per second drop by 36 % at times.",
    ),
    Figure(
        "xengine-figure-19",
        "X-Engine, appendix A, Figure 19: the host's CPU with and without a card",
        "seconds",
        "host's cores",
        cores_over_time,
        (
            "Theirs is MySQL 5.7 on 32 cores, with clients on another machine; here it is MariaDB 10.11, and two cores have the "
            "clients, too. Nothing is compressed, and caches hold all the data.",
            UNSYNCED,
            "The card is `model:fast20x4`: what stands for it is not counted as the host's. Theirs inserts; here a column "
            "without index is updated, since inserts in the order of the primary key leave compactions little to merge.",
            "Both servers are asked for half as many statements per second as the slower one can do; each point is the end of "
            "a window.",
        ),
        paper_says="29 instead of 37 hardware threads at the same rate, with a sixth of the variance.",
    ),
    Figure(
        "xengine-sysbench",
        "X-Engine, section 4.3.2: sysbench's other workloads",
        "workload",
        "1000 statements/s",
        over_workloads(OLTP),
        (*HOST, SYNCED, "Transactions are at REPEATABLE READ; those that conflict are begun anew, as sysbench does."),
    ),
    Figure(
        "xengine-insert-benchmark",
        "The insert benchmark: purchases with three secondary indexes",
        "million rows",
        "1000 rows/s",
        insert_benchmark,
        (
            "No figure of the paper's: iibench's table, filled by two connections with statements of 1000 rows. Ten million "
            "rows are --data 1.3.",
            "All are given the same memory, a fifth of what --data says and 64 MiB for writes, and read past the page cache. "
            "Where no compression is named, there is none. Engines take turns after each twentieth of the rows.",
            UNSYNCED,
        ),
    ),
)  # fmt: skip
