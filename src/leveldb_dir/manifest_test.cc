#include "leveldb_dir/manifest.h"

#include <gtest/gtest.h>

#include "leveldb_dir/log_writer.h"

namespace sluice {
namespace {

std::string Key(std::string_view user_key, SequenceNumber sequence) {
  std::string key(user_key);
  PutFixed64(&key, MakeTrailer(sequence, RecordType::kValue));
  return key;
}

TableFile File(uint64_t number, std::string_view smallest, std::string_view largest) {
  return {.number = number,
          .bytes = number * 1000,
          .smallest = Key(smallest, number),
          .largest = Key(largest, number)};
}

VersionEdit FullEdit() {
  VersionEdit edit;
  edit.comparator = kBytewiseComparator;
  edit.log_number = 7;
  edit.previous_log_number = 0;
  edit.next_file_number = 1ull << 40;
  edit.last_sequence = kMaxSequence;
  edit.compact_pointers = {{1, Key("p", 3)}};
  edit.deleted_files = {{0, 4}, {6, 1ull << 33}};
  edit.new_files = {{0, File(5, "", "z")}, {2, File(6, "a", "b")}};
  return edit;
}

std::string Manifest(const std::vector<VersionEdit>& edits) {
  std::string manifest;
  for (const VersionEdit& edit : edits) {
    std::string record;
    edit.AppendTo(&record);
    AppendLogRecord(record, &manifest);
  }
  return manifest;
}

TEST(VersionEdit, RoundTrip) {
  std::string record;
  FullEdit().AppendTo(&record);
  VersionEdit parsed;
  const Status status = VersionEdit::Parse(record, &parsed);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(parsed, FullEdit());
}

TEST(VersionEdit, CutOffIsCorruptionOrShorter) {
  std::string record;
  FullEdit().AppendTo(&record);
  for (size_t n = 0; n < record.size(); ++n) {
    VersionEdit parsed;
    const Status status = VersionEdit::Parse(std::string_view(record).substr(0, n), &parsed);
    EXPECT_TRUE(status.ok() || status.IsCorruption()) << n;
    EXPECT_FALSE(status.ok() && parsed == FullEdit());
  }
}

TEST(VersionEdit, RejectsLevelsAndKeysThatCannotBe) {
  VersionEdit parsed;
  EXPECT_TRUE(VersionEdit::Parse(std::string_view("\x06\x07\x01", 3), &parsed).IsCorruption());
  EXPECT_TRUE(VersionEdit::Parse("\x05\x01\x03"
                                 "abc",
                                 &parsed)
                  .IsCorruption());
}

TEST(VersionEdit, UnknownTagIsNotSupported) {
  VersionEdit parsed;
  const Status status = VersionEdit::Parse(
      "\x64"
      "x",
      &parsed);
  EXPECT_TRUE(status.IsNotSupported());
  EXPECT_EQ(status.message(), "tag 100 at byte 0 of the edit is none of LevelDB's");
}

TEST(Manifest, RoundTrip) {
  DatabaseState state;
  state.comparator = kBytewiseComparator;
  state.log_number = 12;
  state.next_file_number = 20;
  state.last_sequence = 12345;
  state.levels[0] = {File(3, "a", "z"), File(4, "b", "y")};
  state.levels[2] = {File(9, "a", "c"), File(8, "d", "f")};
  DatabaseState read;
  const Status status = ReadManifest(WriteManifest(state), &read);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(read, state);
}

TEST(Manifest, ReplaysEditsInOrder) {
  VersionEdit first;
  first.comparator = kBytewiseComparator;
  first.log_number = 2;
  first.next_file_number = 3;
  first.last_sequence = 0;
  VersionEdit flush;
  flush.log_number = 5;
  flush.last_sequence = 100;
  flush.new_files = {{0, File(4, "a", "m")}, {1, File(6, "n", "z")}};
  VersionEdit move;  // of table 4, to level 1
  move.next_file_number = 9;
  move.deleted_files = {{0, 4}};
  move.new_files = {{1, File(4, "a", "m")}};

  DatabaseState state;
  const Status status = ReadManifest(Manifest({first, flush, move}), &state);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(state.log_number, 5u);
  EXPECT_EQ(state.next_file_number, 9u);
  EXPECT_EQ(state.last_sequence, 100u);
  EXPECT_TRUE(state.levels[0].empty());
  EXPECT_EQ(state.levels[1], (std::vector{File(4, "a", "m"), File(6, "n", "z")}));
}

TEST(Manifest, RefusesOtherComparators) {
  VersionEdit edit = FullEdit();
  edit.comparator = "my.Comparator";
  DatabaseState state;
  const Status status = ReadManifest(Manifest({edit}), &state);
  EXPECT_TRUE(status.IsNotSupported());
  EXPECT_NE(status.message().find("my.Comparator"), std::string::npos) << status.ToString();
}

TEST(Manifest, RefusesWhatIsMissing) {
  const auto missing = [](auto member) {
    VersionEdit edit = FullEdit();
    (edit.*member).reset();
    DatabaseState state;
    return ReadManifest(Manifest({edit}), &state);
  };
  EXPECT_TRUE(missing(&VersionEdit::comparator).IsCorruption());
  EXPECT_TRUE(missing(&VersionEdit::log_number).IsCorruption());
  EXPECT_TRUE(missing(&VersionEdit::next_file_number).IsCorruption());
  EXPECT_TRUE(missing(&VersionEdit::last_sequence).IsCorruption());
  EXPECT_TRUE(missing(&VersionEdit::previous_log_number).ok());
}

TEST(Manifest, RefusesOverlapBelowLevelZero) {
  VersionEdit edit = FullEdit();
  edit.new_files = {{3, File(10, "a", "m")}, {3, File(11, "k", "z")}};
  DatabaseState state;
  const Status status = ReadManifest(Manifest({edit}), &state);
  EXPECT_EQ(status.ToString(), "corruption: tables 10 and 11 of level 3 overlap");
}

TEST(Manifest, NamesTheOffsetOfABadEdit) {
  std::string manifest = Manifest({FullEdit()});
  const size_t offset = manifest.size();
  AppendLogRecord("\x07\x01", &manifest);
  DatabaseState state;
  const Status status = ReadManifest(manifest, &state);
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_TRUE(status.message().starts_with("offset " + std::to_string(offset) + ":"))
      << status.ToString();
}

}  // namespace
}  // namespace sluice
