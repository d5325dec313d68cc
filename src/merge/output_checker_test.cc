#include "merge/output_checker.h"

#include <gtest/gtest.h>

#include <random>

#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/testing.h"
#include "table/block.h"
#include "table/stored_block.h"
#include "util/crc32c.h"
#include "util/testing.h"

namespace sluice {
namespace {

const std::vector<SequenceNumber> kNewest = {kMaxSequence};

// Of a table: the sum of its data blocks' CRCs, were they raw.
uint64_t ContentSum(std::string_view data, std::string_view index, const BlockSum& block_sum) {
  uint64_t sum = 0;
  std::string index_buffer;
  std::string buffer;
  std::string_view contents;
  Block block;
  EXPECT_TRUE(
      ReadStoredBlock(index, {0, index.size() - kBlockTrailerBytes}, &index_buffer, &contents)
          .ok());
  EXPECT_TRUE(Block::Parse(contents, &block).ok());
  BlockIterator at(block);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    BlockHandle handle;
    std::string_view value = at.value();
    Compression stored_as;
    EXPECT_TRUE(
        handle.ReadFrom(&value) &&
        ReadStoredBlock(data, handle, &buffer, &contents, &stored_as, nullptr, block_sum).ok());
    std::string raw(contents);
    AppendBlockTrailer(contents, Compression::kNone, &raw);
    sum += UnmaskCrc(DecodeFixed32(raw.data() + contents.size() + 1));
  }
  return sum;
}

// What output_checker.h says, entry by entry.
class Reference {
 public:
  explicit Reference(const std::vector<SequenceNumber>& snapshots) : snapshots_(snapshots) {}

  bool Check(std::string_view data, std::string_view index, MergeOutput* output) {
    *output = {};
    std::string_view contents;
    Block block;
    if (!ReadStoredBlock(index, {0, index.size() - kBlockTrailerBytes}, &buffer_, &contents).ok() ||
        !Block::Parse(contents, &block).ok()) {
      return false;
    }
    BlockIterator at(block);
    uint64_t end = 0;
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      BlockHandle handle;
      std::string_view value = at.value();
      if (!handle.ReadFrom(&value) || handle.offset != end ||
          !ReadStoredBlock(data, handle, &buffer_, &contents).ok() ||
          !CheckBlock(contents, output) || key_ != at.key()) {
        return false;
      }
      end = handle.offset + handle.size + kBlockTrailerBytes;
    }
    output->largest = key_;
    records += output->entries;
    return at.status().ok() && end == data.size();
  }

  uint64_t records = 0;
  uint64_t checksum = 0;

 private:
  bool CheckBlock(std::string_view contents, MergeOutput* output) {
    Block block;
    if (!Block::Parse(contents, &block).ok() || block.entries().empty()) {
      return false;
    }
    const char* p = block.entries().data();
    const char* const limit = p + block.entries().size();
    for (size_t may_share = 0; p < limit; may_share = key_.size() - kTrailerBytes) {
      EntryHeader header;
      if ((p = DecodeVarint32(p, limit, &header.shared)) == nullptr ||
          (p = DecodeVarint32(p, limit, &header.unshared)) == nullptr ||
          (p = DecodeVarint32(p, limit, &header.value_bytes)) == nullptr ||
          header.shared > may_share || header.unshared < kTrailerBytes ||
          uint64_t{header.unshared} + header.value_bytes > static_cast<uint64_t>(limit - p)) {
        return false;
      }
      const std::string last = key_;
      key_ = last.substr(0, header.shared) + std::string(p, header.unshared);
      p += header.unshared;
      if (!last.empty()) {
        const int order = UserKey(last).compare(UserKey(key_));
        if (order > 0 || (order == 0 && Trailer(key_) > Trailer(last)) ||
            (order == 0 && Trailer(key_) >= ShadowedFrom(snapshots_, Trailer(last)))) {
          return false;
        }
      }
      checksum += RecordChecksum(UserKey(key_), Trailer(key_), {p, header.value_bytes});
      p += header.value_bytes;
      if (output->entries++ == 0) {
        output->smallest = key_;
      }
      output->tombstones += IsTombstone(Trailer(key_));
    }
    return true;
  }

  const std::vector<SequenceNumber>& snapshots_;
  std::string key_;  // the last one; an internal key is not empty
  std::string buffer_;
};

class OutputCheckerTest : public testing::Test {
 protected:
  // In memory of just its size, so that a sanitizer sees any read beyond it.
  Status Check(OutputChecker* checker, std::string_view data, std::string_view index,
               MergeOutput* output) {
    const std::vector<char> bytes(data.begin(), data.end());
    return checker->Check({bytes.data(), bytes.size()}, index, output);
  }

