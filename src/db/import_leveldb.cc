#include "db/import_leveldb.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "db/db_impl.h"
#include "leveldb_dir/merge_inputs.h"
#include "merge/outputs.h"
#include "util/epoch.h"
#include "util/mutex.h"
#include "util/seconds_since.h"

namespace sluice {

// Only a block longer than a key may be can hold a longer one.
Status CheckImportedBlock(std::string_view contents) {
  if (contents.size() <= kMaxKeyBytes) {
    return {};
  }
  const auto too_long = [](std::string_view what, size_t bytes, size_t most) {
    return Status::NotSupported(
        fmt::format("a {} of {} bytes; {}s have at most {}", what, bytes, what, most));
  };
  Block block;
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
  BlockIterator at(block);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    if (const size_t bytes = UserKey(at.key()).size(); bytes > kMaxKeyBytes) {
      return too_long("key", bytes, kMaxKeyBytes);
    }
    if (const size_t bytes = at.value().size(); bytes > kMaxValueBytes) {
      return too_long("value", bytes, kMaxValueBytes);
    }
  }
  return at.status();
}

namespace {

using Clock = std::chrono::steady_clock;

// Merges the inputs, range by range, into extents.
class Import {
 public:
  Import(const MergeInputs& inputs, uint64_t task_bytes, const RunFormat& format,
         OffloadDriver* driver, ExtentWriter* writer, const ImportCallback& callback,
         ImportReport* report)
      : inputs_(inputs),
        task_bytes_(task_bytes),
        format_(format),
        driver_(*driver),
        callback_(callback),
        report_(*report),
        builder_(format.extent, [writer](BuiltExtent* built) {
          return writer->Write(built, writer->TakeNumber());
        }) {}
  ~Import() {
    for (const auto& part : parts_) {
      Wait(part.get());
    }
  }

  Status Run() {
    const size_t window = driver_.max_tasks() + 1;
    for (const KeyRange& range : inputs_.map().Split(task_bytes_)) {
      if (parts_.size() == window) {
        SLUICE_RETURN_IF_ERROR(Complete());
      }
      SLUICE_RETURN_IF_ERROR(Begin(range));
    }
    while (!parts_.empty()) {
      SLUICE_RETURN_IF_ERROR(Complete());
    }
    return builder_.EndExtent();
  }

 private:
  // A range on its way.
  struct Part {
    KeyRange range;
    DatabaseTask task;
    std::vector<OwnedOutput> outputs;
    MergeResult result;
    bool done = false;
  };

  Status Begin(const KeyRange& range);
  void Wait(const Part* part);
  // The oldest part becomes output.
  Status Complete();
  Status AddTable(const OwnedOutput& output);

  const MergeInputs& inputs_;
  const uint64_t task_bytes_;
  const RunFormat format_;
  OffloadDriver& driver_;
  const ImportCallback& callback_;
  ImportReport& report_;
  ExtentBuilder builder_;

  std::deque<std::unique_ptr<Part>> parts_;  // in key order
  Mutex mutex_;
  CondVar finished_;
};

Status Import::Begin(const KeyRange& range) {
  auto part = std::make_unique<Part>();
  part->range = range;
  SLUICE_RETURN_IF_ERROR(inputs_.MakeTask(range, &part->task));
  MergeTask& task = part->task.task;
  task.block_bytes = format_.block_bytes;
  task.table_bytes = format_.extent.extent_bytes;
  task.restart_interval = format_.restart_interval;
  task.bloom_bits_per_key = FilterBits(format_.extent, driver_);
  task.compress = CompressedBy(driver_, format_.extent);
  if (task.runs.empty()) {
    return {};
  }
  parts_.push_back(std::move(part));
  Part* const begun = parts_.back().get();
  driver_.Submit(task, CollectInto(&begun->outputs), [this, begun](const MergeResult& result) {
    const MutexLock lock(mutex_);
    begun->result = result;
    begun->done = true;
    finished_.notify_all();
  });
  return {};
}

void Import::Wait(const Part* part) {
  MutexLock lock(mutex_);
  while (!part->done) {
    finished_.wait(lock);
  }
}

Status Import::Complete() {
  Wait(parts_.front().get());
  const std::unique_ptr<Part> part = std::move(parts_.front());
  parts_.pop_front();
  if (!part->result.ok()) {
    return ToError(part->result, part->task);
  }
  for (const OwnedOutput& output : part->outputs) {
    SLUICE_RETURN_IF_ERROR(AddTable(output));
  }
  ++report_.tasks;
  report_.input_records += part->result.stats.input_records;
  report_.output_records += part->result.stats.output_records;
  if (callback_) {
    const InputMap& map = inputs_.map();
    callback_(part->range.has_end ? map.BytesUpTo(part->range.end) : map.total_bytes(),
              map.total_bytes());
  }
  return {};
}

Status Import::AddTable(const OwnedOutput& output) {
  const bool compressed = CompressedBy(driver_, format_.extent);
  return ForEachBlock(output.AsOutput(), [this, compressed](const OutputBlock& block) {
    SLUICE_RETURN_IF_ERROR(CheckImportedBlock(block.contents));
    return builder_.AddBlock(block.contents, StoredAs(block, format_.extent, compressed),
                             block.filter);
  });
}

}  // namespace

