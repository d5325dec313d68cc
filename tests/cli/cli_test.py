#!/usr/bin/env python3
"""The sluice command as its users see it: output, exit codes, files.

usage: cli_test.py SLUICE LEVELDB_TOOL [unittest arguments]
"""

import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SLUICE, LEVELDB_TOOL = sys.argv[1:3]
SEED = int(os.environ.get("SLUICE_SEED", "0"), 0) or random.SystemRandom().getrandbits(48)
COMMANDS = (
    (),
    ("table",),
    ("table", "verify"),
    ("table", "dump"),
    ("compact",),
    ("bench",),
    ("simulate",),
    ("db",),
    *(
        ("db", name)
        for name in "get put delete scan dump stats verify checkpoint compact import-leveldb".split()
    ),
    ("unit",),
    ("unit", "run"),
    ("unit", "bench"),
    ("unit", "replay"),
    ("unit", "list"),
)
TABLE_MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)
RUN_FIELDS = (
    "config executor ways status input_records output_records dropped_records input_bytes "
    "output_bytes cycles clock_mhz seconds unit_seconds checksum stalls"
).split()


def sluice(*arguments, cwd=None, stdin=None):
    command = [SLUICE, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=1500, cwd=cwd, input=stdin
    )


def crc32c(data):
    table = []
    for entry in range(256):
        for _ in range(8):
            entry = entry >> 1 ^ (0x82F63B78 if entry & 1 else 0)
        table.append(entry)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def varints(data, count):
    """The first `count` varints of `data`."""
    numbers = []
    bytes_left = iter(data)
    while len(numbers) < count:
        number, shift, byte = 0, 0, 0x80
        while byte & 0x80:
            byte = next(bytes_left)
            number |= (byte & 0x7F) << shift
            shift += 7
        numbers.append(number)
    return numbers


def varint(number):
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(encoded + bytes([number]))


def masked_crc(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def stored_block(entries):
    """A raw block with its trailer: whole keys, each at a restart."""
    block, restarts = b"", []
    for key, value in sorted(entries.items()):
        restarts.append(len(block))
        block += varint(0) + varint(len(key)) + varint(len(value)) + key + value
    restarts = restarts or [0]
    block += struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts)) + b"\0"
    return block + masked_crc(block)


def table_of(key, value):
    """A table of one record; lengths fit in a byte."""
    data, metaindex = stored_block({key: value}), stored_block({})
    index = stored_block({key: bytes((0, len(data) - 5))})
    footer = bytes((len(data), len(metaindex) - 5, len(data + metaindex), len(index) - 5))
    return data + metaindex + index + footer.ljust(40, b"\0") + TABLE_MAGIC


def rocksdb_table(table, report):
    """A LevelDB table in RocksDB's framing of format_version 2 (docs/formats.md)."""
    _, _, index_offset, index_size = varints(table[-48:], 4)
    counts = {
        b"rocksdb.num.entries": report["entries"],
        b"rocksdb.deleted.keys": report["tombstones"],
        b"rocksdb.raw.key.size": report["key_bytes"],
        b"rocksdb.raw.value.size": report["value_bytes"],
        b"rocksdb.num.data.blocks": report["data_blocks"],
    }
    properties = {name: varint(count) for name, count in counts.items()}
    properties[b"rocksdb.comparator"] = b"leveldb.BytewiseComparator"
    table = table[: index_offset + index_size + 5]
    block = stored_block(properties)
    handle = varint(len(table)) + varint(len(block) - 5)
    metaindex = stored_block({b"rocksdb.properties": handle})
    place = varint(len(table) + len(block)) + varint(len(metaindex) - 5)
    place += varint(index_offset) + varint(index_size)
    footer = b"\1" + place.ljust(40, b"\0") + struct.pack("<IQ", 2, 0x88E241B785F4CFF7)
    return table + block + metaindex + footer


