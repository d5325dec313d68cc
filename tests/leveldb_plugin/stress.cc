// A stress of LevelDB that knows nothing of Sluice, to be killed at any moment:
//
//   leveldb_stress DIRECTORY STATE SEED OPERATIONS
//
// STATE is a file, shared with what comes after the kill, that has for each key the version that was
// last acknowledged and the one that is being written. Each start finds in the database one of the
// two for each key, or fails. Then threads write, each to keys of its own, while another one reads at
// snapshots and compacts, until each writer has done its OPERATIONS; 0: only the check.

#include <fcntl.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr uint32_t kKeys = 6000;
constexpr uint32_t kWriters = 3;

using Random = std::mt19937_64;

struct KeyState {
  std::atomic<uint32_t> acknowledged;
  std::atomic<uint32_t> pending;
};
using State = KeyState[kKeys];

[[noreturn]] void Fail(const std::string& what) {
  std::cerr << "stress: " << what << std::endl;
  ::_exit(1);
}

void Check(const leveldb::Status& status, const char* what) {
  if (!status.ok()) {
    Fail(std::string(what) + ": " + status.ToString());
  }
}

std::string KeyOf(uint32_t key) { return "key" + std::to_string(uint64_t{key} * 7919 % 100003); }

// Such versions have no value: they are deletions, and 0 is what was never written.
bool IsDeletion(uint32_t version) { return version % 4 == 0; }

// Half of it is noise, so that Snappy has something to do, but not too much.
std::string ValueOf(uint32_t key, uint32_t version) {
  Random random(uint64_t{key} << 32 | version);
  std::string value = std::to_string(version) + ":";
  value.append(random() % 1000, static_cast<char>('a' + random() % 26));
  for (size_t i = value.size() / 2; i < value.size(); ++i) {
    value[i] = static_cast<char>(random());
  }
  return value;
}

leveldb::Options RandomOptions(Random* random, const leveldb::FilterPolicy* policy) {
  const auto draw = [random](uint64_t n) { return (*random)() % n; };
  leveldb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  options.write_buffer_size = size_t{64} << (10 + draw(2));
  options.max_file_size = 1 << 20;
  options.block_size = size_t{1} << (10 + draw(5));
  options.block_restart_interval = static_cast<int>(1 + draw(20));
  options.compression = draw(2) == 0 ? leveldb::kNoCompression : leveldb::kSnappyCompression;
  options.reuse_logs = draw(2) == 0;
  options.max_open_files = draw(2) == 0 ? 74 : 1000;
  options.filter_policy = draw(2) == 0 ? policy : nullptr;
  return options;
}

class Stress {
 public:
  Stress(const std::string& path, State& state, uint64_t seed)
      : state_(state), random_(seed), policy_(leveldb::NewBloomFilterPolicy(10)) {
    leveldb::DB* db = nullptr;
    Check(leveldb::DB::Open(RandomOptions(&random_, policy_.get()), path, &db), "open");
    db_.reset(db);
  }

  // Whatever is found becomes what is expected.
  void CheckAll() {
    uint32_t present = 0;
    for (uint32_t key = 0; key < kKeys; ++key) {
      KeyState& expected = state_[key];
      std::string value;
      const leveldb::Status got = db_->Get(Careful(), KeyOf(key), &value);
      if (!got.ok() && !got.IsNotFound()) {
        Check(got, "get");
      }
      const auto fits = [&](uint32_t version) {
        return IsDeletion(version) ? got.IsNotFound() : got.ok() && value == ValueOf(key, version);
      };
      const uint32_t acknowledged = expected.acknowledged;
      const uint32_t pending = expected.pending;
      if (!fits(acknowledged) && !fits(pending)) {
        Fail(KeyOf(key) + ": neither version " + std::to_string(acknowledged) + " nor " +
             std::to_string(pending) + ", but " + (got.ok() ? value : got.ToString()));
      }
      expected.acknowledged = expected.pending = fits(acknowledged) ? acknowledged : pending;
      present += got.ok();
    }
    // Forward and back, each block of each table with its checksum.
    const std::unique_ptr<leveldb::Iterator> it(db_->NewIterator(Careful()));
    uint32_t forward = 0;
    uint32_t back = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      ++forward;
    }
    Check(it->status(), "iterator");
    for (it->SeekToLast(); it->Valid(); it->Prev()) {
      ++back;
    }
    Check(it->status(), "iterator");
    if (forward != present || back != present) {
      Fail(std::to_string(forward) + " keys forward and " + std::to_string(back) +
           " back instead of " + std::to_string(present));
    }
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
    for (std::thread& writer : writers) {
      writer.join();
    }
    done_ = true;
    reader.join();
    db_->CompactRange(nullptr, nullptr);
    CheckAll();
  }

 private:
  static leveldb::ReadOptions Careful() {
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    return options;
  }

  // One to four keys of this writer, together.
  void Write(uint32_t writer, Random* random) {
    leveldb::WriteBatch batch;
    std::vector<KeyState*> written;
    for (uint64_t n = 1 + (*random)() % 4; n-- > 0;) {
      // Some keys are written much more often.
      const auto slot =
          static_cast<uint32_t>(((*random)() % (kKeys / kWriters)) >> ((*random)() % 8));
      const uint32_t key = slot * kWriters + writer;
      KeyState& expected = state_[key];
      if (std::find(written.begin(), written.end(), &expected) != written.end()) {
        continue;
      }
      const uint32_t version = expected.acknowledged + 1 + static_cast<uint32_t>((*random)() % 3);
      expected.pending = version;
      written.push_back(&expected);
      if (IsDeletion(version)) {
        batch.Delete(KeyOf(key));
      } else {
        batch.Put(KeyOf(key), ValueOf(key, version));
      }
    }
    leveldb::WriteOptions options;
    options.sync = (*random)() % 50 == 0;
    Check(db_->Write(options, &batch), "write");
    for (KeyState* key : written) {
      key->acknowledged = key->pending.load();
    }
  }

  // Reads all of it at a snapshot twice, a compaction apart.
  void ReadAtSnapshot(Random* random) {
    const leveldb::Snapshot* const snapshot = db_->GetSnapshot();
    leveldb::ReadOptions options = Careful();
    options.snapshot = snapshot;
    std::string contents[2];
    for (std::string& all : contents) {
      const std::unique_ptr<leveldb::Iterator> it(db_->NewIterator(options));
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        all += it->key().ToString() + "=" + it->value().ToString() + "\n";
      }
      Check(it->status(), "iterator");
      if (&all == &contents[0]) {
        const std::string begin = KeyOf(static_cast<uint32_t>((*random)() % kKeys));
        const leveldb::Slice from = begin;
        db_->CompactRange((*random)() % 2 == 0 ? nullptr : &from, nullptr);
      }
    }
    db_->ReleaseSnapshot(snapshot);
    if (contents[0] != contents[1]) {
      Fail("a snapshot has changed");
    }
  }

  State& state_;
  Random random_;
  const std::unique_ptr<const leveldb::FilterPolicy> policy_;
  std::unique_ptr<leveldb::DB> db_;
  std::atomic<bool> done_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: leveldb_stress DIRECTORY STATE SEED OPERATIONS\n";
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
