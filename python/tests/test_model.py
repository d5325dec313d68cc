"""The database beside dicts, in random steps."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

import sluice

State = dict[bytes, bytes]

# Few enough keys to meet again, and with all that a bound or a prefix could get wrong.
LETTERS = [b"a", b"b", b"\x00", b"\xff"]
keys = st.lists(st.sampled_from(LETTERS), max_size=3).map(b"".join)
values = st.binary(max_size=8) | st.just(b"long" * 2000)
tables = st.sampled_from(["default", "other"])
writes = st.lists(st.tuples(tables, keys, st.none() | values), max_size=8)
bounds = st.none() | keys


def view(
    state: State, start: bytes | None, stop: bytes | None, prefix: bytes | None, reverse: bool
) -> list[tuple[bytes, bytes]]:
    chosen = [
        (key, value)
        for key, value in state.items()
        if (start is None or key >= start)
        and (stop is None or key < stop)
        and (prefix is None or key.startswith(prefix))
    ]
    return sorted(chosen, reverse=reverse)


def apply(states: dict[str, State], changes: list[tuple[str, bytes, bytes | None]]) -> None:
    for table, key, value in changes:
        if value is None:
            states[table].pop(key, None)
        else:
            states[table][key] = value


def copy(states: dict[str, State]) -> dict[str, State]:
    return {name: dict(state) for name, state in states.items()}


@dataclass
class LiveSnapshot:
    snapshot: sluice.Snapshot
    states: dict[str, State]
    life: int


@dataclass
class LiveIterator:
    iterator: sluice.Iterator[tuple[bytes, bytes]]
    all: list[tuple[bytes, bytes]]
    position: int
    reverse: bool
    life: int


class Model(RuleBasedStateMachine):
    snapshots = Bundle("snapshots")
    iterators = Bundle("iterators")

    @initialize()
    def begin(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="sluice-model-"))
        self.life = 0
        self.states: dict[str, State] = {"default": {}, "other": {}}
        self.open()
        self.db.create_subtable("other")
        # So that scans find something from the first step on.
        for i, letters in enumerate(itertools.product(LETTERS, repeat=3)):
            key = b"".join(letters)[: 3 - i % 2]
            self.db[key] = self.states["default"][key] = b"%d" % i

    def open(self) -> None:
        self.db = sluice.open(
            self.directory / "db",
            create_if_missing=True,
            memtable_bytes=4096,
            write_buffer_bytes=64 << 10,
            block_bytes=256,
            extent_bytes=4096,
            compression=sluice.Compression.SNAPPY if self.life % 2 else None,
            compression_per_level=[sluice.Compression.LZ4, sluice.Compression.ZSTD][: self.life % 3],
        )

    def table(self, name: str) -> sluice.DB | sluice.Subtable:
        return self.db if name == "default" else self.db.subtable(name)

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()
            shutil.rmtree(self.directory)

    @rule(table=tables, key=keys, value=values, sync=st.booleans())
    def put(self, table: str, key: bytes, value: bytes, sync: bool) -> None:
        self.table(table).put(key, value, sync=sync)
        self.states[table][key] = value

    @rule(table=tables, key=keys)
    def delete(self, table: str, key: bytes) -> None:
        del self.table(table)[key]
        self.states[table].pop(key, None)

    @rule(table=tables, start=keys, stop=keys)
    def delete_range(self, table: str, start: bytes, stop: bytes) -> None:
        self.table(table).delete_range(start, stop)
        state = self.states[table]
        for key in [key for key in state if start <= key < stop]:
            del state[key]

    @rule(changes=writes, fail=st.booleans())
    def batch(self, changes: list[tuple[str, bytes, bytes | None]], fail: bool) -> None:
        try:
            with self.db.batch() as batch:
                for table, key, value in changes:
                    if value is None:
                        batch.delete(key, self.table(table))
                    else:
                        batch.put(key, value, self.table(table))
                assert len(batch) == len(changes)
                if fail:
                    raise InterruptedError
            apply(self.states, changes)
        except InterruptedError:
            pass
        assert len(batch) == 0

    @rule(before=writes, undone=writes, after=writes, fail=st.booleans())
    def transaction(
        self,
        before: list[tuple[str, bytes, bytes | None]],
        undone: list[tuple[str, bytes, bytes | None]],
        after: list[tuple[str, bytes, bytes | None]],
        fail: bool,
    ) -> None:
        states = copy(self.states)
        try:
            with self.db.transaction() as transaction:
                for part in before, undone, after:
                    if part is undone:
                        transaction.set_savepoint()
                    for table, key, value in part:
                        if value is None:
                            transaction.delete(key, self.table(table))
                        else:
                            transaction.put(key, value, self.table(table))
                    if part is undone:
                        transaction.rollback_to_savepoint()
                    else:
                        apply(states, part)
                for table, state in states.items():
                    assert list(transaction.items(subtable=self.table(table))) == sorted(
                        state.items()
                    )
                if fail:
                    raise InterruptedError
            self.states = states
        except InterruptedError:
            pass
        assert not transaction.active

    @rule(
        table=tables,
        start=bounds,
        stop=bounds,
        prefix=bounds,
        reverse=st.booleans(),
    )
    def scan(
        self,
        table: str,
        start: bytes | None,
        stop: bytes | None,
        prefix: bytes | None,
        reverse: bool,
    ) -> None:
        if prefix is not None:
            start = stop = None
        expected = view(self.states[table], start, stop, prefix, reverse)
        at = self.table(table)
        assert list(at.items(start, stop, prefix=prefix, reverse=reverse)) == expected
        assert list(at.keys(start, stop, prefix=prefix, reverse=reverse)) == [
            key for key, _ in expected
        ]
        assert list(at.values(start, stop, prefix=prefix, reverse=reverse)) == [
            value for _, value in expected
        ]

    @rule(table=tables, wanted=st.lists(keys, max_size=5))
    def get(self, table: str, wanted: list[bytes]) -> None:
        at = self.table(table)
        state = self.states[table]
        assert at.get_many(iter(wanted)) == [state.get(key) for key in wanted]
        for key in wanted:
            assert at.get(key, 7) == state.get(key, 7)
            assert (key in at) == (key in state)
            value = at.get_view(bytearray(key))
            assert (None if value is None else bytes(value)) == state.get(key)

    @rule(target=snapshots)
    def take_snapshot(self) -> LiveSnapshot:
        return LiveSnapshot(self.db.snapshot(), copy(self.states), self.life)

    @rule(held=snapshots, table=tables, key=keys, reverse=st.booleans())
    def read_snapshot(self, held: LiveSnapshot, table: str, key: bytes, reverse: bool) -> None:
        if held.life == self.life:
            at, state = self.table(table), held.states[table]
            assert held.snapshot.get(key, subtable=at) == state.get(key)
            assert at.get(key, snapshot=held.snapshot) == state.get(key)
            assert list(held.snapshot.items(subtable=at, reverse=reverse)) == sorted(
                state.items(), reverse=reverse
            )

    @rule(held=consumes(snapshots))
    def release_snapshot(self, held: LiveSnapshot) -> None:
        held.snapshot.release()

    @rule(
        target=iterators, table=tables, start=bounds, stop=bounds, reverse=st.booleans()
    )
    def iterate(
        self, table: str, start: bytes | None, stop: bytes | None, reverse: bool
    ) -> LiveIterator:
        return LiveIterator(
            self.table(table).items(start, stop, reverse=reverse),
            view(self.states[table], start, stop, None, reverse),
            0,
            reverse,
            self.life,
        )

    @rule(held=iterators, steps=st.integers(1, 5))
    def advance(self, held: LiveIterator, steps: int) -> None:
        if held.life == self.life:
            for _ in range(steps):
                expected = held.all[held.position] if held.position < len(held.all) else None
                assert next(held.iterator, None) == expected
                held.position += 1

    @rule(held=iterators, key=keys)
    def seek(self, held: LiveIterator, key: bytes) -> None:
        if held.life == self.life:
            held.iterator.seek(key)
            before = [k < key if not held.reverse else k > key for k, _ in held.all]
            held.position = sum(before)

    @rule(target=iterators, held=consumes(iterators), close=st.booleans())
    def drop(self, held: LiveIterator, close: bool) -> object:
        if close:
            held.iterator.close()
        return multiple()

    @rule(table=tables, start=bounds, stop=bounds)
    def compact(self, table: str, start: bytes | None, stop: bytes | None) -> None:
        self.table(table).flush()
        self.table(table).compact(start, stop)

    @rule()
    def checkpoint(self) -> None:
        copied = self.directory / "copy"
        self.db.checkpoint(copied)
        with sluice.open(copied, read_only=True) as db:
            assert dict(db.items()) == self.states["default"]
            assert dict(db.subtable("other").items()) == self.states["other"]
        shutil.rmtree(copied)

    # With whatever is alive: it must end, and not bring the process down.
    @rule()
    def reopen(self) -> None:
        self.db.close()
        self.life += 1
        self.open()

    @invariant()
    def same(self) -> None:
        if hasattr(self, "db"):
            for table, state in self.states.items():
                assert dict(self.table(table).items()) == state


TestModel = Model.TestCase
TestModel.settings = settings(stateful_step_count=30)
