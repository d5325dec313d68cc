// A write of a batch takes effect in a memtable.

#pragma once

#include "mem/memtable.h"
#include "write/batch_format.h"

namespace sluice {

// REQUIRES: `write` is from ReadWrite.
inline void ApplyWrite(SequenceNumber sequence, const BatchWrite& write, Memtable* memtable) {
  if (write.type == EntryType::kRangeDeletion) [[unlikely]] {
    memtable->DeleteRange(sequence, write.key, write.value);
  } else {
    memtable->Add(sequence, static_cast<RecordType>(write.type), write.key, write.value);
  }
}

}  // namespace sluice