def task_file(table, note):
    """A kept task (src/merge/task_file.h) of one run of one table."""
    _, _, index_offset, index_size = varints(table[-48:], 4)
    task = b"sluicetk" + struct.pack("<IB", 4, len(note)) + note
    task += struct.pack("<IIIIIQIQBB", 0, 4096, 16, 0, 0, 1 << 21, 1, (1 << 56) - 1, 0, 0)
    task += struct.pack("<IIQQIQ", 1, 1, index_offset, index_size, 0, len(table)) + table
    return task + masked_crc(task)


def leveldb_tool(*arguments):
    return subprocess.run([LEVELDB_TOOL, *map(str, arguments)], capture_output=True, text=True)


class Case(unittest.TestCase):
    def ok(self, *arguments, stdin=None):
        """What a command that succeeds prints."""
        result = sluice(*arguments, stdin=stdin)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "", "nothing on stderr unless it is a terminal")
        return result.stdout

    def fails(self, code, *arguments):
        """What a command that fails with `code` prints on stdout and on stderr."""
        result = sluice(*arguments)
        self.assertEqual(result.returncode, code, (result.stdout, result.stderr))
        self.assertNotEqual(result.stderr, "")
        if "--json" not in arguments:
            self.assertEqual(result.stdout, "")
        return result.stdout, result.stderr

    def object(self, *arguments):
        return json.loads(self.ok(*arguments, "--json"))


class Usage(Case):
    def test_help(self):
        for command in COMMANDS:
            with self.subTest(command):
                text = self.ok(*command, "--help")
                self.assertIn("Usage: sluice", text)
                if command:
                    self.assertIn(f"Examples:\n  sluice {' '.join(command)}", text)

    def test_version(self):
        text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        version = text.split("project(sluice VERSION ")[1].split()[0]
        self.assertEqual(self.ok("--version"), f"sluice {version}\n")

    def test_errors_of_usage(self):
        for arguments in (
            (),
            ("bogus",),
            ("table",),
            ("unit",),
            ("table", "verify"),
            ("table", "verify", "a", "b"),
            ("compact",),
            ("compact", "dir", "--executor", "gpu"),
            ("compact", "dir", "--config", "nosuch"),
            ("bench", "--benchmarks", "nosuch"),
            ("bench", "--engine", "nosuch"),
            ("bench", "--distribution", "zipf:-1"),
            ("bench", "--value-size", "10-"),
            ("bench", "--value-size", "200-100"),
            ("bench", "--key-size", "7"),
            ("bench", "--threads", "0"),
            ("bench", "--num", "-5"),
            ("bench", "--threads", "1,-1"),
            ("bench", "--cache-size", "-1M"),
            ("bench", "--duration", "-1"),
            ("bench", "--plot", "file.pdf"),
            ("simulate", "--data", "0"),
            ("simulate", "--distribution", "zipf:"),
            ("simulate", "--distribution", "zipf:inf"),
            ("simulate", "--distribution", "latest"),
            ("simulate", "--extent-size", "2g"),
            ("simulate", "--plot", "file.pdf"),
            ("db",),
            ("db", "stats"),
            ("db", "put", "dir", "key"),
            ("db", "put", "dir", "key", "value", "--stdin"),
            ("db", "scan", "dir", "--limit", "some"),
            ("db", "scan", "dir", "--limit", "-1"),
            ("db", "stats", "dir", "--create"),
            ("unit", "run", "--records", "many"),
            ("unit", "run", "--duplicates", "101"),
            ("unit", "run", "--runs", "0"),
            ("unit", "run", "--interleave", "sorted"),
            ("unit", "bench", "--plot", "file.pdf"),
            ("unit", "run", "--nosuch"),
            ("unit", "run", "--executor", "rtl", "--runs", "200"),
            ("unit", "bench", "--grid", "nosuch"),
            ("unit", "bench", "--config", "nosuch"),
            ("unit", "bench", "--latency", "31"),
            ("unit", "bench", "--grid", "fcae", "--config", "tiny", "--latency", "200"),
            ("unit", "bench", "--grid", "full"),
            ("unit", "replay"),
        ):
            with self.subTest(arguments):
                self.fails(2, *arguments)
                stdout, _ = self.fails(2, *arguments, "--json")
                self.assertEqual(json.loads(stdout)["status"], "usage")


