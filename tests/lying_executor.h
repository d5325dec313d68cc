// An executor whose tables, or what it says of them, are not what it was asked for, though it says
// that all went well.

#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/reference_merge.h"
#include "merge/table_image.h"

namespace sluice {

// What the CPU has made, changed.
struct Lie {
  const char* name;
  std::function<void(std::vector<OwnedOutput>*, MergeResult*)> tell;
};

// As an executor builds it, of records in any order.
inline OwnedOutput LyingTable(const std::vector<PlainRecord>& records) {
  TableImageBuilder table({.share_trailers = false, .short_separators = false});
  MergeOutput output;
  const auto key = [](const PlainRecord& record) {
    std::string internal = record.user_key;
    PutFixed64(&internal, record.trailer);
    return internal;
  };
  for (const PlainRecord& record : records) {
    table.Add(key(record), record.value);
    ++output.entries;
    output.tombstones += IsTombstone(record.trailer) ? 1 : 0;
  }
  table.EndBlock();
  const TableImage image = table.Finish();
  const BlockHandle& last = image.blocks.back();
  output.data =
      std::string_view(image.file).substr(0, last.offset + last.size + kBlockTrailerBytes);
  output.index = std::string_view(image.file)
                     .substr(image.index.offset, image.index.size + kBlockTrailerBytes);
  output.smallest = key(records.front());
  output.largest = key(records.back());
  return OwnedOutput(output);
}

// Changes the first table's records.
inline void ChangeRecords(std::vector<OwnedOutput>* outputs,
                          const std::function<void(std::vector<PlainRecord>*)>& change) {
  OwnedOutput& table = outputs->front();
  std::vector<PlainRecord> records = DecodePlainTable(table.image, table.index);
  change(&records);
  table = LyingTable(records);
}

inline std::vector<Lie> Lies() {
  using Outputs = std::vector<OwnedOutput>;
  using Records = std::vector<PlainRecord>;
  const auto records = [](const std::function<void(Records*)>& change) {
    return [change](Outputs* outputs, MergeResult*) { ChangeRecords(outputs, change); };
  };
  const auto bytes = [](bool of_index, const std::function<void(std::string*)>& change) {
    return [of_index, change](Outputs* outputs, MergeResult*) {
      MergeOutput output = outputs->front().AsOutput();
      std::string changed(of_index ? output.index : output.data);
      change(&changed);
      (of_index ? output.index : output.data) = changed;
      output.hold = nullptr;
      outputs->front() = OwnedOutput(output);
    };
  };
  return {
      {"a bit", bytes(false, [](std::string* data) { (*data)[data->size() / 2] ^= 4; })},
      {"data cut short", bytes(false, [](std::string* data) { data->pop_back(); })},
      {"bytes behind the data", bytes(false, [](std::string* data) { data->append("more"); })},
      {"a bit of the index", bytes(true, [](std::string* index) { index->front() ^= 1; })},
      {"swapped keys", records([](Records* r) { std::swap(r->front(), r->back()); })},
      {"a record less", records([](Records* r) { r->pop_back(); })},
      {"a record more", records([](Records* r) {
         r->push_back(r->back());
         r->back().user_key += "x";
       })},
      {"a value of another record", records([](Records* r) { r->front().value += "x"; })},
      {"the next table's place",
       [](Outputs* outputs, MergeResult*) { std::swap(outputs->front(), outputs->back()); }},
      {"a table less", [](Outputs* outputs, MergeResult*) { outputs->pop_back(); }},
      {"no table", [](Outputs* outputs, MergeResult*) { outputs->clear(); }},
      {"nothing done",
       [](Outputs* outputs, MergeResult* result) {
         outputs->clear();
         *result = {};
       }},
      {"the smallest key", [](Outputs* outputs, MergeResult*) { outputs->front().smallest[0]++; }},
      {"the largest key", [](Outputs* outputs, MergeResult*) { outputs->front().largest[0]++; }},
      {"bounds that are no internal keys",
       [](Outputs* outputs, MergeResult*) {
         outputs->front().smallest = "k";
         outputs->front().largest.clear();
       }},
      {"a count of entries", [](Outputs* outputs, MergeResult*) { ++outputs->front().entries; }},
      {"a count of tombstones",
       [](Outputs* outputs, MergeResult*) { ++outputs->front().tombstones; }},
      {"records of the result",
       [](Outputs*, MergeResult* result) {
         ++result->stats.input_records;
         ++result->stats.output_records;
       }},
      {"the checksum of the result",
       [](Outputs*, MergeResult* result) {
         ++result->stats.input_checksum;
         ++result->stats.output_checksum;
       }},
      {"tables of the result",
       [](Outputs*, MergeResult* result) { ++result->stats.output_tables; }},
  };
}

// Tells the lie of every task that makes two tables or more; merges as the CPU does otherwise.
class LyingExecutor : public Executor {
 public:
  explicit LyingExecutor(Lie lie) : lie_(std::move(lie)) {}

  std::string_view name() const override { return "liar"; }
  size_t max_runs() const override { return 16; }
  size_t max_snapshots() const override { return SIZE_MAX; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    std::vector<OwnedOutput> outputs;
    MergeResult result = cpu_.Run(task, CollectInto(&outputs));
    if (!result.ok()) {
      return result;
    }
    if (outputs.size() >= 2) {
      lie_.tell(&outputs, &result);
      ++lies;
    }
    for (const OwnedOutput& output : outputs) {
      (void)sink(output.AsOutput());  // whatever it says
    }
    return result;
  }

  std::atomic<uint64_t> lies = 0;

 private:
  const Lie lie_;
  CpuExecutor cpu_;
};

}  // namespace sluice
