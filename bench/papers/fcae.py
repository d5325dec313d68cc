"""FCAE (ICDE'20), section VII: LevelDB with and without a card."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from figure import Figure, Row
from runs import LEVELDB, Bench, throughput

KEY = 16

# Table IV: LevelDB's settings are its own defaults.
SETTINGS = {"bloom_bits": 0, "cache_size": 8 << 20, "write_buffer_size": 4 << 20}

HOST = (
    "Theirs is LevelDB 1.1 with two cores of an i7-8700K, or one and a KCU1500 card; here it is LevelDB 1.23, and the "
    "card is a model at 200 MHz behind PCIe 3 x16, whose merge and pacing the same two cores have to do.",
)


def engines(config: str) -> dict[str, str | None]:
    return {**LEVELDB, f"LevelDB, a modelled {config}": f"model:{config}"}


def fill(
    bench: Bench,
    config: str,
    x: float,
    theirs: dict[str, float] | None = None,
    key: int = KEY,
    value: int = 128,
    **options: object,
) -> Iterable[Row]:
    """Each engine once: fillrandom, with everything else as in Table IV."""
    for series, executor in engines(config).items():
        runs, report = bench.leveldb(
            executor, **SETTINGS, key_size=key, value_size=value, benchmarks="fillrandom", **options
        )
        values = {"MB/s": runs[0]["ops_per_second"] * (key + value) / 1e6, **throughput(runs[0])}
        seconds = runs[0]["seconds"] + runs[0]["settle_seconds"]
        if executor is not None and executor.startswith("model:"):
            # Both directions at once would take half of it; the paper does not say.
            values["link, % of time"] = 100 * (report.bytes_in + report.bytes_out) / 12e9 / seconds
        yield Row(series, x, values, (theirs or {}).get(series))


def table5(bench: Bench) -> Iterable[Row]:
    for cell in bench.grid("fcae", "tiny", "fcae2"):
        published = cell.get("published")
        if published is not None:
            values = {"MB/s": published["measured"]}
            yield Row(f"V = {cell['datapath_bytes']}", cell["value_bytes"][0], values, published["value"])


def nine_ways(bench: Bench) -> Iterable[Row]:
    for cell in bench.grid("fcae", "tiny", "fcae9"):
        rate = 200 * cell["read_bytes"] / cell["cycles"]  # of input tables, as in Table V
        yield Row(f"N = {cell['ways']}, V = 8", cell["value_bytes"][0], {"MB/s": rate})


def data_size(config: str, sizes: tuple[float, ...]) -> Callable[[Bench], Iterable[Row]]:
    def measure(bench: Bench) -> Iterable[Row]:
        for gb in sizes:
            if gb <= bench.data_gb:
                yield from fill(bench, config, gb, num=bench.records(KEY + 512, gb), value=512)

    return measure


TABLE6 = {64: (2.4, 5.4), 128: (2.9, 7.7), 256: (2.5, 7.1), 512: (2.8, 9.1), 1024: (2.3, 9.8), 2048: (2.3, 12.3)}


def value_length(bench: Bench) -> Iterable[Row]:
    for value, (plain, card) in TABLE6.items():
        theirs = {"LevelDB": plain, "LevelDB, a modelled fcae2": card}
        yield from fill(bench, "fcae2", value, theirs, num=bench.records(KEY + value), value=value)


def key_length(bench: Bench) -> Iterable[Row]:
    for key in (16, 32, 64, 128, 256):
        yield from fill(bench, "fcae9", key, num=bench.records(key + 128), key=key)


def value_length_of_nine(bench: Bench) -> Iterable[Row]:
    for value in TABLE6:
        yield from fill(bench, "fcae9", value, num=bench.records(KEY + value), value=value)


def block_size(bench: Bench) -> Iterable[Row]:
    for kib in (2, 16, 128, 1024):
        yield from fill(bench, "fcae9", kib, num=bench.records(KEY + 128), block_size=kib << 10)


def ycsb(bench: Bench) -> Iterable[Row]:
    workloads = ["load", "ycsba", "ycsbb", "ycsbc", "ycsbd", "ycsbe", "ycsbf"]
    records = bench.records(KEY + 1024)
    for series, executor in engines("fcae9").items():
        runs, _ = bench.leveldb(
            executor, **SETTINGS, key_size=KEY, value_size=1024, num=records, benchmarks=",".join(workloads)
        )
        for run in runs:
            yield Row(series, run["benchmark"], throughput(run))


FIGURES = (
    Figure(
        "fcae-table-5",
        "FCAE, Table V and Figure 9: speed of a merge of two runs",
        "value, bytes",
        "MB/s",
        table5,
        (
            "Theirs are kernel times of a KCU1500 at 200 MHz, without transfers; ours are cycles of the RTL in "
            "simulation, times an assumed 200 MHz.",
            "V = 32 and 64 are in [grid.md](grid.md), since they are in no named configuration.",
        ),
        log_x=True,
    ),
    Figure(
        "fcae-figure-12",
        "FCAE, Figures 12 and 13: nine ways beside two",
        "value, bytes",
        "MB/s",
        nine_ways,
        ("The cycles are those of the RTL in simulation, at an assumed 200 MHz, as in Table V.",),
        log_x=True,
        paper_says="Nine inputs lose about 70 % at small values, less as they grow.",
    ),
    Figure(
        "fcae-figure-10",
        "FCAE, Figure 10: LevelDB's fill in random order over the data's size, two inputs",
        "data, GB",
        "MB/s",
        data_size("fcae2", (0.2, 0.4, 0.8, 1.2, 1.6, 2)),
        HOST,
        paper_says="LevelDB falls off with the data, LevelDB with the card much less.",
    ),
    Figure(
        "fcae-table-6",
        "FCAE, Table VI and Figure 11: LevelDB's fill in random order over the values' length, V = 16",
        "value, bytes",
        "MB/s",
        value_length,
        HOST,
        log_x=True,
    ),
    Figure(
        "fcae-figure-14",
        "FCAE, Figure 14 and Table VIII: the same over the data's size with nine inputs, and the link's share",
        "data, GB",
        "MB/s",
        data_size("fcae9", (0.2, 0.4, 0.8, 1.2, 1.6, 2, 8, 32, 128)),
        (*HOST, "The link's share is the bytes of all tasks at 12 GB/s, over the time of the whole run."),
        paper_says="The factor is 2.5 in the end; the link takes 9 % of the time at 0.2 GB, and below 1 % at 512 GB.",
    ),
    Figure(
        "fcae-figure-15a",
        "FCAE, Figure 15 (a): over the keys' length",
        "key, bytes",
        "MB/s",
        key_length,
        HOST,
        log_x=True,
        paper_says="The factor falls linearly with the keys' length.",
    ),
    Figure(
        "fcae-figure-15b",
        "FCAE, Figure 15 (b): over the values' length, nine inputs",
        "value, bytes",
        "MB/s",
        value_length_of_nine,
        HOST,
        log_x=True,
        paper_says="The factor grows with the values' length.",
    ),
    Figure(
        "fcae-figure-15c",
        "FCAE, Figure 15 (c): over the blocks' size",
        "block, KiB",
        "MB/s",
        block_size,
        (
            *HOST,
            "Figure 15 (d), the ratio between levels, is missing: LevelDB has it as a constant, which a program cannot "
            "set.",
        ),
        log_x=True,
        paper_says="The factor stays at 2.4.",
    ),
    Figure(
        "fcae-figure-16",
        "FCAE, Figure 16: YCSB",
        "workload",
        "1000 op/s",
        ycsb,
        (*HOST, "The paper has 20 million records and as many operations of each workload."),
        paper_says="The card is ahead in all workloads, most in the load, 2.2 times.",
    ),
)
