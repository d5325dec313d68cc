// A file that is written in place, kept as the journal of its writes in a file of LevelDB's, which
// can only be appended to:
//
//   file  := { entry }
//   entry := kind (1 byte) | offset (fixed64) | bytes (fixed64) | for a write, those bytes
//
// The bytes are read where they stand in it. What the end of a journal lacks, the file lacks.

#pragma once

#include <leveldb/env.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/status.h"

namespace sluice {

// What a journal says that its file holds.
class JournalImage {
 public:
  // In the journal.
  struct Piece {
    uint64_t bytes;
    uint64_t at;
  };
  using Pieces = std::vector<std::pair<uint64_t, Piece>>;  // by offset in the file

  static constexpr char kWrite = 'W';
  static constexpr char kReserve = 'R';  // at least so long
  static constexpr char kDiscard = 'D';
  static constexpr char kTruncate = 'T';
  static constexpr char kNothing = 'N';
  static constexpr size_t kHeaderBytes = 17;

  static std::string Header(char kind, uint64_t offset, uint64_t bytes);

  // An entry, of which the written bytes stand at `at`.
  void Apply(char kind, uint64_t offset, uint64_t bytes, uint64_t at);
  void Parse(std::string_view journal);

  uint64_t size() const { return size_; }
  const std::map<uint64_t, Piece>& pieces() const { return pieces_; }
  // What is between `offset` and `end`.
  Pieces Find(uint64_t offset, uint64_t end) const;

 private:
  // Leaves nothing between `offset` and `end`.
  void Carve(uint64_t offset, uint64_t end);

  std::map<uint64_t, Piece> pieces_;
  uint64_t size_ = 0;
};

// Reads what stands in a journal; of one that grows it opens the file anew where it must.
// Thread-safe.
class JournalReader {
 public:
  JournalReader(leveldb::Env* target, std::string path) : target_(target), path_(std::move(path)) {}

  // `bytes` of the file from `offset` on, which are `pieces` and zeros between them.
  Status Read(const JournalImage::Pieces& pieces, uint64_t offset, size_t bytes, char* out);

 private:
  Status ReadAt(uint64_t at, size_t bytes, char* out);
  Status Open(uint64_t bytes, std::shared_ptr<leveldb::RandomAccessFile>* file);

  leveldb::Env* const target_;
  const std::string path_;
  std::mutex mutex_;
  std::shared_ptr<leveldb::RandomAccessFile> file_;
  uint64_t opened_bytes_ = 0;
};

// One that is written. Thread-safe.
class Journal {
 public:
  Journal(leveldb::Env* target, const std::string& path)
      : target_(target), path_(path), reader_(target, path) {}
  ~Journal();

  // Begins it anew, durably, with what `image` has of `old`.
  Status Open(const JournalImage& image, std::string_view old);

  Status Append(char kind, uint64_t offset, uint64_t bytes, std::string_view data = {});
  Status Sync();
  Status Read(uint64_t offset, size_t bytes, char* out);
  uint64_t disk_bytes();

 private:
  leveldb::Env* const target_;
  const std::string path_;
  JournalReader reader_;
  std::mutex append_mutex_;
  std::unique_ptr<leveldb::WritableFile> file_;
  std::mutex mutex_;  // over what follows
  JournalImage image_;
  uint64_t end_ = 0;
};

}  // namespace sluice
