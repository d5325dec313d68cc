// An executor of one's own: `example DIRECTORY`. This one lets the CPU merge and measures it; one
// that drives another device differs in Run only.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "sluice/conformance.h"
#include "sluice/db.h"
#include "sluice/executor.h"

namespace {

class MeasuringExecutor : public sluice::Executor {
 public:
  std::string_view name() const override { return "measuring"; }
  // The engine cuts tasks to these limits, as those of a device.
  size_t max_runs() const override { return 4; }
  size_t max_snapshots() const override { return 1; }

  sluice::MergeResult Run(const sluice::MergeTask& task, const sluice::MergeSink& sink) override {
    const auto start = std::chrono::steady_clock::now();
    const sluice::MergeResult result = cpu_->Run(task, sink);
    nanoseconds_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    records_ += result.stats.input_records;
    return result;
  }

  uint64_t records() const { return records_; }
  double seconds() const { return static_cast<double>(nanoseconds_) / 1e9; }

 private:
  const std::unique_ptr<sluice::Executor> cpu_ = sluice::MakeCpuExecutor();
  std::atomic<uint64_t> records_ = 0;  // Run is called by several threads at once
  std::atomic<uint64_t> nanoseconds_ = 0;
};

sluice::Status Run(const std::string& path) {
  // Does it merge as Sluice expects? This belongs into a test of yours.
  MeasuringExecutor candidate;
  SLUICE_RETURN_IF_ERROR(sluice::CheckExecutor(&candidate));

  const auto executor = std::make_shared<MeasuringExecutor>();
  sluice::Options options;
  options.create_if_missing = true;
  options.executors = {executor};
  std::unique_ptr<sluice::DB> db;
  SLUICE_RETURN_IF_ERROR(sluice::DB::Open(options, path, &db));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10000; ++i) {
      SLUICE_RETURN_IF_ERROR(db->Put({}, std::to_string(i), std::to_string(i * round)));
    }
    SLUICE_RETURN_IF_ERROR(db->Flush(nullptr));
  }
  SLUICE_RETURN_IF_ERROR(db->CompactRange(nullptr, "", ""));
  SLUICE_RETURN_IF_ERROR(db->Close());

  if (executor->records() == 0) {
    return sluice::Status::NotSupported("nothing was merged by it");
  }
  std::cout << "merged " << executor->records() << " records in " << executor->seconds() << " s\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " DIRECTORY\n";
    return 2;
  }
  const sluice::Status status = Run(argv[1]);
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
  }
  return status.ok() ? 0 : 1;
}
