"""Asynchronous writes in event loops that end at odd moments."""

import asyncio
import gc
import threading
from pathlib import Path

import pytest

import sluice


def test_writes(db: sluice.DB) -> None:
    async def run() -> None:
        assert await db.put_async(b"a", b"1", sync=True) is None  # type: ignore[func-returns-value]
        await asyncio.gather(*(db.put_async(b"%d" % i, b"x") for i in range(1000)))
        await db.delete_async(b"a")
        async with db.batch() as batch:
            batch[b"b"] = b"2"
        with pytest.raises(ZeroDivisionError):
            async with db.batch() as batch:
                batch[b"c"] = b"3"
                1 // 0
        t = db.transaction()
        t[b"d"] = b"4"
        await t.commit_async()
        assert not t.active
        with pytest.raises(sluice.ClosedError):
            t.commit_async()

    asyncio.run(run())
    assert len(list(db)) == 1002
    assert db.get(b"b") == b"2" and db.get(b"c") is None and db.get(b"d") == b"4"


def test_errors(db: sluice.DB) -> None:
    async def run() -> None:
        table = db.create_subtable("table")
        batch = table.batch()
        batch[b"k"] = b"v"
        db.drop_subtable(table)
        with pytest.raises(sluice.InvalidArgumentError, match="sub-table"):
            await batch.write_async()
        with pytest.raises(TypeError):
            db.put_async("text", b"")  # type: ignore[arg-type]

    asyncio.run(run())
    with pytest.raises(RuntimeError, match="no running event loop"):
        db.put_async(b"k", b"v")


def test_the_order_of_writes(db: sluice.DB) -> None:
    async def run() -> None:
        futures = [db.put_async(b"k", b"%d" % i) for i in range(500)]
        await asyncio.gather(*futures)

    asyncio.run(run())
    assert db[b"k"] == b"499"


def test_what_is_changed_after_the_call_is_not_written(db: sluice.DB) -> None:
    async def run() -> None:
        key, value = bytearray(b"k"), bytearray(b"v" * 100000)
        future = db.put_async(key, value)
        key[:] = b"l"
        value[:] = b"w" * 100000
        value.clear()
        await future

    asyncio.run(run())
    assert dict(db.items()) == {b"k": b"v" * 100000}


def test_cancelled(db: sluice.DB) -> None:
    async def run() -> None:
        futures = [db.put_async(b"%d" % i, b"v") for i in range(100)]
        for future in futures[::2]:
            future.cancel()
        await asyncio.gather(*futures[1::2])
        with pytest.raises(asyncio.CancelledError):
            await futures[0]
        await db.put_async(b"after", b"v")

    asyncio.run(run())
    assert len(list(db)) == 101


def test_a_loop_that_closes_first(db: sluice.DB) -> None:
    async def begin() -> None:
        for i in range(200):
            db.put_async(b"%d" % i, bytes(10000), sync=i % 50 == 0)

    for _ in range(20):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(begin())
        loop.close()
        del loop
    gc.collect()

    async def run() -> None:
        await db.put_async(b"last", b"v")

    asyncio.run(run())
    assert len(list(db)) == 201


def test_a_database_that_closes_first(path: Path) -> None:
    async def run() -> None:
        db = sluice.open(path, create_if_missing=True)
        futures = [db.put_async(b"%d" % i, bytes(1000)) for i in range(500)]
        db.close()
        await asyncio.gather(*futures)
        with pytest.raises(sluice.ClosedError):
            db.put_async(b"k", b"v")

    asyncio.run(run())
    with sluice.open(path) as db:
        assert len(list(db)) == 500


def test_loops_of_several_threads(db: sluice.DB) -> None:
    async def run(thread: int) -> None:
        for begin in range(0, 1000, 100):
            await asyncio.gather(
                *(db.put_async(b"%d/%d" % (thread, begin + i), b"v") for i in range(100))
            )

    threads = [threading.Thread(target=lambda t=t: asyncio.run(run(t))) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(db)) == 4000


def test_two_loops_in_one_thread_take_turns(db: sluice.DB) -> None:
    loops = [asyncio.new_event_loop(), asyncio.new_event_loop()]

    async def begin() -> "asyncio.Future[None]":
        return db.put_async(b"k", b"v")

    futures = [loop.run_until_complete(begin()) for loop in loops]
    for loop, future in zip(loops, futures, strict=True):
        loop.run_until_complete(asyncio.wait_for(future, 60))
        loop.close()
