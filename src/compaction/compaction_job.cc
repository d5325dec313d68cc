#include "compaction/compaction_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "compaction/block_cache_handover.h"
#include "compaction/plan_checker.h"
#include "merge/outputs.h"
#include "table/block_builder.h"
#include "table/key_scan.h"
#include "table/recode.h"
#include "table/stored_block.h"
#include "tree/slice.h"
#include "util/alignment.h"
#include "util/io_queue.h"
#include "util/mutex.h"

namespace sluice {

namespace {

// Some neighbouring blocks of an extent, read whole, as a table of their own: blocks, then an index
// that names just them.
struct Piece {
  ExtentPtr extent;
  uint64_t begin = 0;  // of the first block, in the extent
  uint64_t blocks_bytes = 0;
  std::string index;       // with its trailer
  std::string_view image;  // in the task's memory
  IoRequest request;
  RecodedTable raw;  // if executors could not read it, what they are given
  TableHeadRef head;

  uint64_t offset() const { return extent->place->offset() + begin; }  // in the file
  uint64_t bytes() const { return blocks_bytes + index.size(); }
  std::string_view index_contents() const {
    return std::string_view(index).substr(0, index.size() - kBlockTrailerBytes);
  }
  MergeTable table() const { return {image, {blocks_bytes, index_contents().size()}}; }
};

// A step on its way.
struct Task {
  CompactionStep step;
  std::deque<Piece> pieces;
  std::string memory;                     // of their images
  std::vector<std::vector<Piece*>> runs;  // none empty
  size_t reads = 0;                       // not completed yet
  MergeTask merge;
  // Only for a task on a unit.
  std::vector<OwnedOutput> outputs;
  MergeResult result;
  bool done = false;

  bool reads_blocks() const {
    return step.kind == CompactionStep::Kind::kCopy || step.kind == CompactionStep::Kind::kMerge;
  }
  bool is_merge() const { return step.kind == CompactionStep::Kind::kMerge; }
};

class Job {
 public:
  Job(const CompactionPick& pick, const RunIndex& output_run, const PlanOptions& plan,
      const CompactionJobOptions& options, OffloadDriver* driver, ExtentReader* reader,
      ExtentWriter* writer, const std::atomic<bool>* stop, CompactionResult* result)
      : pick_(pick),
        options_(options),
        driver_(*driver),
        reader_(*reader),
        writer_(*writer),
        stop_(*stop),
        result_(*result),
        source_(reader),
        planner_(pick, output_run, plan, &source_, stop),
        checker_(pick, reader),
        heirs_(&reader->blocks()),
        values_(pick, options.values, writer),
        builder_(
            options.extent, [this](BuiltExtent* built) { return WriteExtent(built); },
            [this](uint64_t number) { return values_.Find(number); }) {}
  ~Job() { WaitForTasks(); }

  Status Run();

 private:
  Status Produce();
  static constexpr unsigned kReadDepth = 16;
  static constexpr size_t kMostAhead = 64;  // steps planned beyond the window
  // Merged tables' blocks go into extents as they come, whatever the tables' size: those that the
  // CPU makes are to be in its cache still.
  static constexpr uint64_t kCpuTableBytes = 256 << 10;

  // Plans as many steps as may be under way, and begins to read what they need.
  Status Fill();
  Status Prepare(CompactionStep step);
  Status AddPiece(const BlockRange& blocks, Task* task);
  void BeginReads(Task* task);
  // The piece's read is back: completes its image.
  static Status FinishRead(Piece* piece);
  // Whether merges are given to the driver's threads. Otherwise this one merges, as each one's turn comes.
  bool Submits() const { return options_.offload && options_.window > 1; }
  // Waits until the task's inputs are there, and gives a merge to a unit if there are any.
  Status Launch(Task* task);
  // Makes the piece a table that executors can read.
  Status ForExecutors(Piece* piece, MergeTable* table);
  // The first step takes effect on the output.
  Status Complete();
  Status Copy(const Task& task);
  Status CopyBlock(const Task& task, const BlockHandle& handle, bool first);
  Status Merge(Task* task);
  // `compressed`: the executor was to compress its blocks.
  Status AddTable(const MergeOutput& output, bool compressed);
  Status WriteExtent(BuiltExtent* built);
  // Notes which part of the inputs the plan has covered.
  Status DivideInputs();
  Status CheckBalance() const;
  // That the output refers to no more bytes of values than the inputs do.
  Status CheckValueBalance() const;
  // Why records are wrong or do not balance, as `status` says: an input has others than the metadata
  // counts, or the compaction went wrong.
  Status Explain(Status status);
  // Notes that `status`, an error, is due to this input.
  Status Damaged(const ExtentPtr& extent, Status status) {
    result_.damaged = extent;
    return status;
  }
  Status Unsound(Status status) {
    result_.unsound = !status.ok();
    return status;
  }
  void WaitForTasks();

