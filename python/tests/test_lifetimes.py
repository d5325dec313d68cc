"""Objects that outlive what they need, calls beside a close, and processes that end or fork."""

import gc
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sluice


def test_everything_after_close(path: Path) -> None:
    db = sluice.open(path, create_if_missing=True)
    db.update({b"%d" % i: b"v" for i in range(1000)})
    table = db.create_subtable("table")
    snapshot = db.snapshot()
    batch = db.batch()
    batch[b"k"] = b"v"
    transaction = db.transaction()
    transaction[b"k"] = b"v"
    iterators = [db.items(), transaction.items(), snapshot.items(), db.keys()]
    for iterator in iterators[:3]:
        next(iterator)
    sequence = snapshot.sequence
    assert sequence > 0
    db.close()
    assert db.closed
    db.close()
    calls: list[Callable[[], object]] = [
        lambda: db.get(b"k"),
        lambda: db[b"k"],
        lambda: b"k" in db,
        lambda: db.get_many([]),
        lambda: db.get_view(b"k"),
        lambda: db.put(b"k", b"v"),
        lambda: db.delete(b"k"),
        lambda: db.delete_range(b"k", b"l"),
        lambda: db.update({}, sync=True),
        lambda: db.items(),
        lambda: iter(db),
        lambda: db.snapshot(),
        lambda: db.transaction(),
        lambda: db.resume_transaction(b"t"),
        lambda: db.prepared(),
        lambda: db.subtables(),
        lambda: db.subtable("table"),
        lambda: db.create_subtable("new"),
        lambda: db.drop_subtable(table),
        lambda: db.flush(),
        lambda: db.compact(),
        lambda: db.approximate_size(),
        lambda: db.wait_for_background_work(),
        lambda: db.checkpoint(path.parent / "copy"),
        lambda: db.verify(),
        lambda: db.statistics(),
        lambda: db.property("sluice.stats"),
        lambda: table.get(b"k"),
        lambda: table.name,
        lambda: snapshot.get(b"k"),
        lambda: snapshot.sequence,
        lambda: batch.write(),
        lambda: batch.put(b"k", b"v"),
        lambda: transaction.get(b"k"),
        lambda: transaction.put(b"k", b"v"),
        lambda: transaction.commit(),
        lambda: transaction.id,
        lambda: transaction.items(),
        *[lambda iterator=iterator: next(iterator) for iterator in iterators],
        *[lambda iterator=iterator: iterator.seek(b"k") for iterator in iterators],
    ]
    for call in calls:
        with pytest.raises(sluice.ClosedError):
            call()
    # What only gives something back is no error.
    snapshot.release()
    transaction.rollback()
    assert not transaction.active
    for iterator in iterators:
        iterator.close()
    with sluice.open(path) as db:
        assert len(list(db)) == 1000


def test_released_snapshots(db: sluice.DB) -> None:
    with db.snapshot() as snapshot:
        iterator = snapshot.keys()
        db[b"k"] = b"v"
        assert snapshot.get(b"k") is None
    assert list(iterator) == []
    for call in (
        lambda: snapshot.get(b"k"),
        lambda: db.get(b"k", snapshot=snapshot),
        lambda: db.items(snapshot=snapshot),
        lambda: snapshot.sequence,
    ):
        with pytest.raises(sluice.ClosedError, match="released"):
            call()
    snapshot.release()


def test_an_iterator_keeps_its_database_open(path: Path) -> None:
    db = sluice.open(path, create_if_missing=True)
    db.update({b"%04d" % i: b"v" for i in range(5000)})
    iterator = db.keys()
    del db
    gc.collect()
    assert len(list(iterator)) == 5000
    with pytest.raises(sluice.BusyError):
        sluice.open(path)
    del iterator
    sluice.open(path).close()


@pytest.mark.parametrize("seed", range(8))
def test_any_order_of_going(path: Path, seed: int) -> None:
    db = sluice.open(path, create_if_missing=True)
    db.update({b"%d" % i: b"v" for i in range(100)})
    snapshot = db.snapshot()
    transaction = db.transaction()
    transaction[b"k"] = b"v"
    things: list[object] = [
        db,
        snapshot,
        transaction,
        db.items(),
        db.items(snapshot=snapshot),
        transaction.items(),
        transaction.keys(),
        db.batch(),
        db.create_subtable("table"),
    ]
    draw = random.Random(seed)
    draw.shuffle(things)
    del snapshot, transaction
    if draw.random() < 0.5:
        db.close()
    del db
    while things:
        things.pop()
        gc.collect()
    with sluice.open(path) as db:
        assert len(list(db)) == 100


