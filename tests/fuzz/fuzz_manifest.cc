// VersionEdit and ReadManifest: any bytes as an edit, behind a checksum that fits.

#include "fuzz/fuzz.h"
#include "leveldb_dir/log_writer.h"
#include "leveldb_dir/manifest.h"
#include "table/testing.h"

namespace sluice::fuzz {

void RunManifest(std::string_view input) {
  const ExactCopy record(input);
  VersionEdit edit;
  if (VersionEdit::Parse(record.view(), &edit).ok()) {
    std::string written;
    edit.AppendTo(&written);
    VersionEdit again;
    Check(VersionEdit::Parse(written, &again).ok() && again == edit, "an edit survives writing");
  }
  std::string manifest;
  AppendLogRecord(record.view(), &manifest);
  DatabaseState state;
  if (ReadManifest(manifest, &state).ok()) {
    DatabaseState again;
    Check(ReadManifest(WriteManifest(state), &again).ok() && again == state,
          "a state survives writing");
  }
}

std::string MakeManifestSeed(Random* random) {
  VersionEdit edit;
  edit.comparator = kBytewiseComparator;
  edit.log_number = Uniform(random, 0, 1000);
  edit.previous_log_number = 0;
  edit.next_file_number = Uniform(random, 0, uint64_t{1} << 40);
  edit.last_sequence = Uniform(random, 0, kMaxSequence);
  for (uint64_t files = Uniform(random, 0, 10); files > 0; --files) {
    const std::string user_key = std::to_string(files + 100);
    const auto level = static_cast<uint32_t>(Uniform(random, 0, kNumLevels - 1));
    edit.new_files.push_back({level,
                              {.number = files,
                               .bytes = Uniform(random, 0, 1 << 22),
                               .smallest = InternalKey(user_key, 9),
                               .largest = InternalKey(user_key + "z", 5)}});
    edit.deleted_files.emplace_back(level, files + 1);
    edit.compact_pointers.emplace_back(level, InternalKey(user_key, 1));
  }
  std::string record;
  edit.AppendTo(&record);
  return record;
}

}  // namespace sluice::fuzz
