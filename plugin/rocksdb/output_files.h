// The outputs of a job: files with RocksDB's framing, synced, and checked as they stand.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "job.h"
#include "merge/foreign_table.h"
#include "rocksdb_table/table_writer.h"

namespace sluice::rocks {

// The files are those of the job's report.
class OutputFiles : public ForeignSink {
 public:
  // All must outlive it.
  OutputFiles(Env* env, const Job& job, JobReport* report);

  Status AddBlock(std::string_view contents, std::string_view last_key) override;
  Status EndTable(const MergeOutput& output) override;
  // A whole table.
  Status AddTable(const MergeOutput& output);
  // The first error of the calls above.
  const Status& error() const { return error_; }
  // Forgets about them and errors, too.
  void RemoveAll();

 private:
  std::string path() const { return job_.output_dir + "/" + report_->files.back().name; }
  Status Keep(Status status) {
    if (error_.ok()) {
      error_ = status.code() == Status::Code::kOk || report_->files.empty()
                   ? std::move(status)
                   : status.WithContext(path());
    }
    return error_;
  }
  Status Begin();
  Status Write(std::string_view bytes);
  Status Send(uint64_t bytes);
  Status End(const MergeOutput& output);
  // Reads every block of the file as it stands.
  Status Check() const;

  Env* const env_;
  const Job& job_;
  JobReport* const report_;
  const std::string session_;
  const SequenceNumber zero_up_to_;
  std::unique_ptr<DataFile> open_;
  uint64_t sent_ = 0;     // bytes of it that are on their way to the device, or there
  uint64_t arrived_ = 0;  // of these, those that are there
  std::optional<RocksTableWriter> writer_;  // of the open file
  Status error_;
};

}  // namespace sluice::rocks
