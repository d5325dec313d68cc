// RocksDB's own compaction of the same records, level 0 to level 1. It checks every block.

#include "bench/merge/merge_engine.h"
#include "bench/rocksdb_library.h"
#include "table/block.h"
#include "table/stored_block.h"

namespace sluice::bench {

namespace {

namespace fs = std::filesystem;

void Check(const char* error) {
  if (error != nullptr) {
    Die(std::string("RocksDB: ") + error);
  }
}

class RocksDbMergeEngine : public MergeEngine {
 public:
  explicit RocksDbMergeEngine(const RocksDbCalls& calls) : calls_(calls) {}

  std::string name() const override { return "RocksDB"; }

  void Prepare(const GeneratedTask& input, const fs::path& directory) override {
    original_ = directory / "original";
    copy_ = directory / "copy";
    void* const db = Open(original_);
    void* const session = calls_.NewSession(db, /*sync=*/false);
    for (const auto& run : input.images) {
      for (const TableImage& table : run) {
        for (const BlockHandle& handle : table.blocks) {
          PutBlock(session, table.file, handle);
        }
      }
      Check(calls_.Flush(db));
    }
    calls_.DeleteSession(session);
    calls_.Close(db);
  }

  double Run() override {
    fs::remove_all(copy_);
    fs::copy(original_, copy_);
    void* const db = Open(copy_);
    const double start = CpuSeconds();
    Check(calls_.Compact(db));
    const double seconds = CpuSeconds() - start;
    calls_.Close(db);
    output_bytes_ = DirectoryBytes(copy_, ".sst");
    return seconds;
  }

  uint64_t output_bytes() const override { return output_bytes_; }

 private:
  void* Open(const fs::path& directory) const {
    const RocksDbSettings settings = {.cache_bytes = 8 << 20,
                                      .write_buffer_bytes = uint64_t{1} << 30,
                                      .block_bytes = 4096,
                                      .bloom_bits = 0,
                                      .prefix_bytes = 0,
                                      .compression = 0,
                                      .dictionary_bytes = 0,
                                      .table_bytes = kOutputTableBytes,
                                      .blob_bytes = 0,
                                      .direct_io = false,
                                      .compactions_alone = true,
                                      .compaction_service = false,
                                      .create = true,
                                      .pipelined_write = false,
                                      .unordered_write = false,
                                      .many_tombstones = false};
    void* db = nullptr;
    Check(calls_.Open(&settings, directory.c_str(), &db));
    return db;
  }

  void PutBlock(void* session, std::string_view file, const BlockHandle& handle) const {
    std::string buffer;
    std::string_view contents;
    Block block;
    if (!ReadStoredBlock(file, handle, &buffer, &contents).ok() ||
        !Block::Parse(contents, &block).ok()) {
      Die("bad input block");
    }
    BlockIterator it(block);
    for (it.SeekToFirst(); it.Valid(); it.Next()) {
      const std::string_view key = UserKey(it.key());
      const RocksDbRecord record = {{key.data(), key.size()},
                                    {it.value().data(), it.value().size()}};
      Check(calls_.Put(session, &record, 1));
    }
  }

  const RocksDbCalls& calls_;
  fs::path original_;
  fs::path copy_;
  uint64_t output_bytes_ = 0;
};

}  // namespace

std::unique_ptr<MergeEngine> NewRocksDbMergeEngine() {
  const RocksDbCalls* calls = nullptr;
  const Status loaded = LoadRocksDb(&calls);
  if (loaded.IsNotSupported()) {
    return nullptr;
  }
  Check(loaded.ok() ? nullptr : loaded.message().c_str());
  return std::make_unique<RocksDbMergeEngine>(*calls);
}

}  // namespace sluice::bench
