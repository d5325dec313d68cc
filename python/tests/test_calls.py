"""What single calls do, take and refuse."""

import array
import dataclasses
import mmap
import os
from pathlib import Path

import pytest

import sluice


def test_a_mapping(db: sluice.DB) -> None:
    db[b"k"] = b"v"
    assert db[b"k"] == b"v"
    assert b"k" in db and b"l" not in db
    assert list(db) == [b"k"]
    with pytest.raises(KeyError) as error:
        db[b"l"]
    assert error.value.args == (b"l",)
    del db[b"k"], db[b"l"]
    assert list(db) == []
    db.update({b"a": b"1", b"b": b"2"})
    db.update(((b"b", b"3"), (b"c", b"4")), sync=True)
    assert dict(db.items()) == {b"a": b"1", b"b": b"3", b"c": b"4"}


def test_default_is_returned_as_it_is(db: sluice.DB) -> None:
    default = object()
    assert db.get(b"k", default) is default
    assert db.get(b"k") is None
    assert db.get(b"k", b"") == b""


def test_anything_with_contiguous_bytes(db: sluice.DB) -> None:
    numbers = array.array("I", [1, 2])
    db.put(bytearray(b"key"), memoryview(b"xvaluex")[1:-1])
    assert db.get(memoryview(b"key")) == b"value"
    db.put(b"numbers", numbers)
    assert db[b"numbers"] == numbers.tobytes()
    with mmap.mmap(-1, 4096) as memory:
        memory[:3] = b"map"
        db.put(b"mapped", memory)
    assert db[b"mapped"] == b"map" + bytes(4093)
    assert list(db.keys(bytearray(b"k"), memoryview(b"l"))) == [b"key"]


