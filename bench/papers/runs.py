"""Runs of the `sluice` command and of servers, for figures."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sql import ENGINES, Servers, System

Json = dict[str, Any]

# LevelDB's compactions by whom: the name of a series, and SLUICE_EXECUTOR. The first one is the
# library of the system as it is.
LEVELDB = {"LevelDB": None, "LevelDB, Sluice on the CPU": "cpu"}


@dataclass(frozen=True)
class Report:
    """What the plugin for LevelDB says when the process ends."""

    bytes_in: int = 0
    bytes_out: int = 0


@dataclass(frozen=True)
class Bench:
    build: Path
    directory: Path  # for databases
    data_gb: float  # what a run writes, where the paper has more
    connections: tuple[int, ...] = (1, 16, 64, 256)  # to servers
    seconds: int = 3  # of each run against a server
    server_options: tuple[str, ...] = ()

    @cached_property
    def servers(self) -> Servers:
        return self.open_servers(ENGINES)

    def open_servers(self, systems: tuple[System, ...], **settings: Any) -> Servers:
        """Settings as those of Servers."""
        return Servers(systems, self.directory, self.data_gb, self.seconds, self.server_options, **settings)

    def close(self) -> None:
        if "servers" in vars(self):
            self.servers.close()

    def records(self, record_bytes: int, gb: float | None = None) -> int:
        return int((self.data_gb if gb is None else min(gb, self.data_gb)) * 1e9 / record_bytes)

    @contextmanager
    def _database(self) -> Iterator[str]:
        directory = tempfile.mkdtemp(prefix="sluice-papers-", dir=self.directory)
        try:
            yield f"{directory}/db"
        finally:
            shutil.rmtree(directory)

    def _run(self, arguments: list[str], environment: dict[str, str] | None = None) -> tuple[Json, str]:
        command = [str(self.build / "sluice"), *arguments, "--json"]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **(environment or {})}
        )
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nfailed:\n{done.stderr or done.stdout}")
        return json.loads(done.stdout), done.stderr

    def grid(self, name: str, *configs: str) -> list[Json]:
        """The cells of a grid of the unit, of these configurations."""
        cells: list[Json] = self._run(["unit", "bench", "--grid", name, "--config", ",".join(configs)])[0]["cells"]
        return cells

    def bench(self, **options: object) -> list[Json]:
        """`sluice bench` in a new database. Options as its own, with "_" for "-"."""
        with self._database() as database:
            runs: list[Json] = self._run(["bench", "--db", database, *_arguments(options)])[0]["runs"]
            return runs

    def leveldb(self, executor: str | None, **options: object) -> tuple[list[Json], Report]:
        """The same over LevelDB, whose compactions `executor` does; None: LevelDB."""
        environment = {}
        if executor is not None:
            library = self.build / "plugin" / "leveldb" / "sluice-leveldb"
            if not (library / "libleveldb.so.1d").exists():
                sys.exit(f"there is no plugin for LevelDB in {library}: make build")
            environment = {
                "LD_LIBRARY_PATH": str(library),
                "SLUICE_EXECUTOR": executor,
                "SLUICE_REPORT": "1",
            }
        with self._database() as database:
            arguments = ["bench", "--engine", "leveldb", "--db", database, *_arguments(options)]
            output, said = self._run(arguments, environment)
        # Where nothing was compacted it says nothing.
        found = re.search(r"sluice: \d+ compactions, .* (\d+) bytes in, (\d+) out,", said)
        return output["runs"], Report(*(int(number) for number in found.groups())) if found else Report()


def _arguments(options: dict[str, object]) -> list[str]:
    return [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]


def host_cpu(run: Json) -> float:
    """Microseconds of the host's CPU per operation, whoever merges; what stands for the card is not
    the host's."""
    seconds: float = sum(time for thread, time in run["cpu_seconds"].items() if thread != "card")
    return 1e6 * seconds / float(run["operations"])


def card_cpu(run: Json) -> float:
    """The same of what stands for the card: the host's CPU does that, too, here."""
    seconds: float = run["cpu_seconds"]["card"]
    return 1e6 * seconds / float(run["operations"])


def throughput(run: Json) -> dict[str, float]:
    """What most figures need of a run."""
    return {
        "1000 op/s": run["ops_per_second"] / 1000,
        "host CPU, us/op": host_cpu(run),
        "card's model, us/op": card_cpu(run),
    }