class Unit(Case):
    def test_list(self):
        configs = json.loads((ROOT / "hw/configs.json").read_text(encoding="utf-8"))
        listed = self.object("unit", "list")["configs"]
        self.assertEqual({entry["config"] for entry in listed}, set(configs))
        for entry in listed:
            parameters = configs[entry["config"]]["parameters"]
            self.assertEqual(entry["units"], configs[entry["config"]].get("units", 1))
            self.assertEqual(entry["ways"], parameters["Ways"])
            self.assertEqual(entry["value_bytes"], parameters["ValueBytes"])
            self.assertEqual(entry["snappy"], parameters.get("Snappy", 0) == 1)
            self.assertEqual(entry["bloom"], parameters.get("Bloom", 0) == 1)
            self.assertEqual(entry["compressors"], parameters.get("Compressors", 0))
            self.assertEqual(entry["xxh3"], parameters.get("Xxh3", 0) == 1)
            self.assertIn(f"\n{entry['config']} ", self.ok("unit", "list"))
        self.assertEqual(sum(entry["default"] for entry in listed), 1)

    def test_filters(self):
        for executor in ("cpu", "check", "model"):
            with self.subTest(executor, seed=SEED):
                arguments = ("unit", "run", "--executor", executor, "--records", 2000, "--seed", SEED)
                filters = ("--config", "bloom2", "--runs", 2, "--bloom-bits", 10)
                report = self.object(*arguments, *filters)
                self.assertEqual((report["status"], report["bloom_bits"]), ("ok", 10))
        arguments = ("unit", "run", "--config", "tiny", "--bloom-bits", 10, "--records", 10)
        stdout, _ = self.fails(1, *arguments, "--json")
        self.assertEqual(json.loads(stdout)["status"], "bad_descriptor")

    def test_compression(self):
        for executor in ("cpu", "check", "model"):
            with self.subTest(executor, seed=SEED):
                arguments = ("unit", "run", "--executor", executor, "--records", 2000, "--seed", SEED)
                report = self.object(*arguments, "--config", "compress2", "--runs", 2, "--compress")
                self.assertEqual((report["status"], report["compress"]), ("ok", True))
        arguments = ("unit", "run", "--config", "tiny", "--compress", "--records", 10)
        stdout, _ = self.fails(1, *arguments, "--json")
        self.assertEqual(json.loads(stdout)["status"], "bad_descriptor")

    def test_xxh3(self):
        for executor in ("cpu", "check", "model"):
            with self.subTest(executor, seed=SEED):
                arguments = ("unit", "run", "--executor", executor, "--records", 2000, "--seed", SEED)
                report = self.object(*arguments, "--config", "rocks4", "--runs", 4, "--xxh3")
                self.assertEqual((report["status"], report["xxh3"]), ("ok", True))
        arguments = ("unit", "run", "--config", "tiny", "--xxh3", "--records", 10)
        stdout, _ = self.fails(1, *arguments, "--json")
        self.assertEqual(json.loads(stdout)["status"], "bad_descriptor")

    def test_cpu(self):
        arguments = ("unit", "run", "--executor", "cpu", "--records", 5000, "--seed", SEED)
        plain = self.object(*arguments)
        for field in RUN_FIELDS:
            self.assertIn(field, plain)
        self.assertEqual(plain["status"], "ok")
        self.assertEqual((plain["input_records"], plain["output_records"]), (5000, 5000))
        self.assertRegex(plain["checksum"], "^[0-9a-f]{16}$")
        self.assertEqual(plain["cycles"], 0)
        self.assertGreater(plain["seconds"], 0)
        again = self.object(*arguments)
        self.assertEqual(again["checksum"], plain["checksum"])
        other = self.object(*arguments[:-1], SEED + 1)
        self.assertNotEqual(other["checksum"], plain["checksum"])

    def test_on_a_card(self):
        # It asks the card, or the lack of one, not the simulated unit.
        _, stderr = self.fails(1, "unit", "run", "--executor", "xrt", "--config", "none.xclbin")
        self.assertRegex(stderr, "no file none.xclbin|this build has no XRT")
        _, stderr = self.fails(1, "unit", "run", "--executor", "f2", "--config", "ffff:ff:1f.7")
        self.assertRegex(stderr, "no card ffff:ff:1f.7: executor f2 is configured by a PCI address")

    def test_what_is_dropped(self):
        arguments = ("unit", "run", "--executor", "cpu", "--records", 2000, "--seed", SEED)
        mixed = self.object(*arguments, "--duplicates", 60, "--deletes", 20)
        self.assertGreater(mixed["dropped_records"], 0)
        self.assertEqual(
            mixed["input_records"], mixed["output_records"] + mixed["dropped_records"]
        )
        self.assertEqual(self.object(*arguments, "--deletes", 100)["output_records"], 0)

    def test_interleave_moves_records_between_runs_only(self):
        arguments = ("unit", "run", "--executor", "cpu", "--records", 2000, "--runs", 4)
        first, second = (
            self.object(*arguments, "--interleave", name) for name in ("random", "one-run-first")
        )
        self.assertEqual(first["checksum"], second["checksum"])

    def test_every_configuration_against_the_cpu(self):
        for entry in self.object("unit", "list")["configs"]:
            with self.subTest(entry["config"], seed=SEED):
                arguments = ("unit", "run", "--config", entry["config"], "--seed", SEED)
                arguments += ("--runs", entry["ways"], "--records", 3000, "--value-bytes", 100)
                arguments += ("--duplicates", 30, "--deletes", 10)
                checked = self.object(*arguments, "--executor", "check")
                cpu = self.object(*arguments, "--executor", "cpu")
                for field in ("input_records", "output_records", "output_bytes", "checksum"):
                    self.assertEqual(checked[field], cpu[field], field)
                self.assertEqual(checked["ways"], entry["ways"])
                self.assertGreater(checked["cycles"], 3000)
                clock = 1e6 * checked["clock_mhz"]
                self.assertAlmostEqual(checked["seconds"] * clock, checked["cycles"], 3)
                self.assertGreater(sum(checked["stalls"].values()), 0)

    def test_latency_costs_cycles(self):
        arguments = ("unit", "run", "--records", 1000, "--seed", SEED)
        near, far = (self.object(*arguments, "--latency", n)["cycles"] for n in (1, 2000))
        self.assertGreater(far, near + 2000)

    def test_what_the_unit_cannot_do(self):
        """A key over its limit ends the job with that status, not with a crash."""
        arguments = ("unit", "run", "--records", 10, "--key-bytes", 20_000)
        stdout, stderr = self.fails(1, *arguments, "--json")
        self.assertEqual(json.loads(stdout)["status"], "key_too_long")
        self.assertIn("key", stderr)

    def test_report_for_people(self):
        text = self.ok("unit", "run", "--records", 2000, "--key-bytes", 16, "--value-bytes", 128)
        for word in ("cycles per record", "contract", "bytes per cycle", "MB/s at 200 MHz"):
            self.assertIn(word, text)


