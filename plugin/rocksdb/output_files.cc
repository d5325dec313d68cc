#include "output_files.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "rocksdb_table/table.h"

namespace sluice::rocks {

namespace {

// In the form of RocksDB's, and unlike all others.
std::string NewSession() {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::random_device random;
  std::string session(20, '0');
  for (char& digit : session) {
    digit = kDigits[random() % kDigits.size()];
  }
  return session;
}

// A file goes to the device by pieces of the first size, and so much of it may be on its way. Flushes,
// whose syncs the device serves in turn with these pieces, hold up writers where they wait for more.
constexpr uint64_t kSentBytes = 1 << 20;
constexpr uint64_t kMostOnTheWay = 8 << 20;

// RocksDB expects that of a last level, or else compacts it over and over.
SequenceNumber ZeroUpTo(const Job& job) {
  return !job.bottommost               ? 0
         : job.input.snapshots.empty() ? kMaxSequence
                                       : job.input.snapshots.front();
}

}  // namespace

OutputFiles::OutputFiles(Env* env, const Job& job, JobReport* report)
    : env_(env), job_(job), report_(report), session_(NewSession()), zero_up_to_(ZeroUpTo(job)) {}

Status OutputFiles::Begin() {
  if (job_.cancelled != nullptr && job_.cancelled->load()) {
    return Status::Busy("cancelled");
  }
  OutputFile& file = report_->files.emplace_back();
  file.name = fmt::format("{:06}.sst", report_->files.size());
  RocksTableOptions format = job_.format;
  format.zero_up_to = zero_up_to_;
  // By these RocksDB's block caches tell files apart. Without them it takes its own session and the
  // number of the file, which not all of its readers know: VerifyChecksum knows neither.
  format.properties.SetText("rocksdb.creating.session.identity", session_);
  format.properties.SetNumber("rocksdb.original.file.number", report_->files.size());
  if (format.format_version >= 6) {
    std::random_device random;
    while ((format.checksum_base = random()) == 0) {
    }
  }
  writer_.emplace(std::move(format), [this](std::string_view bytes) { return Write(bytes); });
  sent_ = arrived_ = 0;
  return env_->NewDataFile(path(), &open_);
}

Status OutputFiles::Write(std::string_view bytes) {
  if (job_.before_write) {
    job_.before_write(bytes.size());
  }
  OutputFile& file = report_->files.back();
  SLUICE_RETURN_IF_ERROR(open_->Write(file.bytes, bytes));
  file.bytes += bytes.size();
  report_->bytes_written += bytes.size();
  return file.bytes - sent_ < kSentBytes ? Status() : Send(file.bytes);
}

Status OutputFiles::Send(uint64_t bytes) {
  open_->StartWriteback(sent_, bytes - sent_);
  sent_ = bytes;
  if (sent_ - arrived_ <= kMostOnTheWay) {
    return {};
  }
  const uint64_t before = std::exchange(arrived_, sent_ - kMostOnTheWay);
  return open_->FinishWriteback(before, arrived_ - before);
}

Status OutputFiles::AddBlock(std::string_view contents, std::string_view last_key) {
  if (!writer_.has_value()) {
    SLUICE_RETURN_IF_ERROR(Keep(Begin()));
  }
  return Keep(writer_->AddBlock(contents, last_key));
}

Status OutputFiles::EndTable(const MergeOutput& output) { return Keep(End(output)); }

Status OutputFiles::AddTable(const MergeOutput& output) {
  SLUICE_RETURN_IF_ERROR(Keep(Begin()));
  SLUICE_RETURN_IF_ERROR(
      Keep(writer_->AddBlocks({.data = output.data, .index_block = output.index})));
  return EndTable(output);
}

Status OutputFiles::End(const MergeOutput& output) {
  RocksTableSummary summary;
  SLUICE_RETURN_IF_ERROR(writer_->Finish(&summary));
  writer_.reset();
  if (summary.entries != output.entries) {
    return Status::Corruption(
        fmt::format("{} entries instead of {}", summary.entries, output.entries));
  }
  OutputFile& file = report_->files.back();
  file.entries = summary.entries;
  file.smallest_sequence = summary.smallest_sequence;
  file.largest_sequence = summary.largest_sequence;
  file.smallest = ZeroSequence(output.smallest, zero_up_to_);
  file.largest = ZeroSequence(output.largest, zero_up_to_);
  SLUICE_RETURN_IF_ERROR(open_->Sync());
  open_.reset();
  return Check();
}

Status OutputFiles::Check() const {
  std::unique_ptr<RocksTable> table;
  SLUICE_RETURN_IF_ERROR(RocksTable::Open(env_, path(), &table));
  std::string buffer;
  std::string_view contents;
  for (const RocksTable::NamedBlock& block : table->metaindex()) {
    SLUICE_RETURN_IF_ERROR(table->ReadBlock(block.handle, &buffer, &contents));
  }
  return table->ForEachDataBlock([&](const std::string&, const BlockHandle& handle) {
    return table->ReadBlock(handle, &buffer, &contents);
  });
}

void OutputFiles::RemoveAll() {
  for (const OutputFile& file : report_->files) {
    // What stays goes with its directory.
    (void)env_->RemoveFile(job_.output_dir + "/" + file.name);
  }
  report_->files.clear();
  report_->bytes_written = 0;
  writer_.reset();
  open_.reset();
  error_ = {};
}

}  // namespace sluice::rocks
