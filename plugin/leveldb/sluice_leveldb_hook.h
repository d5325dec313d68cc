/// @file
/// LevelDB's compaction work, handed to Sluice. This header defines a member function of LevelDB's
/// DBImpl: it is the end of LevelDB's db/db_impl.cc after leveldb-1.23.patch, which calls LevelDB's
/// own DoCompactionWork by the name DoOwnCompactionWork. libleveldb.so.1d and libleveldb.a in the
/// directory sluice-leveldb have it, too (replacement.cc).
///
/// As in LevelDB's own, the database's mutex is held when it is called and when it returns, but not
/// while the work is done; a memtable that is full in the meantime is flushed at once.

#pragma once

#include <leveldb/c.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "sluice_leveldb_compaction.h"

namespace leveldb {

inline sluice::LevelDbTable SluiceTable(const FileMetaData& file) {
  sluice::LevelDbTable table;
  table.number = file.number;
  table.bytes = file.file_size;
  table.smallest = file.smallest.Encode().ToString();
  table.largest = file.largest.Encode().ToString();
  return table;
}

Status DBImpl::DoCompactionWork(CompactionState* compact) {
  Compaction* const inputs = compact->compaction;
  const uint64_t start_micros = env_->NowMicros();
  uint64_t imm_micros = 0;  // that flushes took
  CompactionStats stats;

  sluice::LevelDbCompaction compaction;
  compaction.env = env_;
  compaction.dir = dbname_;
  compaction.bytewise = internal_comparator_.user_comparator() == BytewiseComparator();
#if HAVE_SNAPPY
  compaction.snappy = options_.compression == kSnappyCompression;
#endif
  compaction.block_bytes = options_.block_size;
  compaction.restart_interval = options_.block_restart_interval;
  compaction.filter_policy = options_.filter_policy;
  static const FilterPolicy* const own_policies[2] = {
      NewBloomFilterPolicy(10),
      reinterpret_cast<const FilterPolicy*>(leveldb_filterpolicy_create_bloom(10))};
  compaction.own_filter_policies[0] = own_policies[0];
  compaction.own_filter_policies[1] = own_policies[1];
  compaction.level = inputs->level();
  compaction.file_bytes = inputs->MaxOutputFileSize();
  compaction.smallest_snapshot =
      snapshots_.empty() ? versions_->LastSequence() : snapshots_.oldest()->sequence_number();
  InternalKey smallest;
  InternalKey largest;
  for (int which = 0; which < 2; ++which) {
    for (int i = 0; i < inputs->num_input_files(which); ++i) {
      const FileMetaData& file = *inputs->input(which, i);
      if (compaction.inputs[0].empty() ||
          internal_comparator_.Compare(file.smallest.Encode(), smallest.Encode()) < 0) {
        smallest = file.smallest;
      }
      if (compaction.inputs[0].empty() ||
          internal_comparator_.Compare(file.largest.Encode(), largest.Encode()) > 0) {
        largest = file.largest;
      }
      compaction.inputs[which].push_back(SluiceTable(file));
      stats.bytes_read += file.file_size;
    }
  }
  for (int level = inputs->level() + 2; level < config::kNumLevels; ++level) {
    std::vector<FileMetaData*> files;
    versions_->current()->GetOverlappingInputs(level, &smallest, &largest, &files);
    compaction.below.emplace_back();
    for (const FileMetaData* file : files) {
      compaction.below.back().push_back(SluiceTable(*file));
    }
  }

  std::vector<uint64_t> numbers;
  compaction.new_file_number = [this, &numbers]() {
    mutex_.Lock();
    const uint64_t number = versions_->NewFileNumber();
    pending_outputs_.insert(number);
    numbers.push_back(number);
    mutex_.Unlock();
    return number;
  };
  compaction.is_usable = [this](const sluice::LevelDbTable& table) {
    Iterator* const iterator = table_cache_->NewIterator(ReadOptions(), table.number, table.bytes);
    const bool usable = iterator->status().ok();
    delete iterator;
    return usable;
  };
  compaction.meanwhile = [this, &imm_micros]() {
    if (has_imm_.load(std::memory_order_relaxed)) {
      const uint64_t imm_start = env_->NowMicros();
      mutex_.Lock();
      if (imm_ != nullptr) {
        CompactMemTable();
        // Writers wait for it in MakeRoomForWrite.
        background_work_finished_signal_.SignalAll();
      }
      mutex_.Unlock();
      imm_micros += env_->NowMicros() - imm_start;
    }
    return !shutting_down_.load(std::memory_order_acquire);
  };

  mutex_.Unlock();
  const sluice::LevelDbCompactionResult result = sluice::CompactForLevelDb(compaction);
  if (!result.message.empty()) {
    Log(options_.info_log, "[sluice] %s", result.message.c_str());
  }
  mutex_.Lock();

  if (!result.done) {
    for (const uint64_t number : numbers) {
      table_cache_->Evict(number);
      pending_outputs_.erase(number);
    }
    return DoOwnCompactionWork(compact);
  }
  std::set<uint64_t> unused(numbers.begin(), numbers.end());
  for (const sluice::LevelDbTable& table : result.tables) {
    unused.erase(table.number);
    compact->outputs.emplace_back();
    CompactionState::Output& output = compact->outputs.back();
    output.number = table.number;
    output.file_size = table.bytes;
    output.smallest.DecodeFrom(table.smallest);
    output.largest.DecodeFrom(table.largest);
    compact->total_bytes += table.bytes;
    stats.bytes_written += table.bytes;
  }
  compact->smallest_snapshot = compaction.smallest_snapshot;
  stats.micros = env_->NowMicros() - start_micros - imm_micros;
  stats_[inputs->level() + 1].Add(stats);
  const Status status = InstallCompactionResults(compact);
  // Tables that were made, opened, and removed: a device's, before the CPU made others.
  for (const uint64_t number : unused) {
    table_cache_->Evict(number);
    pending_outputs_.erase(number);
  }
  if (!status.ok()) {
    RecordBackgroundError(status);
  }
  VersionSet::LevelSummaryStorage summary;
  Log(options_.info_log, "compacted to: %s", versions_->LevelSummary(&summary));
  return status;
}

}  // namespace leveldb