def test_cycles_are_collected(path: Path) -> None:
    class Holder(sluice.DB):
        iterator: object = None

    options = sluice._core.Options()
    options.create_if_missing = True
    holder = Holder(os.fsencode(path), options)
    holder[b"k"] = b"v"
    holder.iterator = [holder.items(), holder]
    del holder
    gc.collect()
    sluice.open(path).close()  # BusyError if it were still open


def in_threads(count: int, function: Callable[[int], None]) -> list[threading.Thread]:
    threads = [threading.Thread(target=function, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    return threads


@pytest.mark.parametrize("turn", range(5))
def test_threads_beside_a_close(path: Path, turn: int) -> None:
    db = sluice.open(path, create_if_missing=True, memtable_bytes=64 << 10)
    db.update({b"%05d" % i: bytes(100) for i in range(2000)})
    shared_iterator = db.items()
    shared_transaction = db.transaction()
    shared_snapshot = db.snapshot()
    unexpected: list[BaseException] = []
    ready = threading.Barrier(9)

    def use(number: int) -> None:
        draw = random.Random(number + turn * 100)
        actions: list[Callable[[], object]] = [
            lambda: db.put(b"%05d" % draw.randrange(2000), bytes(100)),
            lambda: db.get(b"%05d" % draw.randrange(2000)),
            lambda: next(shared_iterator, None),
            lambda: shared_iterator.seek(b"0"),
            lambda: sum(1 for _ in db.keys(b"01")),
            lambda: shared_transaction.put(b"%05d" % draw.randrange(2000), b"x"),
            lambda: sum(1 for _ in shared_transaction.keys(b"01")),
            lambda: db.get(b"00001", snapshot=shared_snapshot),
            lambda: db.snapshot().sequence,
            lambda: db.transaction().get(b"00001"),
            lambda: db.update({b"a": b"b"}),
            lambda: db.statistics(),
            lambda: db.flush() if draw.random() < 0.01 else None,
        ]
        ready.wait()
        try:
            while True:
                draw.choice(actions)()
        except sluice.ClosedError:
            pass
        except sluice.RetryableError:
            pass
        except BaseException as error:
            unexpected.append(error)

    threads = in_threads(8, use)
    ready.wait()
    threading.Event().wait(0.2)
    closers = in_threads(2, lambda _: db.close())
    for thread in threads + closers:
        thread.join(120)
        assert not thread.is_alive()
    assert unexpected == []
    with sluice.open(path) as db:
        assert len(list(db.keys(b"0", b"1"))) == 2000


def test_close_ends_waits_for_locks(path: Path) -> None:
    db = sluice.open(path, create_if_missing=True)
    first, second = db.transaction(), db.transaction(lock_timeout=60)
    first[b"k"] = b"1"
    errors: list[BaseException] = []

    def wait(_: int) -> None:
        try:
            second[b"k"] = b"2"
        except sluice.Error as error:
            errors.append(error)

    (thread,) = in_threads(1, wait)
    while db.statistics().transactions.lock_waits == 0:
        pass
    begin = time.monotonic()
    db.close()
    assert time.monotonic() - begin < 30
    thread.join()
    assert [type(error) for error in errors] == [sluice.CancelledError]


def test_a_snapshot_released_beside_its_readers(db: sluice.DB) -> None:
    db.update({b"%d" % i: b"v" for i in range(100)})
    for _ in range(50):
        snapshot = db.snapshot()

        def read(_: int, snapshot: sluice.Snapshot = snapshot) -> None:
            try:
                while True:
                    assert snapshot.get(b"5") == b"v"
            except sluice.ClosedError:
                pass

        threads = in_threads(3, read)
        snapshot.release()
        for thread in threads:
            thread.join()


def test_threads_share_an_iterator(db: sluice.DB) -> None:
    db.update({b"%05d" % i: b"v" for i in range(20000)})
    iterator = db.keys()
    seen: list[list[bytes]] = [[], [], [], []]
    for thread in in_threads(4, lambda i: seen[i].extend(iterator)):
        thread.join()
    assert sorted(sum(seen, [])) == list(db)


def test_the_gil_is_released(db: sluice.DB) -> None:
    first = db.transaction(lock_timeout=60)
    first[b"k"] = b"1"
    waiting = in_threads(1, lambda _: db.transaction(lock_timeout=60).put(b"k", b"2"))
    while db.statistics().transactions.lock_waits == 0:
        pass
    first.rollback()
    waiting[0].join(60)
    assert not waiting[0].is_alive()


def run(code: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        # Later versions of Python warn of forks.
        [sys.executable, "-W", "ignore", "-c", f"import sluice, sys, os, threading, asyncio\n{code}"]
        + [str(argument) for argument in arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    "code",
    [
        "db = it",
        "in_daemon(lambda: db.put(b'x', b'y'))",
        "in_daemon(lambda: list(db))",
        "import builtins; builtins.kept = [it, t, s, db, db.items()]",
        "db.self = [db, it, t, s]",
        "async def f():\n for i in range(1000): db.put_async(b'%d' % i, bytes(100))\nasyncio.run(f())",
        "sys.exit(0)",
        "db.close()",
    ],
)
def test_a_process_that_ends_with_an_open_database(path: Path, code: str) -> None:
    done = run(
        # A thread that is still at it is told. It catches that: while the interpreter ends, a traceback may be cut off.
        "def in_daemon(do):\n"
        " def repeat():\n"
        "  try:\n"
        "   while True: do()\n"
        "  except sluice.ClosedError: pass\n"
        " threading.Thread(target=repeat, daemon=True).start()\n"
        "db = sluice.open(sys.argv[1], create_if_missing=True)\n"
        "db.update({b'%d' % i: b'v' for i in range(1000)}); it = db.items(); next(it)\n"
        "t = db.transaction(); t.put(b'a', b'b'); s = db.snapshot()\n" + code,
        path,
    )
    assert done.returncode == 0
    assert done.stderr == ""
    with sluice.open(path) as db:
        assert len(list(db.keys(b"0", b"a"))) == 1000


def test_the_child_of_a_fork(path: Path) -> None:
    done = run(
        """
db = sluice.open(sys.argv[1], create_if_missing=True)
db[b"k"] = b"v"
it, t, s = db.items(), db.transaction(), db.snapshot()
t[b"t"] = b"t"
pid = os.fork()
if pid == 0:
    for call in (lambda: db.get(b"k"), lambda: db.put(b"k", b"w"), lambda: next(it), lambda: t.commit(),
                 lambda: s.get(b"k"), lambda: db.items(), lambda: t.rollback()):
        try:
            call()
            print("no error")
        except sluice.ClosedError as error:
            assert "fork" in str(error), error
    db.close()
    del it, t, s, db
    sys.exit(0)
_, status = os.waitpid(pid, 0)
assert status == 0, status
t.commit()
assert dict(db.items()) == {b"k": b"v", b"t": b"t"}
db.close()
""",
        path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_garbage_collector_within_a_failing_call(path: Path) -> None:
    """Exceptions are made while a transaction is locked; what they set free may lock it, too."""
    done = run(
        """
import gc
db = sluice.open(sys.argv[1], create_if_missing=True)
class Closer:
    def __init__(self): self.self = self
    def __del__(self): db.close()
def fails(call, error):
    gc.set_threshold(1)
    try:
        call()
    except error:
        pass
    else:
        assert False
    finally:
        gc.set_threshold(700)
for _ in range(20):
    t = db.transaction()
    cycle = [t.items()]
    cycle.append(cycle)
    t.commit()
    del cycle
    fails(lambda: t.get(b"k"), sluice.ClosedError)
snapshot = db.snapshot()
snapshot.release()
iterator = db.items()
iterator.close()
for call in (lambda: db.get(b"k", snapshot=snapshot), lambda: next(iterator)):
    Closer()
    fails(call, sluice.ClosedError)
    gc.collect()
    db = sluice.open(sys.argv[1])
    snapshot = db.snapshot()
    iterator = db.items()
    iterator.close()
""",
        path,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt(path: Path) -> None:
    done = run(
        """
import signal
db = sluice.open(sys.argv[1], create_if_missing=True)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    with db.transaction() as t:
        i = 0
        while True:
            t.put(b"%d" % (i % 1000), b"v")
            list(t.keys(b"5"))
            i += 1
except KeyboardInterrupt:
    pass
assert list(db) == [], list(db)
""",
        path,
    )
    assert (done.returncode, done.stderr) == (0, "")