@pytest.mark.parametrize("wrong", ["text", 5, None, [b"k"], memoryview(b"abcdef")[::2]])
def test_other_objects_are_refused(db: sluice.DB, wrong: object) -> None:
    for call in (
        lambda: db.put(wrong, b""),  # type: ignore[arg-type]
        lambda: db.put(b"", wrong),  # type: ignore[arg-type]
        lambda: db.get(wrong),  # type: ignore[call-overload]
        lambda: db.get_many([wrong]),  # type: ignore[list-item]
        lambda: db.batch().update([(b"k", wrong)]),  # type: ignore[list-item]
        lambda: db.update([(b"k", b"v", b"w")]),  # type: ignore[list-item]
        lambda: db.transaction().put(wrong, b""),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            call()
    assert list(db) == []


def test_a_buffer_is_let_go_of(db: sluice.DB) -> None:
    value = bytearray(b"value")
    db.put(value, value)
    db.batch().put(value, value)
    db.get_many([value])
    value.append(1)  # BufferError while it is exported


def test_views_are_read_only_and_outlive_the_database(path: Path) -> None:
    with sluice.open(path, create_if_missing=True) as db:
        db[b"k"] = b"value" * 100000
        view = db.get_view(b"k")
        assert view is not None and view.readonly
        assert db.get_view(b"l") is None
    del db
    assert view == b"value" * 100000


def test_large_values(db: sluice.DB) -> None:
    value = os.urandom(32 << 20)
    db[b"large"] = value
    assert db[b"large"] == value
    assert list(db.items()) == [(b"large", value)]


def test_sizes_are_checked_before_anything_is_copied(db: sluice.DB, tmp_path: Path) -> None:
    with open(tmp_path / "sparse", "w+b") as file:
        file.truncate(5 << 30)
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with memory:
        for put in db.put, db.batch().put, db.transaction().put:
            with pytest.raises(sluice.InvalidArgumentError, match="bytes"):
                put(b"k", memory)
            with pytest.raises(sluice.InvalidArgumentError, match="bytes"):
                put(memory, b"v")


def test_bounds(db: sluice.DB) -> None:
    db.update({bytes([i]): b"" for i in range(256)})
    assert list(db.keys(stop=b"")) == []
    assert list(db.keys(start=b"", stop=b"\x02")) == [b"\x00", b"\x01"]
    assert list(db.keys(prefix=b"\xff")) == [b"\xff"]
    assert list(db.keys(prefix=b"\xff", reverse=True)) == [b"\xff"]
    assert len(list(db.keys(prefix=b""))) == 256
    assert list(db.keys(b"b", b"a")) == []
    with db.batch() as batch:
        batch.delete_range(b"b", b"a")
        batch.delete_range(None, b"")
        assert len(batch) == 0
        batch.delete_range(b"\xf0", None)
        batch.put(b"\xf1", b"new")
    db.delete_range(b"\x80", b"")
    assert len(list(db.keys())) == 241
    assert db[b"\xf1"] == b"new"
    db.delete_range(None, None)
    assert list(db.keys()) == []
    with pytest.raises(sluice.InvalidArgumentError):
        db.keys(b"a", prefix=b"b")
    db.compact(stop=b"")
    assert db.statistics().compactions.manual == 0


def test_iterators_see_one_state_and_can_seek(db: sluice.DB) -> None:
    db.update({b"%04d" % i: b"%d" % i for i in range(5000)})
    iterator = db.items()
    db.delete_range(b"", b"\xff")
    assert next(iterator) == (b"0000", b"0")
    iterator.seek(b"4321x")
    assert next(iterator) == (b"4322", b"4322")
    assert len(list(iterator)) == 5000 - 4323
    assert next(iterator, None) is None
    iterator.seek(b"4999")
    assert list(iterator) == [(b"4999", b"4999")]


def test_subtables(db: sluice.DB, path: Path) -> None:
    users = db.create_subtable("users")
    users[b"k"] = b"user"
    db[b"k"] = b"default"
    with users.batch() as batch:
        batch[b"l"] = b"user"
        batch.put(b"l", b"default", subtable=db)
    assert dict(users.items()) == {b"k": b"user", b"l": b"user"}
    assert db[b"l"] == b"default"
    assert db.subtables() == ["default", "users"]
    assert (db.name, users.name) == ("default", "users")
    with pytest.raises(sluice.InvalidArgumentError):
        db.create_subtable("users")
    with pytest.raises(sluice.NotFoundError, match="'orders'"):
        db.subtable("orders")
    db.drop_subtable(users)
    with pytest.raises(sluice.InvalidArgumentError):
        users[b"k"] = b"dropped"
    with pytest.raises(sluice.InvalidArgumentError):
        db.drop_subtable(db)  # type: ignore[arg-type]
    odd = db.create_subtable("\udcff\N{SNOWMAN}")
    assert odd.name in db.subtables()


def test_options_of_subtables(db: sluice.DB, path: Path) -> None:
    table = db.create_subtable("t", compression=sluice.Compression.ZSTD, block_bytes=8192)
    assert table.options() == {"compression": sluice.Compression.ZSTD, "block_bytes": 8192}
    assert db.options() == {}
    levels = [sluice.Compression.NONE, sluice.Compression.LZ4]
    tiers = [0, 0, 1]
    table.set_options(
        compression_per_level=levels, bloom_bits_per_key=0, prefix_bytes=None, offload=False, level_tiers=tiers
    )
    db.set_options(zstd_level=5)
    described = {t.name: t.options for t in db.statistics().subtables}
    text = "compression_per_level=none,lz4 bloom_bits_per_key=0 offload=false level_tiers=0,0,1"
    assert described == {"default": "zstd_level=5", "t": text}
    db.close()
    with sluice.open(path) as again:
        own = again.subtable("t").options()
        others = {"bloom_bits_per_key": 0, "offload": False, "level_tiers": tiers}
        assert own == {"compression_per_level": levels, **others}
        assert again.options() == {"zstd_level": 5}
        with pytest.raises(sluice.InvalidArgumentError, match="zstd_level"):
            again.set_options(zstd_level=23)
        with pytest.raises(sluice.InvalidArgumentError, match="block_bytes"):
            again.create_subtable("u", block_bytes=1)
        with pytest.raises(TypeError):
            again.set_options(row_cache_bytes=1)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="zstd_level"):
            again.set_options(zstd_level="5")  # type: ignore[arg-type]
        assert again.options() == {"zstd_level": 5}
        assert again.subtables() == ["default", "t"]


