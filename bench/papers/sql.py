"""Servers of MariaDB, one for each storage engine, and sysbench's runs against them in turn."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FETCHED = ROOT / "build/mariadb/root"
SERVER = ROOT / "plugin/mariadb/server"
WORKLOADS = Path(__file__).resolve().parent / "sysbench.lua"

TABLES = 4
ROW = 512  # bytes, without the engine's own
ROUNDS = 3

# By what CREATE TABLE calls them. BLACKHOLE keeps nothing: it is what the server itself costs.
ENGINES = {"SLUICE": "Sluice", "InnoDB": "InnoDB", "ROCKSDB": "MyRocks", "BLACKHOLE": "BLACKHOLE"}


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
    cpu_us: float = 0  # of the server, per statement


def parse(report: str) -> Run:
    """What sysbench prints at the end."""

    def number(pattern: str) -> float:
        found = re.search(pattern, report)
        if found is None:
            raise ValueError(f"sysbench says nothing of {pattern}:\n{report}")
        return float(found[1])

    return Run(
        statements=number(r"queries:\s+\d+\s+\(([\d.]+) per sec"),
        mean_ms=number(r"avg:\s+([\d.]+)"),
        p95_ms=number(r"95th percentile:\s+([\d.]+)"),
        errors=number(r"ignored errors:\s+\d+\s+\(([\d.]+) per sec"),
    )


def median(runs: list[Run]) -> Run:
    return Run(*(statistics.median(values) for values in zip(*(vars(run).values() for run in runs))))


def ratio(runs: dict[str, list[Run]], engine: str, others: tuple[str, ...]) -> float:
    """Of statements per second, to the best of the others in the same round; the median of all rounds."""
    return statistics.median(
        run.statements / max(runs[other][i].statements for other in others) for i, run in enumerate(runs[engine])
    )


class Server:
    def __init__(self, engine: str, directory: Path, cache: int, buffers: int, *more: str) -> None:
        self.engine = engine
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
        self._script("start", *options, *own[engine], *more)
        self.pid = int((directory / "pid").read_text())

    def _script(self, command: str, *arguments: str, sql: str | None = None) -> str:
        done = subprocess.run(
            [str(SERVER), command, str(self.directory), *arguments], input=sql, capture_output=True, text=True
        )
        if done.returncode != 0:
            sys.exit(f"{self.engine}: {done.stderr or done.stdout}")
        return done.stdout

    def sql(self, statements: str) -> str:
        return self._script("client", "--batch", "--skip-column-names", sql=statements)

    def sysbench(self, command: str, *options: str) -> str:
        arguments = [
            str(FETCHED / "usr/bin/sysbench"), str(WORKLOADS), "--db-driver=mysql", "--mysql-user=root",
            f"--mysql-socket={self.directory}/socket", "--mysql-db=bench", f"--engine={self.engine}",
            f"--tables={TABLES}", *options, command,
        ]  # fmt: skip
        environment = {**os.environ, "LD_LIBRARY_PATH": str(FETCHED / "usr/lib/x86_64-linux-gnu")}
        done = subprocess.run(arguments, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            sys.exit(f"{self.engine}: {' '.join(arguments)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The server goes on for so long only: what it has left to do in the background it does in its own time."""
        os.kill(self.pid, signal.SIGCONT)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGSTOP)


class Servers:
    """One for each engine, all with the same rows, and as much memory."""

    def __init__(self, directory: Path, data_gb: float, seconds: int, options: tuple[str, ...]) -> None:
        self.seconds = seconds
        self.rows = max(1000, int(data_gb * 1e9 / ROW / TABLES))
        cache = max(int(1.5e9 * data_gb), 64 << 20)
        buffers = 64 << 20
        more = [f"--{option}" for option in options]
        self._directory = Path(tempfile.mkdtemp(prefix="sluice-sql-", dir=directory))
        self._servers: dict[str, Server] = {}
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            for engine in ENGINES:
                print(f"starting {ENGINES[engine]}", file=sys.stderr)
                server = Server(engine, self._directory / engine, cache, buffers, *more)
                self._servers[engine] = server
                server.sql("CREATE DATABASE bench")
                with server.running():
                    self._sysbench(server, "prepare", Settings())
            undo.pop_all()

    def close(self) -> None:
        for server in self._servers.values():
            server._script("kill")
        shutil.rmtree(self._directory)

    def _sysbench(self, server: Server, command: str, settings: Settings, *options: str) -> str:
        return server.sysbench(command, f"--rows={self.rows}", f"--session={settings.session()}", *options)

    def measure(self, connections: int, settings: Settings, *options: str) -> dict[str, list[Run]]:
        """Each engine in turn, ROUNDS times. Options as sysbench.lua's."""
        runs: dict[str, list[Run]] = {engine: [] for engine in ENGINES}
        for server in self._servers.values():
            with server.running():
                server.sql(settings.globals() + (settings.myrocks() if server.engine == "ROCKSDB" else ""))
        for round_ in range(ROUNDS):
            engines = list(ENGINES)
            for engine in engines[round_ % 4 :] + engines[: round_ % 4]:
                server = self._servers[engine]
                with server.running():
                    before = server.cpu_seconds()
                    report = self._sysbench(
                        server, "run", settings, f"--threads={connections}", f"--time={self.seconds}", *options
                    )
                    cpu = server.cpu_seconds() - before
                run = parse(report)
                statements = run.statements * self.seconds
                runs[engine].append(Run(run.statements, run.mean_ms, run.p95_ms, run.errors, 1e6 * cpu / statements))
        return runs
