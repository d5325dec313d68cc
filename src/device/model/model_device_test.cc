// The model device beside the CPU executor and the RTL: the same tables, faults and answers.

#include "device/model/model_device.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "device/contract.h"
#include "device/device_executor.h"
#include "device/fault_device.h"
#include "device/rtlsim/rtl_device.h"
#include "device/testing.h"
#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "sluice_abi.h"
#include "table/codec.h"
#include "table/format.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr std::string_view kConfig = "tiny";

std::unique_ptr<Device> Rtl() {
  std::unique_ptr<Device> device;
  EXPECT_TRUE(MakeRtlDevice(kConfig, {}, &device).ok());
  return device;
}
std::unique_ptr<Device> Model(const ModelDeviceOptions& options, bool snappy = false,
                              bool bloom = false, uint32_t compressors = 0, bool xxh3 = false) {
  DeviceInfo info = Rtl()->info();
  info.snappy = snappy;
  info.bloom = bloom;
  info.compressors = compressors;
  info.xxh3 = xxh3;
  return MakeModelDevice(info, options);
}

TEST(ModelDeviceTest, WritesWhatTheCpuWrites) {
  std::mt19937_64 rng(TestSeed());
  DeviceExecutor raw_only(Model(Instant()));
  DeviceExecutor with_snappy(Model(Instant(), true));
  DeviceExecutor with_filters(Model(Instant(), false, true));
  DeviceExecutor compressing(Model(Instant(), true, false, 4));
  DeviceExecutor with_xxh3(Model(Instant(), false, false, 0, true));
  DeviceExecutor with_all(Model(Instant(), true, true, 4, true));
  DeviceExecutor* const models[] = {&raw_only,    &with_snappy, &with_filters,
                                    &compressing, &with_xxh3,   &with_all};
  for (int i = 0; i < 300; ++i) {
    DeviceExecutor& model = *models[i % 6];
    GeneratedTask input = RandomTask(rng);
    if (model.makes_filters()) {
      input.task.bloom_bits_per_key = static_cast<uint32_t>(rng() % 65);
    }
    input.task.compress = model.compresses() && rng() % 4 != 0;
    if (model.takes_xxh3() && rng() % 4 != 0) {
      input.UseXxh3(rng);
    }
    std::vector<OwnedOutput> expected;
    std::vector<OwnedOutput> actual;
    const MergeResult cpu = CpuExecutor().Run(input.task, CollectInto(&expected));
    const MergeResult result = model.Run(input.task, CollectInto(&actual));
    ASSERT_TRUE(result.ok()) << result.error.ToString();
    ASSERT_TRUE(CompareOutputs(expected, actual).ok());
    EXPECT_EQ(result.stats.input_records, cpu.stats.input_records);
    EXPECT_EQ(result.stats.output_checksum, cpu.stats.output_checksum);
    EXPECT_GT(result.stats.cycles, 0u);
  }
}

// As so many calls would, but for the time of one.
TEST(ModelDeviceTest, TransfersListsOfPieces) {
  using Clock = std::chrono::steady_clock;
  const std::unique_ptr<Device> model = Model({.link = {}, .transfer_us = 20'000});
  const std::string written = "some pieces";
  const std::vector<Device::Source> up = {
      {4096, std::string_view(written).substr(0, 5)}, {8192, ""}, {9000, written}};
  Clock::time_point begin = Clock::now();
  ASSERT_TRUE(model->WriteAll(up).ok());
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(20));
  std::string read(16, '-');
  begin = Clock::now();
  ASSERT_TRUE(model->ReadAll({{{9005, 6, read.data()}, {4096, 4, read.data() + 8}}}).ok());
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(20));
  EXPECT_EQ(read, "pieces--some----");
  EXPECT_FALSE(model->WriteAll({{{4096, "a"}, {UINT64_MAX - 4, "b"}}}).ok());
  EXPECT_FALSE(model->ReadAll({{{4096, 1, read.data()}, {UINT64_MAX - 4, 1, read.data()}}}).ok());
}

TEST(ModelDeviceTest, RefusesHandlesThatGoBack) {
  TableImageBuilder table;
  table.Add(MakeInternalKey("a", 1, RecordType::kValue), "v");
  table.EndBlock();
  table.Add(MakeInternalKey("b", 1, RecordType::kValue), "v");
  TableImage image = table.Finish();
  BlockImageBuilder index(1);
  for (const size_t block : {1, 0}) {
    std::string value;
    image.blocks[block].AppendTo(&value);
    index.Add(MakeInternalKey(block == 1 ? "a" : "b", 1, RecordType::kValue), value);
  }
  image.ReplaceIndex(index.Finish());
  MergeTask task;
  task.runs = {{{image.file, image.index}}};
  const auto discard = [](const MergeOutput&) { return Status(); };
  const MergeResult result = DeviceExecutor(Model(Instant())).Run(task, discard);
  EXPECT_EQ(result.status, MergeStatus::kBadHandle);
  EXPECT_EQ(result.fault, (MergeFault{0, 0, image.index.offset}));
  task.runs[0][0].index.offset += 1;
  const MergeResult outside = DeviceExecutor(Model(Instant())).Run(task, discard);
  EXPECT_EQ(outside.status, MergeStatus::kBadHandle);
  EXPECT_TRUE(outside.error.IsCorruption()) << outside.error.ToString();
}

