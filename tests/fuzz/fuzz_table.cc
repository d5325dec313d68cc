// TableReader, VerifyTable and DumpTable: any file. What verifies must read without a fault.

#include <vector>

#include "fuzz/fuzz.h"
#include "fuzz/table_input.h"
#include "table/dump.h"
#include "table/table_reader.h"
#include "table/testing.h"
#include "table/verify.h"

namespace sluice::fuzz {

namespace {

// An index may name a large block many times over: enough is enough.
constexpr size_t kMostSteps = 20000;

void Walk(const TableReader& table, const TableReport* sound) {
  std::vector<std::string> keys;
  TableIterator it(&table);
  size_t steps = 0;
  for (it.SeekToFirst(); it.Valid() && steps < kMostSteps; it.Next(), ++steps) {
    if (sound != nullptr || steps % 64 == 0) {
      keys.emplace_back(it.key());
    }
  }
  size_t steps_back = 0;
  if (sound != nullptr) {
    Check(it.status().ok() && steps == sound->entries, "a sound table is read whole");
  }
  for (it.SeekToLast(); it.Valid() && steps_back < kMostSteps; it.Prev(), ++steps_back) {
  }
  Check(sound == nullptr || (it.status().ok() && steps_back == steps), "and backwards");
  for (const std::string& key : keys) {
    it.Seek(key);
    Check(sound == nullptr || (it.Valid() && it.key() == key), "a key of a sound table is found");
    uint64_t trailer;
    std::string value;
    const Status status = table.Get(UserKey(key), TrailerSequence(Trailer(key)), &trailer, &value);
    if (sound != nullptr) {
      Check(status.ok() && TrailerSequence(trailer) == TrailerSequence(Trailer(key)),
            "and got, through the filter");
    }
  }
}

}  // namespace

void RunTable(std::string_view input) {
  const ExactCopy image(TableOfInput(input));
  TableReport report;
  const Status verified = VerifyTableImage(image.view(), "t", &report);
  std::unique_ptr<TableReader> table;
  const Status opened = TableReader::OpenImage(image.view(), "t", &table);
  Check(opened.ok() || !verified.ok(), "what verifies opens");
  size_t lines = 0;
  const Status dumped = DumpTableImage(image.view(), "t", [&](std::string_view) { ++lines; });
  Check(dumped.ok() || !verified.ok(), "what verifies is dumped");
  if (verified.ok()) {
    Check(lines >= report.entries + report.data_blocks, "all of it");
  }
  if (opened.ok()) {
    Walk(*table, verified.ok() ? &report : nullptr);
    int bits;
    Check(FindBloomBitsPerKey(*table, &bits).ok() || !verified.ok(), "bits per key are looked for");
  }
}

std::string MakeTableSeed(Random* random) { return MakeTableInput(random); }

}  // namespace sluice::fuzz