class Bench(Case):
    """On the thesis's grid, which is small."""

    GRID = ("unit", "bench", "--grid", "thesis")

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.baseline = self.directory / "baseline.json"

    def test_cells(self):
        answer = self.object(*self.GRID)
        self.assertEqual(answer["status"], "ok")
        self.assertEqual(len(answer["cells"]), 9, "the rows of Table 4.1")
        for cell in answer["cells"]:
            with self.subTest(cell["name"]):
                self.assertEqual((cell["config"], cell["shape"]), ("tiny", "thesis"))
                self.assertEqual((cell["records"], cell["dropped_records"]), (80, 18))
                self.assertEqual(cell["job_cycles"], [cell["cycles"]])
                self.assertGreater(cell["cycles_per_record"], cell["limit"])
                self.assertEqual(
                    cell["meets_contract"], cell["cycles_per_record"] <= cell["contract"]
                )
                self.assertEqual(cell["published"]["measured"], cell["cycles"])
        self.assertAlmostEqual(answer["cells"][0]["published"]["value"], 15752 * 100 / 650)

    def test_report_for_people(self):
        text = self.ok(*self.GRID)
        for word in ("contract", "published", "thesis Table 4.1", "2423"):
            self.assertIn(word, text)

    def test_what_is_not_built_in_is_told(self):
        answer = self.object("unit", "bench", "--grid", "fcae", "--config", "tiny,n2v32")
        self.assertEqual(answer["not_built_in"], ["n2v32"])
        self.assertEqual({cell["config"] for cell in answer["cells"]}, {"tiny"})

    def test_gate(self):
        self.ok(*self.GRID, "--accept", self.baseline)
        self.ok(*self.GRID, "--check", self.baseline)
        accepted = json.loads(self.baseline.read_text())
        below = [c["name"] for c in self.object(*self.GRID)["cells"] if not c["meets_contract"]]
        self.assertEqual(accepted["below_contract"], sorted(below))
        name = "tiny/thesis/k3-10/v10/l30"
        accepted["cycles"][name][0] += 1
        self.baseline.write_text(json.dumps(accepted))
        _, stderr = self.fails_check()
        self.assertIn(f"{name}: ", stderr)
        self.assertIn("--accept", stderr)
        accepted["cycles"][name][0] -= 1
        accepted["below_contract"] = sorted([*below, name])
        self.baseline.write_text(json.dumps(accepted))
        self.fails_check()
        self.baseline.write_text("{}")
        self.fails(1, *self.GRID, "--check", self.baseline, "--json")

    def fails_check(self):
        stdout, stderr = self.fails(1, *self.GRID, "--check", self.baseline, "--json")
        answer = json.loads(stdout)
        self.assertEqual(answer["status"], "baseline")
        self.assertEqual(len(answer["complaints"]), 1)
        return answer, stderr

    def test_plot(self):
        svg = self.directory / "it's a plot.svg"
        self.ok("unit", "bench", "--grid", "fcae", "--config", "tiny", "--plot", svg)
        text = svg.read_text()
        for word in ("<svg", "measured, key 16 B", "contract, key 16 B", "published, key 16 B"):
            self.assertIn(word, text)
        png = self.directory / "plot.png"
        self.ok(*self.GRID, "--plot", png)
        self.assertEqual(png.read_bytes()[:4], b"\x89PNG")
        self.fails(2, *self.GRID, "--plot", self.directory / "nosuch/plot.svg", "--json")


