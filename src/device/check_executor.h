// Two executors on every task, and a comparison: what production does while a device burns in, and
// how tests hold the hardware against the reference.

#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "sluice/executor.h"

namespace sluice {

class CheckExecutor : public Executor {
 public:
  // Results and statistics are `subject`'s; its tables must be the reference's, byte for byte. A
  // task that is too much for the subject, whatever its records, is not compared.
  CheckExecutor(std::unique_ptr<Executor> subject, std::unique_ptr<Executor> reference)
      : subject_(std::move(subject)),
        reference_(std::move(reference)),
        name_("check:" + std::string(subject_->name())) {}

  std::string_view name() const override { return name_; }
  size_t max_runs() const override {
    return std::min(subject_->max_runs(), reference_->max_runs());
  }
  size_t max_snapshots() const override {
    return std::min(subject_->max_snapshots(), reference_->max_snapshots());
  }
  // A difference is kEndToEnd, with its place in `error`; then the sink has seen no table.
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override;
  bool makes_filters() const override {
    return subject_->makes_filters() && reference_->makes_filters();
  }
  bool compresses() const override { return subject_->compresses() && reference_->compresses(); }
  bool takes_xxh3() const override { return subject_->takes_xxh3() && reference_->takes_xxh3(); }
  bool checks_outputs() const override { return reference_->checks_outputs(); }
  size_t max_tasks() const override { return subject_->max_tasks(); }
  double unit_busy_seconds() const override { return subject_->unit_busy_seconds(); }
  double card_cpu_seconds() const override { return subject_->card_cpu_seconds(); }

 private:
  std::unique_ptr<Executor> subject_;
  std::unique_ptr<Executor> reference_;
  std::string name_;
};

}  // namespace sluice
