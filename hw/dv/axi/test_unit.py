"""The whole unit with cocotbext-axi on all four ports: registers, interrupt, merges, bus errors."""

import os

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import (
    AxiBus,
    AxiLiteBus,
    AxiLiteMaster,
    AxiReadBus,
    AxiResp,
    AxiWriteBus,
)

import abi
import harness
import leveldb

MEMORY = 1 << 18
JOB, COMPLETION, DESCRIPTORS = 0x40, 0x400, 0x800  # device addresses
INPUTS, INDEX_OUT, DATA_OUT = 0x1000, 0x18000, 0x20000
INDEX_BYTES, DATA_BYTES = 0x8000, 0x20000
UNTOUCHED = 0xA5
PARAMETERS = {
    "WAYS": int(os.environ["UNIT_WAYS"]),
    "VALUE_BYTES": int(os.environ["UNIT_VALUE_BYTES"]),
    "IN_BYTES": int(os.environ["UNIT_IN_BYTES"]),
    "OUT_BYTES": int(os.environ["UNIT_OUT_BYTES"]),
}
MAX_CYCLES = 60_000


class Host:
    """Drives the control port, and owns the memory behind the other three."""

    def __init__(self, dut):
        self.dut = dut
        self.memory = bytearray([UNTOUCHED]) * MEMORY
        common = {"reset_active_level": False, "mem": self.memory, "size": MEMORY}
        clocks = (dut.clk, dut.rst_n)
        index = AxiBus.from_prefix(dut, "m_axi_index")
        data_in = AxiReadBus.from_prefix(dut, "m_axi_in")
        data_out = AxiWriteBus.from_prefix(dut, "m_axi_out")
        self.index_read = harness.PoisonedRead(index.read, *clocks, **common)
        self.index_write = harness.PoisonedWrite(index.write, *clocks, **common)
        self.data_read = harness.PoisonedRead(data_in, *clocks, **common)
        self.data_write = harness.PoisonedWrite(data_out, *clocks, **common)
        for bus in (index.read.ar, data_in.ar):
            harness.check_address_channel(*clocks, bus, "ar")
        for bus in (index.write, data_out):
            harness.check_address_channel(*clocks, bus.aw, "aw")
            harness.check_write_data(*clocks, bus.w)
        bus = AxiLiteBus.from_prefix(dut, "s_axi_control")
        self.control = AxiLiteMaster(bus, *clocks, reset_active_level=False)

    def ports(self):
        return self.index_read, self.index_write, self.data_read, self.data_write

    def pause(self, rng):
        for port in (self.index_read, self.data_read):
            harness.pause_all(rng, (port.ar_channel, port.r_channel))
        for port in (self.index_write, self.data_write):
            harness.pause_all(rng, (port.aw_channel, port.w_channel, port.b_channel))
        write, read = self.control.write_if, self.control.read_if
        channels = (write.aw_channel, write.w_channel, write.b_channel)
        harness.pause_all(rng, (*channels, read.ar_channel, read.r_channel))

    async def read(self, name, table=abi.CONTROL):
        response = await self.control.read(table.offset(name), 4)
        assert response.resp == AxiResp.OKAY
        return int.from_bytes(response.data, "little")

    async def write(self, name, value):
        response = await self.control.write(abi.CONTROL.offset(name), value.to_bytes(4, "little"))
        assert response.resp == AxiResp.OKAY

    async def run(self, descriptor=JOB):
        """Starts a job, waits for its interrupt, acknowledges both; returns its completion."""
        await self.write("GIE", 1)
        await self.write("IER", 1)
        await self.write("JOB_ADDR_LO", descriptor)
        await self.write("JOB_ADDR_HI", 0)
        assert self.dut.interrupt.value == 0
        await self.write("CTRL", 1)
        for _ in range(MAX_CYCLES):
            await RisingEdge(self.dut.clk)
            if self.dut.interrupt.value == 1:
                break
        else:
            raise AssertionError(f"no interrupt within {MAX_CYCLES} cycles")
        assert await self.read("CTRL") & 0b10, "interrupt, but not done"
        assert await self.read("ISR") & 1
        await self.write("ISR", 1)
        await self.write("CTRL", 1 << 4)
        assert not await self.read("CTRL") & 0b10, "done after CONTINUE"
        assert self.dut.interrupt.value == 0
        record = self.memory[COMPLETION : COMPLETION + abi.COMPLETION.bytes]
        return abi.COMPLETION.unpack(record)


