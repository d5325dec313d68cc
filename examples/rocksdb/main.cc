// A RocksDB program whose compactions Sluice does: example DIR
#include <rocksdb/db.h>
#include <sluice_rocksdb.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: example DIR\n";
    return 2;
  }
  const std::string path = argv[1];
  rocksdb::Options options;
  options.create_if_missing = true;

  const auto service = sluice::NewSluiceCompactionService({});
  service->AddTo(&options);

  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, path, &opened);
  const std::unique_ptr<rocksdb::DB> db(opened);
  for (uint64_t i = 0; i < 300000 && status.ok(); ++i) {
    status = db->Put({}, "key" + std::to_string(i * 7919 % 100000), std::string(100, 'v'));
    if (i % 100000 == 99999 && status.ok()) {
      status = db->Flush({});
    }
  }
  if (status.ok()) {
    status = db->CompactRange({}, nullptr, nullptr);
  }
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
    return 1;
  }
  const sluice::SluiceCompactionStatistics statistics = service->statistics();
  std::cout << "Sluice made " << statistics.output_records << " records of "
            << statistics.input_records << " in " << statistics.jobs << " jobs\n";
  for (const auto& [reason, count] : statistics.reasons) {
    std::cout << count << " jobs were left to RocksDB: " << reason << "\n";
  }
}
