#include "table/codec.h"

#include <fmt/format.h>
#include <lz4.h>
#include <snappy.h>
#include <zdict.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "util/coding.h"
#include "util/thread_owned.h"

namespace sluice {

// ZstdDictionary::Ready has it, which other sources name.
struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CDict* dictionary) const { ZSTD_freeCDict(dictionary); }
  void operator()(ZSTD_DDict* dictionary) const { ZSTD_freeDDict(dictionary); }
};

namespace {

struct Name {
  Compression type;
  std::string_view text;
};

constexpr Name kNames[] = {{Compression::kNone, "none"},
                           {Compression::kSnappy, "snappy"},
                           {Compression::kZstd, "zstd"},
                           {Compression::kLz4, "lz4"}};

// Longer contents are not compressed: LZ4 counts with int.
constexpr size_t kMostBytes = LZ4_MAX_INPUT_SIZE;

// How many bytes one byte can stand for, at the most. Snappy's densest element copies 64 bytes and
// takes 3; another byte of an LZ4 length adds 255; a block of Zstandard's repeats a byte 128 Ki
// times, and takes 4.
constexpr size_t kSnappyRatio = 22;
constexpr size_t kLz4Ratio = 255;
constexpr size_t kZstdRatio = 32768;

// A longer length is a lie, better found before memory is allocated for it.
bool PossibleLength(uint64_t length, size_t stored, size_t ratio) {
  return length <= kMostBytes && length / ratio <= stored;
}

Status ImpossibleLength() {
  return Status::Corruption("compressed block claims an impossible length");
}

// Making one costs more than compressing a block.
ZSTD_CCtx* CompressionContext() {
  struct Own {
    std::unique_ptr<ZSTD_CCtx, FreeZstd> context{ZSTD_createCCtx()};
  };
  thread_local ThreadOwned<Own> own;
  return (*own).context.get();
}

ZSTD_DCtx* DecompressionContext() {
  struct Own {
    std::unique_ptr<ZSTD_DCtx, FreeZstd> context{ZSTD_createDCtx()};
  };
  thread_local ThreadOwned<Own> own;
  return (*own).context.get();
}

Status Unsnap(std::string_view stored, std::string* out) {
  size_t length;
  if (!snappy::GetUncompressedLength(stored.data(), stored.size(), &length) ||
      !PossibleLength(length, stored.size(), kSnappyRatio)) {
    return ImpossibleLength();
  }
  out->resize(length);
  return snappy::RawUncompress(stored.data(), stored.size(), out->data())
             ? Status()
             : Status::Corruption("malformed Snappy data");
}

Status UncompressLz4(std::string_view stored, std::string* out) {
  uint32_t length;
  if (!GetVarint32(&stored, &length) || stored.size() > kMostBytes ||
      !PossibleLength(length, stored.size(), kLz4Ratio)) {
    return ImpossibleLength();
  }
  out->resize(length);
  const int made = LZ4_decompress_safe(stored.data(), out->data(), static_cast<int>(stored.size()),
                                       static_cast<int>(length));
  return made == static_cast<int>(length) ? Status() : Status::Corruption("malformed LZ4 data");
}

Status UncompressZstd(std::string_view stored, std::string* out, const ZSTD_DDict* dictionary) {
  // Unknown lengths and malformed headers have numbers of their own, above all others.
  const uint64_t length = ZSTD_getFrameContentSize(stored.data(), stored.size());
  if (!PossibleLength(length, stored.size(), kZstdRatio)) {
    return ImpossibleLength();
  }
  out->resize(length);
  const size_t made = ZSTD_decompress_usingDDict(DecompressionContext(), out->data(), out->size(),
                                                 stored.data(), stored.size(), dictionary);
  if (ZSTD_isError(made) != 0) {
    return Status::Corruption(fmt::format("malformed Zstandard data: {}", ZSTD_getErrorName(made)));
  }
  return made == length ? Status() : Status::Corruption("malformed Zstandard data: too short");
}

bool CompressZstd(const Codec& codec, std::string_view contents, std::string* out,
                  const ZSTD_CDict* dictionary) {
  ZSTD_CCtx* const context = CompressionContext();
  out->resize(ZSTD_compressBound(contents.size()));
  const size_t made = dictionary != nullptr
                          ? ZSTD_compress_usingCDict(context, out->data(), out->size(),
                                                     contents.data(), contents.size(), dictionary)
                          : ZSTD_compressCCtx(context, out->data(), out->size(), contents.data(),
                                              contents.size(), codec.zstd_level);
  if (ZSTD_isError(made) != 0) {
    return false;
  }
  out->resize(made);
  return true;
}

bool CompressLz4(std::string_view contents, std::string* out) {
  const auto length = static_cast<int>(contents.size());
  out->clear();
  PutVarint(out, contents.size());
  const size_t head = out->size();
  out->resize(head + LZ4_compressBound(length));
  const int made = LZ4_compress_default(contents.data(), out->data() + head, length,
                                        static_cast<int>(out->size() - head));
  out->resize(head + std::max(made, 0));
  return made > 0;
}

}  // namespace

