#include "rocksdb/random_databases.h"

#include <rocksdb/filter_policy.h>

#include <algorithm>
#include <string>

#include "rocksdb/twins.h"

namespace sluice::interop {
namespace {

rocksdb::Options RandomOptions(TestRandom* random) {
  const auto one_in = [random](uint64_t n) { return Uniform(random, 0, n - 1) == 0; };
  using Table = rocksdb::BlockBasedTableOptions;
  Table table;
  table.format_version = static_cast<uint32_t>(Uniform(random, 2, 5));
  table.block_size = uint64_t{64} << Uniform(random, 0, 7);
  table.block_restart_interval = 1 << Uniform(random, 0, 5);
  table.index_block_restart_interval = 1 << Uniform(random, 0, 3);
  table.enable_index_compression = !one_in(3);
  table.index_shortening = static_cast<Table::IndexShorteningMode>(Uniform(random, 0, 2));
  constexpr rocksdb::ChecksumType kChecksums[] = {rocksdb::kCRC32c, rocksdb::kxxHash,
                                                  rocksdb::kxxHash64, rocksdb::kXXH3};
  table.checksum = kChecksums[Uniform(random, 0, 3)];
  if (table.format_version == 5 && !one_in(3)) {
    table.filter_policy.reset(
        rocksdb::NewBloomFilterPolicy(static_cast<double>(Uniform(random, 10, 200)) / 10));
  }
  rocksdb::Options options = SmallOptions();
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  constexpr rocksdb::CompressionType kCompressions[] = {rocksdb::kNoCompression,
                                                        rocksdb::kSnappyCompression,
                                                        rocksdb::kLZ4Compression, rocksdb::kZSTD};
  options.compression = kCompressions[Uniform(random, 0, 3)];
  if (one_in(2)) {
    options.bottommost_compression = kCompressions[Uniform(random, 0, 3)];
  }
  options.num_levels = static_cast<int>(Uniform(random, 2, 7));
  options.level_compaction_dynamic_level_bytes = one_in(2);
  options.optimize_filters_for_hits = one_in(4);
  options.max_subcompactions = one_in(2) ? 3 : 1;
  options.disable_auto_compactions = one_in(2);
  options.target_file_size_base = uint64_t{1} << Uniform(random, 10, 16);
  options.target_file_size_multiplier = one_in(3) ? 2 : 1;
  options.max_bytes_for_level_base = options.target_file_size_base * 4;
  options.write_buffer_size = 64 << 10;
  return options;
}

std::string RandomKey(TestRandom* random) {
  constexpr std::string_view kBytes("\0ab\xff", 4);
  std::string key;
  for (uint64_t i = Uniform(random, 0, 6); i-- > 0;) {
    key.push_back(kBytes[Uniform(random, 0, 3)]);
  }
  return key;
}

}  // namespace

void CompareRandomDatabases(const std::shared_ptr<SluiceCompactionService>& service, uint64_t seed,
                            int rounds) {
  std::string left;  // when a database was closed, of whose last compactions RocksDB does not tell
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    TestRandom random(seed + static_cast<uint64_t>(round));
    const rocksdb::Options options = RandomOptions(&random);
    Twins twins(options, service);
    const uint64_t parts = Uniform(&random, 1, 6);
    const size_t most_snapshots = 8 * Uniform(&random, 0, 1);
    for (uint64_t part = 0; part < parts; ++part) {
      for (uint64_t i = Uniform(&random, 1, 200); i-- > 0;) {
        const uint64_t kind = Uniform(&random, 0, 99);
        if (kind < 60) {
          twins.Put(RandomKey(&random),
                    std::string(SkewedSize(&random, 300), 'v') + std::to_string(random() % 1000));
        } else if (kind < 90) {
          twins.Delete(RandomKey(&random));
        } else if (kind < 95 && twins.snapshots() < most_snapshots) {
          twins.Snapshot();
        } else if (twins.snapshots() > 0 && Uniform(&random, 0, 2) == 0) {
          twins.Release(Uniform(&random, 0, twins.snapshots() - 1));
        }
      }
      ASSERT_TRUE(twins.ours()->Flush({}).ok());
      ASSERT_TRUE(twins.plain()->Flush({}).ok());
      switch (Uniform(&random, 0, 3)) {
        case 0:
          twins.Compact();
          break;
        case 1: {
          const std::string from = RandomKey(&random);
          const std::string to = RandomKey(&random);
          twins.CompactPart(std::min(from, to), std::max(from, to));
          break;
        }
        default:
          break;
      }
      ASSERT_NO_FATAL_FAILURE(twins.Check());
    }
    EXPECT_EQ(OtherReasons(service->statistics()), left);
    twins.ReopenWithout(options);
    left = OtherReasons(service->statistics());
    ASSERT_NO_FATAL_FAILURE(twins.Check());
  }
}

}  // namespace sluice::interop
