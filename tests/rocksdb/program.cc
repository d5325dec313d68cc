// A program that uses RocksDB, and knows nothing of Sluice. It opens a database in the way that it
// is told, has it compacted, and looks at what is in it: rocksdb_program WAY DIRECTORY

#include <rocksdb/c.h>
#include <rocksdb/db.h>
#include <rocksdb/utilities/db_ttl.h>
#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction_db.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Families = std::vector<rocksdb::ColumnFamilyHandle*>;
using rocksdb::Status;

constexpr int kKeys = 2000;

void Check(const Status& status) {
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
    std::exit(1);
  }
}

void Check(bool holds, const std::string& what) {
  if (!holds) {
    std::cerr << what << "\n";
    std::exit(1);
  }
}

std::string KeyOf(int i) { return "key" + std::to_string(i); }
std::string ValueOf(int i, int part) { return std::to_string(i * part) + std::string(50, 'v'); }

rocksdb::Options MakeOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.disable_auto_compactions = true;
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> MakeFamilies() {
  return {{"default", MakeOptions()}, {"other", MakeOptions()}};
}

// Three overlapping parts in each family, compacted. The last one deletes every fifth key.
void FillAndCompact(rocksdb::DB* db, const Families& families) {
  for (rocksdb::ColumnFamilyHandle* family : families) {
    for (int part = 1; part <= 3; ++part) {
      for (int i = part; i < kKeys; i += part) {
        Check(part == 3 && i % 5 == 0 ? db->Delete({}, family, KeyOf(i))
                                      : db->Put({}, family, KeyOf(i), ValueOf(i, part)));
      }
      Check(db->Flush({}, family));
    }
    Check(db->CompactRange({}, family, nullptr, nullptr));
  }
}

void CheckContents(rocksdb::DB* db, const Families& families) {
  for (rocksdb::ColumnFamilyHandle* family : families) {
    for (int i = 1; i < kKeys; ++i) {
      std::string value;
      const Status got = db->Get({}, family, KeyOf(i), &value);
      const bool deleted = i % 3 == 0 && i % 5 == 0;
      Check(deleted ? got.IsNotFound() : got.ok(), KeyOf(i) + ": " + got.ToString());
      Check(deleted || value == ValueOf(i, i % 3 == 0 ? 3 : i % 2 == 0 ? 2 : 1), KeyOf(i));
    }
  }
  Check(db->VerifyChecksum());
}

void Use(rocksdb::DB* db, Families families) {
  const bool own = families.empty();
  if (own) {
    families.push_back(db->DefaultColumnFamily());
  }
  FillAndCompact(db, families);
  CheckContents(db, families);
  for (rocksdb::ColumnFamilyHandle* family : families) {
    if (!own) {
      Check(db->DestroyColumnFamilyHandle(family));
    }
  }
  delete db;
}

void UsePlain(const std::string& path) {
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(MakeOptions(), path, &db));
  Use(db, {});
}

void UseFamilies(const std::string& path) {
  rocksdb::DB* db = nullptr;
  Families families;
  Check(rocksdb::DB::Open(MakeOptions(), path, MakeFamilies(), &families, &db));
  rocksdb::ColumnFamilyHandle* later = nullptr;
  Check(db->CreateColumnFamily(MakeOptions(), "later", &later));
  families.push_back(later);
  Use(db, families);
}

// What was written before is looked at.
void UseReadOnly(const std::string& path) {
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::OpenForReadOnly(MakeOptions(), path, &db));
  CheckContents(db, {db->DefaultColumnFamily()});
  delete db;
}

template <typename TransactionalDb>
void Commit(TransactionalDb* db) {
  const std::unique_ptr<rocksdb::Transaction> transaction(db->BeginTransaction({}));
  Check(transaction->Put("before", "all"));
  Check(transaction->Commit());
}

void UseOptimistic(const std::string& path) {
  rocksdb::OptimisticTransactionDB* db = nullptr;
  Families families;
  Check(
      rocksdb::OptimisticTransactionDB::Open(MakeOptions(), path, MakeFamilies(), &families, &db));
  Commit(db);
  Use(db, families);
}

void UseTransactions(const std::string& path, rocksdb::TxnDBWritePolicy policy) {
  rocksdb::TransactionDBOptions transactions;
  transactions.write_policy = policy;
  rocksdb::TransactionDB* db = nullptr;
  Check(rocksdb::TransactionDB::Open(MakeOptions(), transactions, path, &db));
  Commit(db);
  Use(db, {});
}

// A time that has passed for none of the keys.
void UseTtl(const std::string& path) {
  rocksdb::DBWithTTL* db = nullptr;
  Families families;
  Check(rocksdb::DBWithTTL::Open(MakeOptions(), path, MakeFamilies(), &families, &db,
                                 {1000000, 1000000}));
  Use(db, families);
}

