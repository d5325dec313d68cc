// ParseWriteBatch: any bytes.

#include "fuzz/fuzz.h"
#include "leveldb_dir/logged_batch.h"
#include "table/testing.h"

namespace sluice::fuzz {

void RunBatch(std::string_view input) {
  const ExactCopy batch(input);
  std::vector<LoggedRecord> records;
  if (!ParseWriteBatch(batch.view(), &records).ok()) {
    return;
  }
  Check(records.size() == DecodeFixed32(batch.view().data() + 8), "as many as it claims");
  SequenceNumber sequence = DecodeFixed64(batch.view().data());
  size_t bytes = 0;
  for (const LoggedRecord& record : records) {
    Check(TrailerSequence(record.trailer) == sequence++, "sequence numbers ascend by one");
    bytes += record.user_key.size() + record.value.size();
  }
  Check(bytes <= input.size(), "records lie in the batch");
}

std::string MakeBatchSeed(Random* random) {
  std::string records;
  uint32_t count = 0;
  for (uint64_t n = Uniform(random, 0, 20); n > 0; --n, ++count) {
    const bool put = Uniform(random, 0, 1) != 0;
    records.push_back(put ? 1 : 0);
    PutLengthPrefixed(&records, std::to_string((*random)()));
    if (put) {
      PutLengthPrefixed(&records, std::string(SkewedSize(random, 300), 'v'));
    }
  }
  std::string batch;
  PutFixed64(&batch, Uniform(random, 0, kMaxSequence));
  PutFixed32(&batch, count);
  return batch + records;
}

}  // namespace sluice::fuzz
