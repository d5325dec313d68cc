#include "samples.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace sluice::dv {
namespace {

// All documents, in the order of their names.
const std::string& Documents() {
  static const std::string documents = [] {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/docs")) {
      if (entry.path().extension() == ".md") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::string text;
    for (const auto& path : paths) {
      std::ifstream file(path, std::ios::binary);
      text.append(std::istreambuf_iterator<char>(file), {});
    }
    if (text.size() < 100'000) {
      throw std::runtime_error("no documents in " SLUICE_SOURCE_DIR "/docs");
    }
    return text;
  }();
  return documents;
}

std::string JsonRecord(std::mt19937_64* random) {
  static const char* const kNames[] = {"Ada", "Barbara", "Edsger", "Grace", "Ken", "Leslie"};
  static const char* const kCities[] = {"Amsterdam", "Austin", "London", "New York", "Zurich"};
  std::mt19937_64& rng = *random;
  const std::string id = std::to_string(rng() % 1'000'000);
  return "{\"id\":" + id + ",\"name\":\"" + kNames[rng() % std::size(kNames)] +
         "\",\"email\":\"user" + id + "@example.com\",\"city\":\"" +
         kCities[rng() % std::size(kCities)] + "\",\"score\":" + std::to_string(rng() % 10'000) +
         ".5,\"active\":" + (rng() % 2 == 0 ? "true" : "false") + ",\"created\":\"2024-0" +
         std::to_string(1 + rng() % 9) + "-1" + std::to_string(rng() % 10) +
         "T12:00:00Z\",\"tags\":[]}\n";
}

std::string RandomBytes(size_t n, std::mt19937_64* random) {
  std::string bytes(n, '\0');
  for (char& byte : bytes) byte = static_cast<char>((*random)());
  return bytes;
}

std::string Number(uint32_t number, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

std::string Varint(uint32_t number) {
  std::string text;
  for (; number >= 0x80; number >>= 7) text += static_cast<char>(number | 0x80);
  return text + static_cast<char>(number);
}

// The preamble in five bytes, the last of which may say more than 32 bits have room for.
std::string LongPreamble(std::string_view block, std::mt19937_64* random) {
  uint32_t length = 0;
  size_t bytes = 0;
  for (unsigned shift = 0; bytes < block.size() && shift < 35; shift += 7) {
    const auto byte = static_cast<uint8_t>(block[bytes++]);
    length |= uint32_t{byte & 0x7fU} << shift;
    if (byte < 0x80) break;
  }
  std::string text;
  for (unsigned shift = 0; shift < 28; shift += 7) {
    text += static_cast<char>(0x80 | (length >> shift & 0x7f));
  }
  text += static_cast<char>(length >> 28 | ((*random)() % 2 == 0 ? 0 : 0x10 << (*random)() % 3));
  return text + std::string(block.substr(bytes));
}

std::string LiteralHeader(uint32_t length, std::mt19937_64* random) {
  size_t bytes = length <= 60 && (*random)() % 4 != 0 ? 0 : 1 + (*random)() % 4;
  while (bytes > 0 && bytes < 4 && (length - 1) >> (8 * bytes) != 0) ++bytes;
  if (bytes == 0) {
    return Number((length - 1) << 2, 1);
  }
  return Number((59 + bytes) << 2, 1) + Number(length - 1, bytes);
}

std::string CopyElement(uint32_t offset, uint32_t length, std::mt19937_64* random) {
  const uint64_t form = (*random)() % 3;
  if (form == 0 && offset < 2048 && length >= 4 && length <= 11) {
    return Number(1 | (length - 4) << 2 | (offset >> 8) << 5, 1) + Number(offset, 1);
  }
  if (form < 2 && offset < 65536) {
    return Number(2 | (length - 1) << 2, 1) + Number(offset, 2);
  }
  return Number(3 | (length - 1) << 2, 1) + Number(offset, 4);
}

uint32_t OddOffset(uint32_t made, size_t width, size_t history, std::mt19937_64* random) {
  std::mt19937_64& rng = *random;
  uint64_t offset = 0;
  switch (rng() % 6) {
    case 0:
      offset = 1 + rng() % (width + 2);
      break;
    case 1:
      offset = rng() % 3 + (1 + rng() % 7) * width;
      break;
    case 2:
      offset = history + 1 - std::min<uint64_t>(history, rng() % (2 * width));
      break;
    case 3:
      offset = made - std::min<uint64_t>(made, rng() % width);
      break;
    default:
      offset = 1 + rng() % std::min<uint64_t>(made, history);
  }
  return static_cast<uint32_t>(std::clamp<uint64_t>(offset, 1, made));
}

}  // namespace

const char* KindName(Kind kind) {
  static const char* const kNames[] = {"text", "JSON", "random", "half"};
  return kNames[static_cast<int>(kind)];
}

std::string Sample(Kind kind, size_t n, std::mt19937_64* random) {
  std::string bytes;
  switch (kind) {
    case Kind::kText: {
      const std::string& all = Documents();
      while (bytes.size() < n) bytes += all.substr((*random)() % all.size(), n - bytes.size());
      break;
    }
    case Kind::kJson:
      while (bytes.size() < n) bytes += JsonRecord(random);
      break;
    case Kind::kRandom:
      bytes = RandomBytes(n, random);
      break;
    case Kind::kHalf:
      while (bytes.size() < n) {
        std::string half = RandomBytes(50, random);
        for (char& byte : half) byte = static_cast<char>(' ' + static_cast<uint8_t>(byte) % 95);
        bytes += half + half;
      }
  }
  bytes.resize(n);
  return bytes;
}

std::string OddBlock(size_t elements, size_t width, size_t history, std::mt19937_64* random) {
  std::mt19937_64& rng = *random;
  std::string block;
  uint32_t made = 0;
  for (size_t i = 0; i < elements; ++i) {
    if (made == 0 || rng() % 3 == 0) {
      const auto length =
          static_cast<uint32_t>(1 + rng() % (rng() % 4 != 0 ? 2 * width : 5 * width + 300));
      block += LiteralHeader(length, random) + RandomBytes(length, random);
      made += length;
    } else {
      const uint32_t length = 1 + static_cast<uint32_t>(rng() % (rng() % 2 == 0 ? 64 : 12));
      block += CopyElement(OddOffset(made, width, history, random), length, random);
      made += length;
    }
  }
  return Varint(made) + block;
}

void Damage(std::string* block, std::mt19937_64* random) {
  std::mt19937_64& rng = *random;
  if (rng() % 8 == 0) {
    *block = LongPreamble(*block, random);
    return;
  }
  for (uint64_t n = 1 + rng() % 3; n > 0 && !block->empty(); --n) {
    const size_t at =
        rng() % 4 == 0 ? rng() % std::min<size_t>(block->size(), 8) : rng() % block->size();
    switch (rng() % 6) {
      case 0:
        (*block)[at] = static_cast<char>(rng());
        break;
      case 1:
        (*block)[at] ^= static_cast<char>(1 << rng() % 8);
        break;
      case 2:
        block->erase(at, 1 + rng() % 4);
        break;
      case 3:
        block->insert(at, RandomBytes(1 + rng() % 4, random));
        break;
      case 4:
        block->insert(at, block->substr(at, 1 + rng() % 8));
        break;
      default:
        block->resize(at);
    }
  }
}

}  // namespace sluice::dv
