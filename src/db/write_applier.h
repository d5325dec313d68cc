// Writes of batches take effect in memtables.

#pragma once

#include <cstddef>

#include "mem/memtable.h"
#include "write/batch_format.h"

namespace sluice {

// Gathers writes, so that a memtable is given several at once. Not thread-safe.
class WriteApplier {
 public:
  // Takes effect by the next Flush. REQUIRES: `write` is from ReadWrite; what it refers to, and the
  // memtable, stay until Flush.
  void Apply(SequenceNumber sequence, const BatchWrite& write, Memtable* memtable) {
    if (write.type == EntryType::kRangeDeletion) [[unlikely]] {
      memtable->DeleteRange(sequence, write.key, write.value);
      return;
    }
    if (memtable != memtable_ || gathered_ == Memtable::kMostAtOnce) {
      Flush();
      memtable_ = memtable;
    }
    records_.of[gathered_++] = {sequence, static_cast<RecordType>(write.type), write.key,
                                write.value};
  }

  void Flush() {
    if (gathered_ > 0) {
      memtable_->Add({records_.of, gathered_});
      gathered_ = 0;
    }
  }

 private:
  // A union leaves them uninitialised: most groups have few, and are over in a microsecond.
  union Records {
    Records() {}  // NOLINT(modernize-use-equals-default): that would delete it
    Memtable::Record of[Memtable::kMostAtOnce];
  };
  Records records_;
  size_t gathered_ = 0;
  Memtable* memtable_ = nullptr;
};

}  // namespace sluice
