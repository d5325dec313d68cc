// Every fault that the CPU executor can find, made on purpose: status, run, table, offset.

#include <gtest/gtest.h>
#include <snappy.h>

#include <functional>
#include <memory>
#include <random>

#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/task_generator.h"
#include "util/crc32c.h"
#include "util/testing.h"

namespace sluice {
namespace {

std::string Key(std::string_view user, SequenceNumber sequence = 5,
                RecordType type = RecordType::kValue) {
  return MakeInternalKey(user, sequence, type);
}

// An entry as given, right or wrong.
std::string Entry(uint32_t shared, std::string_view suffix, std::string_view value,
                  int unshared_error = 0, int value_error = 0) {
  std::string entry;
  PutVarint(&entry, shared);
  PutVarint(&entry, suffix.size() + unshared_error);
  PutVarint(&entry, value.size() + value_error);
  return entry.append(suffix).append(value);
}

std::string Block(std::string entries, const std::vector<uint32_t>& restarts = {0}) {
  for (const uint32_t restart : restarts) {
    PutFixed32(&entries, restart);
  }
  PutFixed32(&entries, static_cast<uint32_t>(restarts.size()));
  return entries;
}

// Two runs; run 1 has two tables, the second of which has the block under test between two good
// ones. Its keys lie between "m" and "t".
class FaultyTask {
 public:
  explicit FaultyTask(std::string_view block, std::string_view last_key = "s") {
    TableImageBuilder builder;
    builder.Add(Key("a"), "1");
    builder.Add(Key("z"), "2");
    generated_.images.resize(2);
    generated_.images[0].push_back(builder.Finish());
    builder.Add(Key("b"), "3");
    builder.Add(Key("c"), "4");
    generated_.images[1].push_back(builder.Finish());
    builder.Add(Key("m"), "5");
    builder.AddRawBlock(block, Key(last_key));
    builder.Add(Key("t"), "6");
    generated_.images[1].push_back(builder.Finish());
    generated_.Refer();
  }

  TableImage& table() { return generated_.images[1][1]; }
  std::string& file() { return table().file; }
  BlockHandle block() { return table().blocks[1]; }
  BlockHandle& index() { return table().index; }

  void Seal(const BlockHandle& handle) {
    char* const end = file().data() + handle.offset + handle.size;
    EncodeFixed32(end + 1, MaskCrc(Crc32c({file().data() + handle.offset, handle.size + 1})));
  }
  void SetType(const BlockHandle& handle, uint8_t type) {
    file()[handle.offset + handle.size] = static_cast<char>(type);
    Seal(handle);
  }

  MergeResult Run(const RecordLimits& limits = {}) {
    generated_.Refer();
    // No byte to spare behind any table.
    std::vector<std::unique_ptr<char[]>> owned;
    for (MergeRun& run : generated_.task.runs) {
      for (MergeTable& table : run) {
        owned.push_back(std::make_unique_for_overwrite<char[]>(table.image.size()));
        std::memcpy(owned.back().get(), table.image.data(), table.image.size());
        table.image = {owned.back().get(), table.image.size()};
      }
    }
    outputs.clear();
    return CpuExecutor(limits).Run(generated_.task, CollectInto(&outputs));
  }

  MergeTask& task() { return generated_.task; }

  std::vector<OwnedOutput> outputs;

