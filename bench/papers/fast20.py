"""FAST'20, section 4: one unit, and the engine with and without a card."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from figure import Figure, Row
from runs import Bench, card_cpu, host_cpu, throughput

KEY = 8
VALUE = 32
ENGINES = {"sluice:cpu": "CPU", "sluice:offload": "card", "sluice": "either"}

ENGINE = (
    "Theirs is X-Engine on 48 cores, with 278 GB in 32 tables, a cache of 70 GB and ten SSDs; here it is Sluice on two "
    "cores, whose card is a model of `fast20` at 200 MHz behind PCIe 3 x16, and the same cores have to do its merges.",
    "\"Either\" leaves each task to whoever does it sooner; \"card\" offloads all.",
)


def unit(bench: Bench) -> Iterable[Row]:
    for cell in bench.grid("fast20", "fast20"):
        published = cell.get("published")
        if published is not None:
            yield Row("fast20", cell["value_bytes"][0], {"M records/s": published["measured"]}, published["value"])


def merges(bench: Bench) -> Iterable[Row]:
    """As many records as theirs, if there may be so many."""
    engines = {"sluice:cpu": "CPU, one thread", "sluice:offload": "card"}
    for key, value in ((8, 32), (8, 128), (8, 512), (16, 32), (16, 128), (16, 512), (64, 128)):
        runs = bench.bench(
            executor="model",
            engine=",".join(engines),
            compaction_threads=1,
            key_size=key,
            value_size=value,
            num=min(4_000_000, bench.records(key + value)),
            write_buffer_size=max(8 << 20, int(bench.data_gb * 1e9)),
            benchmarks="compactmixed",
        )
        for run in runs:
            values = {
                "M records/s": run["ops_per_second"] / 1e6,
                "host CPU, us/record": host_cpu(run),
                "card's model, us/record": card_cpu(run),
            }
            if run["units_busy"] is not None:
                values["of the unit alone"] = run["operations"] / (run["seconds"] * run["units_busy"]) / 1e6
            yield Row(engines[run["engine"]], f"{key} + {value}", values)


def settings(bench: Bench) -> dict[str, object]:
    records = bench.records(KEY + VALUE)
    return {
        "executor": "model",
        "distribution": "zipf:1.0",
        "key_size": KEY,
        "value_size": VALUE,
        "num": records,
        "reads": records // 4,
        "write_buffer_size": 4 << 20,
    }


def workloads(*names: str) -> Callable[[Bench], Iterable[Row]]:
    def measure(bench: Bench) -> Iterable[Row]:
        # Each group in a database of its own, which is filled first.
        first = [] if names[0] in ("fillrandom", "load") else ["fillrandom"]
        runs = bench.bench(**settings(bench), engine=",".join(ENGINES), benchmarks=",".join([*first, *names]))
        for name in names:
            for run in runs:
                if run["benchmark"] == name:
                    yield Row(ENGINES[run["engine"]], name, throughput(run))

    return measure


def threads(bench: Bench) -> Iterable[Row]:
    for series, options in {
        "1 thread": {"engine": "sluice:cpu", "compaction_threads": 1},
        "2 threads": {"engine": "sluice:cpu", "compaction_threads": 2},
        "card": {"engine": "sluice:offload", "compaction_threads": 1},
    }.items():
        runs = bench.bench(**settings(bench), **options, benchmarks="fillrandom,reads75")
        for run in runs:
            if run["benchmark"] == "reads75":
                values = throughput(run)
                for operation in ("get", "put"):
                    values[f"{operation} p99, us"] = run["latency"][operation]["p99_us"]
                yield Row(series, "75:25", values)


FIGURES = (
    Figure(
        "fast20-figure-10",
        "FAST'20, Figure 10: a compaction of two runs over the lengths of keys and values",
        "key + value, bytes",
        "M records/s",
        merges,
        (
            "Theirs is one thread of a Xeon Platinum 8163, or a VU9P; here it is one thread, and a model of `fast20` at 200 MHz "
            "behind PCIe 3 x16, whose merge the second core has to do, more slowly than the unit would: \"of the unit alone\" is "
            "per second that it is busy. Four million records, or what --data allows.",
            "The paper names neither its sizes nor its records per second.",
        ),
        paper_says="The card is 203 to 507 % faster, and more so for longer records.",
    ),
    Figure(
        "fast20-figure-11",
        "FAST'20, Figure 11: one unit over the values' length, keys of 8 bytes",
        "value, bytes",
        "M records/s",
        unit,
        (
            "Theirs are the model that the paper prints, within 5 to 13 % of what it measured on a VU9P at 200 MHz; "
            "ours are cycles of the RTL in simulation at an assumed 200 MHz.",
        ),
        log_x=True,
    ),
    Figure(
        "fast20-figure-12",
        "FAST'20, Figure 12 and Table 3: threads that compact, or a card; gets and puts 75:25",
        "gets : puts",
        "1000 op/s",
        threads,
        ENGINE,
        paper_says="With the card 23.3 % more than with 32 threads, the best of theirs; times of reads 14.7 % shorter, "
        "of writes 28.1 %, of the tail 40 %.",
    ),
    Figure(
        "fast20-figure-13",
        "FAST'20, Figure 13: gets and puts from 95:5 to 75:25",
        "workload",
        "host CPU, us/op",
        workloads("reads95", "reads90", "reads85", "reads80", "reads75"),
        ENGINE,
        paper_says="About 10 % less CPU in all cases.",
    ),
    Figure(
        "fast20-figure-14",
        "FAST'20, Figure 14: DBBench",
        "workload",
        "host CPU, us/op",
        workloads(
            "fillrandom", "seekrandomwhilewriting", "readwhilewriting", "updaterandom", "readrandomwriterandom"
        ),
        ENGINE,
        paper_says="Fill random 54 % faster with 15 % less CPU, the others 17 to 29 % faster.",
    ),
    Figure(
        "fast20-figure-15",
        "FAST'20, Figure 15: YCSB",
        "workload",
        "1000 op/s",
        workloads("load", "ycsba", "ycsbb", "ycsbc", "ycsbd", "ycsbe", "ycsbf"),
        ENGINE,
        paper_says="A 23.7 % faster, F 16.1 %, the others hardly.",
    ),
)
