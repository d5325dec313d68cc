// RocksDB's own compaction of the same records, level 0 to level 1. It checks every block.

#include "bench/contestant.h"
#include "bench/rocksdb_bridge.h"
#include "table/block.h"
#include "table/stored_block.h"

namespace sluice::bench {

namespace {

namespace fs = std::filesystem;

void Check(bool ok, const char* what) {
  if (!ok) {
    Die(std::string("RocksDB: cannot ") + what);
  }
}

class RocksDbContestant : public Contestant {
 public:
  std::string name() const override { return "RocksDB"; }

  void Prepare(const GeneratedTask& input, const fs::path& directory) override {
    original_ = directory / "original";
    copy_ = directory / "copy";
    void* const db = RocksBenchOpen(original_.c_str());
    Check(db != nullptr, "create a database");
    for (const auto& run : input.images) {
      for (const TableImage& table : run) {
        for (const BlockHandle& handle : table.blocks) {
          PutBlock(db, table.file, handle);
        }
      }
      Check(RocksBenchFlush(db), "flush");
    }
    RocksBenchClose(db);
  }

  double Run() override {
    fs::remove_all(copy_);
    fs::copy(original_, copy_);
    void* const db = RocksBenchOpen(copy_.c_str());
    Check(db != nullptr, "open");
    const double start = CpuSeconds();
    Check(RocksBenchCompact(db), "compact");
    const double seconds = CpuSeconds() - start;
    RocksBenchClose(db);
    output_bytes_ = DirectoryBytes(copy_, ".sst");
    return seconds;
  }

  uint64_t output_bytes() const override { return output_bytes_; }

 private:
  static void PutBlock(void* db, std::string_view file, const BlockHandle& handle) {
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
      Check(RocksBenchPut(db, key.data(), key.size(), it.value().data(), it.value().size()), "put");
    }
  }

  fs::path original_;
  fs::path copy_;
  uint64_t output_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Contestant> NewRocksDbContestant() { return std::make_unique<RocksDbContestant>(); }

}  // namespace sluice::bench