  const CompactionPick& pick_;
  const CompactionJobOptions& options_;
  OffloadDriver& driver_;
  ExtentReader& reader_;
  ExtentWriter& writer_;
  const std::atomic<bool>& stop_;
  CompactionResult& result_;
  ExtentPlanSource source_;
  CompactionPlanner planner_;
  PlanChecker checker_;
  bool planned_ = false;  // all steps
  BlockCacheHandover heirs_;
  ValueRelocation values_;
  ExtentBuilder builder_;

  std::deque<std::unique_ptr<Task>> tasks_;  // planned, in order; the first `launched_` launched
  size_t launched_ = 0;
  size_t reading_ = 0;  // those of tasks_ that read blocks
  // Memory of tasks that are done, for reuse: fresh pages cost the kernel more time than it takes
  // to merge what they hold.
  std::vector<std::string> spare_memory_;
  std::vector<RecodedTable> spare_raw_;
  std::unique_ptr<IoQueue> reads_ = IoQueue::New(kReadDepth);
  Mutex mutex_;
  CondVar finished_;
  std::string scratch_;
};

Status Job::AddPiece(const BlockRange& blocks, Task* task) {
  TableHeadRef head;
  if (Status status = reader_.OpenHead(*blocks.extent, &head); !status.ok()) {
    return Damaged(blocks.extent, std::move(status));
  }
  Piece& piece = task->pieces.emplace_back();
  piece.extent = blocks.extent;
  piece.head.Reset(head.get());
  piece.begin = head->block(blocks.first).offset;
  BlockBuilder index(1);
  uint64_t bytes = 0;
  for (size_t i = blocks.first; i < blocks.end; ++i) {
    const BlockHandle& handle = head->block(i);
    if (handle.offset != piece.begin + bytes || !HandleFits(handle, blocks.extent->bytes)) {
      return Damaged(blocks.extent,
                     Status::Corruption(ExtentReader::Describe(*blocks.extent, handle.offset) +
                                        ": the index names blocks that do not follow each other"));
    }
    std::string value;
    BlockHandle{bytes, handle.size}.AppendTo(&value);
    index.Add(head->last_key(i), value);
    bytes += handle.size + kBlockTrailerBytes;
    heirs_.AddInput(
        {blocks.extent->number, static_cast<uint32_t>(handle.offset)},
        UserKey(i == 0 ? std::string_view(blocks.extent->smallest) : head->last_key(i - 1)),
        UserKey(head->last_key(i)));
  }
  piece.blocks_bytes = bytes;
  const std::string_view contents = index.Finish();
  piece.index.assign(contents);
  AppendBlockTrailer(contents, Compression::kNone, &piece.index);
  result_.bytes_read += bytes;
  return {};
}

Status Job::Fill() {
  // One more than the window is being read.
  while (!planned_ && reading_ <= options_.window && tasks_.size() < options_.window + kMostAhead) {
    std::optional<CompactionStep> step;
    if (Status status = planner_.Next(&step, &result_.damaged); !status.ok()) {
      return status;
    }
    planned_ = !step;
    SLUICE_RETURN_IF_ERROR(
        Unsound(planned_ ? checker_.Finish(planner_.end() ? &*planner_.end() : nullptr)
                         : checker_.Check(*step)));
    if (step) {
      SLUICE_RETURN_IF_ERROR(Prepare(std::move(*step)));
    }
  }
  for (; launched_ < tasks_.size() && launched_ < options_.window; ++launched_) {
    SLUICE_RETURN_IF_ERROR(Launch(tasks_[launched_].get()));
  }
  return {};
}

Status Job::Prepare(CompactionStep step) {
  Task& task = *tasks_.emplace_back(std::make_unique<Task>());
  task.step = std::move(step);
  reading_ += task.reads_blocks();
  if (task.step.kind == CompactionStep::Kind::kCopy) {
    SLUICE_RETURN_IF_ERROR(AddPiece(task.step.blocks, &task));
  }
  for (const std::vector<BlockRange>& run : task.step.runs) {
    if (run.empty()) {
      continue;
    }
    std::vector<Piece*>& pieces = task.runs.emplace_back();
    for (const BlockRange& blocks : run) {
      SLUICE_RETURN_IF_ERROR(AddPiece(blocks, &task));
      pieces.push_back(&task.pieces.back());
    }
  }
  BeginReads(&task);
  return {};
}

void Job::BeginReads(Task* task) {
  if (!spare_memory_.empty()) {
    task->memory = std::move(spare_memory_.back());
    spare_memory_.pop_back();
  }
  // Each piece is read at a multiple of the largest alignment, with what its own makes it longer.
  uint64_t alignment = 1;
  for (const Piece& piece : task->pieces) {
    alignment =
        std::max<uint64_t>(alignment, piece.extent->place->file()->read_descriptor().alignment);
  }
  uint64_t bytes = alignment;
  for (const Piece& piece : task->pieces) {
    bytes += RoundUp(piece.bytes(), alignment) + alignment;
  }
  if (task->memory.size() < bytes) {
    task->memory = std::string(bytes + bytes / 8, '\0');  // the next may need a little more
  }
  char* at = AlignUp(task->memory.data(), alignment);
  for (Piece& piece : task->pieces) {
    const uint64_t begin = piece.offset();
    const uint64_t from = RoundDown(begin, alignment);
    piece.image = {at + (begin - from), piece.bytes()};
    piece.request = {.kind = IoRequest::Kind::kRead,
                     .file = piece.extent->place->file(),
                     .offset = from,
                     .data = at,
                     .bytes = RoundUp(begin + piece.blocks_bytes, alignment) - from,
                     .status = {}};
    ++task->reads;
    reads_->Submit(&piece.request);
    at += RoundUp(piece.bytes(), alignment) + alignment;
  }
}

Status Job::FinishRead(Piece* piece) {
  char* const image = piece->request.data + (piece->offset() - piece->request.offset);
  Status status = piece->request.status;
  if (!status.ok() && piece->request.bytes != piece->blocks_bytes) {
    // What was read beside the blocks may be another's damage, or the end of the file.
    status = piece->request.file->Read(piece->offset(), piece->blocks_bytes, image);
  }
  std::copy(piece->index.begin(), piece->index.end(), image + piece->blocks_bytes);
  return status;
}

Status Job::Launch(Task* task) {
  while (task->reads > 0) {
    const IoRequest* const back = reads_->Wait();
    for (const auto& other : tasks_) {
      for (Piece& piece : other->pieces) {
        if (&piece.request == back) {
          --other->reads;
          if (Status status = FinishRead(&piece); !status.ok()) {
            return Damaged(piece.extent, std::move(status));
          }
        }
      }
    }
  }
  if (!task->is_merge()) {
    return {};
  }
  const KeyRange& range = task->step.range;
  task->merge = {.runs = {},
                 .snapshots = options_.snapshots,
                 .bottommost = pick_.bottommost,
                 .has_begin = range.has_begin,
                 .has_end = range.has_end,
                 .begin = range.begin,
                 .end = range.end,
                 .block_bytes = options_.block_bytes,
                 .table_bytes = Submits() ? options_.extent.extent_bytes : kCpuTableBytes,
                 .restart_interval = options_.restart_interval,
                 .bloom_bits_per_key = options_.offload ? FilterBits(options_.extent, driver_) : 0,
                 .compress = options_.offload && CompressedBy(driver_, options_.extent)};
  for (const std::vector<Piece*>& run : task->runs) {
    MergeRun& tables = task->merge.runs.emplace_back();
    for (Piece* piece : run) {
      SLUICE_RETURN_IF_ERROR(ForExecutors(piece, &tables.emplace_back()));
    }
  }
  if (Submits()) {
    driver_.Submit(task->merge, CollectInto(&task->outputs), [this, task](const MergeResult& r) {
      const MutexLock lock(mutex_);
      task->result = r;
      task->done = true;
      finished_.notify_all();
    });
  }
  return {};
}

Status Job::ForExecutors(Piece* piece, MergeTable* table) {
  *table = piece->table();
  bool readable = true;
  Block index;
  SLUICE_RETURN_IF_ERROR(Block::Parse(piece->index_contents(), &index));
  BlockIterator at(index);
  for (at.SeekToFirst(); at.Valid() && readable; at.Next()) {
    BlockHandle handle;
    std::string_view value = at.value();
    if (!handle.ReadFrom(&value)) {
      return Status::Corruption("malformed handle");
    }
    const Compression type{static_cast<uint8_t>(piece->image[handle.offset + handle.size])};
    readable = type == Compression::kNone || type == Compression::kSnappy;
  }
  if (readable) {
    return {};
  }
  if (!spare_raw_.empty()) {
    piece->raw = std::move(spare_raw_.back());
    spare_raw_.pop_back();
  }
  if (Status status = RecodeTable(table->image, table->index, Compression::kNone, &piece->raw,
                                  piece->head->dictionary());
      !status.ok()) {
    return Damaged(piece->extent,
                   status.WithContext(ExtentReader::Describe(*piece->extent, piece->begin)));
  }
  *table = {piece->raw.image, piece->raw.index};
  return {};
}

Status Job::Copy(const Task& task) {
  const Piece& piece = task.pieces.front();
  Block index;
  SLUICE_RETURN_IF_ERROR(Block::Parse(piece.index_contents(), &index));
  BlockIterator at(index);
  bool first = true;
  for (at.SeekToFirst(); at.Valid(); at.Next(), first = false) {
    BlockHandle handle;
    std::string_view value = at.value();
    if (!handle.ReadFrom(&value)) {
      return Status::Corruption("malformed handle");
    }
    SLUICE_RETURN_IF_ERROR(CopyBlock(task, handle, first));
  }
  return at.status();
}

Status Job::CopyBlock(const Task& task, const BlockHandle& handle, bool first) {
  const Piece& piece = task.pieces.front();
  std::string_view contents;
  Block block;
  std::string_view key;
  Compression stored_as = Compression::kNone;
  Status status = ReadStoredBlock(piece.image, handle, &scratch_, &contents, &stored_as,
                                  piece.head->dictionary());
  if (status.ok()) {
    status = Block::Parse(contents, &block);
  }
  if (status.ok()) {
    status = KeyScanner::FirstKey(block, &key);
  }
  if (!status.ok()) {
    return Damaged(piece.extent, status.WithContext(ExtentReader::Describe(
                                     *piece.extent, piece.begin + handle.offset)));
  }
  if (first && UserKey(key) != task.step.low) {
    return Unsound(Status::Corruption(
        fmt::format("compaction plan: extent {}, block {} does not begin with the key it should",
                    piece.extent->number, task.step.blocks.first)));
  }
  const uint64_t before = builder_.entries();
  const char* const as_read = contents.data();
  SLUICE_RETURN_IF_ERROR(values_.Relocate(&contents));
  // The stored block, if it can be stored again as it is: with a dictionary, only its own table can
  // be read.
  std::string_view stored;
  const bool no_dictionary =
      stored_as == Compression::kNone ||
      (options_.extent.codec.dictionary_bytes == 0 && piece.head->dictionary() == nullptr);
  if (contents.data() == as_read && stored_as == options_.extent.codec.type && no_dictionary) {
    stored = piece.image.substr(handle.offset, handle.size + kBlockTrailerBytes);
  }
  SLUICE_RETURN_IF_ERROR(builder_.AddBlock(contents, stored));
  result_.records.copied += builder_.entries() - before;
  ++result_.copied_blocks;
  return {};
}

Status Job::AddTable(const MergeOutput& output, bool compressed) {
  return ForEachBlock(output, [this, compressed](const OutputBlock& block) {
    std::string_view contents = block.contents;
    SLUICE_RETURN_IF_ERROR(values_.Relocate(&contents));
    const bool as_it_was = contents.data() == block.contents.data();
    return builder_.AddBlock(
        contents, as_it_was ? StoredAs(block, options_.extent, compressed) : "", block.filter);
  });
}

Status Job::WriteExtent(BuiltExtent* built) {
  const uint64_t number = writer_.TakeNumber();
  SLUICE_RETURN_IF_ERROR(heirs_.AddOutput(*built, number));
  return writer_.Write(built, number);
}

Status Job::Merge(Task* task) {
  const uint64_t before = builder_.entries();
  if (Submits()) {
    MutexLock lock(mutex_);
    while (!task->done) {
      finished_.wait(lock);
    }
    lock.unlock();
    for (const OwnedOutput& output : task->outputs) {
      SLUICE_RETURN_IF_ERROR(AddTable(output.AsOutput(), task->merge.compress));
    }
  } else {
    const auto sink = [this, task](const MergeOutput& output) {
      return AddTable(output, task->merge.compress);
    };
    task->result =
        options_.offload ? driver_.Run(task->merge, sink) : driver_.RunOnCpu(task->merge, sink);
  }
  const MergeResult& result = task->result;
  if (!result.ok()) {
    const std::vector<Piece*>& run = task->runs[result.fault.run];
    if (IsInputFault(result.status) && result.fault.table < run.size()) {
      const Piece& piece = *run[result.fault.table];
      // Offsets in the recoded copy say nothing about the extent.
      const uint64_t offset = piece.raw.image.empty() ? result.fault.offset : 0;
      return Damaged(piece.extent, result.error.WithContext(ExtentReader::Describe(
                                       *piece.extent, piece.begin + offset)));
    }
    return result.error;
  }
  const MergeStats& stats = result.stats;
  if (stats.input_records != stats.output_records + stats.dropped_records ||
      builder_.entries() - before != stats.output_records) {
    return Unsound(Status::Corruption(fmt::format(
        "a merge took {} records, dropped {} and says it kept {}, but its output has {}",
        stats.input_records, stats.dropped_records, stats.output_records,
        builder_.entries() - before)));
  }
  result_.records.merged += stats.input_records;
  result_.records.merged_out += stats.output_records;
  result_.records.dropped += stats.dropped_records;
  return {};
}

Status Job::Complete() {
  Task& task = *tasks_.front();
  if (task.step.begins_extent) {
    SLUICE_RETURN_IF_ERROR(builder_.EndExtent());
  }
  switch (task.step.kind) {
    case CompactionStep::Kind::kReuse:
      result_.reused.push_back(task.step.extent);
      result_.records.reused += task.step.extent->entries;
      SLUICE_RETURN_IF_ERROR(builder_.EndExtent());
      break;
    case CompactionStep::Kind::kStay:
      SLUICE_RETURN_IF_ERROR(builder_.EndExtent());
      break;
    case CompactionStep::Kind::kCopy:
      SLUICE_RETURN_IF_ERROR(Copy(task));
      break;
    case CompactionStep::Kind::kMerge:
      SLUICE_RETURN_IF_ERROR(Merge(&task));
      break;
  }
  if (task.reads_blocks()) {
    --reading_;
    spare_memory_.push_back(std::move(task.memory));
    for (Piece& piece : task.pieces) {
      if (!piece.raw.image.empty()) {
        spare_raw_.push_back(std::move(piece.raw));
      }
    }
  }
  tasks_.pop_front();
  --launched_;
  return {};
}

Status Job::Run() {
  Status status = Produce();
  if (status.ok()) {
    status = CheckBalance();
  }
  if (status.ok()) {
    status = CheckValueBalance();
  }
  return status.IsCorruption() && result_.damaged == nullptr && !result_.unsound
             ? Explain(std::move(status))
             : status;
}

Status Job::Produce() {
  for (;;) {
    SLUICE_RETURN_IF_ERROR(Fill());
    if (tasks_.empty()) {
      break;
    }
    if (stop_.load(std::memory_order_relaxed)) {
      return Status::Busy("closing");
    }
    SLUICE_RETURN_IF_ERROR(Complete());
  }
  SLUICE_RETURN_IF_ERROR(builder_.EndExtent());
  SLUICE_RETURN_IF_ERROR(values_.Finish());
  result_.bytes_read += values_.bytes_read();
  SLUICE_RETURN_IF_ERROR(writer_.Finish(&result_.added));
  result_.bytes_written = writer_.bytes();
  return DivideInputs();
}

Status Job::DivideInputs() {
  const std::optional<std::string>& end = planner_.end();
  result_.whole = !end;
  for (const CompactionInput& input : pick_.inputs) {
    CompactionResult::Input& done = result_.inputs.emplace_back();
    for (const ExtentPtr& extent : input.extents) {
      if (end && UserKey(extent->smallest) >= *end) {
        break;
      }
      done.extents.push_back(extent);
      if (end && UserKey(extent->largest) >= *end) {
        if (Status status = MakeSlice(*extent, *end, {}, &reader_, &done.rest.emplace());
            !status.ok()) {
          return Damaged(extent, std::move(status));
        }
      }
    }
  }
  return {};
}

Status Job::CheckBalance() const {
  const RecordBalance& records = result_.records;
  uint64_t in = 0;
  for (const CompactionResult::Input& input : result_.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      in += extent->entries;
    }
    in -= input.rest ? input.rest->entries : 0;
  }
  uint64_t added = 0;
  for (const Extent& extent : result_.added) {
    added += extent.entries;
  }
  if (in != records.reused + records.copied + records.merged ||
      records.merged != records.merged_out + records.dropped ||
      added != records.copied + records.merged_out) {
    return Status::Corruption(fmt::format(
        "a compaction's records do not balance: {} in its inputs; {} reused, {} copied, {} merged; "
        "of these {} kept, {} dropped; {} written",
        in, records.reused, records.copied, records.merged, records.merged_out, records.dropped,
        added));
  }
  return {};
}

Status Job::CheckValueBalance() const {
  std::map<uint64_t, uint64_t> left;  // bytes, by value extent
  for (const CompactionResult::Input& input : result_.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      for (const ValueShares::Share& share : ValueShares::Of(*extent)) {
        left[share.extent->pages.number] += share.bytes;
      }
    }
  }
  const auto take = [&left](const Extent& extent) {
    for (const ValueShares::Share& share : ValueShares::Of(extent)) {
      const auto from = left.find(share.extent->pages.number);
      if (from == left.end()) {
        continue;  // made for this compaction
      }
      if (share.bytes > from->second) {
        return Status::Corruption(
            fmt::format("a compaction's output refers to more bytes of value extent {} than its "
                        "inputs",
                        from->first));
      }
      from->second -= share.bytes;
    }
    return Status();
  };
  for (const CompactionResult::Input& input : result_.inputs) {
    if (input.rest) {
      SLUICE_RETURN_IF_ERROR(take(*input.rest));
    }
  }
  for (const ExtentPtr& extent : result_.reused) {
    SLUICE_RETURN_IF_ERROR(take(*extent));
  }
  for (const Extent& extent : result_.added) {
    SLUICE_RETURN_IF_ERROR(take(extent));
  }
  return {};
}