class Merge:
    """A random merge job in memory, and what must come out of it."""

    def __init__(self, rng, memory, ways, records=120, max_value=300):
        self.block_bytes = rng.choice((200, 512, 1000))
        self.interval = rng.choice((1, 2, 16))
        self.table_bytes = rng.choice((1500, 4000, 1 << 30))
        self.bottommost = rng.random() < 0.5
        self.snapshots = sorted(rng.choice(((1 << 56) - 1, rng.randint(0, records))) for _ in range(4))
        self.runs = self.draw(rng, ways, records, max_value)
        kept = leveldb.merge(self.runs, self.snapshots, self.bottommost)
        self.kept = kept
        self.expected = leveldb.tables(kept, self.block_bytes, self.interval, self.table_bytes)
        memory[:] = bytes([UNTOUCHED]) * len(memory)
        self.place(rng, memory)

    @staticmethod
    def draw(rng, ways, records, max_value):
        keys = [rng.randbytes(rng.choice((1, 3, 8, 9, 16, 40))) for _ in range(records // 2)]
        keys += [key + rng.randbytes(2) for key in keys[: len(keys) // 4]]
        sequences = rng.sample(range(1, records + 1), records)
        runs = [[] for _ in range(ways)]
        for sequence in sequences:
            kind = leveldb.DELETION if rng.random() < 0.2 else leveldb.VALUE
            size = rng.choice((0, 1, 8, 17, 64, rng.randint(0, max_value)))
            value = rng.randbytes(size) if kind == leveldb.VALUE else b""
            runs[rng.randrange(ways)].append((rng.choice(keys), sequence << 8 | kind, value))
        return [sorted(run, key=leveldb.order) for run in runs]

    def place(self, rng, memory):
        """Writes inputs and descriptors; inputs go to any alignment."""
        at, descriptor, lists = INPUTS, DESCRIPTORS, []
        self.input_bytes = 0
        for run in self.runs:
            tables = leveldb.tables(run, rng.choice((150, 700)), rng.choice((1, 3, 16)), 2000)
            lists.append((descriptor, len(tables)))
            for table in tables:
                data, index = table.data, leveldb.sealed(table.index.finish())
                data_at = at + rng.randrange(64)
                index_at = data_at + len(data) + rng.randrange(64)
                at = index_at + len(index)
                memory[data_at : data_at + len(data)] = data
                memory[index_at:at] = index
                words = {"INDEX_ADDR": index_at, "INDEX_BYTES": {"bytes": len(index) - 5},
                         "DATA_ADDR": data_at, "DATA_BYTES": len(data)}  # fmt: skip
                memory[descriptor : descriptor + abi.TABLE.bytes] = abi.TABLE.pack(words)
                descriptor += abi.TABLE.bytes
                self.input_bytes += len(data)
        assert at < INDEX_OUT and descriptor < INPUTS
        words = {
            "HEAD": {"magic": abi.MAGIC, "version": abi.VERSION, "runs": len(self.runs),
                     "bottommost": int(self.bottommost)},
            "BLOCK": {"block_bytes": self.block_bytes, "restart_interval": self.interval},
            "TABLE_BYTES": self.table_bytes,
            "DATA_ADDR": DATA_OUT, "DATA_BYTES": DATA_BYTES,
            "INDEX_ADDR": INDEX_OUT, "INDEX_BYTES": INDEX_BYTES, "COMPLETION_ADDR": COMPLETION,
        }  # fmt: skip
        for i, snapshot in enumerate(self.snapshots):
            words["SNAPSHOT", i] = snapshot
        for i, (address, count) in enumerate(lists):
            words["RUN", i] = {"addr": address, "count": count}
        memory[JOB : JOB + abi.JOB.bytes] = abi.JOB.pack(words)
        self.before = bytes(memory)

    def check(self, memory, completion):
        assert completion["STATUS"]["magic"] == abi.MAGIC
        assert completion["STATUS"]["status"] == abi.Status.OK, completion
        records = sum(map(len, self.runs))
        assert completion["INPUT_RECORDS"] == records
        assert completion["OUTPUT_RECORDS"] == len(self.kept)
        assert completion["DROPPED_RECORDS"] == records - len(self.kept)
        assert completion["INPUT_BYTES"] == self.input_bytes
        assert completion["TABLES"] == len(self.expected)
        everything = leveldb.checksum([r for run in self.runs for r in run])
        assert completion["INPUT_CHECKSUM"] == everything
        assert completion["OUTPUT_CHECKSUM"] == leveldb.checksum(self.kept)
        self.check_tables(memory, completion)
        self.check_untouched(memory, completion["DATA_BYTES"], completion["INDEX_BYTES"])

    def check_tables(self, memory, completion):
        at = index_at = 0
        for number, table in enumerate(self.expected):
            index = leveldb.sealed(table.index.finish())
            data_out = memory[DATA_OUT + at : DATA_OUT + at + len(table.data)]
            assert data_out == table.data, f"table {number}: data blocks"
            index_out = memory[INDEX_OUT + index_at : INDEX_OUT + index_at + len(index)]
            assert index_out == index, f"table {number}: index block"
            record_at = index_at + len(index) + -len(index) % 8
            record = INDEX_OUT + record_at
            assert abi.RECORD.unpack(memory[record : record + abi.RECORD.bytes]) == {
                "DATA_OFFSET": at, "DATA_BYTES": len(table.data), "INDEX_OFFSET": index_at,
                "INDEX_BYTES": len(index), "ENTRIES": table.entries,
                "TOMBSTONES": table.tombstones,
            }, f"table {number}: record"  # fmt: skip
            at += len(table.data) + -len(table.data) % 64
            index_at = record_at + abi.RECORD.bytes
        assert completion["INDEX_BYTES"] == index_at

    def check_untouched(self, memory, data_bytes=DATA_BYTES, index_bytes=INDEX_BYTES):
        """Nothing was written but the outputs and the completion record."""
        data_end = DATA_OUT + data_bytes + -data_bytes % 64
        index_end = INDEX_OUT + index_bytes + -index_bytes % 64
        for begin, end in (
            (0, COMPLETION),
            (COMPLETION + abi.COMPLETION.bytes + -abi.COMPLETION.bytes % 64, INDEX_OUT),
            (index_end, DATA_OUT),
            (data_end, MEMORY),
        ):
            assert memory[begin:end] == self.before[begin:end], f"written in {begin:#x}..{end:#x}"


async def bring_up(dut, name):
    rng = harness.seeded(name)
    host = Host(dut)
    await harness.start(dut)
    return rng, host


@cocotb.test()
async def registers(dut):
    rng, host = await bring_up(dut, "registers")
    harness.pause_all(rng, (host.control.write_if.b_channel, host.control.read_if.r_channel))
    identity = await host.read("ID", abi.CAPABILITY)
    assert (identity >> 16, identity & 0xFFFF) == (abi.MAGIC, abi.VERSION)
    for name, value in PARAMETERS.items():
        assert await host.read(name, abi.CAPABILITY) == value, name
    assert await host.read("CTRL") == 0b1100, "idle and ready"
    for name in ("JOB_ADDR_LO", "JOB_ADDR_HI"):
        for _ in range(3):
            value = rng.getrandbits(32) & ~63
            await host.write(name, value)
            assert await host.read(name) == value
        # a byte alone
        await host.control.write(abi.CONTROL.offset(name) + 2, b"\x5a")
        assert await host.read(name) == value & ~0xFF0000 | 0x5A0000
    for bits in (0, 1, 2, 3):
        await host.write("IER", bits)
        assert await host.read("IER") == bits
    response = await host.control.read(0x7F0, 4)
    assert response.data == bytes(4), "an address without a register reads as 0"


@cocotb.test()
async def merges_under_pauses(dut):
    """Several jobs in a row, each compared byte for byte, and all other memory too."""
    rng, host = await bring_up(dut, "merges_under_pauses")
    for number in range(8):
        merge = Merge(rng, host.memory, rng.randint(1, PARAMETERS["WAYS"]))
        if number:  # the first one at full speed
            host.pause(rng)
        merge.check(host.memory, await host.run())


@cocotb.test()
async def read_errors_end_the_job(dut):
    rng, host = await bring_up(dut, "read_errors_end_the_job")
    for port in (host.data_read, host.index_read):
        merge = Merge(rng, host.memory, PARAMETERS["WAYS"])
        port.poison = range(INPUTS, INDEX_OUT)
        completion = await host.run()
        assert completion["STATUS"]["status"] == abi.Status.READ_ERROR
        merge.check_untouched(host.memory)
        port.poison = range(0)
        merge = Merge(rng, host.memory, PARAMETERS["WAYS"])
        merge.check(host.memory, await host.run())


@cocotb.test()
async def write_errors_end_the_job(dut):
    rng, host = await bring_up(dut, "write_errors_end_the_job")
    for port, begin in ((host.data_write, DATA_OUT), (host.index_write, INDEX_OUT)):
        merge = Merge(rng, host.memory, PARAMETERS["WAYS"])
        port.poison = range(begin, begin + 64)
        completion = await host.run()
        assert completion["STATUS"]["status"] == abi.Status.WRITE_ERROR
        merge.check_untouched(host.memory)
        port.poison = range(0)
        merge = Merge(rng, host.memory, PARAMETERS["WAYS"])
        merge.check(host.memory, await host.run())


@cocotb.test()
async def a_job_that_cannot_report(dut):
    """The completion record itself cannot be written: STATUS says so, and the unit goes on."""
    rng, host = await bring_up(dut, "a_job_that_cannot_report")
    Merge(rng, host.memory, 1)
    host.index_write.poison = range(COMPLETION, COMPLETION + 64)
    await host.run()
    assert await host.read("STATUS") == abi.Status.WRITE_ERROR
    host.index_write.poison = range(0)
    merge = Merge(rng, host.memory, PARAMETERS["WAYS"])
    merge.check(host.memory, await host.run())


@cocotb.test()
async def a_full_output_area(dut):
    rng, host = await bring_up(dut, "a_full_output_area")
    host.pause(rng)
    merge = Merge(rng, host.memory, PARAMETERS["WAYS"], max_value=1000)
    # Half of what is needed; the job says so, in full burst borders or not.
    limit = sum(len(t.data) for t in merge.expected) // 2 // 64 * 64
    at = JOB + abi.JOB.offset("DATA_BYTES")
    host.memory[at : at + 8] = limit.to_bytes(8, "little")
    merge.before = bytes(host.memory)
    completion = await host.run()
    assert completion["STATUS"]["status"] == abi.Status.DATA_FULL
    merge.check_untouched(host.memory, data_bytes=limit)
