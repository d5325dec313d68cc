#include "real_leveldb.h"

#include <fmt/format.h>
#include <leveldb/write_batch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace sluice {

namespace {

// Runs no background work (LevelDB's compactions) before Release, and then with a pause in which
// the database learns that it is being closed.
class HoldingEnv : public leveldb::EnvWrapper {
 public:
  HoldingEnv() : EnvWrapper(leveldb::Env::Default()), released_(std::make_shared<Flag>(false)) {}

  void Release() { *released_ = true; }

  void Schedule(void (*function)(void*), void* arg) override {
    auto work = std::make_unique<Work>(Work{function, arg, released_});
    target()->Schedule(
        [](void* owned) {
          const std::unique_ptr<Work> work(static_cast<Work*>(owned));
          while (!*work->released) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          work->function(work->arg);
        },
        work.release());
  }

 private:
  using Flag = std::atomic<bool>;
  struct Work {
    void (*function)(void*);
    void* arg;
    std::shared_ptr<Flag> released;
  };

  const std::shared_ptr<Flag> released_;
};

std::string RandomKey(std::mt19937_64* random, int keys) {
  const uint64_t i = (*random)() % keys;
  // Lengths vary, and many keys share long prefixes.
  return fmt::format("{:04}/{}", i % 97, std::string(i % 13, 'k')) + std::to_string(i);
}

void WriteRandomly(RealLevelDb* db, const MakeOptions& options, int writes, std::mt19937_64* random,
                   Contents* contents) {
  for (int i = 0; i < writes; ++i) {
    const std::string key = RandomKey(random, options.keys);
    if (static_cast<int>((*random)() % 100) < options.delete_percent) {
      db->Delete(key, contents);
    } else {
      db->Put(key, RandomValue(random, options.max_value), contents);
    }
  }
}

}  // namespace

std::string RealOptions::ToString() const {
  return fmt::format("compression {} bloom {} block {} restart {} buffer {} file {}",
                     static_cast<int>(compression), bloom_bits, block_size, restart_interval,
                     write_buffer_size, max_file_size);
}

RealLevelDb::RealLevelDb(const std::string& dir, const RealOptions& options) {
  leveldb::Options real;
  if (options.hold_compactions) {
    auto env = std::make_unique<HoldingEnv>();
    release_ = [env = env.get()] { env->Release(); };
    env_ = std::move(env);
    real.env = env_.get();
  }
  real.create_if_missing = true;
  real.paranoid_checks = options.paranoid;
  real.compression = options.compression;
  real.block_size = options.block_size;
  real.block_restart_interval = options.restart_interval;
  real.write_buffer_size = options.write_buffer_size;
  real.max_file_size = options.max_file_size;
  if (options.bloom_bits > 0) {
    filter_.reset(leveldb::NewBloomFilterPolicy(options.bloom_bits));
    real.filter_policy = filter_.get();
  }
  leveldb::DB* db = nullptr;
  status_ = leveldb::DB::Open(real, dir, &db);
  db_.reset(db);
}

RealLevelDb::~RealLevelDb() {
  if (release_) {
    release_();
  }
}

void RealLevelDb::Put(const std::string& key, const std::string& value, Contents* contents) {
  const leveldb::Status status = db_->Put({}, key, value);
  ASSERT_TRUE(status.ok()) << status.ToString();
  (*contents)[key] = value;
}

void RealLevelDb::Delete(const std::string& key, Contents* contents) {
  const leveldb::Status status = db_->Delete({}, key);
  ASSERT_TRUE(status.ok()) << status.ToString();
  contents->erase(key);
}

std::string RealLevelDb::Property(const std::string& name) {
  std::string value;
  EXPECT_TRUE(db_->GetProperty(name, &value)) << name;
  return value;
}

int RealLevelDb::FilesAtLevel(int level) {
  return std::stoi(Property(fmt::format("leveldb.num-files-at-level{}", level)));
}

std::string RandomValue(std::mt19937_64* random, int max_bytes) {
  std::string value((*random)() % (max_bytes + 1), '\0');
  // Half of it compresses.
  for (size_t i = 0; i < value.size(); ++i) {
    value[i] = static_cast<char>(i % 16 < 8 ? 'v' : (*random)());
  }
  return value;
}

Contents MakeRealDatabase(const std::string& dir, const MakeOptions& options) {
  std::mt19937_64 random(options.seed);
  Contents contents;
  {
    RealLevelDb db(dir, options.leveldb);
    EXPECT_TRUE(db.status().ok()) << db.status().ToString();
    for (int round = 0; round < 3; ++round) {
      WriteRandomly(&db, options, options.deep_writes / 3, &random, &contents);
      if (round == 0) {
        db.db()->CompactRange(nullptr, nullptr);
      }
    }
  }
  // Every open turns what the log holds into a table of level 0.
  RealOptions quick = options.leveldb;
  quick.hold_compactions = true;
  quick.write_buffer_size = 4 << 20;
  for (int i = 0; i < options.level0_tables; ++i) {
    RealLevelDb db(dir, quick);
    EXPECT_TRUE(db.status().ok()) << db.status().ToString();
    WriteRandomly(&db, options, 200, &random, &contents);
  }
  if (options.unflushed_writes > 0) {
    RealLevelDb db(dir, quick);
    WriteRandomly(&db, options, options.unflushed_writes, &random, &contents);
  }
  return contents;
}

void ExpectHolds(const std::string& dir, RealOptions options, const Contents& contents) {
  options.paranoid = true;
  RealLevelDb real(dir, options);
  ASSERT_TRUE(real.status().ok()) << real.status().ToString();
  leveldb::ReadOptions checked;
  checked.verify_checksums = true;
  for (const auto& [key, value] : contents) {
    std::string got;
    const leveldb::Status status = real.db()->Get(checked, key, &got);
    ASSERT_TRUE(status.ok()) << key << ": " << status.ToString();
    ASSERT_EQ(got, value) << key;
    const leveldb::Status absent = real.db()->Get(checked, key + "x", &got);
    ASSERT_EQ(absent.IsNotFound(), !contents.contains(key + "x")) << absent.ToString();
  }
  const std::unique_ptr<leveldb::Iterator> walk(real.db()->NewIterator(checked));
  walk->SeekToFirst();
  for (const auto& [key, value] : contents) {
    ASSERT_TRUE(walk->Valid()) << "before " << key << ": " << walk->status().ToString();
    ASSERT_EQ(walk->key().ToString(), key);
    ASSERT_EQ(walk->value().ToString(), value);
    walk->Next();
  }
  ASSERT_FALSE(walk->Valid()) << walk->key().ToString();
  walk->SeekToLast();
  for (auto it = contents.rbegin(); it != contents.rend(); ++it) {
    ASSERT_TRUE(walk->Valid()) << "after " << it->first << ": " << walk->status().ToString();
    ASSERT_EQ(walk->key().ToString(), it->first);
    ASSERT_EQ(walk->value().ToString(), it->second);
    walk->Prev();
  }
  ASSERT_FALSE(walk->Valid());
  ASSERT_TRUE(walk->status().ok()) << walk->status().ToString();
}

int InChildProcess(const std::function<int()>& function) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(function());
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
    return -1;
  }
  return WEXITSTATUS(status);
}

std::map<std::string, std::string> ReadDirectory(const std::string& dir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const std::string name = entry.path().filename().string();
    if (name == "LOCK" || name == "LOG" || name == "LOG.old") {
      continue;
    }
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << in.rdbuf();
    files[name] = bytes.str();
  }
  return files;
}

}  // namespace sluice