def test_objects_of_another_database_are_refused(db: sluice.DB, tmp_path: Path) -> None:
    with sluice.open(tmp_path / "other", create_if_missing=True) as other:
        for call in (
            lambda: db.batch().put(b"k", b"v", other),
            lambda: db.transaction().put(b"k", b"v", other),
            lambda: db.get(b"k", snapshot=other.snapshot()),
            lambda: list(db.items(snapshot=other.snapshot())),
            lambda: db.drop_subtable(other.create_subtable("table")),
        ):
            with pytest.raises(sluice.InvalidArgumentError, match="another database"):
                call()


def test_a_batch_writes_all_or_nothing(db: sluice.DB) -> None:
    with pytest.raises(ZeroDivisionError), db.batch() as batch:
        batch[b"a"] = b"1"
        1 // 0
    assert len(batch) == 0 and list(db) == []
    table = db.create_subtable("table")
    with pytest.raises(sluice.InvalidArgumentError), db.batch() as batch:
        batch[b"a"] = b"1"
        batch.put(b"b", b"2", table)
        db.drop_subtable(table)
    assert list(db) == []
    assert len(batch) == 2  # kept after an error
    batch.clear()
    batch[b"a"] = b"1"
    del batch[b"a"]
    assert len(batch) == 2 and batch.nbytes > 0
    batch.write()
    batch.write()
    assert list(db) == [] and len(batch) == 0


def test_statistics(db: sluice.DB) -> None:
    db[b"k"] = b"value"
    db.flush()
    db.wait_for_background_work()  # counts when it is done
    statistics = db.statistics()
    assert statistics.user_bytes_written == 6
    assert statistics.flushes == 1
    assert statistics.subtables[0].levels[0].records == 1
    assert statistics.write_amplification > 1
    assert statistics.compactions.manual == 0
    assert statistics.row_cache.capacity_bytes == 32 << 20
    with pytest.raises(dataclasses.FrozenInstanceError):
        statistics.flushes = 2  # type: ignore[misc]
    db.compact()
    assert db.statistics().compactions.manual > 0
    assert db.property("sluice.num-files-at-level2") == "1"
    records, size = db.approximate_size()
    assert records == 1
    assert size == int(db.property("sluice.bytes-at-level2"))
    assert db.approximate_size(stop=b"") == (0, 0)
    with pytest.raises(sluice.InvalidArgumentError):
        db.property("sluice.none")


def test_options(path: Path) -> None:
    with sluice.open(path, create_if_missing=True, row_cache_bytes=1 << 20) as db:
        assert db.statistics().row_cache.capacity_bytes == 1 << 20
    with pytest.raises(sluice.InvalidArgumentError):
        sluice.open(path, error_if_exists=True)
    with sluice.open(path, read_only=True) as db, pytest.raises(sluice.InvalidArgumentError):
        db[b"k"] = b"v"
    with sluice.open(path, compression_per_level=[sluice.Compression.NONE], zstd_level=9) as db:
        db[b"k"] = b"v"
    with pytest.raises(sluice.InvalidArgumentError):
        sluice.open(path, zstd_level=23)
    with pytest.raises(TypeError, match="-1 is no value for option memtable_bytes"):
        sluice.open(path, memtable_bytes=-1)
    with pytest.raises(TypeError):
        sluice.open(path, memtable=1)  # type: ignore[call-arg]


def test_all_options_of_the_engine_are_options_of_open() -> None:
    import inspect

    fields = {name for name in dir(sluice._core.Options) if not name.startswith("_")}
    parameters = set(inspect.signature(sluice.open).parameters) - {"path"}
    assert parameters == fields - {"set_level_paths"} | {"level_paths"}


