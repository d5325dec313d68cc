"""What the AXI tests share: seeds, clock and reset, pauses, and a check that cocotbext-axi lacks."""

import logging
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiRamRead, AxiRamWrite


def seeded(name):
    """The random numbers of a test; SLUICE_SEED replays them."""
    seed = int(os.environ.get("SLUICE_SEED", "0"), 0) or random.SystemRandom().getrandbits(63)
    print(f"{name}: SLUICE_SEED={seed}", flush=True)
    return random.Random(seed)


async def start(dut):
    """Starts the clock and resets; returns with reset just released."""
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    dut.rst_n.value = 0
    await ClockCycles(dut.clk, 5)
    dut.rst_n.value = 1
    await RisingEdge(dut.clk)


def pauses(rng, percent):
    """Endless, for set_pause_generator: stands still in `percent` of the cycles, in bursts of any
    length, so that long waits happen too."""
    while True:
        length = rng.choice((1, 1, 2, 5, 40))
        for _ in range(length):
            yield True
        for _ in range(max(1, length * (100 - percent) // max(1, percent))):
            yield False


def pause_all(rng, channels):
    """Gives each channel its own pauses; some channels none at all."""
    for channel in channels:
        percent = rng.choice((0, 20, 50, 80))
        if percent:
            channel.set_pause_generator(pauses(rng, percent))


class PoisonedRead(AxiRamRead):
    """Memory whose [poison] answers with SLVERR."""

    poison = range(0)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.log.setLevel(logging.ERROR)  # it warns of every poisoned beat

    async def _read(self, address, length):
        if any(a in self.poison for a in (address, address + length - 1)):
            raise ValueError("poison")
        return await super()._read(address, length)


class PoisonedWrite(AxiRamWrite):
    poison = range(0)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.log.setLevel(logging.ERROR)

    async def _write(self, address, data):
        if any(a in self.poison for a in (address, address + len(data) - 1)):
            raise ValueError("poison")
        await super()._write(address, data)


async def check_stable(clock, reset_n, bus, channel, payload):
    """AXI4 A3.2.1: once up, valid stays up and the payload as it is until ready. Runs for ever."""
    valid, ready = (getattr(bus, f"{channel}{name}") for name in ("valid", "ready"))
    signals = [getattr(bus, f"{channel}{name}") for name in payload]
    before = None
    while True:
        await RisingEdge(clock)
        if reset_n.value != 1:
            before = None
            continue
        now = [signal.value for signal in signals]
        if before is not None:
            assert valid.value == 1, f"{bus._name}_{channel}valid withdrawn"
            assert now == before, f"{bus._name}_{channel}: payload changed while waiting: {before} -> {now}"
        before = now if valid.value == 1 and ready.value == 0 else None


def check_address_channel(clock, reset_n, bus, channel):
    """Watches ar or aw of `bus`."""
    payload = ("addr", "len", "size", "burst")
    cocotb.start_soon(check_stable(clock, reset_n, bus, channel, payload))


def check_write_data(clock, reset_n, bus):
    cocotb.start_soon(check_stable(clock, reset_n, bus, "w", ("data", "strb", "last")))


def _crc_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


CRC_TABLE = tuple(_crc_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked_crc(data):
    """As LevelDB stores it."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
