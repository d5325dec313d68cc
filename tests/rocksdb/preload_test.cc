// Programs that know nothing of Sluice, with libsluice_rocksdb_preload in front of them: our own
// (program.cc), and RocksDB's db_bench and ldb.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "util/testing.h"

namespace sluice::interop {
namespace {

const std::string kPrograms = SLUICE_PROGRAMS;  // directory
const std::string kPreload = SLUICE_PRELOAD;    // file

struct Outcome {
  int code = -1;
  std::string output;  // stdout and stderr

  // From the report: jobs that Sluice did, and that it left. -1 without a report.
  int64_t jobs = -1;
  int64_t left = -1;

  bool Says(const std::string& text) const { return output.find(text) != std::string::npos; }
  size_t Count(const std::string& text) const {
    size_t count = 0;
    for (size_t at = 0; (at = output.find(text, at)) != std::string::npos; at += text.size()) {
      ++count;
    }
    return count;
  }
};

Outcome RunProgram(const std::string& command) {
  Outcome outcome;
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    return outcome;
  }
  std::array<char, 4096> buffer;
  while (const size_t bytes = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.output.append(buffer.data(), bytes);
  }
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::smatch match;
  if (std::regex_search(outcome.output, match,
                        std::regex("sluice: ([0-9]+) jobs, .* ([0-9]+) left to RocksDB"))) {
    outcome.jobs = std::stoll(match[1]);
    outcome.left = std::stoll(match[2]);
  }
  return outcome;
}

// Runs a command with the service preloaded.
Outcome RunPreloaded(const std::string& command, const std::string& environment = "") {
  return RunProgram("env LD_PRELOAD=" + kPreload + " SLUICE_REPORT=1 " + environment + " " +
                    command);
}

std::string Program(const std::string& way, const std::string& path) {
  return kPrograms + "/rocksdb_program " + way + " " + path;
}

TEST(RocksPreload, AllWaysToOpenUseTheService) {
  // How many of the families are Sluice's.
  const std::map<std::string, int64_t> ways = {{"plain", 1},     {"families", 3},
                                               {"c", 1},         {"optimistic", 2},
                                               {"committed", 1}, {"c_families", 1}};
  for (const auto& [way, jobs] : ways) {
    const TempDir dir;
    const Outcome outcome = RunPreloaded(Program(way, dir.File("db")));
    EXPECT_EQ(outcome.code, 0) << way << "\n" << outcome.output;
    EXPECT_EQ(outcome.jobs, jobs) << way << "\n" << outcome.output;
    EXPECT_EQ(outcome.left, 0) << way << "\n" << outcome.output;
    if (way == "plain") {
      const Outcome again = RunPreloaded(Program("read_only", dir.File("db")));
      EXPECT_EQ(again.code, 0) << again.output;
      EXPECT_EQ(again.Count("sluice"), 0u) << again.output;
    }
  }
}

// Filters by time, and records that are not committed: RocksDB alone knows what to do.
TEST(RocksPreload, LeavesWhatRocksDbAloneCanDo) {
  for (const std::string way : {"ttl", "passed_ttl", "c_ttl"}) {
    const TempDir dir;
    const Outcome outcome = RunPreloaded(Program(way, dir.File("db")));
    EXPECT_EQ(outcome.code, 0) << way << "\n" << outcome.output;
    EXPECT_EQ(outcome.jobs, 0) << way << "\n" << outcome.output;
    EXPECT_GT(outcome.left, 0) << way << "\n" << outcome.output;
    EXPECT_TRUE(outcome.Says("for: compaction_filter")) << way << "\n" << outcome.output;
  }
  for (const std::string way : {"prepared", "unprepared"}) {
    const TempDir dir;
    const Outcome outcome = RunPreloaded(Program(way, dir.File("db")));
    EXPECT_EQ(outcome.code, 0) << way << "\n" << outcome.output;
    EXPECT_LE(outcome.jobs, 0) << way << "\n" << outcome.output;
    EXPECT_TRUE(outcome.Says("not WRITE_COMMITTED: RocksDB compacts by itself")) << outcome.output;
  }
  const TempDir dir;
  const Outcome outcome = RunPreloaded(Program("own_service", dir.File("db")));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(outcome.Says("own service")) << outcome.output;
  EXPECT_EQ(outcome.jobs, -1) << outcome.output;
}

// What is wrong is said once, and the program goes on.
TEST(RocksPreload, TroubleIsSaidOnce) {
  const std::pair<const char*, const char*> troubles[] = {
      {"SLUICE_EXECUTOR=gpu", "sluice: SLUICE_EXECUTOR=gpu: "},
      {"SLUICE_EXECUTOR=cpu SLUICE_EXECUTOR_LIBRARY=/nowhere", "sluice: SLUICE_EXECUTOR=cpu: "},
      {"SLUICE_EXECUTOR=cpu SLUICE_EXECUTOR_LIBRARY=libc.so.6", "has no sluice::OpenUnits"}};
  for (const auto& [environment, message] : troubles) {
    const TempDir dir;
    const Outcome outcome = RunPreloaded(Program("families", dir.File("db")), environment);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(outcome.Count(message), 1u) << outcome.output;
    EXPECT_EQ(outcome.Count("sluice: "), 1u) << outcome.output;
  }
  const TempDir dir;
  const Outcome none = RunPreloaded(Program("plain", dir.File("db")), "SLUICE_EXECUTOR=none");
  EXPECT_EQ(none.code, 0) << none.output;
  EXPECT_EQ(none.Count("sluice"), 0u) << none.output;
  // The preload without the library that it needs, and a program that has no RocksDB.
  const Outcome alone = RunProgram("cp " + kPreload + " " + dir.File("p.so") +
                                   " && env LD_PRELOAD=" + dir.File("p.so") + " " +
                                   Program("plain", dir.File("db2")));
  EXPECT_EQ(alone.code, 0) << alone.output;
  EXPECT_TRUE(alone.Count("sluice: ") == 0 || alone.Says("cannot be loaded")) << alone.output;
  EXPECT_EQ(RunPreloaded("echo fine").output, "fine\n");
}

// A program that loads RocksDB only when it runs, and out of others' sight: as interpreters do.
TEST(RocksPreload, ReachesLibrariesThatAreLoadedLater) {
  const TempDir dir;
  std::ofstream(dir.File("main.py")) << R"(
import ctypes, sys
rocksdb = ctypes.CDLL("librocksdb.so.7.8")
for function in ("open", "options_create", "writeoptions_create", "flushoptions_create"):
    getattr(rocksdb, "rocksdb_" + function).restype = ctypes.c_void_p
pointer = ctypes.c_void_p
options = pointer(rocksdb.rocksdb_options_create())
rocksdb.rocksdb_options_set_create_if_missing(options, 1)
error = ctypes.c_char_p()
db = pointer(rocksdb.rocksdb_open(options, sys.argv[1].encode(), ctypes.byref(error)))
write, flush = pointer(rocksdb.rocksdb_writeoptions_create()), pointer(rocksdb.rocksdb_flushoptions_create())
for part in range(3):
    for i in range(100):
        key, value = b"key%d" % i, b"value%d" % part
        rocksdb.rocksdb_put(db, write, key, ctypes.c_size_t(len(key)), value, ctypes.c_size_t(len(value)),
                            ctypes.byref(error))
    rocksdb.rocksdb_flush(db, flush, ctypes.byref(error))
rocksdb.rocksdb_compact_range(db, None, ctypes.c_size_t(0), None, ctypes.c_size_t(0))
rocksdb.rocksdb_close(db)
print(error.value)
)";
  const Outcome outcome =
      RunPreloaded("/usr/bin/python3 " + dir.File("main.py") + " " + dir.File("db"));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(outcome.Says("None")) << outcome.output;
  EXPECT_EQ(outcome.jobs, 1) << outcome.output;
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// What ldb finds in a database, in order; it opens it without Sluice.
std::string Scan(const std::string& path) {
  const Outcome outcome = RunProgram("ldb --db=" + path + " scan --hex");
  EXPECT_EQ(outcome.code, 0) << outcome.output.substr(0, 1000);
  return outcome.output;
}

// db_bench as Debian has it. One thread of writers draws the same keys and values each time.
std::string DbBench(const std::string& path, uint64_t seed, const std::string& more) {
  return "db_bench --db=" + path + " --seed=" + std::to_string(seed) +
         " --benchmarks=fillrandom,overwrite,deleterandom,compact,readrandom,"
         "readseq,verifychecksum --num=40000 --value_size=100 --write_buffer_size=262144"
         " --target_file_size_base=262144 --max_bytes_for_level_base=1048576"
         " --max_background_jobs=4 --subcompactions=2 " +
         more;
}

struct BenchCase {
  std::string flags;
  std::string environment;
};

void CompareDbBench(uint64_t seed, const BenchCase& bench, Outcome* outcome) {
  SCOPED_TRACE(bench.flags + " " + bench.environment);
  const TempDir dir;
  const Outcome plain = RunProgram(DbBench(dir.File("plain"), seed, bench.flags));
  ASSERT_EQ(plain.code, 0) << plain.output;
  *outcome = RunPreloaded(DbBench(dir.File("ours"), seed, bench.flags), bench.environment);
  ASSERT_EQ(outcome->code, 0) << outcome->output;
  const std::string log = ReadFile(dir.File("ours/LOG"));
  EXPECT_FALSE(std::regex_search(log, std::regex("background.{0,20} error", std::regex::icase)));
  const std::string expected = Scan(dir.File("plain"));
  EXPECT_GT(expected.size(), 1000u);
  EXPECT_EQ(Scan(dir.File("ours")), expected);
  EXPECT_EQ(RunProgram("ldb --db=" + dir.File("ours") + " checkconsistency").code, 0);
}

TEST(RocksPreload, DbBenchFindsTheSame) {
  const uint64_t seed = TestSeed() % 1000000 + 1;
  for (const std::string flags :
       {"", "--compression_type=lz4 --bloom_bits=10", "--compression_type=zstd --block_size=16384",
        "--compression_type=none --format_version=2 --index_shortening_mode=0"}) {
    Outcome outcome;
    CompareDbBench(seed, {flags, ""}, &outcome);
    EXPECT_GT(outcome.jobs, 5) << outcome.output;
    EXPECT_FALSE(outcome.Says("failed")) << outcome.output;
  }
}

// One task in ten goes wrong: nobody notices.
TEST(RocksPreload, DbBenchOverFaultyUnits) {
  const uint64_t seed = TestSeed() % 1000000 + 1;
  std::vector<std::string> executors = {"faulty:10", "faulty:100"};
#ifdef SLUICE_WITH_DEVICE
  executors.emplace_back("faulty_model:10");
#endif
  for (const std::string& executor : executors) {
    Outcome outcome;
    CompareDbBench(seed,
                   {"--compression_type=snappy",
                    "SLUICE_SEED=" + std::to_string(seed) + " SLUICE_EXECUTOR=" + executor +
                        " SLUICE_EXECUTOR_LIBRARY=" + SLUICE_FAULTY_UNITS},
                   &outcome);
    EXPECT_GT(outcome.jobs, 5) << outcome.output;
  }
}

#ifdef SLUICE_WITH_DEVICE
TEST(RocksPreload, UnitsByName) {
  const TempDir dir;
  const Outcome outcome =
      RunPreloaded(Program("plain", dir.File("db")), "SLUICE_EXECUTOR=check:tiny");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.jobs, 1) << outcome.output;
  const std::string log = ReadFile(dir.File("db/LOG"));
  EXPECT_TRUE(std::regex_search(log, std::regex("\\[sluice\\].* by .*tiny"))) << log;
}
#endif

}  // namespace
}  // namespace sluice::interop
