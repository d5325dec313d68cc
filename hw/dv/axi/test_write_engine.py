"""cu_write_engine against cocotbext-axi's memory: what arrives where, limits and errors."""

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiWriteBus

import harness

MEMORY = 1 << 16
UNTOUCHED = 0xA5
ALIGN = 64
TABLE_END, TASK_END = 1, 2


class Job:
    """Tables of random bytes as the engine gets them: full words, and the token on a table's last
    word, or on an empty one after it if that is full."""

    def __init__(self, dut, rng, tables):
        word_bytes = len(dut.in_data) // 8
        self.image = b""
        self.words = []  # (data, bytes, last, token)
        for number, size in enumerate(tables):
            token = TASK_END if number == len(tables) - 1 else TABLE_END
            table = rng.randbytes(size)
            words = [table[at : at + word_bytes] for at in range(0, size, word_bytes)]
            if not words or (len(words[-1]) == word_bytes and rng.random() < 0.5):
                words.append(b"")
            self.words += [(word, len(word), False, 0) for word in words[:-1]]
            self.words.append((words[-1], len(words[-1]), True, token))
            self.image += table + bytes(-size % ALIGN)


async def bring_up(dut, name):
    rng = harness.seeded(name)
    for signal in (dut.start, dut.addr, dut.limit, dut.halt, dut.in_valid, dut.in_data):
        signal.value = 0
    for signal in (dut.in_bytes, dut.in_last, dut.in_token):
        signal.value = 0
    bus = AxiWriteBus.from_prefix(dut, "m_axi")
    ram = harness.PoisonedWrite(bus, dut.clk, dut.rst_n, reset_active_level=False, size=MEMORY)
    ram.write(0, bytes([UNTOUCHED]) * MEMORY)
    harness.check_address_channel(dut.clk, dut.rst_n, bus.aw, "aw")
    harness.check_write_data(dut.clk, dut.rst_n, bus.w)
    await harness.start(dut)
    return rng, ram


async def run(dut, rng, job, address, limit, halt_after=None):
    """Starts the engine, feeds it the words in a random rhythm, and waits until it is done."""
    dut.start.value, dut.addr.value, dut.limit.value = 1, address, limit
    await RisingEdge(dut.clk)
    dut.start.value = 0
    eager = rng.choice((0.2, 0.6, 1.0))
    fed, offered = 0, False
    for cycle in range(40 * len(job.words) + 20_000):
        await RisingEdge(dut.clk)
        if offered and dut.in_ready.value == 1:
            fed, offered = fed + 1, False
        if cycle and dut.done.value == 1 and fed == len(job.words):
            break
        if halt_after is not None and cycle >= halt_after:
            dut.halt.value = 1
            if fed == len(job.words) and dut.idle.value == 1:
                break
        offered = offered or (fed < len(job.words) and rng.random() < eager)
        dut.in_valid.value = offered
        if offered:
            data, size, last, token = job.words[fed]
            dut.in_data.value = int.from_bytes(data, "little")
            dut.in_bytes.value, dut.in_last.value, dut.in_token.value = size, last, token
    else:
        raise AssertionError(f"not done; {fed} of {len(job.words)} words taken")


def check_memory(ram, address, image):
    """`image` stands at `address`, and nothing else was written."""
    everything = bytes(ram.read(0, MEMORY))
    expected = bytearray([UNTOUCHED]) * MEMORY
    expected[address : address + len(image)] = image
    if everything != expected:
        at = next(i for i in range(MEMORY) if everything[i] != expected[i])
        raise AssertionError(f"byte {at:#x} is {everything[at]:#x}, not {expected[at]:#x}")


@cocotb.test()
async def tables_of_all_sizes(dut):
    """Without pauses, starting just below a 4 KiB border."""
    rng, ram = await bring_up(dut, "tables_of_all_sizes")
    sizes = [*range(1, 131), 1000, 4096, 5000]
    job = Job(dut, rng, sizes)
    address = 4096 - 192
    await run(dut, rng, job, address, MEMORY - address & ~63)
    check_memory(ram, address, job.image)
    assert int(dut.used.value) == len(job.image)
    assert dut.full.value == 0 and dut.error.value == 0


@cocotb.test()
async def random_under_pauses(dut):
    """Several jobs, one after the other, without a reset between them."""
    rng, ram = await bring_up(dut, "random_under_pauses")
    harness.pause_all(rng, (ram.aw_channel, ram.w_channel, ram.b_channel))
    for _ in range(6):
        tables = [rng.choice((0, 5, 64, rng.randint(1, 9000))) for _ in range(rng.randint(1, 4))]
        job = Job(dut, rng, tables)
        address = 64 * rng.randrange((MEMORY - len(job.image)) // 64)
        ram.write(0, bytes([UNTOUCHED]) * MEMORY)
        await run(dut, rng, job, address, len(job.image))  # fits, to the byte
        check_memory(ram, address, job.image)
        assert int(dut.used.value) == len(job.image)
        assert dut.full.value == 0 and dut.error.value == 0


@cocotb.test()
async def nothing_past_the_limit(dut):
    rng, ram = await bring_up(dut, "nothing_past_the_limit")
    harness.pause_all(rng, (ram.aw_channel, ram.w_channel, ram.b_channel))
    job = Job(dut, rng, [3000, 3000])
    limit = 64 * rng.randrange(1, len(job.image) // 64)
    await run(dut, rng, job, 0x2000, limit)
    assert dut.full.value == 1
    check_memory(ram, 0x2000, job.image[:limit])


@cocotb.test()
async def a_bus_error_is_reported(dut):
    rng, ram = await bring_up(dut, "a_bus_error_is_reported")
    harness.pause_all(rng, (ram.aw_channel, ram.w_channel, ram.b_channel))
    ram.poison = range(0x2400, 0x2440)
    await run(dut, rng, Job(dut, rng, [3000]), 0x2000, 0x2000)
    assert dut.error.value == 1
    ram.poison = range(0)
    ram.write(0, bytes([UNTOUCHED]) * MEMORY)
    job = Job(dut, rng, [3000])
    await run(dut, rng, job, 0x2000, 0x2000)
    assert dut.error.value == 0, "the error outlives its job"
    check_memory(ram, 0x2000, job.image)


@cocotb.test()
async def halt_completes_what_was_issued(dut):
    """Every burst that was announced gets all its beats; the rest of the input is swallowed."""
    rng, ram = await bring_up(dut, "halt_completes_what_was_issued")
    harness.pause_all(rng, (ram.aw_channel, ram.w_channel, ram.b_channel))
    job = Job(dut, rng, [9000])
    await run(dut, rng, job, 0x2000, 0x4000, halt_after=rng.randrange(20, 400))
    for _ in range(200):
        await RisingEdge(dut.clk)
        assert dut.idle.value == 1
        assert dut.m_axi_awvalid.value == 0 and dut.m_axi_wvalid.value == 0
    written = bytes(ram.read(0x2000, len(job.image)))
    kept = next((i for i in range(len(written)) if written[i] != job.image[i]), len(written))
    check_memory(ram, 0x2000, job.image[:kept])