// An index that is compressed stands elsewhere on the device; its faults are told by where it stands
// for the caller.
TEST(ModelDeviceTest, TellsWhereACompressedIndexIs) {
  TableImageBuilder table;
  for (const char* key : {"a", "b"}) {
    table.Add(MakeInternalKey(key, 1, RecordType::kValue), "v");
    table.EndBlock();
  }
  TableImage image = table.Finish();
  BlockImageBuilder index(1);
  for (const char letter : {'a', 'b'}) {
    std::string value;
    image.blocks[letter == 'a' ? 1 : 0].AppendTo(&value);
    index.Add(MakeInternalKey(std::string(200, letter), 1, RecordType::kValue), value);
  }
  std::string compressed;
  ASSERT_TRUE(Compress({.type = Compression::kSnappy}, index.Finish(), &compressed));
  image.ReplaceIndex(compressed, Compression::kSnappy);
  MergeTask task;
  task.runs = {{{image.file, image.index}}};
  for (const bool snappy : {false, true}) {
    const MergeResult result =
        DeviceExecutor(Model(Instant(), snappy)).Run(task, [](const MergeOutput&) {
          return Status();
        });
    EXPECT_EQ(result.status, MergeStatus::kBadHandle);
    EXPECT_EQ(result.fault, (MergeFault{0, 0, image.index.offset}));
  }
}

// A unit without Snappy's decoder says so of a block that nobody has decompressed for it: here of
// one whose neighbour is damaged.
TEST(ModelDeviceTest, KnowsWhatItDecodes) {
  TableImageBuilder table({.compression = Compression::kSnappy});
  BlockImageBuilder index(1);
  for (const char letter : {'a', 'b'}) {
    table.Add(MakeInternalKey(std::string(1, letter), 1, RecordType::kValue),
              std::string(300, letter));
    table.EndBlock();
  }
  TableImage image = table.Finish();
  for (const char letter : {'a', 'b'}) {
    std::string value;
    image.blocks[letter - 'a'].AppendTo(&value);
    index.Add(MakeInternalKey(std::string(1, letter), 1, RecordType::kValue), value);
  }
  image.ReplaceIndex(index.Finish());  // raw
  image.file[image.blocks[1].offset] ^= 1;
  MergeTask task;
  task.runs = {{{image.file, image.index}}};
  for (const bool snappy : {false, true}) {
    const MergeResult result =
        DeviceExecutor(Model(Instant(), snappy)).Run(task, [](const MergeOutput&) {
          return Status();
        });
    EXPECT_EQ(MergeStatusText(result.status),
              MergeStatusText(snappy ? MergeStatus::kBlockChecksum : MergeStatus::kBlockType));
    EXPECT_EQ(result.fault.offset, image.blocks[snappy ? 1 : 0].offset);
  }
}

// Neither the RTL nor its model copies from further back than the library ever does.
TEST(ModelDeviceTest, RefusesCopiesFromTooFar) {
  std::mt19937_64 rng(TestSeed());
  for (const uint64_t offset : {65536, 65537, 70000}) {
    constexpr size_t kCopied = 60;
    std::string value(offset + kCopied, '\0');
    std::ranges::generate(value, [&] { return static_cast<char>(rng()); });
    value.replace(offset, kCopied, value.substr(0, kCopied));
    BlockImageBuilder contents(16);
    const std::string key = MakeInternalKey("k", 1, RecordType::kValue);
    contents.Add(key, value);
    const std::string block = contents.Finish();
    const size_t copy = block.size() - sizeof(uint32_t) * 2 - kCopied;  // behind it, the restarts
    const auto literal = [&block](size_t begin, size_t end) {
      std::string out(1, static_cast<char>(63 << 2));
      PutFixed32(&out, static_cast<uint32_t>(end - begin - 1));
      return out + block.substr(begin, end - begin);
    };
    std::string stored;
    PutVarint(&stored, block.size());
    stored += literal(0, copy);
    stored += static_cast<char>((kCopied - 1) << 2 | 3);
    PutFixed32(&stored, static_cast<uint32_t>(offset));
    stored += literal(copy + kCopied, block.size());
    const BlockHandle handle{0, stored.size()};
    AppendBlockTrailer(stored, Compression::kSnappy, &stored);
    BlockImageBuilder index(1);
    std::string to;
    handle.AppendTo(&to);
    index.Add(key, to);
    const std::string index_block = index.Finish();
    const BlockHandle index_at{stored.size(), index_block.size()};
    stored += index_block;
    AppendBlockTrailer(index_block, Compression::kNone, &stored);
    MergeTask task;
    task.runs = {{{stored, index_at}}};
    const MergeResult result =
        DeviceExecutor(Model(Instant(), true)).Run(task, [&](const MergeOutput& output) {
          EXPECT_EQ(output.entries, 1u);
          return Status();
        });
    EXPECT_EQ(result.status, offset > 65536 ? MergeStatus::kBlockType : MergeStatus::kOk)
        << offset << ": " << result.error.ToString();
  }
}

