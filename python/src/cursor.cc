#include "cursor.h"

#include <algorithm>
#include <utility>

#include "transaction.h"

namespace sluice::python {

namespace nb = nanobind;

namespace {

std::optional<std::string> Copy(const OptionalBytes& bytes) {
  return bytes.given ? std::optional<std::string>(bytes.view) : std::nullopt;
}

}  // namespace

Range Range::Make(const OptionalBytes& start, const OptionalBytes& stop,
                  const OptionalBytes& prefix, bool reverse) {
  Range range = {.start = Copy(start), .stop = Copy(stop), .reverse = reverse};
  if (!prefix.given) {
    return range;
  }
  if (start.given || stop.given) {
    ThrowInvalidArgument("a prefix excludes start and stop");
  }
  range.start = prefix.view;
  range.stop = range.start;
  // The first key behind all that begin with the prefix; none if it consists of FF.
  while (!range.stop->empty() && range.stop->back() == '\xff') {
    range.stop->pop_back();
  }
  if (range.stop->empty()) {
    range.stop.reset();
  } else {
    ++range.stop->back();
  }
  return range;
}

Cursor::Cursor(std::shared_ptr<State> state, Range range, Yields yields)
    : Part(std::move(state)), range_(std::move(range)), yields_(yields) {}

Cursor::~Cursor() {
  const Turn turn(turn_.get());  // what iterates over a transaction must not outlive it
  if (transaction_ != nullptr) {
    transaction_->Drop(this);
  }
  End();
}

void Cursor::SetBounds(ReadOptions* options) const {
  options->lower_bound = range_.start ? &*range_.start : nullptr;
  options->upper_bound = range_.stop ? &*range_.stop : nullptr;
}

void Cursor::OpenOn(Subtable* subtable, SnapshotPart* snapshot, bool fill_cache) {
  const SnapshotPart::Pin pin(state().get(), snapshot);
  const Call call(state().get());
  ReadOptions options = {.snapshot = pin.get(), .fill_cache = fill_cache};
  SetBounds(&options);
  const nb::gil_scoped_release release;
  iterator_ = state()->db()->NewIterator(options, subtable);
}

void Cursor::OpenOn(TransactionPart* transaction, Subtable* subtable, SnapshotPart* snapshot,
                    bool fill_cache) {
  const SnapshotPart::Pin pin(state().get(), snapshot);
  const Call call(state().get());
  ReadOptions options = {.snapshot = pin.get(), .fill_cache = fill_cache};
  SetBounds(&options);
  {
    const nb::gil_scoped_release release;
    iterator_ = transaction->get()->NewIterator(options, subtable);
  }
  transaction->Add(this);
  transaction_ = transaction;
  turn_ = transaction->turn();
}

void Cursor::Yield(Remains* remains) {
  if (iterator_ != nullptr) {
    remains->iterators.push_back(std::move(iterator_));
  }
  chunk_ = {};
  record_ = 0;
  ended_ = false;
}

nb::object Cursor::Next() {
  if (record_ == chunk_.records.size()) [[unlikely]] {
    const Turn turn(turn_.get());
    // Another thread may have read ahead meanwhile.
    if (record_ == chunk_.records.size()) {
      if (ended_) {
        throw nb::stop_iteration();
      }
      Fill({});
      if (chunk_.records.empty()) {
        throw nb::stop_iteration();
      }
    }
  }
  return Take();
}

nb::object Cursor::Take() {
  const Chunk::Record& record = chunk_.records[record_];
  const std::string_view bytes = std::string_view(chunk_.bytes).substr(record.begin);
  const std::string_view key = bytes.substr(0, record.key_bytes);
  const std::string_view value = bytes.substr(record.key_bytes, record.value_bytes);
  if (yields_ == Yields::kItems) {
    // The objects are made before the cursor moves on, and the pair, whose making may run the
    // garbage collector and with it anything, after that.
    nb::object key_object = ToBytes(key);
    nb::object value_object = ToBytes(value);
    ++record_;
    PyObject* const pair = PyTuple_Pack(2, key_object.ptr(), value_object.ptr());
    if (pair == nullptr) {
      throw nb::python_error();
    }
    return nb::steal(pair);
  }
  nb::object object = ToBytes(yields_ == Yields::kKeys ? key : value);
  ++record_;
  return object;
}

void Cursor::Fill(std::optional<std::string_view> seek) {
  state()->CheckOpen();
  if (iterator_ == nullptr) {
    ThrowGone();
  }
  // Threads that ask meanwhile find nothing left, and wait for their turn.
  Chunk chunk = std::exchange(chunk_, {});
  record_ = 0;
  chunk.bytes.clear();
  chunk.records.clear();
  Status status;
  {
    const Call call(state().get());
    const nb::gil_scoped_release release;
    if (seek) {
      range_.reverse ? iterator_->SeekForPrev(*seek) : iterator_->Seek(*seek);
    } else if (!started_) {
      range_.reverse ? iterator_->SeekToLast() : iterator_->SeekToFirst();
    }
    Read(&chunk);
    status = iterator_->status();
  }
  started_ = true;
  read_ahead_ = std::min(2 * read_ahead_, kMostReadAhead);
  ended_ = chunk.records.empty();
  chunk_ = std::move(chunk);
  if (!status.ok() && chunk_.records.empty()) {
    ended_ = false;  // whoever asks again is told again
    ThrowIfError(status);
  }
}

void Cursor::Read(Chunk* chunk) {
  for (size_t i = 0; i < read_ahead_ && iterator_->Valid(); ++i) {
    const std::string_view key = yields_ == Yields::kValues ? "" : iterator_->key();
    const std::string_view value = yields_ == Yields::kKeys ? "" : iterator_->value();
    if (value.empty() && !iterator_->status().ok()) {
      break;  // it could not be read, so it is not empty: the walk ends before it
    }
    chunk->records.push_back({chunk->bytes.size(), key.size(), value.size()});
    chunk->bytes.append(key).append(value);
    range_.reverse ? iterator_->Prev() : iterator_->Next();
    if (chunk->bytes.size() >= kReadAheadBytes) {
      break;
    }
  }
}

void Cursor::Seek(std::string_view key) {
  const Turn turn(turn_.get());
  chunk_ = {};
  record_ = 0;
  read_ahead_ = kFirstReadAhead;
  Fill(key);
}

void Cursor::Close() {
  const Turn turn(turn_.get());
  End();
}

void Cursor::ThrowGone() const {
  ThrowClosed("the iterator is closed, or its transaction has ended");
}

}  // namespace sluice::python