Status Job::Explain(Status status) {
  for (const CompactionInput& input : pick_.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      Extent counted;
      if (Status read = MakeSlice(*extent, {}, {}, &reader_, &counted); !read.ok()) {
        return Damaged(extent, std::move(read));
      }
      if (counted.entries != extent->entries) {
        return Damaged(extent,
                       Status::Corruption(fmt::format(
                           "{}: it has {} records, but the metadata counts {}",
                           ExtentReader::Describe(*extent, 0), counted.entries, extent->entries)));
      }
    }
  }
  return Unsound(std::move(status));
}

void Job::WaitForTasks() {
  while (reads_->Wait() != nullptr) {
  }
  if (Submits()) {
    MutexLock lock(mutex_);
    for (size_t i = 0; i < launched_; ++i) {
      while (!tasks_[i]->done && tasks_[i]->is_merge()) {
        finished_.wait(lock);
      }
    }
  }
}

}  // namespace

Status RunCompaction(const CompactionPick& pick, const RunIndex& output_run,
                     const PlanOptions& plan, const CompactionJobOptions& options,
                     OffloadDriver* driver, ExtentReader* reader, ExtentWriter* writer,
                     const std::atomic<bool>* stop, CompactionResult* result) {
  return Job(pick, output_run, plan, options, driver, reader, writer, stop, result).Run();
}

void TakeOut(const CompactionResult& done, CompactionPick* pick) {
  for (size_t i = 0; i < pick->inputs.size(); ++i) {
    const CompactionResult::Input& input = done.inputs[i];
    std::vector<ExtentPtr>& extents = pick->inputs[i].extents;
    const size_t rest = input.rest ? 1 : 0;
    extents.erase(extents.begin(), extents.begin() + input.extents.size() - rest);
    if (input.rest) {
      extents.front() = std::make_shared<const Extent>(*input.rest);
    }
  }
  std::erase_if(pick->inputs, [](const CompactionInput& input) { return input.extents.empty(); });
}

}  // namespace sluice
