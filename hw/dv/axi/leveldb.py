"""LevelDB tables and merges in plain Python: a third opinion beside the C++ executor and the RTL.

Follows the rules in include/sluice/executor.h. A record is (user key, trailer, value); the trailer is
sequence number << 8 | type.
"""

import harness

DELETION, VALUE = 0, 1


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def shared_prefix(a, b):
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def sealed(block):
    """With its trailer: not compressed."""
    return block + b"\0" + harness.masked_crc(block + b"\0").to_bytes(4, "little")


class BlockBuilder:
    def __init__(self, restart_interval):
        self.restart_interval = restart_interval
        self.entries, self.restarts, self.count, self.last_key = b"", [], 0, b""

    def add(self, user_key, trailer, value):
        shared = shared_prefix(self.last_key, user_key)
        if self.count % self.restart_interval == 0:
            shared = 0
            self.restarts.append(len(self.entries))
        rest = user_key[shared:] + trailer.to_bytes(8, "little")
        self.entries += varint(shared) + varint(len(rest)) + varint(len(value)) + rest + value
        self.count, self.last_key = self.count + 1, user_key

    def size(self):
        return len(self.entries) + 4 * len(self.restarts) + 4

    def finish(self):
        restarts = self.restarts or [0]
        numbers = [*restarts, len(restarts)]
        return self.entries + b"".join(n.to_bytes(4, "little") for n in numbers)


class TableBuilder:
    """`data` and `index` as an executor writes them, with trailers."""

    def __init__(self, block_bytes, restart_interval):
        self.block_bytes, self.restart_interval = block_bytes, restart_interval
        self.data, self.block = b"", BlockBuilder(restart_interval)
        self.index = BlockBuilder(1)
        self.entries = self.tombstones = 0

    def add(self, user_key, trailer, value):
        self.block.add(user_key, trailer, value)
        self.last = user_key, trailer
        self.entries += 1
        self.tombstones += trailer & 0xFF == DELETION
        if self.block.size() >= self.block_bytes:
            self.end_block()

    def end_block(self):
        if self.block.count:
            block = self.block.finish()
            self.index.add(*self.last, varint(len(self.data)) + varint(len(block)))
            self.data += sealed(block)
            self.block = BlockBuilder(self.restart_interval)

    def finish(self):
        self.end_block()
        return self.data, sealed(self.index.finish())


def order(record):
    user_key, trailer, _ = record
    return user_key, -trailer


def merge(runs, snapshots, bottommost):
    """The records that are kept, in order: what one of the snapshots sees, and what none does yet."""
    kept, previous_key, seeing = [], None, set()
    for record in sorted((r for run in runs for r in run), key=order):
        user_key, trailer, _ = record
        if user_key != previous_key:
            previous_key, seeing = user_key, set()
        see = {snapshot for snapshot in snapshots if trailer >> 8 <= snapshot}
        if see and see <= seeing:
            continue
        seeing |= see
        if min(snapshots) in see and trailer & 0xFF == DELETION and bottommost:
            continue
        kept.append(record)
    return kept


def tables(records, block_bytes, restart_interval, table_bytes):
    """TableBuilders that hold `records`, finished, cut as sluice/executor.h says."""
    out, key = [], None
    for record in records:
        new_key, key = record[0] != key, record[0]
        if not out or (new_key and len(out[-1].data) >= table_bytes):
            out.append(TableBuilder(block_bytes, restart_interval))
        out[-1].add(*record)
    for table in out:
        table.finish()
    return out


def _fold(data):
    x = 0
    for i in range(0, len(data), 8):
        word = int.from_bytes(data[i : i + 8].ljust(8, b"\0"), "little")
        x ^= _rotl(word, 11 * (i // 8 % 8))
    return x


def _rotl(word, n):
    n %= 64
    return (word << n | word >> 64 - n) & (1 << 64) - 1


def checksum(records):
    total = 0
    for user_key, trailer, value in records:
        lengths = len(user_key) + 8 << 32 | len(value)
        total += _fold(user_key) ^ _rotl(trailer, 3) ^ _rotl(_fold(value), 5) ^ lengths
    return total & (1 << 64) - 1