def test_level_paths(path: Path, tmp_path: Path) -> None:
    levels: list[Path | str | bytes] = [tmp_path / "0", bytes(tmp_path / "1"), str(tmp_path / "2")]
    with sluice.open(path, create_if_missing=True, level_paths=levels) as db:
        db[b"k"] = b"v"
        db.compact()
    assert any((tmp_path / "2").iterdir())
    sluice.destroy(path, level_paths=levels)
    assert not path.exists()


def test_checkpoint_verify_repair_destroy(db: sluice.DB, path: Path, tmp_path: Path) -> None:
    db[b"k"] = b"v"
    db.flush()
    db.wait_for_background_work()
    db.verify()
    db.checkpoint(tmp_path / "copy")
    with sluice.open(tmp_path / "copy") as copy:
        assert dict(copy.items()) == {b"k": b"v"}
    report = sluice.repair(tmp_path / "copy", tmp_path / "repaired")
    assert report.records_saved == 1 and report.losses == ()
    with sluice.open(tmp_path / "repaired") as repaired:
        assert dict(repaired.items()) == {b"k": b"v"}
    sluice.destroy(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    with pytest.raises(sluice.BusyError):
        sluice.destroy(path)


def test_errors_are_a_tree(path: Path, db: sluice.DB) -> None:
    with pytest.raises(sluice.BusyError):
        sluice.open(path)
    with pytest.raises(sluice.NotFoundError):
        sluice.open(path.parent / "missing")
    with pytest.raises(sluice.InvalidArgumentError, match="zero byte"):
        sluice.open(os.fsencode(path) + b"\0x", create_if_missing=True)
    assert issubclass(sluice.InvalidArgumentError, ValueError)
    assert issubclass(sluice.ClosedError, ValueError)
    assert issubclass(sluice.NotFoundError, LookupError)
    assert issubclass(sluice.NoSpaceError, sluice.IoError)
    assert issubclass(sluice.IoError, OSError)
    assert issubclass(sluice.TimedOutError, TimeoutError)
    for name in sluice.__all__:
        if name.endswith("Error"):
            assert issubclass(getattr(sluice, name), sluice.Error)
    retryable = (sluice.DeadlockError, sluice.ConflictError, sluice.TimedOutError)
    assert all(issubclass(error, sluice.RetryableError) for error in retryable)


def test_corruption(path: Path) -> None:
    with sluice.open(path, create_if_missing=True) as db:
        db[b"k"] = b"v" * 1000
        db.flush()
    for file in (path / "data").iterdir() if (path / "data").exists() else path.iterdir():
        if file.is_file():
            contents = file.read_bytes()
            file.write_bytes(contents.replace(b"v" * 100, b"w" * 100))
    with sluice.open(path) as db:
        with pytest.raises(sluice.CorruptionError):
            db[b"k"]
        with pytest.raises(sluice.CorruptionError):
            list(db.items())
        with pytest.raises(sluice.CorruptionError):
            db.verify()


def test_a_damaged_value_that_is_stored_apart(path: Path) -> None:
    with sluice.open(path, create_if_missing=True, separate_value_bytes=1000) as db:
        for key in b"abc":
            db[bytes([key])] = bytes([key]) * 5000
        db.flush()
    data = path / "000001.data"
    contents = data.read_bytes()
    data.write_bytes(contents.replace(b"b" * 5000, b"b" * 4999 + b"x"))
    with sluice.open(path) as db:
        items = db.items()
        assert next(items) == (b"a", b"a" * 5000)
        for _ in range(2):
            with pytest.raises(sluice.CorruptionError):
                next(items)
        assert list(db.keys()) == [b"a", b"b", b"c"]
        assert next(db.items(b"c")) == (b"c", b"c" * 5000)


def test_messages_that_are_not_text(tmp_path: Path) -> None:
    with pytest.raises(sluice.NotFoundError):
        sluice.open(bytes(tmp_path) + b"/\xff")