class EngineBench(Case):
    RUN_FIELDS = (
        "benchmark engine version threads turn operations seconds ops_per_second settle_seconds "
        "gets found latency throughput by_second bytes write_amplification read_amplification "
        "space_amplification stall_seconds cpu_seconds host_cpu_ms_per_mb_compacted units_busy merges"
    ).split()

    def setUp(self):
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.dir = pathlib.Path(temp.name)

    def arguments(self, *benchmarks):
        return (
            *("bench", "--db", self.dir / "db", "--num", 2000, "--seed", SEED % 2**32),
            *("--benchmarks", ",".join(benchmarks)),
        )

    def test_engines_take_turns(self):
        benchmarks = ("filluniquerandom", "readwhilewriting", "flush", "readseq")
        report = self.object(
            *self.arguments(*benchmarks), "--engine", "sluice,leveldb", "--turns", 2,
            "--distribution", "zipf:1.0", "--value-size", "50-150", "--threads", 2,
        )
        self.assertEqual(report["status"], "ok")
        self.assertEqual(report["settings"]["distribution"], "zipf:1")
        order = [(run["turn"], run["engine"], run["benchmark"]) for run in report["runs"]]
        turns = ((1, "sluice"), (1, "leveldb"), (2, "leveldb"), (2, "sluice"))
        self.assertEqual(order, [(*turn, name) for turn in turns for name in benchmarks])
        for run in report["runs"]:
            self.assertEqual(list(run), self.RUN_FIELDS)
            self.assertGreater(run["ops_per_second"], 0)
            self.assertEqual(
                list(run["cpu_seconds"]), "foreground flush compaction driver other card".split()
            )
        reading = report["runs"][1]
        self.assertEqual(set(reading["latency"]), {"get", "put"})
        self.assertEqual(reading["latency"]["get"]["calls"], 2000)
        self.assertEqual((reading["gets"], reading["found"]), (2000, 2000))
        percentiles = [reading["latency"]["get"][f"{p}_us"] for p in ("p50", "p99", "p99.99", "max")]
        self.assertEqual(percentiles, sorted(percentiles))
        self.assertGreater(reading["write_amplification"], 1)
        self.assertIsNone(report["runs"][3]["write_amplification"])
        self.assertGreater(reading["space_amplification"], 0)
        # Both engines wrote as much (which thread draws which length, the machine decides), and
        # have it.
        written = [report["runs"][i]["bytes"]["user_written"] for i in (0, 4)]
        self.assertAlmostEqual(written[0], written[1], delta=0.05 * written[1])
        self.assertEqual([run["operations"] for run in report["runs"][3::4]], [2000] * 4)
        self.assertEqual([c["benchmark"] for c in report["comparison"]], list(benchmarks))
        for comparison in report["comparison"]:
            speeds = comparison["ops_per_second"]
            self.assertAlmostEqual(
                comparison["ratio"]["leveldb"], speeds["sluice"] / speeds["leveldb"]
            )

    def test_report_for_people(self):
        plot = self.dir / "plot.svg"
        text = self.ok(*self.arguments("load", "ycsba"), "--engine", "leveldb", "--plot", plot)
        self.assertRegex(text, r"(?m)^ycsba +leveldb +1 +[\d,]+")
        self.assertIn("\n  put ", text)
        self.assertIn("<svg", plot.read_text(encoding="utf-8"))
        # The database is still there.
        self.ok(*self.arguments("ycsbc"), "--engine", "leveldb")

    def test_what_cannot_be(self):
        _, error = self.fails(1, *self.arguments("readrandom"))
        self.assertIn("fill one first", error)
        (self.dir / "db" / "SLUICE_BENCH").unlink()
        (self.dir / "db" / "precious").touch()
        stdout, error = self.fails(1, *self.arguments("fillseq"), "--json")
        self.assertIn("--db", error)
        self.assertEqual(json.loads(stdout)["status"], "invalid_argument")


