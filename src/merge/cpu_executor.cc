// How a merge runs:
//  1. A RunReader per run decodes batches of records, each with a KeyWord: 16 bytes of its user key
//     as a number, from the offset `skip` that all current keys have in common. `skip` falls when a
//     batch shares less, and is raised when equal words have cost too many whole comparisons.
//  2. The winner among the current records of all ways is found by comparing words: directly for
//     two ways, by a loser tree (Knuth vol. 3, 5.4.1) for more.
//  3. The winner is judged (same user key as the one before? visible? tombstone?) and copied once,
//     from the input block to the output table; the common prefix of its key with the key before
//     falls out of the words, too.

#include "merge/cpu_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "merge/fold.h"
#include "merge/merge_writer.h"

namespace sluice {

namespace {

// Whole comparisons due to equal words before a longer `skip` is looked for.
constexpr uint32_t kTiesBeforeRaise = 64;

struct Way {
  RunReader* reader;
  const Record* current;
  const Record* end;
  size_t ahead;
};

// A way in the loser tree, with the word of its current record.
struct Player {
  uint64_t high = 0;
  uint64_t low = 0;
  uint64_t way = 0;

  Player() = default;
  Player(KeyWord word, size_t w)
      : high(static_cast<uint64_t>(word >> 64)), low(static_cast<uint64_t>(word)), way(w) {}
  KeyWord word() const { return KeyWord{high} << 64 | low; }
};

// A key that records to come are compared with.
struct KeySeen {
  KeyWord word = 0;
  std::string_view internal_key;  // empty: none yet

  std::string_view user_key() const { return UserKey(internal_key); }
};

class Merge {
 public:
  Merge(const MergeTask& task, const MergeSink& sink, const RecordLimits& limits)
      : Merge(task, MergeWriter(task, sink), task.runs, limits) {}
  Merge(const MergeTask& task, const std::vector<ForeignRun>& runs, ForeignSink* sink,
        const RecordLimits& limits)
      : Merge(task, MergeWriter(task, sink), runs, limits) {}

  MergeResult Run() {
    MergeResult result;
    bool ok = true;
    for (const auto& reader : readers_) {
      ways_.push_back({reader.get(), nullptr, nullptr, 0});
    }
    for (size_t way = 0; ok && way < ways_.size();) {
      ok = Refill(way);
      way += way < ways_.size() && ways_[way].current != nullptr ? 1 : 0;
    }
    if (ok) {
      RaiseSkip();
    }
    while (ok && !ways_.empty()) {
      ok = ways_.size() == 1 ? MergeOne() : ways_.size() == 2 ? MergeTwo() : MergeMany();
    }
    if (ok) {
      EndTable();  // its status is for Report
    }
    Report(&result);
    return result;
  }

 private:
  template <typename Run>
  Merge(const MergeTask& task, MergeWriter writer, const std::vector<Run>& runs,
        const RecordLimits& limits)
      : task_(task),
        writer_(std::move(writer)),
        visible_to_all_(FirstTrailer(task.snapshots.front())) {
    for (const Run& run : runs) {
      readers_.push_back(std::make_unique<RunReader>(task, run, limits));
    }
  }

  // ------------------------------------------------------------------ order

  // Less for two records whose words are equal. Ties go to the lower way.
  bool LessSlow(size_t a, size_t b) {
    ++ties_;
    const int order =
        CompareInternalKeys(ways_[a].current->internal_key(), ways_[b].current->internal_key());
    return order != 0 ? order < 0 : a < b;
  }

  bool Less(size_t a, size_t b) {
    const KeyWord x = ways_[a].current->word;
    const KeyWord y = ways_[b].current->word;
    return x != y ? x < y : LessSlow(a, b);
  }

  // The three loops return when a way has ended, or false at a fault.

  bool MergeOne() {
    while (Take(0)) {
      if (ways_.size() != 1) {
        return true;
      }
    }
    return false;
  }

  bool MergeTwo() {
    while (Take(Less(1, 0) ? 1 : 0)) {
      if (ways_.size() != 2) {
        return true;
      }
    }
    return false;
  }

  bool MergeMany() {
    const size_t n = ways_.size();
    std::vector<Player> losers(n);
    Player winner = StartTree(&losers);
    while (Take(winner.way)) {
      if (ways_.size() != n) {
        return true;
      }
      if (reworded_) {
        winner = StartTree(&losers);
        continue;
      }
      const size_t way = winner.way;
      winner = Player(ways_[way].current->word, way);
      for (size_t node = (way + n) / 2; node > 0; node /= 2) {
        Play(&losers[node], &winner);
      }
    }
    return false;
  }

  // Fills the loser tree: losers[node] lost at that node; way w enters at node (w + n) / 2, and
  // node 1 is the root. Returns the winner.
  Player StartTree(std::vector<Player>* losers) {
    const size_t n = losers->size();
    std::vector<bool> taken(n, false);
    Player player;
    for (size_t way = 0; way < n; ++way) {
      player = Player(ways_[way].current->word, way);
      size_t node = (way + n) / 2;
      for (; node > 0 && taken[node]; node /= 2) {
        Play(&(*losers)[node], &player);
      }
      (*losers)[node] = player;
      taken[node] = true;
    }
    reworded_ = false;
    return player;
  }