Status DBImpl::CheckUntouched(const SubtableImpl& subtable) const {
  SLUICE_RETURN_IF_ERROR(db_.subtables.CheckLive(subtable));
  const EpochGuard guard;
  const Version& version = subtable.version(guard);
  if (version.flushed != 0 || !version.waiting.empty() || !version.active->table.empty()) {
    return Status::InvalidArgument(fmt::format(
        "sub-table '{}' has been written to; an import needs a new one", subtable.name()));
  }
  return {};
}

Status DBImpl::ImportLevelDb(Subtable* subtable, const std::string& source,
                             const ImportCallback& callback, ImportReport* report) {
  const Clock::time_point begin = Clock::now();
  *report = {};
  SLUICE_RETURN_IF_ERROR(db_.CheckWritable());
  SubtableImpl* const target = Resolve(subtable);
  {
    const ExclusiveWrites exclusive(writes_.pipeline());
    SLUICE_RETURN_IF_ERROR(CheckUntouched(*target));
  }
  MergeInputs inputs;
  // Tables in memory, of what the logs hold: as large as extents.
  SLUICE_RETURN_IF_ERROR(
      inputs.Open(db_.env, source, db_.options.extent_bytes, db_.options.task_bytes));
  const RateLimiter::Hurry hurry(&db_.limiter);
  const RunFormat format = db_.FormatOf(*target, kLastLevel);
  ExtentWriter writer(db_.space.get(), format.tier, &db_.next_number,
                      ExtentWriter::Use::kCompaction, &db_.limiter);
  std::vector<Extent> extents;
  SLUICE_RETURN_IF_ERROR(
      Import(inputs, db_.options.task_bytes, format, db_.driver.get(), &writer, callback, report)
          .Run());
  SLUICE_RETURN_IF_ERROR(writer.Finish(&extents));

  report->input_tables = inputs.database().table_names.size();
  report->log_files = inputs.database().logs.size();
  report->log_records = inputs.logs().records;
  report->input_file_bytes = inputs.survey().file_bytes + inputs.logs().file_bytes;
  report->runs = inputs.runs();
  report->extents = extents.size();
  report->output_bytes = writer.bytes();
  report->last_sequence = inputs.last_sequence();
  if (!extents.empty()) {
    SLUICE_RETURN_IF_ERROR(Adopt(target, std::move(extents), inputs.last_sequence()));
  }
  report->seconds = SecondsSince(begin);
  return {};
}

Status DBImpl::Adopt(SubtableImpl* subtable, std::vector<Extent> extents,
                     SequenceNumber last_sequence) {
  // Held, so that no write takes a sequence number of the imported records.
  const ExclusiveWrites exclusive(writes_.pipeline());
  SLUICE_RETURN_IF_ERROR(CheckUntouched(*subtable));
  return Install({{subtable, std::move(extents)}}, std::max(last_sequence, db_.last_sequence));
}

Status ImportLevelDb(DB* db, Subtable* subtable, const std::string& source,
                     const ImportCallback& callback, ImportReport* report) {
  return static_cast<DBImpl*>(db)->ImportLevelDb(subtable, source, callback, report);
}

}  // namespace sluice
