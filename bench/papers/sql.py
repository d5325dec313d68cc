"""Servers of MariaDB, one for each storage engine, and sysbench's runs against them in turn."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FETCHED = ROOT / "build/mariadb/root"
SERVER = ROOT / "plugin/mariadb/server"
WORKLOADS = Path(__file__).resolve().parent / "sysbench.lua"
INSERT_BENCHMARK = Path(__file__).resolve().parent / "insert_benchmark.lua"

TABLES = 4
ROW = 512  # bytes, without the engine's own
ROUNDS = 3


@dataclass(frozen=True)
class System:
    """What there is a server of."""

    name: str
    engine: str  # as CREATE TABLE calls it
    options: tuple[str, ...] = ()  # of the server


# BLACKHOLE keeps nothing: it is what the server itself costs.
ENGINES = (
    System("Sluice", "SLUICE"),
    System("InnoDB", "InnoDB"),
    System("MyRocks", "ROCKSDB"),
    System("BLACKHOLE", "BLACKHOLE"),
)


@dataclass(frozen=True)
class Settings:
    sync: bool = True  # commits survive a loss of power; otherwise the end of the server
    binlog: bool = False

    def globals(self) -> str:
        """Statements that make all servers so."""
        return (
            f"SET GLOBAL sluice_sync_commits = {int(self.sync)};"
            f"SET GLOBAL innodb_flush_log_at_trx_commit = {1 if self.sync else 2};"
            f"SET GLOBAL sync_binlog = {int(self.sync)};"
        )

    def myrocks(self) -> str:
        return f"SET GLOBAL rocksdb_flush_log_at_trx_commit = {1 if self.sync else 2};"

    def session(self) -> str:
        return f"SET sql_log_bin = {int(self.binlog)}"


@dataclass(frozen=True)
class Run:
    """One run of sysbench."""

    statements: float  # per second
    mean_ms: float  # of an event: a statement by itself, or a transaction
    p95_ms: float
    errors: float  # per second: events that were begun anew
    cpu_us: float = 0  # of the server, per statement; without what stands for a card
    card_us: float = 0  # of that, per statement
    compaction_us: float = 0  # of cpu_us, Sluice's compactions; those that ended meanwhile
    merged_mb: float = 0  # that these compactions read
    slowest: float = 0  # statements of the slowest whole second


@dataclass(frozen=True)
class Window:
    """What a server did in a stretch of a run."""

    statements: float  # per second
    hits: float  # of the look-ups of blocks, or pages, the share that the cache answered
    cores: float  # that the server kept busy, without what stands for a card


def parse(report: str) -> Run:
    """What sysbench prints at the end."""

    def number(pattern: str) -> float:
        found = re.search(pattern, report)
        if found is None:
            raise ValueError(f"sysbench says nothing of {pattern}:\n{report}")
        return float(found[1])

    seconds = [float(rate) for rate in re.findall(r"^\[ \d+s \].* qps: ([\d.]+)", report, re.MULTILINE)]
    return Run(
        statements=number(r"queries:\s+\d+\s+\(([\d.]+) per sec"),
        mean_ms=number(r"avg:\s+([\d.]+)"),
        p95_ms=number(r"95th percentile:\s+([\d.]+)"),
        errors=number(r"ignored errors:\s+\d+\s+\(([\d.]+) per sec"),
        slowest=min(seconds, default=0),
    )


def median(runs: list[Run]) -> Run:
    return Run(*(statistics.median(values) for values in zip(*(vars(run).values() for run in runs))))


def ratio(runs: dict[str, list[Run]], name: str, others: tuple[str, ...]) -> float:
    """Of statements per second, to the best of the others in the same round; the median of all rounds."""
    return statistics.median(
        run.statements / max(runs[other][i].statements for other in others) for i, run in enumerate(runs[name])
    )


# What stands for a card.
CARD = "Sluice_card_cpu_microseconds"
# Status variables: look-ups of blocks that the cache answered, and those that it did not. InnoDB's
# first one has all look-ups.
CACHES = {
    "SLUICE": ("Sluice_block_cache_hits", "Sluice_block_cache_misses"),
    "InnoDB": ("Innodb_buffer_pool_read_requests", "Innodb_buffer_pool_reads"),
    "ROCKSDB": ("Rocksdb_block_cache_hit", "Rocksdb_block_cache_miss"),
}


def window(engine: str, before: dict[str, int], after: dict[str, int], cpu_seconds: float, seconds: float) -> Window:
    """Of the status variables at its two ends, and the server's CPU time between them."""
    card = 1e-6 * (after.get(CARD, 0) - before.get(CARD, 0))
    hits, misses = (after[name] - before[name] for name in CACHES[engine])
    lookups = hits if engine == "InnoDB" else hits + misses
    statements = (after["Questions"] - before["Questions"]) / seconds
    return Window(statements, 1 - misses / max(lookups, 1), (cpu_seconds - card) / seconds)