  // Swaps so that *winner comes first. Without a branch on the outcome, which cannot be predicted.
  void Play(Player* loser, Player* winner) {
    const KeyWord x = loser->word();
    const KeyWord y = winner->word();
    const bool swap = x == y ? LessSlow(loser->way, winner->way) : x < y;
    const uint64_t mask = 0 - static_cast<uint64_t>(swap);
    const auto exchange = [mask](uint64_t* a, uint64_t* b) {
      const uint64_t difference = (*a ^ *b) & mask;
      *a ^= difference;
      *b ^= difference;
    };
    exchange(&loser->high, &winner->high);
    exchange(&loser->low, &winner->low);
    exchange(&loser->way, &winner->way);
  }

  // ------------------------------------------------------------------ one record

  // Writes or drops the current record of `way` and goes on to its next. False: a fault.
  bool Take(size_t way) {
    const Record& record = *ways_[way].current;
    const bool same_key =
        record.word == seen_.word && !seen_.internal_key.empty() && SameUserKey(record);
    const bool shadowed = same_key && record.trailer >= shadowed_from_;
    const bool visible_to_all = record.trailer <= visible_to_all_;
    shadowed_from_ = visible_to_all ? 0 : ShadowedFrom(task_.snapshots, record.trailer);
    seen_ = {record.word, record.internal_key()};
    const bool dead = visible_to_all && task_.bottommost &&
                      TrailerType(record.trailer) == static_cast<uint8_t>(RecordType::kDeletion);
    if (shadowed || dead) {
      dropped_tombstones_ += !shadowed;
      Drop(record);
    } else if (!Keep(record, same_key, ways_[way].ahead)) {
      return false;
    }
    if (++ways_[way].current == ways_[way].end) {
      return Refill(way);
    }
    return true;
  }

  bool SameUserKey(const Record& record) { return record.user_key() == seen_.user_key(); }

  void Drop(const Record& record) {
    const uint64_t fold = Fold<false>(record.value, record.value_bytes, nullptr);
    taken_hashes_ += record.hash;
    dropped_checksum_ += record.hash ^ std::rotl(fold, 5);
    ++dropped_records_;
  }

  bool Keep(const Record& record, bool same_key, size_t ahead) {
    if (writer_.table_full() && !same_key && !EndTable()) {
      return false;
    }
    const uint64_t fold = writer_.Add(record, SharedWithKept(record), ahead);
    taken_hashes_ += record.hash;
    output_checksum_ += record.hash ^ std::rotl(fold, 5);
    kept_ = seen_;
    return true;
  }

  uint32_t SharedWithKept(const Record& record) {
    if (kept_.internal_key.empty()) {
      return 0;
    }
    const KeyWord difference = record.word ^ kept_.word;
    if (difference == 0) [[unlikely]] {
      return static_cast<uint32_t>(CommonPrefix(record.user_key(), kept_.user_key()));
    }
    // Where a key has ended its word has zeros.
    const auto user_bytes =
        std::min<uint64_t>(record.user_bytes, kept_.internal_key.size() - kTrailerBytes);
    return static_cast<uint32_t>(
        std::min<uint64_t>(skip_ + LeadingZeroBytes(difference), user_bytes));
  }

  bool EndTable() {
    sink_status_ = writer_.EndTable(kept_.internal_key);
    return sink_status_.ok();
  }

  // ------------------------------------------------------------------ batches

  // The next batch of `way`, whose records are all taken; removes the way at its end.
  bool Refill(size_t way) {
    // The reader is about to reuse the memory of the keys of its batch before the last. The key
    // seen last, if from this way, is in the last batch; the key kept last may be in an older one.
    if (kept_.internal_key.data() != kept_copy_.data()) {
      kept_copy_.assign(kept_.internal_key);
      kept_copy_.append(kSlackBytes, '\0');
      kept_.internal_key = std::string_view(kept_copy_).substr(0, kept_.internal_key.size());
    }
    RunReader* const reader = ways_[way].reader;
    size_t skip = skip_;
    if (!reader->NextBatch(&skip)) {
      faulty_run_ = std::find_if(readers_.begin(), readers_.end(),
                                 [=](const auto& r) { return r.get() == reader; }) -
                    readers_.begin();
      fault_ = &reader->fault();
      return false;
    }
    for (const Record* record = reader->begin(); record != reader->end(); ++record) {
      decoded_hashes_ += record->hash;
    }
    ways_[way].current = reader->begin();
    ways_[way].end = reader->end();
    ways_[way].ahead = reader->ahead();
    if (reader->begin() == reader->end()) {
      ways_.erase(ways_.begin() + static_cast<ptrdiff_t>(way));
    }
    if (skip != skip_) {
      SetSkip(skip);
    } else if (ties_ >= kTiesBeforeRaise) {
      RaiseSkip();
    }
    return true;
  }

