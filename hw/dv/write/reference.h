// The encoder's rules (sluice/executor.h) written down plainly, to compare the write side with.

#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace sluice::dv {

struct Record {
  std::string key;  // user key
  uint64_t trailer = 0;
  std::string value;
};

struct EncodeParams {
  uint32_t block_bytes = 4096;
  uint64_t table_bytes = 2 << 20;
  uint16_t restart_interval = 16;
};

struct EncodedBlock {
  std::string content;
  uint64_t bytes = 0;    // of the content
  std::string last_key;  // user key
  uint64_t last_trailer = 0;
  uint32_t restarts = 0;
};

struct EncodedTable {
  std::vector<EncodedBlock> blocks;
  uint64_t entries = 0;
  uint64_t tombstones = 0;
};

// The bytes that two keys start with in common.
size_t SharedPrefix(const std::string& a, const std::string& b);

std::vector<EncodedTable> Encode(const std::vector<Record>& records, const EncodeParams& params);

// What the data and index areas then hold.
std::string DataArea(const std::vector<EncodedTable>& tables);
std::string IndexArea(const std::vector<EncodedTable>& tables);

uint64_t Checksum(const std::vector<Record>& records);

// Records in no particular order: the encoder does not look at it. `bytes` is about what keys and
// values add up to; shapes (key and value lengths, repeats) vary from call to call.
std::vector<Record> RandomRecords(std::mt19937_64& rng, uint64_t bytes);
EncodeParams RandomParams(std::mt19937_64& rng);

}  // namespace sluice::dv