  // Changes the lengths of one entry such that those behind it stay where they are.
  void MoveBorder(char* p, const char* limit) {
    for (uint64_t skip = rng_() % 20; p < limit; --skip) {
      EntryHeader header{};
      const char* const key = DecodeEntryHeader(p, limit, &header);
      ASSERT_NE(key, nullptr);
      if (skip == 0 && key - p == 3) {
        const char moved = static_cast<char>(rng_() % 12);
        if (rng_() % 2 == 0 && p[1] >= moved && p[2] + moved < 0x80) {
          p[1] = static_cast<char>(p[1] - moved);  // from the key to the value
          p[2] = static_cast<char>(p[2] + moved);
        } else {
          p[0] = static_cast<char>(p[0] + moved);
        }
        return;
      }
      p += key - p + header.unshared + header.value_bytes;
    }
  }

  // A few bytes of the entries of one block, in many tables none.
  void Change(std::string* data, std::string_view index) {
    std::string buffer;
    std::string_view contents;
    Block block;
    ASSERT_TRUE(
        ReadStoredBlock(index, {0, index.size() - kBlockTrailerBytes}, &buffer, &contents).ok());
    ASSERT_TRUE(Block::Parse(contents, &block).ok());
    BlockIterator at(block);
    at.SeekToFirst();
    for (uint64_t skip = rng_() % block.restarts(); skip > 0; --skip) {
      at.Next();
    }
    BlockHandle handle;
    std::string_view value = at.value();
    ASSERT_TRUE(handle.ReadFrom(&value));
    char* const bytes = data->data() + handle.offset;
    const uint64_t entries = handle.size - 4 - 4 * DecodeFixed32(bytes + handle.size - 4);
    if (rng_() % 3 == 0) {
      MoveBorder(bytes, bytes + entries);
    }
    for (uint64_t changes = rng_() % 4; changes > 0; --changes) {
      char& byte = bytes[rng_() % std::min<uint64_t>(entries, 1u << rng_() % 14)];
      byte = static_cast<char>(rng_() % 2 == 0 ? byte ^ 1 << rng_() % 8 : byte - 1 + rng_() % 3);
    }
    EncodeBlockTrailer(bytes + handle.size, Compression::kNone,
                       Crc32c(std::string_view(bytes, handle.size)));
  }

  std::mt19937_64 rng_{TestSeed()};
};

TEST_F(OutputCheckerTest, FindsWhatTheCpuWrote) {
  for (int i = 0; i < 50; ++i) {
    GeneratedTask input = RandomTask(rng_);
    if (i % 2 == 0) {
      input.task.snapshots = DrawSnapshots(rng_, 5, 400);
    }
    input.task.compress = i % 3 == 0;
    if (i % 4 == 0) {
      input.UseXxh3(rng_);
    }
    const BlockSum sum{input.task.checksum, input.task.checksum_base};
    std::vector<OwnedOutput> outputs;
    const MergeResult result = CpuExecutor().Run(input.task, CollectInto(&outputs));
    OutputChecker checker(input.task.snapshots, input.task.compress, sum);
    uint64_t content_sum = 0;
    for (const OwnedOutput& expected : outputs) {
      MergeOutput output;
      const Status status = Check(&checker, expected.data(), expected.index_block(), &output);
      ASSERT_TRUE(status.ok()) << status.ToString();
      EXPECT_EQ(output.smallest, expected.smallest);
      EXPECT_EQ(output.largest, expected.largest);
      EXPECT_EQ(output.entries, expected.entries);
      EXPECT_EQ(output.tombstones, expected.tombstones);
      content_sum += ContentSum(expected.data(), expected.index_block(), sum);
    }
    EXPECT_EQ(checker.records(), result.stats.output_records);
    EXPECT_EQ(checker.checksum(), result.stats.output_checksum);
    EXPECT_EQ(checker.content_sum(), input.task.compress ? content_sum : 0);
  }
}

TEST_F(OutputCheckerTest, RefusesCompressionThatNobodyAskedFor) {
  GeneratorOptions options;
  options.records = 100;
  options.delete_percent = 50;  // keys alone, which are alike
  GeneratedTask input = GenerateTask(options);
  input.task.compress = true;
  std::vector<OwnedOutput> outputs;
  ASSERT_TRUE(CpuExecutor().Run(input.task, CollectInto(&outputs)).ok());
  ASSERT_EQ(outputs.size(), 1u);
  const auto sound = [&](bool compressed) {
    OutputChecker checker(kNewest, compressed);
    MergeOutput output;
    return Check(&checker, outputs[0].data(), outputs[0].index_block(), &output).ok();
  };
  EXPECT_TRUE(sound(true));
  EXPECT_FALSE(sound(false));
}