  // Finds the longest prefix that all current keys, seen_ and kept_ have in common.
  void RaiseSkip() {
    ties_ = 0;
    if (ways_.empty()) {
      return;
    }
    const std::string_view reference = ways_[0].current->user_key();
    size_t skip = reference.size();
    const auto fit = [&](std::string_view key) {
      skip = std::min<size_t>(skip, CommonPrefix(reference, key));
    };
    for (const Way& way : ways_) {
      fit(way.current->user_key());
      fit(way.end[-1].user_key());
    }
    if (!seen_.internal_key.empty()) {
      fit(seen_.user_key());
    }
    if (!kept_.internal_key.empty()) {
      fit(kept_.user_key());
    }
    if (skip > skip_) {
      SetSkip(skip);
    }
  }

  void SetSkip(size_t skip) {
    skip_ = skip;
    reworded_ = true;
    for (const Way& way : ways_) {
      way.reader->Reword(way.current, skip);
    }
    for (KeySeen* key : {&seen_, &kept_}) {
      if (!key->internal_key.empty()) {
        key->word = LoadKeyWord(key->internal_key.data(), key->user_key().size(), skip);
      }
    }
  }

  // ------------------------------------------------------------------ outcome

  void Report(MergeResult* result) {
    MergeStats& stats = result->stats;
    for (const auto& reader : readers_) {
      stats.input_records += reader->input_records();
      stats.input_bytes += reader->input_bytes();
    }
    stats.dropped_records = dropped_records_;
    stats.dropped_tombstones = dropped_tombstones_;
    stats.dropped_shadowed = dropped_records_ - dropped_tombstones_;
    stats.output_records = writer_.output_records();
    stats.output_bytes = writer_.output_bytes();
    stats.output_tables = writer_.output_tables();
    stats.output_checksum = output_checksum_;
    stats.dropped_checksum = dropped_checksum_;
    stats.input_checksum = output_checksum_ + dropped_checksum_;
    if (fault_ != nullptr) {
      result->status = fault_->status;
      result->fault = {static_cast<uint32_t>(faulty_run_), fault_->table, fault_->offset};
      result->error = Status::Corruption(fmt::format(
          "run {}, table {}, offset {}: {}{}{}", faulty_run_, fault_->table, fault_->offset,
          MergeStatusText(fault_->status), fault_->detail.empty() ? "" : ": ", fault_->detail));
    } else if (!sink_status_.ok()) {
      result->status = MergeStatus::kSink;
      result->error = sink_status_.WithContext(MergeStatusText(MergeStatus::kSink));
    } else if (Status balance = CheckBalance(stats);
               !balance.ok() || decoded_hashes_ != taken_hashes_) {
      result->status = MergeStatus::kEndToEnd;
      result->error = balance.ok() ? Status::IoError("records taken that are not those decoded")
                                   : std::move(balance);
    }
  }

  const MergeTask& task_;
  MergeWriter writer_;
  const uint64_t visible_to_all_;  // trailers above it are invisible to the smallest snapshot
  std::vector<std::unique_ptr<RunReader>> readers_;
  std::vector<Way> ways_;  // those that have records left, by run

  size_t skip_ = 0;        // all current keys, and seen_ and kept_, share their first skip_ bytes
  bool reworded_ = false;  // words in a loser tree are stale
  uint32_t ties_ = 0;
  KeySeen seen_;                         // of the record taken last
  KeySeen kept_;                         // of the record written last
  std::string kept_copy_;                // kept_'s key, once its arena is to be reused
  uint64_t shadowed_from_ = UINT64_MAX;  // trailers of seen_'s user key that it shadows

  // Sums of Record::hash.
  uint64_t decoded_hashes_ = 0;
  uint64_t taken_hashes_ = 0;
  uint64_t dropped_records_ = 0;
  uint64_t dropped_tombstones_ = 0;  // of them, those that nothing shadows
  uint64_t dropped_checksum_ = 0;
  uint64_t output_checksum_ = 0;

  size_t faulty_run_ = 0;
  const ReadFault* fault_ = nullptr;
  Status sink_status_;
};

}  // namespace

namespace {

// What is wrong with a task ends it.
bool Refuses(const MergeTask& task, MergeResult* result) {
  result->error = CheckTask(task);
  if (!result->error.ok()) {
    result->status = MergeStatus::kBadDescriptor;
  }
  return !result->error.ok();
}

}  // namespace

MergeResult CpuExecutor::Run(const MergeTask& task, const MergeSink& sink) {
  MergeResult result;
  return Refuses(task, &result) ? result : Merge(task, sink, limits_).Run();
}

MergeResult CpuExecutor::RunForeign(const MergeTask& task, const std::vector<ForeignRun>& runs,
                                    ForeignSink* sink) const {
  MergeResult result;
  return Refuses(task, &result) ? result : Merge(task, runs, sink, limits_).Run();
}

std::unique_ptr<Executor> MakeCpuExecutor() { return std::make_unique<CpuExecutor>(); }

}  // namespace sluice
