#include "grid/thesis.h"

#include <iterator>
#include <random>
#include <set>
#include <string>
#include <utility>

namespace sluice::grid {

namespace {

constexpr size_t kFirstRun = 50;
constexpr size_t kSecondRun = 30;
constexpr size_t kShared = 18;  // 0.6 of the second run

class Letters {
 public:
  std::string Word(const LengthRange& range) {
    static constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    std::string word(range.min + random_() % (range.max - range.min + 1), '\0');
    for (char& c : word) {
      c = kLetters[random_() % kLetters.size()];
    }
    return word;
  }

 private:
  std::mt19937_64 random_{1};
};

}  // namespace

GeneratedTask ThesisTask(const LengthRange& key_bytes, const LengthRange& value_bytes) {
  Letters letters;
  std::set<std::string> keys[2];
  while (keys[0].size() < kFirstRun) {
    keys[0].insert(letters.Word(key_bytes));
  }
  // The letters of the words are random, but the set sorts them: every second key, so that the
  // shared ones are spread over the run.
  auto shared = keys[0].begin();
  for (size_t i = 0; i < kShared; ++i, std::advance(shared, 2)) {
    keys[1].insert(*shared);
  }
  while (keys[1].size() < kSecondRun) {
    if (std::string key = letters.Word(key_bytes); !keys[0].contains(key)) {
      keys[1].insert(std::move(key));
    }
  }
  GeneratedTask result;
  SequenceNumber sequence = 1;
  for (const auto& run : keys) {
    TableImageBuilder table;
    for (const std::string& key : run) {
      const std::string value = letters.Word(value_bytes);
      table.Add(MakeInternalKey(key, sequence++, RecordType::kValue), value);
      result.raw_bytes += key.size() + kTrailerBytes + value.size();
    }
    result.images.emplace_back().push_back(table.Finish());
  }
  result.task.bottommost = true;
  result.Refer();
  return result;
}

}  // namespace sluice::grid