// Records have nothing of these bytes, so that no sum shows it if compression strays there.
TEST_F(OutputCheckerTest, RestartsOfCompressedBlocksAreEntries) {
  BlockImageBuilder block(2, /*share_trailers=*/false);
  std::string key;
  for (char c = 'a'; c < 'k'; ++c) {
    key = MakeInternalKey(std::string(20, 'k') + c, 7, RecordType::kValue);
    block.Add(key, std::string(50, 'v'));
  }
  const std::string sound = block.Finish();
  const auto check = [&](std::string_view contents) {
    TableImageOptions options;
    options.compression = Compression::kSnappy;
    options.share_trailers = options.short_separators = false;
    TableImageBuilder table(options);
    table.AddRawBlock(contents, key);
    const TableImage image = table.Finish();
    const std::string_view file = image.file;
    const size_t data_bytes = image.blocks[0].size + kBlockTrailerBytes;
    EXPECT_LT(data_bytes, contents.size()) << "it is to be compressed";
    OutputChecker checker(kNewest, true);
    MergeOutput output;
    return Check(&checker, file.substr(0, data_bytes),
                 file.substr(image.index.offset, image.index.size + kBlockTrailerBytes), &output);
  };
  ASSERT_TRUE(check(sound).ok()) << check(sound).ToString();
  constexpr size_t kRestarts = 5;
  for (size_t i = 1; i < kRestarts; ++i) {
    std::string damaged = sound;
    damaged[damaged.size() - 4 * (kRestarts - i + 1)] ^= 1;
    EXPECT_NE(check(damaged).message().find("restarts that are no entries"), std::string::npos)
        << i << ": " << check(damaged).ToString();
  }
}

// As a unit would that has a fault between its own checksum and the CRC.
TEST_F(OutputCheckerTest, SeesBitsThatWereFlippedBeforeTheSeal) {
  int intact = 0;
  for (int i = 0; i < 1000; ++i) {
    // No key shares bytes with another: a flip in bytes that several share can cancel out in the
    // sum of their checksums. Against that the unit has guards of its own (docs/hardware.md).
    TableImageBuilder table(
        {.restart_interval = 1, .share_trailers = false, .short_separators = false});
    const int records = 1 + static_cast<int>(rng_() % 20);
    for (int r = 0; r < records; ++r) {
      table.Add(MakeInternalKey(std::to_string(100 + r), 1 + rng_() % 100, RecordType::kValue),
                std::string(rng_() % 100, static_cast<char>('a' + r)));
    }
    table.EndBlock();
    const TableImage image = table.Finish();
    const BlockHandle block = image.blocks[0];
    const std::string index =
        image.file.substr(image.index.offset, image.index.size + kBlockTrailerBytes);
    std::string data = image.file.substr(0, block.size + kBlockTrailerBytes);
    OutputChecker good(kNewest);
    MergeOutput output;
    ASSERT_TRUE(Check(&good, data, index, &output).ok());

    // Entries only: a restart is for those who seek.
    const uint64_t entries = block.size - 4 - 4 * DecodeFixed32(data.data() + block.size - 4);
    data[rng_() % entries] ^= static_cast<char>(1 << rng_() % 8);
    EncodeBlockTrailer(data.data() + block.size, Compression::kNone,
                       Crc32c(std::string_view(data).substr(0, block.size)));
    OutputChecker checker(kNewest);
    intact += Check(&checker, data, index, &output).ok() && checker.records() == good.records() &&
              checker.checksum() == good.checksum();
  }
  EXPECT_EQ(intact, 0);
}