 private:
  GeneratedTask generated_;
};

void ExpectFault(const MergeResult& result, MergeStatus status, uint64_t offset) {
  EXPECT_EQ(MergeStatusText(result.status), MergeStatusText(status));
  EXPECT_EQ(result.fault.run, 1u);
  EXPECT_EQ(result.fault.table, 1u);
  EXPECT_EQ(result.fault.offset, offset);
  EXPECT_EQ(result.error.code(), Status::Code::kCorruption);
  const std::string want = "run 1, table 1, offset " + std::to_string(offset) + ": " +
                           std::string(MergeStatusText(status));
  EXPECT_EQ(result.error.message().substr(0, want.size()), want);
}

void ExpectBlockFault(std::string_view block, MergeStatus status, const RecordLimits& limits = {}) {
  FaultyTask task(block);
  ExpectFault(task.Run(limits), status, task.block().offset);
}

const std::string kGood = Block(Entry(0, Key("n"), "v") + Entry(0, Key("o"), "w"));

TEST(CpuExecutorFaults, GoodBlockMerges) {
  FaultyTask task(kGood);
  const MergeResult result = task.Run();
  EXPECT_TRUE(result.ok()) << result.error.ToString();
  EXPECT_EQ(result.stats.output_records, 8u);
}

TEST(CpuExecutorFaults, EmptyBlockIsGood) {
  FaultyTask task(Block(""));
  const MergeResult result = task.Run();
  EXPECT_TRUE(result.ok()) << result.error.ToString();
  EXPECT_EQ(result.stats.output_records, 6u);
}

TEST(CpuExecutorFaults, EveryByteOfABlockIsUnderItsChecksum) {
  FaultyTask clean(kGood);
  const size_t covered = clean.block().size + kBlockTrailerBytes;
  for (size_t i = 0; i < covered; ++i) {
    FaultyTask task(kGood);
    task.file()[task.block().offset + i] ^= 0x10;
    ExpectFault(task.Run(), MergeStatus::kBlockChecksum, task.block().offset);
  }
}

TEST(CpuExecutorFaults, EveryByteOfAnIndexIsUnderItsChecksum) {
  FaultyTask clean(kGood);
  const size_t covered = clean.index().size + kBlockTrailerBytes;
  for (size_t i = 0; i < covered; ++i) {
    FaultyTask task(kGood);
    task.file()[task.index().offset + i] ^= 0x10;
    ExpectFault(task.Run(), MergeStatus::kIndexChecksum, task.index().offset);
  }
}

TEST(CpuExecutorFaults, BlockType) {
  FaultyTask task(kGood);
  task.SetType(task.block(), 2);
  ExpectFault(task.Run(), MergeStatus::kBlockType, task.block().offset);
}

TEST(CpuExecutorFaults, TypeComesBeforeContent) {
  FaultyTask task("rubbish");
  task.SetType(task.block(), 0xff);
  ExpectFault(task.Run(), MergeStatus::kBlockType, task.block().offset);
}

TEST(CpuExecutorFaults, MalformedSnappy) {
  FaultyTask task(kGood);
  task.SetType(task.block(), 1);
  ExpectFault(task.Run(), MergeStatus::kBlockCorrupt, task.block().offset);
}

TEST(CpuExecutorFaults, SnappyThatClaimsToBeHuge) {
  std::string block;
  PutVarint(&block, 0xfffffff0u);
  FaultyTask task(block + kGood);
  task.SetType(task.block(), 1);
  ExpectFault(task.Run(), MergeStatus::kBlockCorrupt, task.block().offset);
}

TEST(CpuExecutorFaults, GoodSnappy) {
  std::string block;
  snappy::Compress(kGood.data(), kGood.size(), &block);
  FaultyTask task(block);
  task.SetType(task.block(), 1);
  EXPECT_TRUE(task.Run().ok());
}

TEST(CpuExecutorFaults, EntriesAndRestarts) {
  const std::string first = Entry(0, Key("n"), "v");
  const std::pair<const char*, std::string> blocks[] = {
      {"nothing", ""},
      {"too short", "1234567"},
      {"no restart", Block(first, {})},
      {"restart count beyond the block", first + std::string(4, '\0') + "\xff\xff\xff\x7f"},
      {"restart count off by one",
       first + Block("", {0}).substr(0, 4) + std::string("\2\0\0\0", 4)},
      {"restart 0 is not 0", Block(first, {1})},
      {"restart 0 reads as an entry", Block(first, {8})},
      {"shared at block start", Block(Entry(1, Key("n"), "v"))},
      {"shared beyond the key before", Block(first + Entry(10, Key("o"), "v"))},
      {"key of 7 bytes", Block(Entry(0, "1234567", "v"))},
      {"shared key of 7 bytes", Block(first + Entry(3, "1234", "v"))},
      {"key beyond the block", Block(Entry(0, Key("n"), "", 100))},
      {"value beyond the block", Block(Entry(0, Key("n"), "v", 0, 1))},
      {"huge lengths",
       Block(std::string("\0\xff\xff\xff\xff\x0f\xff\xff\xff\xff\x0f", 11) + first)},
      {"varint of six bytes", Block("\x80\x80\x80\x80\x80\x01" + first)},
      {"varint cut off", Block(first + "\x80")},
      {"header cut off", Block(first + std::string("\0\x09", 2))},
  };
  for (const auto& [what, block] : blocks) {
    SCOPED_TRACE(what);
    ExpectBlockFault(block, MergeStatus::kBlockCorrupt);
  }
}

TEST(CpuExecutorFaults, RecordType) {
  const std::string first = Entry(0, Key("n"), "v");
  for (const int type : {3, 0x80, 0xff}) {
    const std::string bad = Entry(0, Key("o", 5, static_cast<RecordType>(type)), "v");
    ExpectBlockFault(Block(bad), MergeStatus::kRecordType);
    ExpectBlockFault(Block(first + bad), MergeStatus::kRecordType);
  }
}

TEST(CpuExecutorFaults, Unsorted) {
  const std::string n = Entry(0, Key("n"), "v");
  ExpectBlockFault(Block(n + n), MergeStatus::kUnsorted);
  ExpectBlockFault(Block(n + Entry(0, Key("n", 6), "v")), MergeStatus::kUnsorted);
  ExpectBlockFault(Block(n + Entry(0, Key("mzzzzzzzzzzzzzzzzzzz"), "v")), MergeStatus::kUnsorted);
  ExpectBlockFault(Block(n + Entry(0, Key(""), "v")), MergeStatus::kUnsorted);
  const std::string zero = std::string("n\0", 2);
  ExpectBlockFault(Block(Entry(0, Key(zero), "v") + n), MergeStatus::kUnsorted);
  // Against the block before, whose last key is "m", and the table before, whose last is "c".
  ExpectBlockFault(Block(Entry(0, Key("lzz"), "v")), MergeStatus::kUnsorted);
  ExpectBlockFault(Block(Entry(0, Key("m"), "v")), MergeStatus::kUnsorted);
}

TEST(CpuExecutorFaults, UnsortedAcrossTables) {
  FaultyTask task(kGood);
  TableImageBuilder builder;
  builder.Add(Key("c"), "again");
  TableImage image = builder.Finish();
  task.file() = image.file;
  task.index() = image.index;
  ExpectFault(task.Run(), MergeStatus::kUnsorted, 0);
}

TEST(CpuExecutorFaults, UnsortedBeyondTheFirst16Bytes) {
  const std::string prefix(40, 'n');
  ExpectBlockFault(Block(Entry(0, Key(prefix + "b"), "v") + Entry(40, Key("a"), "v")),
                   MergeStatus::kUnsorted);
  FaultyTask sorted(Block(Entry(0, Key(prefix + "a"), "v") + Entry(40, Key("b"), "v")));
  EXPECT_TRUE(sorted.Run().ok());
}

TEST(CpuExecutorFaults, TheFirstFaultOfABlockCounts) {
  const std::string n = Entry(0, Key("n"), "v");
  const std::string bad_type = Entry(0, Key("o", 5, RecordType{9}), "v");
  const std::string bad_key = Entry(0, "1234", "v");
  ExpectBlockFault(Block(n + n + bad_type), MergeStatus::kUnsorted);
  ExpectBlockFault(Block(n + bad_type + n), MergeStatus::kRecordType);
  ExpectBlockFault(Block(n + bad_type + bad_key), MergeStatus::kRecordType);
  ExpectBlockFault(Block(n + bad_key + bad_type), MergeStatus::kBlockCorrupt);
  // The restart array comes last, as a streaming decoder meets it.
  ExpectBlockFault(Block(n + bad_type, {7}), MergeStatus::kRecordType);
  ExpectBlockFault(Block(n + n + n, {}), MergeStatus::kUnsorted);
}

TEST(CpuExecutorFaults, Limits) {
  const std::string block =
      Block(Entry(0, Key("n"), "v") + Entry(0, Key("ooo"), "four") + Entry(0, Key("p"), ""));
  ExpectBlockFault(block, MergeStatus::kKeyTooLong, {.max_key_bytes = 2});
  ExpectBlockFault(block, MergeStatus::kValueTooLong, {.max_value_bytes = 3});
  ExpectBlockFault(block, MergeStatus::kKeyTooLong, {.max_key_bytes = 2, .max_value_bytes = 3});
  FaultyTask task(block);
  EXPECT_TRUE(task.Run({.max_key_bytes = 3, .max_value_bytes = 4}).ok());
}

TEST(CpuExecutorFaults, IndexEntries) {
  FaultyTask clean(kGood);
  std::string handle;
  clean.block().AppendTo(&handle);
  const std::string good = Entry(0, Key("o"), handle);
  const std::pair<const char*, std::string> blocks[] = {
      {"too short", "1234567"},
      {"no restart", Block(good, {})},
      {"restart 0 is not 0", Block(good, {3})},
      {"restart count beyond the block", good + std::string(4, '\0') + "\xff\xff\xff\x7f"},
      {"shared at block start", Block(Entry(1, Key("o"), handle))},
      {"shared beyond the key before", Block(good + Entry(10, Key("p"), handle))},
      {"key of 7 bytes", Block(Entry(0, "1234567", handle))},
      {"key beyond the block", Block(Entry(0, Key("o"), "", 100))},
      {"handle beyond the block", Block(Entry(0, Key("o"), handle, 0, 1))},
      {"no handle", Block(Entry(0, Key("o"), ""))},
      {"half a handle", Block(Entry(0, Key("o"), "\x07"))},
      {"handle of eleven bytes", Block(Entry(0, Key("o"), std::string(10, '\x80') + "\1\1"))},
      {"header cut off", Block(good + "\x80")},
  };
  for (const auto& [what, block] : blocks) {
    SCOPED_TRACE(what);
    FaultyTask task(kGood);
    task.table().ReplaceIndex(block);
    ExpectFault(task.Run(), MergeStatus::kIndexCorrupt, task.index().offset);
  }
}

// The records of a range are those of the blocks, whatever the index says of them: so it is on a unit,
// which passes over index keys.
TEST(CpuExecutorFaults, IndexKeysDecideNothing) {
  TableImageBuilder builder;
  for (const char* const key : {"b", "d", "f", "h"}) {
    builder.Add(Key(key), "value");
    builder.EndBlock();
  }
  const TableImage sound = builder.Finish();
  const std::string keys = "abcdefghi";
  const auto record_count = [&](std::string_view index_keys, size_t begin, size_t end) {
    TableImage table = sound;
    BlockImageBuilder index(1);
    for (size_t i = 0; i < table.blocks.size(); ++i) {
      std::string handle;
      table.blocks[i].AppendTo(&handle);
      index.Add(Key(index_keys.substr(i, 1)), handle);
    }
    table.ReplaceIndex(index.Finish());
    MergeTask task;
    task.runs = {{{table.file, table.index}}};
    task.has_begin = task.has_end = true;
    task.begin = keys[begin];
    task.end = keys[end];
    const MergeResult result = CpuExecutor().Run(task, [](const auto&) { return Status(); });
    EXPECT_TRUE(result.ok()) << result.error.ToString();
    return result.stats.input_records;
  };
  for (const char* const index_keys :
       {"bdfh", "cegi", "aceg", "aaaa", "iiii", "hfdb", "bafh", "bdaa"}) {
    for (size_t end = 0; end < keys.size(); ++end) {
      for (size_t begin = 0; begin <= end; ++begin) {
        // Every other key is there.
        EXPECT_EQ(record_count(index_keys, begin, end), end / 2 - begin / 2)
            << index_keys << ", " << keys[begin] << " to " << keys[end];
      }
    }
  }
}

TEST(CpuExecutorFaults, IndexType) {
  FaultyTask task(kGood);
  task.SetType(task.index(), 2);
  ExpectFault(task.Run(), MergeStatus::kIndexCorrupt, task.index().offset);
  task.SetType(task.index(), 1);
  ExpectFault(task.Run(), MergeStatus::kIndexCorrupt, task.index().offset);
}

TEST(CpuExecutorFaults, CompressedIndexIsGood) {
  FaultyTask task(kGood);
  const std::string index = task.file().substr(task.index().offset, task.index().size);
  std::string compressed;
  snappy::Compress(index.data(), index.size(), &compressed);
  task.table().ReplaceIndex(compressed, Compression::kSnappy);
  const MergeResult result = task.Run();
  EXPECT_TRUE(result.ok()) << result.error.ToString();
  EXPECT_EQ(result.stats.output_records, 8u);
}

TEST(CpuExecutorFaults, HandlesOutsideTheTable) {
  const auto run = [](const std::function<void(FaultyTask&, BlockHandle*)>& change) {
    FaultyTask task(kGood);
    BlockHandle handle = task.block();
    change(task, &handle);
    std::string value;
    handle.AppendTo(&value);
    task.table().ReplaceIndex(Block(Entry(0, Key("o"), value)));
    // The image ends with its index; the trailer of a block there would not fit.
    ExpectFault(task.Run(), MergeStatus::kBadHandle, task.index().offset);
  };
  run([](FaultyTask&, BlockHandle* handle) { handle->offset = 1 << 20; });
  run([](FaultyTask&, BlockHandle* handle) { handle->offset = UINT64_MAX - 3; });
  run([](FaultyTask&, BlockHandle* handle) { handle->size = 1 << 20; });
  run([](FaultyTask&, BlockHandle* handle) { handle->size = UINT64_MAX - 3; });
}

// Handles that go back could name one block over and over.
TEST(CpuExecutorFaults, HandlesOutOfOrder) {
  const std::string empty = Block("", {0, 0, 0});
  for (const uint64_t back : {uint64_t{1}, empty.size() + kBlockTrailerBytes}) {
    FaultyTask task(empty);
    std::string first;
    task.block().AppendTo(&first);
    BlockHandle next{task.block().offset + task.block().size + kBlockTrailerBytes - back, 8};
    std::string second;
    next.AppendTo(&second);
    task.table().ReplaceIndex(Block(Entry(0, Key("o"), first) + Entry(0, Key("p"), second)));
    ExpectFault(task.Run(), MergeStatus::kBadHandle, task.index().offset);
  }
}

TEST(CpuExecutorFaults, BytesAfterAHandleArePassedOver) {
  FaultyTask task(kGood);
  std::string value;
  task.block().AppendTo(&value);
  task.table().ReplaceIndex(Block(Entry(0, Key("o"), value + "more")));
  const MergeResult result = task.Run();
  EXPECT_TRUE(result.ok()) << result.error.ToString();
}

TEST(CpuExecutorFaults, HandleWhoseTrailerDoesNotFit) {
  for (const uint64_t missing : {0, 1, 5}) {
    FaultyTask task(kGood);
    std::string value;
    // The index block below will end the table; its entry names all bytes of the table as a block.
    BlockHandle handle{0, 0};
    for (int i = 0; i < 3; ++i) {
      value.clear();
      handle.AppendTo(&value);
      handle.size = task.file().size() + Block(Entry(0, Key("o"), value)).size() + missing;
    }
    value.clear();
    handle.AppendTo(&value);
    task.table().ReplaceIndex(Block(Entry(0, Key("o"), value)));
    ASSERT_EQ(task.file().size(), handle.size + kBlockTrailerBytes - missing);
    ExpectFault(task.Run(), missing == 0 ? MergeStatus::kBlockChecksum : MergeStatus::kBadHandle,
                missing == 0 ? 0 : task.index().offset);
  }
}

TEST(CpuExecutorFaults, IndexHandleOutsideTheTable) {
  for (const BlockHandle& index :
       {BlockHandle{1 << 20, 10}, BlockHandle{0, 1 << 20}, BlockHandle{UINT64_MAX, UINT64_MAX}}) {
    FaultyTask task(kGood);
    task.index() = index;
    ExpectFault(task.Run(), MergeStatus::kBadHandle, index.offset);
  }
  FaultyTask task(kGood);
  task.file().clear();
  ExpectFault(task.Run(), MergeStatus::kBadHandle, task.index().offset);
}

// Whatever the bytes of a block are, the merge ends, without reading outside the image (which the
// sanitizers watch).
TEST(CpuExecutorFaults, RandomContentUnderARightChecksum) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  GeneratorOptions options;
  options.records = 60;
  options.runs = 2;
  options.user_key_bytes = {0, 60};
  options.value_bytes = {0, 200};
  options.key_shape = KeyShape::kTree;
  size_t faults = 0;
  for (int i = 0; i < 5000; ++i) {
    if (i % 100 == 0) {
      options.seed = random();
      options.table.compression = random() % 2 == 0 ? Compression::kSnappy : Compression::kNone;
    }
    GeneratedTask generated = GenerateTask(options);
    TableImage& image = generated.images[random() % 2][0];
    const BlockHandle handle =
        random() % 4 == 0 ? image.index : image.blocks[random() % image.blocks.size()];
    char* const block = image.file.data() + handle.offset;
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      const uint64_t at = random() % 3 == 0
                              ? handle.size - random() % std::min<uint64_t>(handle.size, 20)
                              : random() % (handle.size + 1);
      block[at] = static_cast<char>(random() % 2 == 0 ? random() : block[at] ^ (1 << random() % 8));
    }
    EncodeFixed32(block + handle.size + 1, MaskCrc(Crc32c({block, handle.size + 1})));
    image.file.resize(image.index.offset + image.index.size + kBlockTrailerBytes);
    image.file.shrink_to_fit();
    generated.Refer();
    std::vector<OwnedOutput> outputs;
    const MergeResult result = CpuExecutor().Run(generated.task, CollectInto(&outputs));
    faults += result.ok() ? 0 : 1;
    EXPECT_EQ(result.error.ok(), result.status == MergeStatus::kOk);
  }
  EXPECT_GT(faults, 1000u);
  EXPECT_LT(faults, 5000u);
}

}  // namespace
}  // namespace sluice