TEST(ModelDeviceTest, TellsOfFaultsAsTheRtl) {
  std::mt19937_64 rng(TestSeed());
  DeviceExecutor model(Model(Instant()));
  DeviceExecutor rtl(Rtl());
  int failures = 0;
  for (int i = 0; i < 40; ++i) {
    GeneratedTask input = RandomTask(rng);
    std::vector<TableImage*> tables;
    for (auto& run : input.images) {
      for (TableImage& table : run) {
        tables.push_back(&table);
      }
    }
    if (tables.empty()) {
      continue;
    }
    // The unit reads what lies outside the range as well, the CPU may stop before.
    input.task.has_begin = input.task.has_end = false;
    // Within blocks and their index: what lies behind, nobody reads.
    TableImage& table = *tables[rng() % tables.size()];
    const size_t end = table.index.offset + table.index.size + kBlockTrailerBytes;
    const size_t at = rng() % 2 == 0 ? rng() % end : table.index.offset + rng() % table.index.size;
    table.file[at] = static_cast<char>(table.file[at] ^ (1 << rng() % 8));
    input.Refer();
    std::vector<OwnedOutput> expected;
    std::vector<OwnedOutput> actual;
    const MergeResult a = rtl.Run(input.task, CollectInto(&expected));
    const MergeResult b = model.Run(input.task, CollectInto(&actual));
    ASSERT_EQ(a.ok(), b.ok()) << a.error.ToString() << " / " << b.error.ToString();
    if (!a.ok()) {
      ++failures;
      EXPECT_TRUE(SameFault(a, b)) << a.error.ToString() << " / " << b.error.ToString();
    } else {
      EXPECT_TRUE(CompareOutputs(expected, actual).ok());
    }
  }
  EXPECT_GT(failures, 10);
}

// A descriptor of no runs, and what is wrong with it; both devices must say the same.
struct Flaw {
  std::string_view what;
  size_t offset = 0;
  uint64_t value = 0;
};

TEST(ModelDeviceTest, RefusesDescriptorsAsTheRtl) {
  namespace job = abi::job;
  namespace c = abi::completion;
  constexpr uint64_t kHead = uint64_t{abi::kMagic} | uint64_t{abi::kVersion} << 16;
  const std::vector<Flaw> flaws = {
      {"none", job::kHead, kHead | 1 << 24},
      {"magic", job::kHead, 0x1234 | 1 << 24},
      {"version", job::kHead, uint64_t{abi::kMagic} | 0x77 << 16 | 1 << 24},
      {"no runs", job::kHead, kHead},
      {"three runs", job::kHead, kHead | 3 << 24},
      {"blocks", job::kBlock, uint64_t{16} << 32},
      {"restarts", job::kBlock, 4096},
      {"tables", job::kTableBytes, 0},
      {"range", job::kRange, 60000},
      {"begin key", job::kBeginAddr, 4},
      {"data area", job::kDataAddr, 65536 + 8},
      {"data room", job::kDataBytes, 100},
      {"index area", job::kIndexAddr, 131072 + 8},
      {"completion", job::kCompletionAddr, 8192 + 8},
  };
  for (const Flaw& flaw : flaws) {
    std::vector<std::pair<uint8_t, uint64_t>> said;  // status, completion record's head
    for (const auto& device : {Rtl(), Model(Instant())}) {
      std::string words(job::kBytes, '\0');
      const auto put = [&](size_t offset, uint64_t v) { EncodeFixed64(words.data() + offset, v); };
      put(job::kHead, kHead | 1 << 24);
      put(job::kBlock, 4096 | uint64_t{16} << 32);
      put(job::kTableBytes, 1 << 20);
      put(job::kDataAddr, 65536);
      put(job::kDataBytes, 65536);
      put(job::kIndexAddr, 131072);
      put(job::kIndexBytes, 65536);
      put(job::kCompletionAddr, 8192);
      put(flaw.offset, flaw.value);
      ASSERT_TRUE(device->Write(4096, words).ok());
      ASSERT_TRUE(device->Start(4096).ok());
      uint8_t status = 0xff;
      ASSERT_TRUE(device->Wait(1'000'000, &status).ok()) << flaw.what;
      char head[8];
      ASSERT_TRUE(device->Read(8192 + c::kStatus, sizeof head, head).ok());
      said.emplace_back(status, DecodeFixed64(head));
    }
    EXPECT_EQ(said[0], said[1]) << flaw.what;
    EXPECT_EQ(said[0].first == 0, flaw.what == "none") << flaw.what;
  }
}

