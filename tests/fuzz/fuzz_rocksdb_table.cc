// RocksTable, its view, VerifyRocksTable and DumpRocksTable: any file, with all checksums put right
// if the first byte says so. What verifies must be viewed whole.

#include <vector>

#include "fuzz/fuzz.h"
#include "rocksdb_table/stored_block.h"
#include "rocksdb_table/table.h"
#include "rocksdb_table/testing.h"
#include "rocksdb_table/verify.h"
#include "rocksdb_table/view.h"
#include "table/recode.h"
#include "table/verify.h"

namespace sluice::fuzz {

namespace {

constexpr char kMendChecksums = 1;

void MendBlock(const RocksFooter& footer, const BlockHandle& handle, std::string* image) {
  if (HandleFits(handle, image->size() - kRocksFooterBytes)) {
    char* const block = image->data() + handle.offset;
    EncodeFixed32(block + handle.size + 1,
                  RocksBlockChecksum(footer.checksum, {block, handle.size + 1}) +
                      footer.ChecksumModifier(handle.offset));
  }
}

// The footer's own checksum, which version 6 has.
void MendFooter(std::string* image) {
  if (image->size() < kRocksFooterBytes) {
    return;
  }
  const uint64_t offset = image->size() - kRocksFooterBytes;
  char* const footer = image->data() + offset;
  const auto type = static_cast<uint8_t>(footer[0]);
  if (DecodeFixed32(footer + 41) == 6 && type <= 4) {
    EncodeFixed32(footer + 5, 0);
    RocksFooter base;
    base.checksum_base = DecodeFixed32(footer + 9);
    EncodeFixed32(footer + 5, RocksBlockChecksum(RocksChecksum{type}, {footer, kRocksFooterBytes}) +
                                  base.ChecksumModifier(offset));
  }
}

// Mends what the blocks of entries at hand name, in turn: metaindex, then index, then data.
void MendChecksums(std::string* image) {
  MendFooter(image);
  RocksFooter footer;
  if (!RocksFooter::Parse(*image, &footer).ok()) {
    return;
  }
  MendBlock(footer, footer.metaindex, image);
  MendBlock(footer, footer.index, image);
  // Opening reads as far as blocks are right, and each round mends what it names.
  for (int round = 0; round < 3; ++round) {
    const std::string before = *image;
    std::unique_ptr<RocksTable> table;
    std::string buffer;
    std::string_view contents;
    Block metaindex;
    if (ReadRocksBlock(before, before.size() - kRocksFooterBytes, footer, footer.metaindex, &buffer,
                       &contents)
            .ok() &&
        Block::Parse(contents, &metaindex).ok()) {
      BlockIterator entry(metaindex, KeyKind::kPlain);
      for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
        BlockHandle handle;
        std::string_view encoded = entry.value();
        if (handle.ReadFrom(&encoded)) {
          MendBlock(footer, handle, image);
        }
      }
    }
    if (RocksTable::OpenImage(before, "t", &table).ok()) {
      const auto mend = [&](std::string_view, const BlockHandle& handle) {
        MendBlock(footer, handle, image);
      };
      (void)table->ForEachIndexBlock(mend);
      (void)table->ForEachDataBlock([&](const std::string&, const BlockHandle& handle) {
        MendBlock(footer, handle, image);
        return Status();
      });
    }
  }
}

}  // namespace

void RunRocksTable(std::string_view input) {
  std::string bytes(input.substr(std::min<size_t>(1, input.size())));
  if (!input.empty() && (input[0] & kMendChecksums) != 0) {
    MendChecksums(&bytes);
  }
  const ExactCopy image(bytes);
  TableReport report;
  const Status verified = VerifyRocksTableImage(image.view(), "t", &report);
  size_t lines = 0;
  const Status dumped = DumpRocksTableImage(image.view(), "t", [&](std::string_view) { ++lines; });
  Check(dumped.ok() || !verified.ok(), "what verifies is dumped");
  std::unique_ptr<RocksTable> table;
  if (!RocksTable::OpenImage(image.view(), "t", &table).ok()) {
    Check(!verified.ok(), "what verifies opens");
    return;
  }
  RocksView view;
  const Status viewed = ViewRocksTable(*table, {}, &view);
  Check(viewed.ok() || !verified.ok(), "what verifies is viewed");
  if (verified.ok()) {
    StringFile file;
    TableReport of_view;
    Check(FinishTable(view.table.data(), view.table.index_block(), {}, &file).ok() &&
              VerifyTableImage(file.contents(), "view", &of_view).ok() &&
              of_view.entries == report.entries && of_view.tombstones == report.tombstones,
          "a view has all records");
  }
}

std::string MakeRocksTableSeed(Random* random) {
  const auto entries = RandomEntries(
      random, {.count = Uniform(random, 0, 100), .most_key_bytes = 20, .most_value_bytes = 60});
  const char flags = Uniform(random, 0, 3) != 0 ? kMendChecksums : 0;
  return flags + WriteRocksTable(entries, RandomRocksOptions(random));
}

}  // namespace sluice::fuzz
