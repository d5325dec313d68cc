// A process that runs out of file descriptors or of memory. Calls fail, or the process ends; it
// never hangs, and nothing that was acknowledged is lost.

#include <dirent.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>

#include "process.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

// What outlives a process.
struct Shared {
  std::atomic<uint64_t> written;
  std::atomic<bool> opened;
};

Options TestOptions(const std::string& dir) {
  Options options;
  options.create_if_missing = true;
  options.memtable_bytes = 64 << 10;
  options.extent_bytes = 64 << 10;
  options.log_segment_bytes = 64 << 10;
  options.l0_compaction_runs = 2;
  options.l1_bytes = 256 << 10;
  options.row_cache_bytes = options.block_cache_bytes = options.table_cache_bytes = 1 << 20;
  options.write_buffer_bytes = 1 << 20;
  options.level_paths = {"", dir + "/warm", dir + "/cold"};
  return options;
}

std::string KeyOf(uint64_t i) { return fmt::format("{:08}", i * 7919 % 100000000); }
std::string ValueOf(uint64_t i) { return fmt::format("{}/", i) + std::string(i * 31 % 3000, 'v'); }

// Writes one record after the other until a call fails; its status is the result.
Status Write(const std::string& dir, Shared* shared, uint64_t most) {
  std::unique_ptr<DB> db;
  SLUICE_RETURN_IF_ERROR(DB::Open(TestOptions(dir), dir + "/db", &db));
  shared->opened = true;
  for (uint64_t i = shared->written; i < most; ++i) {
    SLUICE_RETURN_IF_ERROR(db->Put({}, KeyOf(i), ValueOf(i)));
    shared->written = i + 1;
    std::string value;
    SLUICE_RETURN_IF_ERROR(db->Get({}, KeyOf(i / 2), &value));
    if (value != ValueOf(i / 2)) {
      return Status::Corruption("another value");
    }
  }
  SLUICE_RETURN_IF_ERROR(db->Flush(nullptr));
  SLUICE_RETURN_IF_ERROR(db->CompactRange(nullptr, "", ""));
  return db->Close();
}

enum Exit { kDone, kError, kWrong };

// Writes in a process of its own; false if that hangs or goes wrong. `*done`: it met no limit.
template <typename Limit>
testing::AssertionResult WriteWithin(const std::string& dir, Shared* shared, uint64_t most,
                                     const Limit& limit, bool* done) {
  const int outcome = InProcess([&] {
    limit();
    const Status status = Write(dir, shared, most);
    return status.ok() ? kDone : status.IsCorruption() ? kWrong : kError;
  });
  *done = outcome == kDone;
  // Without memory a process may abort.
  if (outcome == kWrong || (outcome < 0 && outcome != -SIGABRT)) {
    return testing::AssertionFailure() << "exit status or signal " << outcome;
  }
  return testing::AssertionSuccess();
}

class LimitsTest : public testing::Test {
 protected:
  LimitsTest() {
    void* const shared =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(shared, MAP_FAILED);
    shared_ = new (shared) Shared{};
  }
  ~LimitsTest() override { ::munmap(shared_, sizeof(Shared)); }

  void ExpectAll() {
    std::unique_ptr<DB> db;
    const Status opened = DB::Open(TestOptions(dir_.path()), dir_.File("db"), &db);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    std::string value;
    for (uint64_t i = 0; i < shared_->written; ++i) {
      const Status status = db->Get({}, KeyOf(i), &value);
      ASSERT_TRUE(status.ok()) << i << " of " << shared_->written << ": " << status.ToString();
      ASSERT_TRUE(value == ValueOf(i)) << i;
    }
    const Status verified = db->Verify({});
    ASSERT_TRUE(verified.ok()) << verified.ToString();
  }

  TempDir dir_;
  Shared* shared_;
};

size_t OpenDescriptors() {
  size_t count = 0;
  DIR* const dir = ::opendir("/proc/self/fd");
  while (::readdir(dir) != nullptr) {
    ++count;
  }
  ::closedir(dir);
  return count - 3;  // ".", "..", and that of the directory
}

// Fewer descriptors than it takes, than it takes later on, and enough.
TEST_F(LimitsTest, FileDescriptors) {
  bool done = false;
  for (size_t spare = 0; !done; ++spare) {
    SCOPED_TRACE(testing::Message() << spare << " descriptors, " << shared_->written << " written");
    ASSERT_LT(spare, 64u);
    const size_t most = OpenDescriptors() + spare;
    ASSERT_TRUE(WriteWithin(
        dir_.path(), shared_, 500 * (spare + 1),
        [&] {
          const rlimit limit{most, most};
          ::setrlimit(RLIMIT_NOFILE, &limit);
        },
        &done));
    ASSERT_NO_FATAL_FAILURE(ExpectAll());
  }
  EXPECT_TRUE(shared_->opened);
}

// What there is to spare beyond what the process has already.
TEST_F(LimitsTest, AddressSpace) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve all there is";
#endif
  TestRandom random(TestSeed());
  uint64_t used = 0;  // pages
  std::FILE* const statm = std::fopen("/proc/self/statm", "r");
  ASSERT_EQ(std::fscanf(statm, "%lu", &used), 1);
  std::fclose(statm);
  int ended = 0;
  for (int i = 0; i < 24; ++i) {
    // Too little and enough for certain, then anything between.
    const uint64_t spare = i == 0 ? 2 : i == 1 ? 512 : Uniform(&random, 2, 400);
    const uint64_t bytes = used * 4096 + (spare << 20);
    SCOPED_TRACE(testing::Message() << bytes << " bytes, " << shared_->written << " written");
    bool done = false;
    ASSERT_TRUE(WriteWithin(
        dir_.path(), shared_, shared_->written + 3000,
        [&] {
          const rlimit limit{bytes, bytes};
          ::setrlimit(RLIMIT_AS, &limit);
        },
        &done));
    ended += done ? 0 : 1;
    if (i % 8 == 7) {
      ASSERT_NO_FATAL_FAILURE(ExpectAll());
    }
  }
  EXPECT_GT(ended, 0);
  EXPECT_LT(ended, 24);
}

}  // namespace
}  // namespace sluice
