// What flushes and compactions of a simulated database end in: packs intervals of keys, which come
// in order, into extents.

#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "simulate/tables.h"

namespace sluice::simulate {

// Thread-compatible.
class Output {
 public:
  // All outlive this. Numbers of extents are taken from `*next_number`.
  Output(Tables* tables, const TableShape* shape, std::mt19937_64* random, uint64_t* next_number)
      : tables_(*tables), shape_(*shape), random_(*random), next_number_(*next_number) {
    BeginExtent();
  }

  void Add(Key begin, Key end, const Written& written);
  void EndExtent() { End(/*full=*/false); }
  // All that have ended.
  std::vector<Extent>& extents() { return extents_; }
  uint64_t bytes() const { return bytes_; }  // of these
  // The size of the extent that has not ended.
  uint64_t open_bytes() const { return shape_.BytesOf(static_cast<uint64_t>(records_)); }

 private:
  void BeginExtent();
  void End(bool full);

  Tables& tables_;
  const TableShape& shape_;
  std::mt19937_64& random_;
  uint64_t& next_number_;
  // The open extent's.
  std::vector<Span> spans_;
  Key end_ = 0;
  double records_ = 0;
  double full_records_ = 0;  // it ends when it has so many

  std::vector<Extent> extents_;
  uint64_t bytes_ = 0;
};

}  // namespace sluice::simulate
