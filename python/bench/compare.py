#!/usr/bin/env python3
"""The same work by Sluice, plyvel (LevelDB) and rocksdict (RocksDB), as a table for docs/benchmarks.md.

    scripts/deps python-bench
    PYTHONPATH=build/release/python build/venv/bin/python python/bench/compare.py

Every run is a process of its own on a new database, and the engines take turns, so that whatever else
the machine does meets all of them. All have the same memtables, caches and filters, and none of them
compresses or syncs. The table shows medians of thousands of operations per second and, in brackets, of CPU microseconds
that the calling thread took for one; and the medians of the ratios, which are taken turn by turn.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

KEY_BYTES, VALUE_BYTES = 16, 100
BATCH = 1000
MEMTABLE_BYTES = 16 << 20
CACHE_BYTES = 512 << 20
ENGINES = ("sluice", "plyvel", "rocksdict")
WORK = {
    "put": "put, one by one",
    "batch": f"put, in batches of {BATCH}",
    "get": "get, random, cached",
    "items": "iterate over all",
}


class Sluice:
    def __init__(self, path: str) -> None:
        import sluice

        self.db = sluice.open(
            path,
            create_if_missing=True,
            memtable_bytes=MEMTABLE_BYTES,
            row_cache_bytes=CACHE_BYTES // 3,  # the same share of both as by default
            block_cache_bytes=CACHE_BYTES - CACHE_BYTES // 3,
        )
        self.put, self.get, self.items = self.db.put, self.db.get, self.db.items

    def batch(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        with self.db.batch() as batch:
            for key, value in pairs:
                batch.put(key, value)

    def settle(self) -> None:
        self.db.compact()


class Plyvel:
    def __init__(self, path: str) -> None:
        import plyvel

        self.db = plyvel.DB(
            path,
            create_if_missing=True,
            write_buffer_size=MEMTABLE_BYTES,
            lru_cache_size=CACHE_BYTES,
            bloom_filter_bits=10,
            compression=None,
        )
        self.put, self.get, self.items = self.db.put, self.db.get, self.db.iterator

    def batch(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        with self.db.write_batch() as batch:
            for key, value in pairs:
                batch.put(key, value)

    def settle(self) -> None:
        self.db.compact_range()


class Rocksdict:
    def __init__(self, path: str) -> None:
        import rocksdict

        options = rocksdict.Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_size(MEMTABLE_BYTES)
        options.set_compression_type(rocksdict.DBCompressionType.none())
        blocks = rocksdict.BlockBasedOptions()
        blocks.set_block_cache(rocksdict.Cache(CACHE_BYTES))
        blocks.set_bloom_filter(10, False)
        options.set_block_based_table_factory(blocks)
        self.db = rocksdict.Rdict(path, options)
        self.put, self.get, self.items = self.db.put, self.db.get, self.db.items
        self.new_batch: Callable[[], Any] = lambda: rocksdict.WriteBatch(raw_mode=True)

    def batch(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        batch = self.new_batch()
        for key, value in pairs:
            batch.put(key, value)
        self.db.write(batch)

    def settle(self) -> None:
        self.db.flush()
        self.db.compact_range(None, None)


Speed = dict[str, tuple[float, float]]


def measure(engine: str, path: str, records: int, seed: int) -> Speed:
    """Of each kind of work: operations per second, and CPU seconds of this thread per operation."""
    draw = random.Random(seed)
    numbers = list(range(2 * records))
    draw.shuffle(numbers)
    pairs = [(b"%0*d" % (KEY_BYTES, n), draw.randbytes(VALUE_BYTES)) for n in numbers]
    first, second = pairs[:records], pairs[records:]
    wanted = [key for key, _ in draw.sample(pairs, records)]
    db: Any = {"sluice": Sluice, "plyvel": Plyvel, "rocksdict": Rocksdict}[engine](path)
    speed: Speed = {}

    def timed(name: str, count: int, function: Callable[[], None]) -> None:
        begin, cpu = time.perf_counter(), time.thread_time()
        function()
        cpu = time.thread_time() - cpu
        speed[name] = (count / (time.perf_counter() - begin), cpu / count)

    def put() -> None:
        call = db.put
        for key, value in first:
            call(key, value)

    def batch() -> None:
        for begin in range(0, records, BATCH):
            db.batch(second[begin : begin + BATCH])

    def get() -> None:
        call = db.get
        for key in wanted:
            call(key)

    def items() -> None:
        count = sum(1 for _ in db.items())
        assert count == 2 * records, count

    timed("put", records, put)
    timed("batch", records, batch)
    db.settle()
    get()  # fills the caches
    assert all(db.get(key) == value for key, value in draw.sample(pairs, 1000))
    timed("get", records, get)
    timed("items", 2 * records, items)
    return speed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--directory", default="/dev/shm")
    parser.add_argument("--one", nargs=2, metavar=("ENGINE", "SEED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        engine, seed = arguments.one
        path = tempfile.mkdtemp(prefix="sluice-bench-", dir=arguments.directory)
        try:
            print(json.dumps(measure(engine, path + "/db", arguments.records, int(seed))))
        finally:
            shutil.rmtree(path)
        return

    results: dict[str, list[Speed]] = {engine: [] for engine in ENGINES}
    for turn in range(arguments.turns):
        for i in range(len(ENGINES)):
            engine = ENGINES[(turn + i) % len(ENGINES)]
            command = [sys.executable, __file__, "--one", engine, str(turn)]
            command += ["--records", str(arguments.records), "--directory", arguments.directory]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
            results[engine].append(json.loads(done.stdout))
            print(turn, engine, results[engine][-1], file=sys.stderr)

    print("| thousand/s | " + " | ".join(ENGINES) + " | x plyvel | x rocksdict |")
    print("|---" * (len(ENGINES) + 3) + "|")
    for work, what in WORK.items():
        cells = []
        for engine in ENGINES:
            speed = statistics.median(r[work][0] for r in results[engine]) / 1e3
            cpu = statistics.median(r[work][1] for r in results[engine]) * 1e6
            cells.append(f"{speed:.0f} ({cpu:.2f})")
        for peer in ENGINES[1:]:
            turns = zip(results["sluice"], results[peer], strict=True)
            cells.append(f"{statistics.median(a[work][0] / b[work][0] for a, b in turns):.1f}")
        print(f"| {what} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
