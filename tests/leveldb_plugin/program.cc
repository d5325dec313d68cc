// A program that knows nothing of Sluice: writes, deletes, compacts, reads, all of it through LevelDB.

#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  const std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(10));
  leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = policy.get();
  options.write_buffer_size = 256 << 10;
  std::map<std::string, std::string> model;
  leveldb::DB* opened = nullptr;
  if (!leveldb::DB::Open(options, argv[1], &opened).ok()) {
    return 1;
  }
  std::unique_ptr<leveldb::DB> db(opened);
  uint64_t random = 1;
  for (int i = 0; i < 100000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const std::string key = "key" + std::to_string((random >> 33) % 20000);
    const std::string value = std::to_string(i) + std::string(random >> 57, 'v');
    const bool deletes = (random >> 20) % 5 == 0;
    if (!(deletes ? db->Delete({}, key) : db->Put({}, key, value)).ok()) {
      return 1;
    }
    if (deletes) {
      model.erase(key);
    } else {
      model[key] = value;
    }
  }
  db->CompactRange(nullptr, nullptr);
  const std::unique_ptr<leveldb::Iterator> iterator(db->NewIterator({}));
  auto expected = model.begin();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++expected) {
    if (expected == model.end() || iterator->key() != expected->first ||
        iterator->value() != expected->second) {
      return 1;
    }
  }
  std::puts(iterator->status().ok() && expected == model.end() ? "right" : "wrong");
  std::fflush(stdout);
  return 0;
}
