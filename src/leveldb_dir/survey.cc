#include "leveldb_dir/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "leveldb_dir/file_names.h"
#include "table/table_reader.h"

namespace sluice {

namespace {

// The contents of so many of the newest tables tell what options the database has now: one alone
// may be small, or have values that do not compress.
constexpr size_t kNewestTables = 4;

// Refuses tables that carry what the new ones would silently lack.
Status CheckMetaindex(const TableReader& table) {
  BlockIterator entry(table.metaindex(), KeyKind::kPlain);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    if (entry.key() != kBloomFilterName) {
      const bool filter = entry.key().starts_with(kFilterPrefix);
      return Status::NotSupported(fmt::format(
          "{}, offset {}: {} \"{}\", which cannot be built here", table.name(),
          table.footer().metaindex.offset, filter ? "has filters of policy" : "has metadata",
          entry.key().substr(filter ? kFilterPrefix.size() : 0)));
    }
  }
  return entry.status().WithContext(
      fmt::format("{}, offset {}", table.name(), table.footer().metaindex.offset));
}

// Calls `visit(index entry's internal key, handle)` for each data block.
template <typename Visit>
Status ForEachBlock(const TableReader& table, const Visit& visit) {
  BlockIterator entry(table.index());
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    BlockHandle handle;
    SLUICE_RETURN_IF_ERROR(table.ReadHandle(entry, &handle));
    visit(entry.key(), handle);
  }
  return entry.status().WithContext(
      fmt::format("{}, offset {}", table.name(), table.footer().index.offset));
}

Status AddPieces(const TableReader& table, std::string_view smallest, uint64_t piece_bytes,
                 InputMap* map) {
  const uint64_t bytes = table.image().size();
  if (bytes <= piece_bytes) {
    map->Add(smallest, bytes);
    return {};
  }
  std::string start(smallest);
  uint64_t start_offset = 0;
  const Status status =
      ForEachBlock(table, [&](std::string_view last_key, const BlockHandle& handle) {
        const uint64_t end = handle.offset + handle.size + kBlockTrailerBytes;
        if (end >= start_offset + piece_bytes) {
          map->Add(start, end - start_offset);
          start = UserKey(last_key);
          start_offset = end;
        }
      });
  map->Add(start, bytes - std::min(bytes, start_offset));
  return status;
}

Status HasSnappyBlock(const TableReader& table, bool* snappy) {
  return ForEachBlock(table, [&](std::string_view, const BlockHandle& handle) {
    const auto type = static_cast<uint8_t>(table.image()[handle.offset + handle.size]);
    *snappy |= type == static_cast<uint8_t>(Compression::kSnappy);
  });
}

// What the newest tables say about the database's options.
class OptionsFinder {
 public:
  explicit OptionsFinder(const Database& database) {
    for (auto it = database.table_names.rbegin();
         it != database.table_names.rend() && newest_.size() < kNewestTables; ++it) {
      newest_.push_back(it->first);
    }
  }

  Status Look(const TableReader& table, uint64_t number) {
    if (std::ranges::find(newest_, number) != newest_.end()) {
      SLUICE_RETURN_IF_ERROR(HasSnappyBlock(table, &snappy_));
    }
    // The larger of two tables tells the bits more surely, the newer what they are now.
    const std::pair rank(std::ranges::find(newest_, number) != newest_.end(), table.image().size());
    if (table.filter() != nullptr && rank > filter_rank_) {
      int bits = 0;
      SLUICE_RETURN_IF_ERROR(FindBloomBitsPerKey(table, &bits));
      if (bits == 0) {
        return Status::NotSupported(
            fmt::format("{}: no number of bits per key explains its Bloom filters", table.name()));
      }
      filter_rank_ = rank;
      bits_per_key_ = bits;
    }
    return {};
  }

  Compression compression() const {
    return snappy_ || newest_.empty() ? Compression::kSnappy : Compression::kNone;
  }
  int bits_per_key() const { return bits_per_key_; }

 private:
  std::vector<uint64_t> newest_;
  bool snappy_ = false;
  std::pair<bool, size_t> filter_rank_{false, 0};
  int bits_per_key_ = 0;
};

}  // namespace

Status SurveyTables(Env* env, const Database& database, uint64_t piece_bytes, Survey* survey) {
  *survey = {};
  OptionsFinder options(database);
  for (uint32_t level = 0; level < kNumLevels; ++level) {
    std::vector<InputTable> run;
    for (const TableFile& file : database.state.levels[level]) {
      InputTable input;
      input.path = database.Path(database.table_names.at(file.number));
      std::unique_ptr<TableReader> table;
      SLUICE_RETURN_IF_ERROR(TableReader::Open(env, input.path, &table));
      SLUICE_RETURN_IF_ERROR(CheckMetaindex(*table));
      SLUICE_RETURN_IF_ERROR(options.Look(*table, file.number));
      input.bytes = file.bytes;
      input.index = table->footer().index;
      input.smallest = UserKey(file.smallest);
      input.largest = UserKey(file.largest);
      SLUICE_RETURN_IF_ERROR(AddPieces(*table, input.smallest, piece_bytes, &survey->map));
      survey->file_bytes += input.bytes;
      run.push_back(std::move(input));
      if (level == 0) {
        survey->runs.insert(survey->runs.begin(), std::move(run));
        run.clear();
      }
    }
    if (!run.empty()) {
      survey->runs.push_back(std::move(run));
    }
  }
  survey->compression = options.compression();
  survey->bloom_bits_per_key = options.bits_per_key();
  return {};
}

}  // namespace sluice