class Simulate(Case):
    def test_report(self):
        report = self.object(
            *("simulate", "--data", "4g", "--overwrites", 0.5, "--distribution", "zipf:0.8"),
            *("--write-buffer-size", "8m"),
        )
        self.assertEqual(report["status"], "ok")
        self.assertEqual(report["keys"], 2**32 // 116)
        self.assertAlmostEqual(report["user_bytes"], 1.5 * 2**32, delta=1000)
        self.assertGreater(report["compactions"]["major"]["bytes"], 0)
        self.assertGreater(report["write_amplification"], 3)
        self.assertGreater(report["disk_bytes"], report["live_bytes"])
        samples = report["samples"]
        self.assertGreater(len(samples), 50)
        self.assertAlmostEqual(samples[-1]["write_amplification"], report["write_amplification"])

    def test_overwrites_that_are_no_number_of_writes(self):
        for factor in ("-1", "nan", "inf", "1e18"):
            _, error = self.fails(2, "simulate", "--data", "10m", "--overwrites", factor)
            self.assertIn("--overwrites", error)

    def test_report_for_people(self):
        with tempfile.TemporaryDirectory() as directory:
            plot = pathlib.Path(directory) / "plot.svg"
            text = self.ok("simulate", "--data", "2g", "--plot", plot)
            self.assertRegex(text, r"(?m)^write amplification +\d")
            self.assertIn("<svg", plot.read_text(encoding="utf-8"))

    def test_a_plots_name_is_no_script(self):
        with tempfile.TemporaryDirectory() as directory:
            name = "a\n!touch b\nc.svg"
            sluice("simulate", "--data", "10m", "--plot", name, cwd=directory)
            self.assertEqual(os.listdir(directory), [name])

    def test_a_plot_that_cannot_be_written_leaves_the_one_before(self):
        with tempfile.TemporaryDirectory() as directory:
            plot = pathlib.Path(directory) / "plot.svg"
            plot.write_text("before", encoding="utf-8")
            command = [SLUICE, "simulate", "--data", "10m", "--plot", plot, "--json"]
            result = subprocess.run(["sh", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "sh", *map(str, command)],
                                    capture_output=True, text=True, timeout=1500)
            self.assertEqual(result.returncode, 1, result.stderr)
            json.loads(result.stdout)
            self.assertEqual((os.listdir(directory), plot.read_text(encoding="utf-8")), (["plot.svg"], "before"))


class Files(Case):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.db = pathlib.Path(directory.name) / "db"
        self.records = 20_000
        made = leveldb_tool("make", self.db, SEED, self.records)
        self.assertEqual(made.returncode, 0, made.stderr)

    def tables(self):
        """The whole ones: a compaction that closing the database cut off leaves one without end."""
        paths = [path for path in self.db.glob("*.ldb") if path.read_bytes().endswith(TABLE_MAGIC)]
        return sorted(paths, key=lambda path: path.stat().st_size)

    def check_database(self):
        checked = leveldb_tool("check", self.db, SEED, self.records)
        self.assertEqual(checked.returncode, 0, f"{checked.stderr} (SLUICE_SEED={SEED})")


class Table(Files):
    def test_sound(self):
        table = self.tables()[-1]
        report = self.object("table", "verify", table)
        self.assertEqual(report["status"], "ok")
        self.assertEqual(report["file_bytes"], table.stat().st_size)
        dump = self.ok("table", "dump", table)
        entries = [line for line in dump.splitlines() if line.startswith("  ")]
        self.assertEqual(len(entries), report["entries"])
        self.assertGreater(report["entries"], 100)
        self.assertEqual(report["filter"], "filter.leveldb.BuiltinBloomFilter2")
        self.assertIn("sound", self.ok("table", "verify", table))

    def test_references(self):
        """Sound, though not LevelDB's."""
        table = self.db / "000001.ldb"
        for kind in (1, 2):
            table.write_bytes(table_of(b"key" + struct.pack("<Q", 7 << 8 | kind), b"where"))
            self.assertEqual(self.object("table", "verify", table)["references"], kind - 1)
            text = self.ok("table", "verify", table)
            self.assertEqual("LevelDB has none" in text, kind == 2)
        self.assertIn('"key" @ 7 reference "where"', self.ok("table", "dump", table))
        table.write_bytes(table_of(b"key" + struct.pack("<Q", 7 << 8 | 3), b"where"))
        self.assertIn("unknown record type 3", self.fails(1, "table", "verify", table)[1])

    def test_rocksdb(self):
        """RocksDB's tables are known by their last bytes."""
        table = self.tables()[-1]
        report = self.object("table", "verify", table)
        records = [line for line in self.ok("table", "dump", table).splitlines() if line[:2] == "  "]
        content = rocksdb_table(table.read_bytes(), report)
        path = self.db / "000001.sst"
        path.write_bytes(content)
        again = self.object("table", "verify", path)
        for same in ("entries", "tombstones", "data_blocks", "compressed_blocks", "smallest", "largest"):
            self.assertEqual(again[same], report[same])
        dump = self.ok("table", "dump", path).splitlines()
        self.assertIn("RocksDB's format_version 2", dump[0])
        self.assertEqual([line for line in dump if line[:2] == "  "], records)
        path.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
        _, stderr = self.fails(1, "table", "verify", path)
        self.assertIn(str(path), stderr)

    def test_flipped_bit(self):
        """The fault is named with file and offset, and dump shows the blocks that are sound."""
        table = self.tables()[-1]
        content = bytearray(table.read_bytes())
        whole = self.ok("table", "dump", table)
        content[100] ^= 0x10  # in the first block, which begins at offset 0
        table.write_bytes(content)
        stdout, stderr = self.fails(1, "table", "verify", table, "--json")
        self.assertEqual(json.loads(stdout)["status"], "corruption")
        for text in (json.loads(stdout)["error"], stderr):
            self.assertIn(str(table), text)
            self.assertRegex(text, r"offset 0\b")
        result = sluice("table", "dump", table)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"offset 0\b")
        self.assertEqual(result.stdout.splitlines()[-1], whole.splitlines()[-1])

    def test_every_cut(self):
        table = self.tables()[0]
        content = table.read_bytes()
        for size in (0, 1, 47, 48, len(content) // 2, len(content) - 1):
            table.write_bytes(content[:size])
            _, stderr = self.fails(1, "table", "verify", table)
            self.assertIn(str(table), stderr)

    def test_not_a_table(self):
        _, stderr = self.fails(1, "table", "verify", ROOT / "LICENSE-GPL")
        self.assertIn("LICENSE-GPL", stderr)
        _, stderr = self.fails(1, "table", "verify", self.db / "nosuch.ldb")
        self.assertIn("nosuch.ldb", stderr)
        pipe = self.db / "000009.ldb"
        os.mkfifo(pipe)
        for path in (self.db, pipe):
            for verb in ("verify", "dump"):
                self.assertIn("not a regular file", self.fails(1, "table", verb, path)[1])


class Replay(Files):
    def test_a_kept_task(self):
        path = self.db.parent / "failed-0.task"
        path.write_bytes(task_file(self.tables()[0].read_bytes(), b"unit 1: hung"))
        cpu, checked = (
            self.object("unit", "replay", path, "--executor", name) for name in ("cpu", "check")
        )
        self.assertEqual(cpu["note"], "unit 1: hung")
        self.assertGreater(cpu["output_records"], 0)
        self.assertGreater(checked["cycles"], 0)
        for field in ("status", "passes", "input_records", "output_records", "checksum"):
            self.assertEqual(cpu[field], checked[field], field)
        self.assertIn("unit 1: hung", self.ok("unit", "replay", path, "--executor", "cpu"))

        path.write_bytes(path.read_bytes()[:-1])
        self.assertIn("checksum mismatch", self.fails(1, "unit", "replay", path)[1])
        self.fails(1, "unit", "replay", path.with_name("none"))


class Compact(Files):
    def test_executors_agree(self):
        checksums = set()
        for executor in ("cpu", "rtl", "check", "model"):
            with self.subTest(executor, seed=SEED):
                subprocess.run(["rm", "-rf", self.db], check=True)
                leveldb_tool("make", self.db, SEED, self.records)
                report = self.object("compact", self.db, "--executor", executor)
                self.assertEqual(report["status"], "ok")
                self.assertEqual(report["cpu_retries"], [])
                self.assertEqual(report["filter_bits_per_key"], 10)
                self.assertTrue(report["snappy"])
                self.assertEqual(report["cycles"] > 0, executor != "cpu")
                checksums.add(report["checksum"])
                for table in self.tables():
                    self.ok("table", "verify", table)
                self.check_database()
        self.assertEqual(len(checksums), 1)

    def test_twice(self):
        self.ok("compact", self.db)
        self.check_database()
        self.ok("compact", self.db)
        self.check_database()

    def test_in_use(self):
        holder = subprocess.Popen(
            [LEVELDB_TOOL, "hold", self.db], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        with holder:
            self.assertEqual(holder.stdout.readline(), b"held\n")
            stdout, stderr = self.fails(1, "compact", self.db, "--json")
            self.assertEqual(json.loads(stdout)["status"], "busy")
            self.assertIn("LOCK", stderr)
            holder.stdin.close()
        self.assertEqual(holder.returncode, 0)
        self.check_database()

    def test_corrupt_input(self):
        table = self.tables()[-1]
        content = bytearray(table.read_bytes())
        content[100] ^= 0x10
        table.write_bytes(content)
        before = {p.name: p.read_bytes() for p in self.db.glob("*.ldb")}
        _, stderr = self.fails(1, "compact", self.db)
        self.assertIn(table.name, stderr)
        self.assertRegex(stderr, r"offset \d+")
        self.assertEqual(before, {p.name: p.read_bytes() for p in self.db.glob("*.ldb")})

    def test_no_database(self):
        self.fails(1, "compact", self.db / "nosuch")
        with tempfile.TemporaryDirectory() as empty:
            self.fails(1, "compact", empty)
            self.assertEqual(os.listdir(empty), [])


if __name__ == "__main__":
    print(f"SLUICE_SEED={SEED}", flush=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
