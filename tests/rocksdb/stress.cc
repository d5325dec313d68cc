// A stress of RocksDB that knows nothing of Sluice, to be killed at any moment:
//
//   rocksdb_stress DIRECTORY STATE SEED OPERATIONS
//
// STATE is a file, shared with what comes after the kill, that has for each key the version that was
// last acknowledged and the one that is being written. Each start finds in the database one of the
// two for each key, or fails. Then threads write, each to keys of its own, while others read at
// snapshots, compact, and change options, until each writer has done its OPERATIONS; 0: only the check.

#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr uint32_t kFamilies = 2;
constexpr uint32_t kKeys = 4000;
constexpr uint32_t kWriters = 3;

using Random = std::mt19937_64;

struct KeyState {
  std::atomic<uint32_t> acknowledged;
  std::atomic<uint32_t> pending;
};
using State = KeyState[kFamilies][kKeys];

[[noreturn]] void Fail(const std::string& what) {
  std::cerr << "stress: " << what << std::endl;
  ::_exit(1);
}

void Check(const rocksdb::Status& status, const char* what) {
  if (!status.ok()) {
    Fail(std::string(what) + ": " + status.ToString());
  }
}

std::string KeyOf(uint32_t key) { return "key" + std::to_string(uint64_t{key} * 7919 % 100003); }

// Such versions have no value: they are deletions, and 0 is what was never written.
bool IsDeletion(uint32_t version) { return version % 4 == 0; }

std::string ValueOf(uint32_t key, uint32_t version) {
  Random random(uint64_t{key} << 32 | version);
  std::string value = std::to_string(version) + ":";
  value.append(random() % 400, static_cast<char>('a' + random() % 26));
  return value + std::to_string(random());
}

