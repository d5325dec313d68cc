// Counts how often it was run, and keeps the moments: `example DIRECTORY`.

#include <charconv>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "sluice/db.h"

namespace {

sluice::Status Run(const std::string& path) {
  sluice::Options options;
  options.create_if_missing = true;
  std::unique_ptr<sluice::DB> db;
  SLUICE_RETURN_IF_ERROR(sluice::DB::Open(options, path, &db));

  std::string text;
  uint64_t runs = 0;
  const sluice::Status found = db->Get({}, "runs", &text);
  if (found.ok()) {
    std::from_chars(text.data(), text.data() + text.size(), runs);
  } else if (!found.IsNotFound()) {
    return found;
  }
  ++runs;

  // Both take effect together, and are durable when Write returns.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  sluice::WriteBatch batch;
  batch.Put("runs", std::to_string(runs));
  batch.Put("run " + std::to_string(runs), std::to_string(now.count()));
  SLUICE_RETURN_IF_ERROR(db->Write({.sync = true}, batch));

  sluice::ReadOptions range;
  const auto it = db->NewIterator(range);
  for (it->Seek("run "); it->Valid() && it->key().starts_with("run "); it->Next()) {
    std::cout << it->key() << " at " << it->value() << "\n";
  }
  SLUICE_RETURN_IF_ERROR(it->status());
  std::cout << "runs: " << runs << "\n";
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
