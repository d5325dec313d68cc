"""Transactions: what leaving them does, what others see, and how they fail."""

import threading
from pathlib import Path

import pytest

import sluice


def test_leaving_commits_and_an_exception_rolls_back(db: sluice.DB) -> None:
    with db.transaction() as t:
        t[b"a"] = b"1"
        assert t.get(b"a") == b"1" and db.get(b"a") is None
    assert db[b"a"] == b"1"
    with pytest.raises(KeyboardInterrupt), db.transaction() as t:
        t[b"a"] = b"2"
        del t[b"a"]
        raise KeyboardInterrupt
    assert db[b"a"] == b"1"
    assert not t.active


def test_ended_within(db: sluice.DB) -> None:
    with db.transaction() as t:
        t[b"a"] = b"1"
        t.commit()
        with pytest.raises(sluice.ClosedError, match="has ended"):
            t[b"b"] = b"2"
        t.rollback()  # no error, and no effect
    with db.transaction() as t:
        t[b"a"] = b"2"
        t.rollback()
    assert dict(db.items()) == {b"a": b"1"}
    for call in (t.commit, t.set_savepoint, lambda: t.get(b"a"), lambda: t.items(), lambda: t.id):
        with pytest.raises(sluice.ClosedError):
            call()


def test_a_database_that_closes_within(path: Path) -> None:
    db = sluice.open(path, create_if_missing=True)
    with pytest.raises(sluice.ClosedError), db.transaction() as t:
        t[b"a"] = b"1"
        db.close()
    assert not t.active
    with sluice.open(path) as db:
        assert list(db) == []


def test_conflict(db: sluice.DB) -> None:
    with pytest.raises(sluice.ConflictError) as error, db.transaction() as t:
        assert t.get(b"a") is None
        db[b"a"] = b"2"
        t[b"a"] = b"3"
    assert isinstance(error.value, sluice.RetryableError)
    assert db[b"a"] == b"2"
    with db.transaction(isolation=sluice.Isolation.READ_COMMITTED) as t:
        t.get(b"a")
        db[b"a"] = b"4"
        t[b"a"] = b"5"
    assert db[b"a"] == b"5"


def test_timeout_and_deadlock(db: sluice.DB) -> None:
    with db.transaction() as first, db.transaction(lock_timeout=0.01) as second:
        first[b"a"] = b"1"
        with pytest.raises(sluice.TimedOutError):
            second.get_for_update(b"a")
        second.rollback()
    first, second = db.transaction(lock_timeout=60), db.transaction(lock_timeout=60)
    first[b"a"] = b"1"
    second[b"b"] = b"1"
    errors: list[Exception] = []

    def cross(t: sluice.Transaction, key: bytes) -> None:
        try:
            t[key] = b"2"
            t.commit()
        except sluice.DeadlockError as error:
            t.rollback()
            errors.append(error)

    thread = threading.Thread(target=cross, args=(first, b"b"))
    thread.start()
    cross(second, b"a")
    thread.join()
    assert len(errors) == 1


def test_too_large_and_wrong_arguments(db: sluice.DB) -> None:
    with db.transaction(max_bytes=1000) as t:
        with pytest.raises(sluice.TooLargeError):
            t[b"a"] = bytes(2000)
        t[b"a"] = b"small"
    assert db[b"a"] == b"small"
    for wrong in -1.0, float("nan"):
        with pytest.raises(sluice.InvalidArgumentError):
            db.transaction(lock_timeout=wrong)
    with db.transaction(lock_timeout=float("inf")) as t:
        t[b"a"] = b"b"


def test_savepoints(db: sluice.DB) -> None:
    with db.transaction() as t:
        t[b"a"] = b"1"
        t.set_savepoint()
        t[b"a"] = b"2"
        t.set_savepoint()
        t[b"a"] = b"3"
        t.release_savepoint()
        t.rollback_to_savepoint()
        with pytest.raises(sluice.NotFoundError):
            t.rollback_to_savepoint()
    assert db[b"a"] == b"1"


def test_iterators_end_with_their_transaction(db: sluice.DB) -> None:
    db.update({b"%03d" % i: b"" for i in range(100)})
    t = db.transaction()
    t[b"100"] = b"new"
    iterator = t.keys(b"099")
    assert list(iterator) == [b"099", b"100"]
    iterator = t.keys()
    assert next(iterator) == b"000"
    t.commit()
    with pytest.raises(sluice.ClosedError):
        next(iterator)
    iterator.close()
    t = db.transaction()
    iterator = t.keys()
    del t
    with pytest.raises(sluice.ClosedError):
        next(iterator)


def test_prepared(path: Path) -> None:
    with sluice.open(path, create_if_missing=True) as db:
        with db.transaction() as t:
            t[b"a"] = b"1"
            t.prepare(b"first")
        with pytest.raises(ZeroDivisionError), db.transaction() as t:
            t[b"b"] = b"1"
            t.prepare(b"second")
            1 // 0
        assert not t.active
        assert list(db) == []
    with sluice.open(path) as db:
        assert sorted(db.prepared()) == [b"first", b"second"]
        first = db.resume_transaction(b"first")
        with pytest.raises(sluice.BusyError):
            db.resume_transaction(b"first")
        with pytest.raises(sluice.NotFoundError):
            db.resume_transaction(b"third")
        first.commit()
        db.resume_transaction(b"second").rollback()
        assert dict(db.items()) == {b"a": b"1"}
        assert db.prepared() == []


def test_a_shared_transaction(db: sluice.DB) -> None:
    t = db.transaction()

    def put(thread: int) -> None:
        for i in range(200):
            t.put(b"%d/%d" % (thread, i), b"")
            assert sum(1 for _ in t.keys(prefix=b"%d/" % thread)) == i + 1

    threads = [threading.Thread(target=put, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    t.commit()
    assert len(list(db)) == 800
