#include "journal.h"

#include <algorithm>
#include <cstring>

#include "status_bridge.h"
#include "util/coding.h"

namespace sluice {

std::string JournalImage::Header(char kind, uint64_t offset, uint64_t bytes) {
  std::string header(1, kind);
  PutFixed64(&header, offset);
  PutFixed64(&header, bytes);
  return header;
}

void JournalImage::Apply(char kind, uint64_t offset, uint64_t bytes, uint64_t at) {
  switch (kind) {
    case kWrite:
      Carve(offset, offset + bytes);
      if (bytes > 0) {
        pieces_[offset] = {bytes, at};
      }
      size_ = std::max(size_, offset + bytes);
      break;
    case kReserve:
      size_ = std::max(size_, bytes);
      break;
    case kDiscard:
      Carve(offset, offset + bytes);
      break;
    case kTruncate:
      Carve(bytes, ~uint64_t{0});
      size_ = std::min(size_, bytes);
      break;
    default:
      break;
  }
}

void JournalImage::Parse(std::string_view journal) {
  uint64_t at = 0;
  while (journal.size() - at >= kHeaderBytes) {
    const char kind = journal[at];
    const uint64_t offset = DecodeFixed64(journal.data() + at + 1);
    const uint64_t bytes = DecodeFixed64(journal.data() + at + 9);
    at += kHeaderBytes;
    if (kind == kWrite && bytes > journal.size() - at) {
      return;
    }
    Apply(kind, offset, bytes, at);
    at += kind == kWrite ? bytes : 0;
  }
}

JournalImage::Pieces JournalImage::Find(uint64_t offset, uint64_t end) const {
  Pieces found;
  auto piece = pieces_.upper_bound(offset);
  if (piece != pieces_.begin()) {
    --piece;
  }
  for (; piece != pieces_.end() && piece->first < end; ++piece) {
    const uint64_t from = std::max(offset, piece->first);
    const uint64_t to = std::min(end, piece->first + piece->second.bytes);
    if (from < to) {
      found.push_back({from, {to - from, piece->second.at + (from - piece->first)}});
    }
  }
  return found;
}

void JournalImage::Carve(uint64_t offset, uint64_t end) {
  auto piece = pieces_.upper_bound(offset);
  if (piece != pieces_.begin()) {
    --piece;
  }
  while (piece != pieces_.end() && piece->first < end) {
    const auto [from, old] = *piece;
    const uint64_t to = from + old.bytes;
    if (to <= offset) {
      ++piece;
      continue;
    }
    piece = pieces_.erase(piece);
    if (from < offset) {
      pieces_[from] = {offset - from, old.at};
    }
    if (to > end) {
      pieces_[end] = {to - end, old.at + (end - from)};
      return;
    }
  }
}

Status JournalReader::Read(const JournalImage::Pieces& pieces, uint64_t offset, size_t bytes,
                           char* out) {
  std::memset(out, 0, bytes);
  if (pieces.empty()) {
    return {};
  }
  // What was written in one go is read so, for tests that count.
  const uint64_t begin = pieces.front().second.at;
  const uint64_t end = pieces.back().second.at + pieces.back().second.bytes;
  if (begin <= end && end - begin <= bytes + pieces.size() * JournalImage::kHeaderBytes) {
    std::string span(end - begin, 0);
    SLUICE_RETURN_IF_ERROR(ReadAt(begin, span.size(), span.data()));
    for (const auto& [from, piece] : pieces) {
      std::memcpy(out + (from - offset), span.data() + (piece.at - begin), piece.bytes);
    }
    return {};
  }
  for (const auto& [from, piece] : pieces) {
    SLUICE_RETURN_IF_ERROR(ReadAt(piece.at, piece.bytes, out + (from - offset)));
  }
  return {};
}

Status JournalReader::ReadAt(uint64_t at, size_t bytes, char* out) {
  std::shared_ptr<leveldb::RandomAccessFile> file;
  SLUICE_RETURN_IF_ERROR(Open(at + bytes, &file));
  leveldb::Slice result;
  SLUICE_RETURN_IF_ERROR(FromLevelDb(file->Read(at, bytes, &result, out)));
  if (result.size() != bytes) {
    return Status::IoError(path_ + ": ends too early");
  }
  if (result.data() != out) {
    std::memcpy(out, result.data(), bytes);
  }
  return {};
}

Status JournalReader::Open(uint64_t bytes, std::shared_ptr<leveldb::RandomAccessFile>* file) {
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr || bytes > opened_bytes_) {
    uint64_t now;
    SLUICE_RETURN_IF_ERROR(FromLevelDb(target_->GetFileSize(path_, &now)));
    leveldb::RandomAccessFile* opened;
    SLUICE_RETURN_IF_ERROR(FromLevelDb(target_->NewRandomAccessFile(path_, &opened)));
    file_.reset(opened);
    opened_bytes_ = now;
  }
  *file = file_;
  return {};
}

Journal::~Journal() {
  if (file_ != nullptr) {
    (void)file_->Close();
  }
}

Status Journal::Open(const JournalImage& image, std::string_view old) {
  leveldb::WritableFile* file;
  SLUICE_RETURN_IF_ERROR(FromLevelDb(target_->NewWritableFile(path_, &file)));
  file_.reset(file);
  SLUICE_RETURN_IF_ERROR(Append(JournalImage::kReserve, 0, image.size()));
  for (const auto& [offset, piece] : image.pieces()) {
    SLUICE_RETURN_IF_ERROR(
        Append(JournalImage::kWrite, offset, piece.bytes, old.substr(piece.at, piece.bytes)));
  }
  return Sync();
}

Status Journal::Append(char kind, uint64_t offset, uint64_t bytes, std::string_view data) {
  const std::lock_guard append_lock(append_mutex_);
  std::string entry = JournalImage::Header(kind, offset, bytes);
  entry += data;
  SLUICE_RETURN_IF_ERROR(FromLevelDb(file_->Append(entry)));
  SLUICE_RETURN_IF_ERROR(FromLevelDb(file_->Flush()));
  const std::lock_guard lock(mutex_);
  image_.Apply(kind, offset, bytes, end_ + JournalImage::kHeaderBytes);
  end_ += entry.size();
  return {};
}

Status Journal::Sync() {
  {
    const std::lock_guard append_lock(append_mutex_);
    SLUICE_RETURN_IF_ERROR(FromLevelDb(file_->Sync()));
  }
  // So that a file never is as it was synced: FaultInjectionTestEnv keeps of such a one all that is
  // written to it after the loss of power.
  return Append(JournalImage::kNothing, 0, 0);
}

Status Journal::Read(uint64_t offset, size_t bytes, char* out) {
  JournalImage::Pieces pieces;
  {
    const std::lock_guard lock(mutex_);
    if (offset + bytes > image_.size()) {
      return Status::IoError(path_ + ": ends too early");
    }
    pieces = image_.Find(offset, offset + bytes);
  }
  return reader_.Read(pieces, offset, bytes, out);
}

uint64_t Journal::disk_bytes() {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [offset, piece] : image_.pieces()) {
    bytes += piece.bytes;
  }
  return bytes;
}

}  // namespace sluice
