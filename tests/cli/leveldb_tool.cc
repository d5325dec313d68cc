// Real LevelDB as another process, for tests of the command line.
//
//   leveldb_tool make DIR SEED RECORDS    creates a database: overwrites, deletions, several tables
//   leveldb_tool check DIR SEED RECORDS   reopens it: exactly what `make` left must be in it
//   leveldb_tool expected SEED RECORDS    prints that, a line "key<tab>value" each
//   leveldb_tool hold DIR                 opens it, prints "held", keeps it open until stdin ends

#include <fmt/format.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>

namespace {

using Model = std::map<std::string, std::string>;

void Must(const leveldb::Status& status) {
  if (!status.ok()) {
    fmt::print(stderr, "leveldb: {}\n", status.ToString());
    std::exit(1);
  }
}

// `db` may be null: then only the model is made.
Model Write(leveldb::DB* db, uint64_t seed, uint64_t records) {
  std::mt19937_64 random(seed);
  Model model;
  for (uint64_t i = 0; i < records; ++i) {
    const std::string key = fmt::format("key{:08}", random() % (records / 2 + 1));
    if (random() % 8 == 0) {
      model.erase(key);
      if (db != nullptr) {
        Must(db->Delete({}, key));
      }
      continue;
    }
    const std::string value(random() % 300, static_cast<char>('a' + random() % 26));
    model[key] = value;
    if (db != nullptr) {
      Must(db->Put({}, key, value));
    }
  }
  return model;
}

std::unique_ptr<leveldb::DB> Open(const std::string& dir, bool create,
                                  const leveldb::FilterPolicy* filter) {
  leveldb::Options options;
  options.create_if_missing = create;
  options.error_if_exists = create;
  options.paranoid_checks = true;
  options.filter_policy = filter;
  options.write_buffer_size = 64 << 10;  // many small tables
  leveldb::DB* db = nullptr;
  Must(leveldb::DB::Open(options, dir, &db));
  return std::unique_ptr<leveldb::DB>(db);
}

int Check(leveldb::DB* db, const Model& model) {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> it(db->NewIterator(options));
  auto expected = model.begin();
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
    if (expected == model.end() || it->key() != expected->first ||
        it->value() != expected->second) {
      fmt::print(stderr, "unexpected at {}\n", it->key().ToString());
      return 1;
    }
  }
  Must(it->status());
  if (expected != model.end()) {
    fmt::print(stderr, "{} is missing\n", expected->first);
    return 1;
  }
  std::string value;
  for (const auto& [key, stored] : model) {
    Must(db->Get(options, key, &value));
    if (value != stored) {
      fmt::print(stderr, "{} has another value\n", key);
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[1] : "";
  const std::unique_ptr<const leveldb::FilterPolicy> filter(leveldb::NewBloomFilterPolicy(10));
  if (mode == "hold") {
    const std::unique_ptr<leveldb::DB> db = Open(argv[2], false, filter.get());
    fmt::print("held\n");
    std::fflush(stdout);
    return std::cin.get() == EOF ? 0 : 1;
  }
  if (mode == "expected" && argc == 4) {
    for (const auto& [key, value] :
         Write(nullptr, std::strtoull(argv[2], nullptr, 0), std::strtoull(argv[3], nullptr, 0))) {
      fmt::print("{}\t{}\n", key, value);
    }
    return 0;
  }
  if (argc != 5 || (mode != "make" && mode != "check")) {
    fmt::print(
        stderr,
        "usage: leveldb_tool make|check DIR SEED RECORDS | expected SEED RECORDS | hold DIR\n");
    return 2;
  }
  const uint64_t seed = std::strtoull(argv[3], nullptr, 0);
  const uint64_t records = std::strtoull(argv[4], nullptr, 0);
  const std::unique_ptr<leveldb::DB> db = Open(argv[2], mode == "make", filter.get());
  if (mode == "make") {
    Write(db.get(), seed, records);
    return 0;
  }
  return Check(db.get(), Write(nullptr, seed, records));
}
