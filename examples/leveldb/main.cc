// A LevelDB program whose compactions Sluice does: example DIR
#include <leveldb/db.h>
#include <sluice_leveldb.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: example DIR\n";
    return 2;
  }
  leveldb::Options options;
  options.create_if_missing = true;

  leveldb::DB* opened = nullptr;
  leveldb::Status status = leveldb::DB::Open(options, argv[1], &opened);
  const std::unique_ptr<leveldb::DB> db(opened);
  for (uint64_t i = 0; i < 300000 && status.ok(); ++i) {
    status = db->Put({}, "key" + std::to_string(i * 7919 % 100000), std::string(100, 'v'));
  }
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
    return 1;
  }
  db->CompactRange(nullptr, nullptr);

  const sluice::LevelDbStatistics statistics = sluice::GetLevelDbStatistics();
  std::cout << "Sluice did " << statistics.compactions << " compactions of "
            << statistics.input_records << " records, and left " << statistics.left
            << " to LevelDB\n";
  for (const auto& [reason, count] : statistics.reasons) {
    std::cout << count << " were left to LevelDB: " << reason << "\n";
  }
}