TEST(ModelDeviceTest, IsNotDoneBeforeItsTime) {
  std::mt19937_64 rng(TestSeed());
  GeneratorOptions options;
  options.seed = rng();
  options.records = 200;
  const GeneratedTask input = GenerateTask(options);
  // 0.1 MHz: thousands of cycles are tens of milliseconds. A lane of generation 1: 222 MB/s.
  const ModelDeviceOptions slow{.clock_mhz = 0.1, .link = {.generation = 1, .lanes = 1}};
  DeviceExecutor model(Model(slow));
  const auto begin = std::chrono::steady_clock::now();
  const MergeResult result = model.Run(input.task, [](const MergeOutput&) { return Status(); });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_TRUE(result.ok()) << result.error.ToString();
  EXPECT_GE(seconds, static_cast<double>(result.stats.cycles) / 1e5 +
                         static_cast<double>(result.stats.output_bytes) / 222.3e6);
}

// In modelled cycles, whatever the CPU that stands in takes.
TEST(ModelDeviceTest, GivesUpAtTheLimit) {
  // Ends the wait for its first job a cycle before it is done, and for its second just then.
  class Exact : public FaultDevice {
   public:
    explicit Exact(uint64_t cycles) : FaultDevice(Model(Instant()), {}), cycles_(cycles) {}
    Status Wait(uint64_t, uint8_t* status) override {
      return FaultDevice::Wait(waits_++ == 0 ? cycles_ - 1 : cycles_, status);
    }

   private:
    const uint64_t cycles_;
    int waits_ = 0;
  };
  const GeneratedTask input = GenerateTask({});
  const auto run = [&](DeviceExecutor* unit) {
    return unit->Run(input.task, [](const MergeOutput&) { return Status(); });
  };
  DeviceExecutor patient(Model(Instant()));
  const MergeResult result = run(&patient);
  ASSERT_TRUE(result.ok());
  EXPECT_LT(4 * result.stats.cycles,
            JobCycleLimit(patient.device().info(), input.images[0][0].file.size()));
  DeviceExecutor exact(std::make_unique<Exact>(result.stats.cycles));
  EXPECT_EQ(run(&exact).status, MergeStatus::kDevice);
  EXPECT_TRUE(run(&exact).ok());
}

TEST(ModelDeviceTest, LinkRates) {
  EXPECT_NEAR(EffectiveBytesPerSecond({1, 1}), 222.2e6, 0.1e6);
  EXPECT_NEAR(EffectiveBytesPerSecond({3, 16}), 14.00e9, 0.01e9);
  EXPECT_NEAR(EffectiveBytesPerSecond({4, 8}), 14.00e9, 0.01e9);
}

TEST(ModelDeviceTest, SlowsDownAsAWhole) {
  const std::unique_ptr<Device> real = Model({.link = {}});
  const std::unique_ptr<Device> slow = Model({.link = {}, .slowdown = 50});
  EXPECT_DOUBLE_EQ(slow->info().clock_mhz, real->info().clock_mhz / 50);
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1} << 20}) {
    EXPECT_DOUBLE_EQ(*slow->TransferSeconds(bytes), 50 * *real->TransferSeconds(bytes));
  }
}

// Four units at a memory that one alone would fill are a quarter as fast.
TEST(ModelDeviceTest, UnitsShareTheMemory) {
  GeneratorOptions options;
  options.records = 2000;
  const GeneratedTask input = GenerateTask(options);
  uint64_t cycles[2];
  for (const unsigned units : {1u, 4u}) {
    ModelDeviceOptions shared = Instant();
    shared.memory_gb_per_s = shared.clock_mhz / 1000;  // a byte per cycle
    shared.units = units;
    DeviceExecutor model(Model(shared));
    cycles[units / 4] =
        model.Run(input.task, [](const MergeOutput&) { return Status(); }).stats.cycles;
  }
  EXPECT_NEAR(static_cast<double>(cycles[1]) / static_cast<double>(cycles[0]), 4, 0.2);
}

}  // namespace
}  // namespace sluice