// One that passes: RocksDB's filter drops all keys, which Sluice would keep.
void UsePassedTtl(const std::string& path) {
  rocksdb::DBWithTTL* opened = nullptr;
  Check(rocksdb::DBWithTTL::Open(MakeOptions(), path, &opened, 1));
  const std::unique_ptr<rocksdb::DBWithTTL> db(opened);
  for (int part = 1; part <= 2; ++part) {
    for (int i = 1; i < kKeys; ++i) {
      Check(db->Put({}, KeyOf(i), ValueOf(i, part)));
    }
    Check(db->Flush({}));
  }
  std::this_thread::sleep_for(std::chrono::seconds(3));
  Check(db->CompactRange({}, nullptr, nullptr));
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
  it->SeekToFirst();
  Check(!it->Valid(), "a key whose time has passed");
}

// The C API, as other languages use it.
struct CDatabase {
  explicit CDatabase(const std::function<rocksdb_t*(rocksdb_options_t*, char**)>& open) {
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_create_missing_column_families(options, 1);
    rocksdb_options_set_disable_auto_compactions(options, 1);
    db = open(options, &error);
    Check(error == nullptr, error == nullptr ? "" : error);
  }
  void Use() {
    rocksdb_writeoptions_t* const write = rocksdb_writeoptions_create();
    rocksdb_readoptions_t* const read = rocksdb_readoptions_create();
    rocksdb_flushoptions_t* const flush = rocksdb_flushoptions_create();
    for (int part = 1; part <= 3; ++part) {
      for (int i = part; i < kKeys; i += part) {
        const std::string key = KeyOf(i);
        const std::string value = ValueOf(i, part);
        rocksdb_put(db, write, key.data(), key.size(), value.data(), value.size(), &error);
        Check(error == nullptr, "rocksdb_put");
      }
      rocksdb_flush(db, flush, &error);
      Check(error == nullptr, "rocksdb_flush");
    }
    rocksdb_compact_range(db, nullptr, 0, nullptr, 0);
    for (int i = 1; i < kKeys; ++i) {
      const std::string key = KeyOf(i);
      size_t bytes = 0;
      char* const value = rocksdb_get(db, read, key.data(), key.size(), &bytes, &error);
      Check(error == nullptr && value != nullptr, key);
      Check(std::string(value, bytes) == ValueOf(i, i % 3 == 0 ? 3 : i % 2 == 0 ? 2 : 1), key);
      std::free(value);
    }
    rocksdb_flushoptions_destroy(flush);
    rocksdb_readoptions_destroy(read);
    rocksdb_writeoptions_destroy(write);
    rocksdb_close(db);
    rocksdb_options_destroy(options);
  }
  rocksdb_options_t* const options = rocksdb_options_create();
  rocksdb_t* db = nullptr;
  char* error = nullptr;
};

void UseC(const std::string& path) {
  CDatabase([&](rocksdb_options_t* options, char** error) {
    return rocksdb_open(options, path.c_str(), error);
  }).Use();
}

void UseCFamilies(const std::string& path) {
  const char* const names[] = {"default", "other"};
  rocksdb_column_family_handle_t* handles[2];
  CDatabase database([&](rocksdb_options_t* options, char** error) {
    const rocksdb_options_t* const families[] = {options, options};
    return rocksdb_open_column_families(options, path.c_str(), 2, names, families, handles, error);
  });
  for (rocksdb_column_family_handle_t* handle : handles) {
    rocksdb_column_family_handle_destroy(handle);
  }
  database.Use();
}

void UseCTtl(const std::string& path) {
  CDatabase([&](rocksdb_options_t* options, char** error) {
    return rocksdb_open_with_ttl(options, path.c_str(), 1000000, error);
  }).Use();
}

// A service of its own, which leaves all to RocksDB.
class OwnService : public rocksdb::CompactionService {
 public:
  const char* Name() const override { return "OwnService"; }
  rocksdb::CompactionServiceJobStatus StartV2(const rocksdb::CompactionServiceJobInfo&,
                                              const std::string&) override {
    std::cout << "own service\n";
    return rocksdb::CompactionServiceJobStatus::kUseLocal;
  }
};

void UseOwnService(const std::string& path) {
  rocksdb::Options options = MakeOptions();
  options.compaction_service = std::make_shared<OwnService>();
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(options, path, &db));
  Use(db, {});
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void(const std::string&)>> ways = {
      {"plain", UsePlain},
      {"families", UseFamilies},
      {"read_only", UseReadOnly},
      {"optimistic", UseOptimistic},
      {"committed",
       [](const auto& path) { UseTransactions(path, rocksdb::TxnDBWritePolicy::WRITE_COMMITTED); }},
      {"prepared",
       [](const auto& path) { UseTransactions(path, rocksdb::TxnDBWritePolicy::WRITE_PREPARED); }},
      {"unprepared",
       [](const auto& path) {
         UseTransactions(path, rocksdb::TxnDBWritePolicy::WRITE_UNPREPARED);
       }},
      {"ttl", UseTtl},
      {"passed_ttl", UsePassedTtl},
      {"c", UseC},
      {"c_families", UseCFamilies},
      {"c_ttl", UseCTtl},
      {"own_service", UseOwnService}};
  const auto way = argc == 3 ? ways.find(argv[1]) : ways.end();
  if (way == ways.end()) {
    std::cerr << "usage: rocksdb_program WAY DIRECTORY\n";
    return 2;
  }
  way->second(argv[2]);
  std::cout << "well\n";
}