rocksdb::Options RandomOptions(Random* random) {
  const auto draw = [random](uint64_t n) { return (*random)() % n; };
  rocksdb::BlockBasedTableOptions table;
  table.block_size = uint64_t{256} << draw(6);
  table.format_version = static_cast<uint32_t>(2 + draw(4));
  table.index_shortening =
      static_cast<rocksdb::BlockBasedTableOptions::IndexShorteningMode>(draw(3));
  if (table.format_version == 5 && draw(2) == 0) {
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  }
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.paranoid_checks = true;
  options.write_buffer_size = 32 << 10;
  options.target_file_size_base = uint64_t{16} << (10 + draw(3));
  options.max_bytes_for_level_base = 128 << 10;
  options.max_bytes_for_level_multiplier = 4;
  options.level0_file_num_compaction_trigger = static_cast<int>(2 + draw(3));
  options.max_background_jobs = 4;
  options.max_subcompactions = static_cast<uint32_t>(1 + draw(3));
  constexpr rocksdb::CompressionType kCompressions[] = {rocksdb::kNoCompression,
                                                        rocksdb::kSnappyCompression,
                                                        rocksdb::kLZ4Compression, rocksdb::kZSTD};
  options.compression = kCompressions[draw(4)];
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

class Stress {
 public:
  Stress(const std::string& path, State& state, uint64_t seed) : state_(state), random_(seed) {
    const rocksdb::Options options = RandomOptions(&random_);
    Check(rocksdb::DB::Open(options, path, {{"default", options}, {"other", options}}, &families_,
                            &db_),
          "open");
  }

  // Whatever is found becomes what is expected.
  void CheckAll() {
    for (uint32_t family = 0; family < kFamilies; ++family) {
      for (uint32_t key = 0; key < kKeys; ++key) {
        KeyState& expected = state_[family][key];
        std::string value;
        const rocksdb::Status got = db_->Get(Careful(), families_[family], KeyOf(key), &value);
        if (!got.ok() && !got.IsNotFound()) {
          Check(got, "get");
        }
        const auto fits = [&](uint32_t version) {
          return IsDeletion(version) ? got.IsNotFound()
                                     : got.ok() && value == ValueOf(key, version);
        };
        const uint32_t acknowledged = expected.acknowledged;
        const uint32_t pending = expected.pending;
        if (!fits(acknowledged) && !fits(pending)) {
          Fail(KeyOf(key) + ": neither version " + std::to_string(acknowledged) + " nor " +
               std::to_string(pending) + ", but " + (got.ok() ? value : got.ToString()));
        }
        expected.acknowledged = expected.pending = fits(acknowledged) ? acknowledged : pending;
      }
      CheckIterator(family);
    }
    Check(db_->VerifyChecksum(), "checksums");
  }

  void Run(uint64_t operations) {
    std::vector<std::thread> writers;
    for (uint32_t writer = 0; writer < kWriters; ++writer) {
      writers.emplace_back([this, writer, operations, seed = random_()] {
        Random random(seed);
        for (uint64_t i = 0; i < operations; ++i) {
          Write(writer, &random);
        }
      });
    }
    std::thread reader([this, seed = random_()] {
      Random random(seed);
      while (!done_) {
        ReadAtSnapshot(&random);
      }
    });
    std::thread changer([this, seed = random_()] {
      Random random(seed);
      while (!done_) {
        Change(&random);
      }
    });
    for (std::thread& writer : writers) {
      writer.join();
    }
    done_ = true;
    reader.join();
    changer.join();
    for (rocksdb::ColumnFamilyHandle* family : families_) {
      Check(db_->CompactRange({}, family, nullptr, nullptr), "compaction");
    }
    CheckAll();
  }

  ~Stress() {
    for (rocksdb::ColumnFamilyHandle* family : families_) {
      Check(db_->DestroyColumnFamilyHandle(family), "handle");
    }
    Check(db_->Close(), "close");
    delete db_;
  }

 private:
  static rocksdb::ReadOptions Careful() {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    return options;
  }

  // That the iterator has as many keys as have values. REQUIRES: nobody writes.
  void CheckIterator(uint32_t family) {
    uint32_t expected = 0;
    for (const KeyState& key : state_[family]) {
      expected += !IsDeletion(key.acknowledged);
    }
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(Careful(), families_[family]));
    uint32_t found = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      ++found;
    }
    Check(it->status(), "iterator");
    if (found != expected) {
      Fail(std::to_string(found) + " keys instead of " + std::to_string(expected));
    }
  }

  // One to four keys of this writer, together.
  void Write(uint32_t writer, Random* random) {
    rocksdb::WriteBatch batch;
    std::vector<KeyState*> written;
    for (uint64_t n = 1 + (*random)() % 4; n-- > 0;) {
      const auto family = static_cast<uint32_t>((*random)() % kFamilies);
      // Some keys are written much more often.
      const auto slot =
          static_cast<uint32_t>(((*random)() % (kKeys / kWriters)) >> ((*random)() % 8));
      const uint32_t key = slot * kWriters + writer;
      KeyState& expected = state_[family][key];
      if (std::find(written.begin(), written.end(), &expected) != written.end()) {
        continue;
      }
      const uint32_t version = expected.acknowledged + 1 + static_cast<uint32_t>((*random)() % 3);
      expected.pending = version;
      written.push_back(&expected);
      Check(IsDeletion(version) ? batch.Delete(families_[family], KeyOf(key))
                                : batch.Put(families_[family], KeyOf(key), ValueOf(key, version)),
            "batch");
    }
    Check(db_->Write({}, &batch), "write");
    for (KeyState* key : written) {
      key->acknowledged = key->pending.load();
    }
  }

  // Reads all of a family at a snapshot twice, a compaction apart.
  void ReadAtSnapshot(Random* random) {
    const rocksdb::Snapshot* const snapshot = db_->GetSnapshot();
    rocksdb::ReadOptions options = Careful();
    options.snapshot = snapshot;
    rocksdb::ColumnFamilyHandle* const family = families_[(*random)() % kFamilies];
    std::string contents[2];
    for (std::string& all : contents) {
      const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options, family));
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        all += it->key().ToString() + "=" + it->value().ToString() + "\n";
      }
      Check(it->status(), "iterator");
      if (&all == &contents[0]) {
        Check(db_->Flush({}, family), "flush");
        Check(db_->CompactRange({}, family, nullptr, nullptr), "compaction");
      }
    }
    db_->ReleaseSnapshot(snapshot);
    if (contents[0] != contents[1]) {
      Fail("a snapshot has changed");
    }
  }

  void Change(Random* random) {
    rocksdb::ColumnFamilyHandle* const family = families_[(*random)() % kFamilies];
    constexpr const char* kCompressions[] = {"kNoCompression", "kSnappyCompression",
                                             "kLZ4Compression", "kZSTD"};
    Check(db_->SetOptions(family, {{"compression", kCompressions[(*random)() % 4]}}), "options");
    const std::string block_size = std::to_string(256 << (*random)() % 6);
    Check(db_->SetOptions(family,
                          {{"block_based_table_factory", "{block_size=" + block_size + ";}"}}),
          "options");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  State& state_;
  Random random_;
  rocksdb::DB* db_ = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::atomic<bool> done_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: rocksdb_stress DIRECTORY STATE SEED OPERATIONS\n";
    return 2;
  }
  const int file = ::open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0 || ::ftruncate(file, sizeof(State)) != 0) {
    Fail("no file for the state");
  }
  void* const memory = ::mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    Fail("no memory for the state");
  }
  const uint64_t operations = std::stoull(argv[4]);
  Stress stress(argv[1], *static_cast<State*>(memory), std::stoull(argv[3]));
  stress.CheckAll();
  if (operations != 0) {
    stress.Run(operations);
  }
  std::cout << "well" << std::endl;
}
