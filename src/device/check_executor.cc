#include "device/check_executor.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "merge/outputs.h"

namespace sluice {

namespace {

Status CompareResults(const MergeResult& subject, const MergeResult& reference) {
  if (!SameFault(subject, reference)) {
    return Status::Corruption(fmt::format(
        "{} ({}), but the reference: {} ({})", MergeStatusText(subject.status),
        subject.error.ToString(), MergeStatusText(reference.status), reference.error.ToString()));
  }
  const auto counts = [](const MergeStats& s) {
    return std::array{s.input_records,  s.output_records,  s.dropped_records,
                      s.input_checksum, s.output_checksum, s.dropped_checksum};
  };
  if (subject.ok() && counts(subject.stats) != counts(reference.stats)) {
    return Status::Corruption("record counts or checksums differ from the reference");
  }
  return {};
}

}  // namespace

MergeResult CheckExecutor::Run(const MergeTask& task, const MergeSink& sink) {
  std::vector<OwnedOutput> outputs;
  std::vector<OwnedOutput> expected;
  MergeResult result = subject_->Run(task, CollectInto(&outputs));
  if (result.error.IsNotSupported() && !IsInputFault(result.status)) {
    return result;
  }
  const MergeResult reference = reference_->Run(task, CollectInto(&expected));
  Status difference = CompareResults(result, reference);
  if (difference.ok() && result.ok()) {
    difference = CompareOutputs(outputs, expected);
  }
  if (!difference.ok()) {
    result.status = MergeStatus::kEndToEnd;
    result.error = difference.WithContext(name_);
    return result;
  }
  if (result.ok()) {
    HandOver(std::move(outputs), sink, &result);
  }
  return result;
}

}  // namespace sluice
