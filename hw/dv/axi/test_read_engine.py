"""cu_read_engine against cocotbext-axi's memory: data, CRCs and errors of several clients at once."""

import collections

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiReadBus

import harness

MEMORY = 1 << 16
Request = collections.namedtuple("Request", "address bytes")


class Clients:
    """Issues requests on every client, takes beats and dones, and compares them with memory."""

    def __init__(self, dut, rng, memory, poison=range(0)):
        self.dut, self.rng, self.memory, self.poison = dut, rng, memory, poison
        self.count = len(dut.req_valid)
        self.beat_bytes = len(dut.beat_data) // self.count // 8
        self.to_issue = [collections.deque() for _ in range(self.count)]
        self.beats = [collections.deque() for _ in range(self.count)]
        self.dones = [collections.deque() for _ in range(self.count)]
        self.eager = [rng.choice((10, 50, 100)) for _ in range(self.count)]

    def add(self, client, request):
        self.to_issue[client].append(request)

    def expect(self, client, request):
        first = request.address // self.beat_bytes
        last = (request.address + request.bytes - 1) // self.beat_bytes
        error = any(b * self.beat_bytes in self.poison for b in range(first, last + 1))
        for beat in range(first, last + 1):
            at = beat * self.beat_bytes
            data = None if error else self.memory[at : at + self.beat_bytes]
            self.beats[client].append(data)
        message = self.memory[request.address : request.address + max(0, request.bytes - 4)]
        crc = harness.crc32c(message) if message and not error else None
        self.dones[client].append((crc, error))

    async def run(self, max_cycles):
        """Until all requests are done; the handshakes of a cycle are looked at on its edge."""
        dut, n = self.dut, self.count
        valid = beat_ready = done_ready = 0
        for _ in range(max_cycles):
            await RisingEdge(dut.clk)
            issued = valid & int(dut.req_ready.value)
            taken = beat_ready & int(dut.beat_valid.value)
            finished = done_ready & int(dut.done_valid.value)
            data = int(dut.beat_data.value) if taken else 0
            for c in range(n):
                if issued >> c & 1:
                    self.expect(c, self.to_issue[c].popleft())
                if taken >> c & 1:
                    self.check_beat(c, data)
                if finished >> c & 1:
                    self.check_done(c)
            if not any(self.to_issue) and not any(self.beats) and not any(self.dones):
                break
            # valid stays up until it is taken, whatever else happens
            valid &= ~issued
            address = size = beat_ready = done_ready = 0
            for c in range(n):
                if self.to_issue[c]:
                    valid |= (self.rng.random() < 0.5) << c
                    address |= self.to_issue[c][0].address << 64 * c
                    size |= self.to_issue[c][0].bytes << 32 * c
                beat_ready |= (self.rng.randrange(100) < self.eager[c]) << c
                done_ready |= (self.rng.randrange(100) < self.eager[c]) << c
            dut.req_valid.value, dut.req_addr.value, dut.req_bytes.value = valid, address, size
            dut.beat_ready.value, dut.done_ready.value = beat_ready, done_ready
        left = [len(q) for q in (*self.to_issue, *self.beats, *self.dones)]
        assert not any(left), f"after {max_cycles} cycles there is still to come: {left}"

    def check_beat(self, client, data):
        assert self.beats[client], f"client {client}: a beat that nobody asked for"
        expected = self.beats[client].popleft()
        width = 8 * self.beat_bytes
        got = (data >> width * client & (1 << width) - 1).to_bytes(self.beat_bytes, "little")
        assert expected is None or got == expected, f"client {client}: {got} is not {expected}"

    def check_done(self, client):
        assert self.dones[client], f"client {client}: done, but nothing is under way"
        crc, error = self.dones[client].popleft()
        assert int(self.dut.done_error.value) >> client & 1 == error, f"client {client}: error"
        got = int(self.dut.done_crc.value) >> 32 * client & 0xFFFFFFFF
        assert crc is None or got == crc, f"client {client}: CRC {got:08x}, not {crc:08x}"


async def bring_up(dut, name):
    rng = harness.seeded(name)
    for signal in (dut.req_valid, dut.req_addr, dut.req_bytes, dut.beat_ready, dut.done_ready):
        signal.value = 0
    dut.halt.value = 0
    bus = AxiReadBus.from_prefix(dut, "m_axi")
    ram = harness.PoisonedRead(bus, dut.clk, dut.rst_n, reset_active_level=False, size=MEMORY)
    memory = rng.randbytes(MEMORY)
    ram.write(0, memory)
    harness.check_address_channel(dut.clk, dut.rst_n, bus.ar, "ar")
    await harness.start(dut)
    return rng, ram, memory


def near_page_end(rng):
    """A request that ends close to a 4 KiB border, on either side of it."""
    border = rng.randrange(1, MEMORY // 4096) * 4096
    end = min(MEMORY, border + rng.randint(-70, 70))
    size = rng.choice((1, 4, 5, 64, 65, rng.randint(1, 3000)))
    return Request(max(0, end - size), min(end, size))


@cocotb.test()
async def every_alignment(dut):
    """Short requests at each lane of a beat, without pauses."""
    rng, _, memory = await bring_up(dut, "every_alignment")
    clients = Clients(dut, rng, memory)
    for lane in range(clients.beat_bytes):
        for size in (1, 3, 4, 5, 8, clients.beat_bytes, clients.beat_bytes + 1, 200):
            clients.add(lane % clients.count, Request(4096 - clients.beat_bytes + lane, size))
    await clients.run(60_000)


@cocotb.test()
async def page_borders_under_pauses(dut):
    rng, ram, memory = await bring_up(dut, "page_borders_under_pauses")
    harness.pause_all(rng, (ram.ar_channel, ram.r_channel))
    clients = Clients(dut, rng, memory)
    for _ in range(200):
        clients.add(rng.randrange(clients.count), near_page_end(rng))
    await clients.run(200_000)


@cocotb.test()
async def errors_reach_their_request_only(dut):
    rng, ram, memory = await bring_up(dut, "errors_reach_their_request_only")
    ram.poison = range(0x3000, 0x3400)
    harness.pause_all(rng, (ram.ar_channel, ram.r_channel))
    clients = Clients(dut, rng, memory, ram.poison)
    clients.add(0, Request(0x2F00, 0x200))  # surely one that meets it
    for _ in range(200):
        request = Request(rng.randrange(0x2800, 0x3A00), rng.randint(1, 400))
        clients.add(rng.randrange(clients.count), request)
    await clients.run(200_000)


@cocotb.test()
async def halt_leaves_nothing_outstanding(dut):
    """After halt the engine becomes idle with its open bursts answered, and asks for no more."""
    rng, ram, memory = await bring_up(dut, "halt_leaves_nothing_outstanding")
    clients = Clients(dut, rng, memory)
    for client in range(clients.count):
        for _ in range(20):
            clients.add(client, Request(rng.randrange(MEMORY - 3000), 3000))
    running = cocotb.start_soon(clients.run(1_000_000))
    for _ in range(rng.randrange(50, 400)):
        await RisingEdge(dut.clk)
    dut.halt.value = 1
    for _ in range(2000):
        await RisingEdge(dut.clk)
        if dut.idle.value == 1:
            break
    assert dut.idle.value == 1
    running.cancel()
    for _ in range(200):
        await RisingEdge(dut.clk)
        assert dut.idle.value == 1
        assert dut.m_axi_arvalid.value == 0, "a burst after halt"
        assert dut.m_axi_rvalid.value == 0, "idle, but an answer is still on its way"