// Bytes changed before the seal: where the block stays sound, so that the unit's sum has to tell,
// and where it does not.
TEST_F(OutputCheckerTest, JudgesAsAPlainReaderDoes) {
  int refused = 0;
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    GeneratorOptions options;
    options.seed = rng_();
    options.runs = 1;
    options.records = 1 + rng_() % 200;
    const auto most_key = static_cast<uint32_t>(rng_() % 90);
    options.user_key_bytes = {static_cast<uint32_t>(rng_() % (most_key + 1)), most_key};
    options.value_bytes = {0, 1u << rng_() % (i % 50 == 0 ? 16 : 10)};
    options.key_shape = static_cast<KeyShape>(rng_() % 3);
    options.duplicate_percent = rng_() % 4 == 0 ? 30 : 0;
    options.delete_percent = rng_() % 40;
    options.table.block_bytes = 256 << rng_() % 6;
    options.table.restart_interval = 1 + rng_() % 20;
    options.snapshots = DrawSnapshots(rng_, 3, 2 * options.records);
    const GeneratedTask input = GenerateTask(options);
    std::vector<OwnedOutput> outputs;
    ASSERT_TRUE(CpuExecutor().Run(input.task, CollectInto(&outputs)).ok());
    if (outputs.empty()) {
      continue;
    }
    std::string data(outputs[0].data());
    const std::string_view index = outputs[0].index_block();
    Change(&data, index);
    OutputChecker checker(input.task.snapshots);
    Reference reference(input.task.snapshots);
    MergeOutput output;
    MergeOutput expected;
    const Status status = Check(&checker, data, index, &output);
    ASSERT_EQ(status.ok(), reference.Check(data, index, &expected)) << status.ToString();
    ++(status.ok() ? accepted : refused);
    if (status.ok()) {
      EXPECT_EQ(output.smallest, expected.smallest);
      EXPECT_EQ(output.largest, expected.largest);
      EXPECT_EQ(output.entries, expected.entries);
      EXPECT_EQ(output.tombstones, expected.tombstones);
      EXPECT_EQ(checker.records(), reference.records);
      EXPECT_EQ(checker.checksum(), reference.checksum);
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(accepted, 100);
}

TEST_F(OutputCheckerTest, SeesVersionsThatShouldHaveGone) {
  TableImageBuilder table(
      {.restart_interval = 1, .share_trailers = false, .short_separators = false});
  for (const SequenceNumber sequence : {9, 7, 4}) {
    table.Add(MakeInternalKey("k", sequence, RecordType::kValue), "v");
  }
  const TableImage image = table.Finish();
  const std::string data = image.file.substr(0, image.blocks[0].size + kBlockTrailerBytes);
  const std::string index =
      image.file.substr(image.index.offset, image.index.size + kBlockTrailerBytes);
  const auto sound = [&](const std::vector<SequenceNumber>& snapshots) {
    OutputChecker checker(snapshots);
    MergeOutput output;
    return Check(&checker, data, index, &output).ok();
  };
  EXPECT_TRUE(sound({4}));
  EXPECT_TRUE(sound({6}));
  EXPECT_TRUE(sound({4, 8, 9}));
  EXPECT_TRUE(sound({6, 7}));
  EXPECT_FALSE(sound({7}));
  EXPECT_FALSE(sound({9}));
  EXPECT_FALSE(sound({4, 6, 9}));
  EXPECT_FALSE(sound({7, 8, 20}));
  EXPECT_FALSE(sound({kMaxSequence}));
}

TEST_F(OutputCheckerTest, TablesMustBeInOrder) {
  GeneratorOptions options;
  options.table_bytes = 10000;
  const GeneratedTask input = GenerateTask(options);
  std::vector<OwnedOutput> outputs;
  ASSERT_TRUE(CpuExecutor().Run(input.task, CollectInto(&outputs)).ok());
  ASSERT_GT(outputs.size(), 1u);
  OutputChecker checker(kNewest);
  MergeOutput output;
  const auto check = [&](const OwnedOutput& o) {
    return Check(&checker, o.data(), o.index_block(), &output);
  };
  EXPECT_TRUE(check(outputs[1]).ok());
  EXPECT_FALSE(check(outputs[0]).ok());
}

// A table ends before a record of a new user key only.
TEST_F(OutputCheckerTest, AUserKeyIsInOneTable) {
  const std::vector<SequenceNumber> snapshots = {4, kMaxSequence};
  for (const std::string_view second : {"k", "l"}) {
    OutputChecker checker(snapshots);
    MergeOutput output;
    const auto check = [&](std::string_view key, SequenceNumber sequence) {
      TableImageBuilder table;
      table.Add(MakeInternalKey(key, sequence, RecordType::kValue), "v");
      table.EndBlock();
      const TableImage image = table.Finish();
      const std::string_view file = image.file;
      return Check(&checker, file.substr(0, image.blocks[0].size + kBlockTrailerBytes),
                   file.substr(image.index.offset, image.index.size + kBlockTrailerBytes), &output);
    };
    const Status first = check("k", 9);
    EXPECT_TRUE(first.ok()) << first.ToString();
    EXPECT_EQ(check(second, 3).ok(), second == "l");
  }
}

}  // namespace
}  // namespace sluice
