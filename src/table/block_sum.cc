#include "table/block_sum.h"

#include "table/xxh3.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace sluice {

uint32_t Xxh3BlockSum(std::string_view block) {
  constexpr uint32_t kTypePrime = 0x6b9083d9;
  return static_cast<uint32_t>(Xxh3(block.substr(0, block.size() - 1))) ^
         static_cast<uint8_t>(block.back()) * kTypePrime;
}

uint32_t BlockSum::Of(std::string_view block, uint64_t offset) const {
  return kind == BlockChecksum::kXxh3 ? Xxh3BlockSum(block) + BlockSumModifier(base, offset)
                                      : MaskCrc(Crc32c(block));
}

void BlockSum::Seal(char* image, const BlockHandle& handle) const {
  char* const block = image + handle.offset;
  EncodeFixed32(block + handle.size + 1, Of({block, handle.size + 1}, handle.offset));
}

}  // namespace sluice