struct ZstdDictionary::Ready {
  std::unique_ptr<ZSTD_DDict, FreeZstd> to_read;
  std::unique_ptr<ZSTD_CDict, FreeZstd> to_write;  // null: it comes from a table
};

ZstdDictionary::ZstdDictionary() : ready_(std::make_unique<Ready>()) {}
ZstdDictionary::~ZstdDictionary() = default;

Status ZstdDictionary::Parse(std::string_view bytes,
                             std::unique_ptr<const ZstdDictionary>* dictionary) {
  std::unique_ptr<ZstdDictionary> made(new ZstdDictionary);
  // One without a number is raw contents to Zstandard, which fit any frame, right or wrong.
  if (bytes.size() <= kMostDictionaryBytes && ZDICT_getDictID(bytes.data(), bytes.size()) != 0) {
    made->ready_->to_read.reset(ZSTD_createDDict(bytes.data(), bytes.size()));
  }
  if (made->ready_->to_read == nullptr) {
    return Status::Corruption("malformed dictionary");
  }
  *dictionary = std::move(made);
  return {};
}

std::unique_ptr<const ZstdDictionary> ZstdDictionary::Train(std::string_view samples,
                                                            const std::vector<size_t>& sizes,
                                                            const Codec& codec) {
  std::string bytes(codec.dictionary_bytes, '\0');
  const size_t made = ZDICT_trainFromBuffer(bytes.data(), bytes.size(), samples.data(),
                                            sizes.data(), static_cast<unsigned>(sizes.size()));
  if (ZDICT_isError(made) != 0) {
    return nullptr;
  }
  bytes.resize(made);
  std::unique_ptr<ZstdDictionary> dictionary(new ZstdDictionary);
  Ready& ready = *dictionary->ready_;
  ready.to_read.reset(ZSTD_createDDict(bytes.data(), bytes.size()));
  ready.to_write.reset(ZSTD_createCDict(bytes.data(), bytes.size(), codec.zstd_level));
  dictionary->bytes_ = std::move(bytes);
  return ready.to_read != nullptr && ready.to_write != nullptr ? std::move(dictionary) : nullptr;
}

size_t ZstdDictionary::memory_bytes() const {
  return sizeof(ZstdDictionary) + sizeof(Ready) + bytes_.capacity() +
         ZSTD_sizeof_DDict(ready_->to_read.get()) + ZSTD_sizeof_CDict(ready_->to_write.get());
}

std::string_view CompressionName(Compression compression) {
  for (const Name& name : kNames) {
    if (name.type == compression) {
      return name.text;
    }
  }
  return "unknown";
}

bool ParseCompression(std::string_view name, Compression* compression) {
  for (const Name& known : kNames) {
    if (known.text == name) {
      *compression = known.type;
      return true;
    }
  }
  return false;
}

bool Compress(const Codec& codec, std::string_view contents, std::string* out,
              const ZstdDictionary* dictionary) {
  if (contents.size() > kMostBytes) {
    return false;
  }
  switch (codec.type) {
    case Compression::kNone:
      return false;
    case Compression::kSnappy: {
      size_t length;
      out->resize(snappy::MaxCompressedLength(contents.size()));
      snappy::RawCompress(contents.data(), contents.size(), out->data(), &length);
      out->resize(length);
      return true;
    }
    case Compression::kZstd:
      return CompressZstd(codec, contents, out,
                          dictionary != nullptr ? dictionary->ready_->to_write.get() : nullptr);
    case Compression::kLz4:
      return CompressLz4(contents, out);
  }
  return false;
}

Status Uncompress(Compression type, std::string_view stored, std::string* out,
                  const ZstdDictionary* dictionary) {
  switch (type) {
    case Compression::kNone:
      out->assign(stored);
      return {};
    case Compression::kSnappy:
      return Unsnap(stored, out);
    case Compression::kZstd:
      return UncompressZstd(stored, out,
                            dictionary != nullptr ? dictionary->ready_->to_read.get() : nullptr);
    case Compression::kLz4:
      return UncompressLz4(stored, out);
  }
  return Status::NotSupported(
      fmt::format("block has unknown compression type {}", static_cast<uint8_t>(type)));
}

}  // namespace sluice
