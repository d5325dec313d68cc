// Jobs without a database: what they do to files.

#include "job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>

#include "rocksdb_table/testing.h"
#include "rocksdb_table/verify.h"
#include "util/writeback_env.h"

namespace sluice::rocks {
namespace {

constexpr char kInput[] = "db/000001.sst";

// Two inputs of `records` each, and a place for the outputs.
FileImage Inputs(size_t records, size_t value_bytes) {
  FileImage files;
  for (const char* name : {kInput, "db/000002.sst"}) {
    std::vector<TestEntry> entries;
    for (size_t i = 0; i < records; ++i) {
      entries.push_back({InternalKey(fmt::format("{:08}", 2 * i + files.size()), i + 1),
                         std::string(value_bytes, 'v')});
    }
    files[name] = WriteRocksTable(entries, {.block_bytes = 4096});
  }
  return files;
}

Job MakeJob(FaultEnv* env, uint64_t file_bytes) {
  EXPECT_TRUE(env->CreateDir("db/out").ok());
  Job job;
  job.dir = "db";
  job.output_dir = "db/out";
  job.input.files = {"000001.sst", "000002.sst"};
  job.input.output_level = 1;
  job.file_bytes = file_bytes;
  return job;
}

void ExpectNoOutputs(FaultEnv* env, const JobReport& report) {
  std::vector<std::string> names;
  ASSERT_TRUE(env->GetChildren("db/out", &names).ok());
  EXPECT_TRUE(names.empty());
  EXPECT_TRUE(report.files.empty());
  EXPECT_TRUE(VerifyRocksTable(env, kInput, nullptr, nullptr).ok());
}

// The sync of a flush waits for little of an output, however large that is.
TEST(RocksJob, OutputsGoToTheDeviceAsTheyGrow) {
  constexpr uint64_t kMiB = 1 << 20;
  WritebackEnv env(Inputs(1200, 10000));
  const Job job = MakeJob(&env, 64 * kMiB);
  JobReport report;
  ASSERT_TRUE(RunJob(&env, job, nullptr, &report).ok());
  ASSERT_EQ(report.files.size(), 1u);
  EXPECT_GT(report.files[0].bytes, 20 * kMiB);
  EXPECT_LE(env.most, 10 * kMiB);
  EXPECT_GE(env.most, 8 * kMiB) << "it waits for each piece";
  ASSERT_TRUE(env.RemoveFile("db/out/" + report.files[0].name).ok());

  env.fails = true;
  EXPECT_FALSE(RunJob(&env, job, nullptr, &report).ok());
  ExpectNoOutputs(&env, report);
}

// RocksDB then does the job by itself, with the inputs as they were.
TEST(RocksJob, AnyFailedCallFailsTheJobAndLeavesNothing) {
  const FileImage inputs = Inputs(300, 100);
  FaultEnv whole(inputs);
  const Job job = MakeJob(&whole, 20000);
  const uint64_t operations = whole.operations();
  const uint64_t reads = whole.reads();
  JobReport report;
  ASSERT_TRUE(RunJob(&whole, job, nullptr, &report).ok());
  const uint64_t operations_end = whole.operations();
  const uint64_t reads_end = whole.reads();
  ASSERT_GT(report.files.size(), 2u);
  EXPECT_EQ(report.merge.output_records, 600u);
  for (const OutputFile& file : report.files) {
    TableReport table;
    ASSERT_TRUE(VerifyRocksTable(&whole, "db/out/" + file.name, &table, nullptr).ok());
    EXPECT_EQ(table.entries, file.entries);
  }
  const auto fails = [&](const std::function<void(FaultEnv*)>& prepare) {
    FaultEnv env(inputs);
    const Job again = MakeJob(&env, 20000);
    prepare(&env);
    EXPECT_FALSE(RunJob(&env, again, nullptr, &report).ok());
    ExpectNoOutputs(&env, report);
  };
  for (uint64_t k = operations; k < operations_end; ++k) {
    fails([k](FaultEnv* env) { env->FailAt(k, EIO, k); });
  }
  for (uint64_t k = reads; k < reads_end; ++k) {
    fails([k](FaultEnv* env) { env->FailReadAt(k, EIO, k); });
  }
}

}  // namespace
}  // namespace sluice::rocks