@dataclass(frozen=True)
class Chunk:
    """What a server made of so many rows that were inserted after those before."""

    rows: int
    seconds: float
    cpu_us: float  # of the server, per row


# Those of the engines that keep something.
TABLE_FILES = {"SLUICE": "*.data", "InnoDB": "bench/*.ibd", "ROCKSDB": "*.sst"}


class Server:
    def __init__(
        self, system: System, directory: Path, cache: int, buffers: int, script: Path, *more: str
    ) -> None:
        self.script = script
        self.engine = engine = system.engine
        self.name = system.name
        self.directory = directory
        options = [
            # Of one connection for each client, with its own table handlers.
            "--max-connections=2000", "--table-open-cache=16000", "--open-files-limit=20000",
            # InnoDB's way past the page cache would leave that to the others alone.
            "--innodb-flush-method=fsync",
            "--log-bin=binlog", "--binlog-format=ROW",
            "--sluice-compression=none",
        ]  # fmt: skip
        own = {
            # Changed pages are in the buffer pool, too.
            "InnoDB": [f"--innodb-buffer-pool-size={cache + buffers}", "--innodb-log-file-size=1G"],
            "SLUICE": [
                f"--sluice-block-cache-size={cache * 3 // 4}", f"--sluice-row-cache-size={cache // 4}",
                f"--sluice-write-buffer-size={buffers}",
            ],
            "ROCKSDB": [
                "--plugin-load-add=ha_rocksdb", f"--rocksdb-block-cache-size={cache}",
                f"--rocksdb-db-write-buffer-size={buffers}",
                "--rocksdb-default-cf-options=compression=kNoCompression;bottommost_compression=kNoCompression;"
                "block_based_table_factory={filter_policy=bloomfilter:10:false}",
            ],
            "BLACKHOLE": ["--plugin-load-add=ha_blackhole"],
        }  # fmt: skip
        if engine != "InnoDB":
            options.append(f"--innodb-buffer-pool-size={16 << 20}")
        self._script("start", *options, *own[engine], *system.options, *more)
        self.pid = int((directory / "pid").read_text())

    def _script(self, command: str, *arguments: str, sql: str | None = None) -> str:
        done = subprocess.run(
            [str(SERVER), command, str(self.directory), *arguments], input=sql, capture_output=True, text=True
        )
        if done.returncode != 0:
            sys.exit(f"{self.name}: {done.stderr or done.stdout}")
        return done.stdout

    def sql(self, statements: str) -> str:
        return self._script("client", "--batch", "--skip-column-names", sql=statements)

    def sysbench(self, command: str, *options: str) -> str:
        arguments = [
            str(FETCHED / "usr/bin/sysbench"), str(self.script), "--db-driver=mysql", "--mysql-user=root",
            f"--mysql-socket={self.directory}/socket", "--mysql-db=bench", f"--engine={self.engine}",
            *options, command,
        ]  # fmt: skip
        environment = {**os.environ, "LD_LIBRARY_PATH": str(FETCHED / "usr/lib/x86_64-linux-gnu")}
        done = subprocess.run(arguments, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            sys.exit(f"{self.name}: {' '.join(arguments)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def status(self) -> dict[str, int]:
        """Those of its status variables that are numbers."""
        shown = (line.split("\t") for line in self.sql("SHOW GLOBAL STATUS").splitlines())
        return {name: int(value) for name, value in shown if value.isdecimal()}

    def table_bytes(self) -> int:
        """What its tables take of the disk, without logs."""
        files = (self.directory / "data").rglob(TABLE_FILES[self.engine])
        return sum(512 * file.stat().st_blocks for file in files)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The server goes on for so long only: what it has left to do in the background it does in its own time."""
        os.kill(self.pid, signal.SIGCONT)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGSTOP)


class Servers:
    """One for each system, all with the same rows, and as much memory: `buffers` of it for writes."""

    def __init__(
        self,
        systems: tuple[System, ...],
        directory: Path,
        data_gb: float,
        seconds: int,
        options: tuple[str, ...],
        buffers: int = 64 << 20,
        cached: float = 1.5,
        script: Path = WORKLOADS,
    ) -> None:
        """`cached`: the caches' share of the data. `script`: sysbench's."""
        self.seconds = seconds
        rows = max(1000, int(data_gb * 1e9 / ROW / TABLES))
        self._options = [f"--tables={TABLES}", f"--rows={rows}"] if script == WORKLOADS else []
        cache = max(int(cached * 1e9 * data_gb), 64 << 20)
        more = [f"--{option}" for option in options]
        self._directory = Path(tempfile.mkdtemp(prefix="sluice-sql-", dir=directory))
        self._servers: dict[str, Server] = {}
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            for i, system in enumerate(systems):
                print(f"starting {system.name}", file=sys.stderr)
                server = Server(system, self._directory / str(i), cache, buffers, script, *more)
                self._servers[system.name] = server
                server.sql("CREATE DATABASE bench")
                with server.running():
                    self._sysbench(server, "prepare", Settings())
            undo.pop_all()

    def close(self) -> None:
        for server in self._servers.values():
            server._script("kill")
        shutil.rmtree(self._directory)

    def _sysbench(self, server: Server, command: str, settings: Settings, *options: str) -> str:
        return server.sysbench(command, *self._options, f"--session={settings.session()}", *options)

    def measure(self, connections: int, settings: Settings, *options: str) -> dict[str, list[Run]]:
        """Each system in turn, ROUNDS times. Options as sysbench.lua's."""
        runs: dict[str, list[Run]] = {name: [] for name in self._servers}
        for server in self._servers.values():
            with server.running():
                self._set(server, settings)
        for round_ in range(ROUNDS):
            names = list(runs)
            first = round_ % len(names)
            for name in names[first:] + names[:first]:
                with self._servers[name].running():
                    runs[name].append(self._run(self._servers[name], connections, settings, *options))
        return runs

    def over_time(
        self, windows: int, connections: int, settings: Settings, *options: str
    ) -> dict[str, list[Window]]:
        """One run of each system, in windows of self.seconds; the first one, until statements are prepared and the
        caches are filled, is left out."""
        found: dict[str, list[Window]] = {}
        run = (f"--threads={connections}", f"--time={(windows + 1) * self.seconds}", *options)
        for name, server in self._servers.items():
            with server.running(), ThreadPoolExecutor() as thread:
                self._set(server, settings)
                sysbench = thread.submit(self._sysbench, server, "run", settings, *run)
                found[name] = []
                time.sleep(self.seconds)
                before, cpu_before, began = server.status(), server.cpu_seconds(), time.monotonic()
                for _ in range(windows - 1):
                    time.sleep(max(0, began + self.seconds - time.monotonic()))
                    after, cpu_after, ended = server.status(), server.cpu_seconds(), time.monotonic()
                    found[name].append(window(server.engine, before, after, cpu_after - cpu_before, ended - began))
                    before, cpu_before, began = after, cpu_after, ended
                sysbench.result()
        return found

    def fill(
        self, chunks: int, statements: int, batch: int, connections: int, settings: Settings
    ) -> Iterator[dict[str, Chunk]]:
        """With the insert benchmark, a chunk of so many statements after the other, by each system in turn."""
        for server in self._servers.values():
            with server.running():
                self._set(server, settings)
        options = (f"--threads={connections}", f"--events={statements}", "--time=0", f"--batch={batch}")
        for chunk in range(chunks):
            names = list(self._servers)
            first = chunk % len(names)
            found = {}
            for name in names[first:] + names[:first]:
                server = self._servers[name]
                with server.running():
                    cpu_before, began = server.cpu_seconds(), time.monotonic()
                    self._sysbench(server, "run", settings, *options)
                    seconds, cpu = time.monotonic() - began, server.cpu_seconds() - cpu_before
                found[name] = Chunk(statements * batch, seconds, 1e6 * cpu / (statements * batch))
            yield found

    def table_bytes(self) -> dict[str, int]:
        return {name: server.table_bytes() for name, server in self._servers.items()}

    def _set(self, server: Server, settings: Settings) -> None:
        server.sql(settings.globals() + (settings.myrocks() if server.engine == "ROCKSDB" else ""))

    def _run(self, server: Server, connections: int, settings: Settings, *options: str) -> Run:
        before, cpu_before = server.status(), server.cpu_seconds()
        report = self._sysbench(
            server, "run", settings, f"--threads={connections}", f"--time={self.seconds}", "--report-interval=1", *options
        )
        cpu = server.cpu_seconds() - cpu_before
        did = {name: value - before.get(name, 0) for name, value in server.status().items()}
        run = parse(report)
        statements = run.statements * self.seconds
        card = 1e-6 * did.get(CARD, 0)
        return dataclasses.replace(
            run,
            cpu_us=1e6 * (cpu - card) / statements,
            card_us=1e6 * card / statements,
            compaction_us=did.get("Sluice_compaction_cpu_microseconds", 0) / statements,
            merged_mb=1e-6 * did.get("Sluice_compaction_bytes_read", 0),
        )
