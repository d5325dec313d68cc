#include "mem/memtable.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "util/epoch.h"
#include "util/hash.h"

namespace sluice {

// In the arena, before its key.
struct Memtable::Node {
  std::atomic<Node*> next;
  std::atomic<Version*> newest;
  std::atomic<uint32_t> versions;
  uint32_t key_bytes;

  char* key_data() { return reinterpret_cast<char*>(&key_bytes + 1); }
  std::string_view key() const {
    return {reinterpret_cast<const char*>(&key_bytes + 1), key_bytes};
  }
  Node* Next() const { return next.load(std::memory_order_acquire); }
};

// A record of 16 + 100 bytes takes about 200 with its node: so many keys fit, if none is updated.
Memtable::Memtable(size_t expected_bytes, MemtableMemory* all)
    : account_(all),
      arena_(&account_),
      index_(expected_bytes / 192, &account_),
      order_(&arena_),
      head_(MakeNode(head_memory_, {})) {}

Memtable::~Memtable() { delete ranges_.load(std::memory_order_relaxed); }

size_t Memtable::NodeBytes(size_t key_bytes) {
  return std::max(sizeof(Node), offsetof(Node, key_bytes) + sizeof(uint32_t) + key_bytes);
}

Memtable::Node* Memtable::MakeNode(char* memory, std::string_view user_key) {
  static_assert(kHeadBytes >= sizeof(Node));
  auto* const node = new (memory) Node;
  node->next.store(nullptr, std::memory_order_relaxed);
  node->newest.store(nullptr, std::memory_order_relaxed);
  node->versions.store(0, std::memory_order_relaxed);
  node->key_bytes = static_cast<uint32_t>(user_key.size());
  std::copy(user_key.begin(), user_key.end(), node->key_data());
  return node;
}

Memtable::Version* Memtable::NewVersion(const Record& record, bool with_jump) {
  const std::string_view value = record.value;
  const size_t front = with_jump ? sizeof(void*) : 0;
  auto* const version =
      new (arena_.Allocate(front + sizeof(Version) + value.size()) + front) Version;
  version->trailer_ = MakeTrailer(record.sequence, record.type);
  version->value_bytes_ = static_cast<uint32_t>(value.size());
  version->span_ = with_jump ? 1 : 0;
  std::copy(value.begin(), value.end(), reinterpret_cast<char*>(version + 1));
  return version;
}

void Memtable::Version::SetJump(Version* older) {
  if (span_ == 0) {
    return;
  }
  Version* const far = older == nullptr ? nullptr : older->jump();
  if (far != nullptr && far->jump() != nullptr && far->span_ == older->span_) {
    span_ = 1 + 2 * far->span_;
    jump_field() = far->jump();
  } else {
    span_ = 1;
    jump_field() = older;
  }
}

Memtable::Gap Memtable::Find(std::string_view user_key) const {
  return Find(user_key, order_.Find(user_key));
}

Memtable::Gap Memtable::Find(std::string_view user_key,
                             const OrderIndex<Node>::Place& place) const {
  Gap gap{.before = place.before != nullptr ? place.before : head_, .after = nullptr};
  for (;; ++gap.passed) {
    gap.after = gap.before->Next();
    if (gap.after == place.beyond) {
      gap.differs = place.differs;
      return gap;
    }
    if (gap.after == nullptr) {
      return gap;
    }
    if (const int order = gap.after->key().compare(user_key); order >= 0) {
      gap.differs = order > 0;
      return gap;
    }
    gap.before = gap.after;
  }
}

void Memtable::AddOne(const Record& record) {
  const EpochGuard guard;
  const uint64_t hash = Hash64(record.user_key);
  if (Node* const node = index_.Find(record.user_key, hash)) {
    AddVersion(node, NewVersion(record, /*with_jump=*/true));
  } else {
    AddNode(record.user_key, hash, order_.Find(record.user_key),
            NewVersion(record, /*with_jump=*/false));
  }
}

void Memtable::Add(std::span<const Record> records) {
  if (records.size() == 1) {
    return AddOne(records.front());
  }
  const EpochGuard guard;
  const size_t count = records.size();
  uint64_t hashes[kMostAtOnce];
  for (size_t i = 0; i < count; ++i) {
    hashes[i] = Hash64(records[i].user_key);
    index_.Prefetch(hashes[i]);
  }
  struct New {
    const Record* record;
    uint64_t hash;
    Version* version;
    OrderSearch search;
  };
  New added[kMostAtOnce];
  size_t searched = 0;
  for (size_t i = 0; i < count; ++i) {
    const Record& record = records[i];
    if (Node* const node = index_.Find(record.user_key, hashes[i])) {
      AddVersion(node, NewVersion(record, /*with_jump=*/true));
    } else {
      added[searched++] = {&record, hashes[i], NewVersion(record, /*with_jump=*/false),
                           OrderSearch(order_, record.user_key)};
    }
  }
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < searched; ++i) {
      more |= added[i].search.Step();
    }
  }
  for (size_t i = 0; i < searched; ++i) {
    const New& one = added[i];
    AddNode(one.record->user_key, one.hash, one.search.place(), one.version);
  }
}

void Memtable::AddNode(std::string_view user_key, uint64_t hash,
                       const OrderIndex<Node>::Place& place, Version* version) {
  Gap gap = Find(user_key, place);
  Node* node = nullptr;
  while (true) {
    if (gap.after != nullptr && !gap.differs && gap.after->key() == user_key) {
      // Another thread was first; the node, if there is one, is lost memory.
      return AddVersionOfNew(gap.after, hash, version);
    }
    if (node == nullptr) {
      node = MakeNode(arena_.Allocate(NodeBytes(user_key.size())), user_key);
      version->older_.store(nullptr, std::memory_order_relaxed);
      node->newest.store(version, std::memory_order_relaxed);
      node->versions.store(1, std::memory_order_relaxed);
    }
    node->next.store(gap.after, std::memory_order_relaxed);
    if (gap.before->next.compare_exchange_strong(gap.after, node, std::memory_order_release,
                                                 std::memory_order_relaxed)) {
      break;
    }
    const size_t passed = gap.passed;
    gap = Find(user_key, {.before = gap.before == head_ ? nullptr : gap.before});
    gap.passed += passed;
  }
  index_.Insert(node, hash);
  order_.Insert(node, gap.before == head_ ? nullptr : gap.before, place, gap.passed, head_->Next());
  records_.fetch_add(1, std::memory_order_release);
}

void Memtable::DeleteRange(SequenceNumber sequence, std::string_view begin, std::string_view end) {
  RangeDeletion deletion{std::string(begin), std::string(end), sequence};
  const RangeDeletions* before;
  {
    const MutexLock lock(ranges_mutex_);
    before = ranges_.load(std::memory_order_relaxed);
    auto after = std::make_unique<RangeDeletions>(before == nullptr ? RangeDeletions() : *before);
    const size_t bytes = after->bytes();
    after->Add(std::move(deletion));
    if (after->empty()) {
      return;
    }
    account_.Add(after->bytes() - bytes);
    ranges_.store(after.release(), std::memory_order_release);
  }
  if (before != nullptr) {
    EpochRetire(const_cast<RangeDeletions*>(before));
  }
}

// The thread that made the node may not have indexed it yet, and this version must be found.
void Memtable::AddVersionOfNew(Node* node, uint64_t hash, Version* version) {
  if (index_.Find(node->key(), hash) == nullptr) {
    index_.Insert(node, hash);
  }
  AddVersion(node, version);
}

// Writers of one key nearly always come in the order of their sequence numbers: the place is in
// front.
void Memtable::AddVersion(Node* node, Version* version) {
  std::atomic<Version*>* link = &node->newest;
  while (true) {
    Version* next = link->load(std::memory_order_acquire);
    if (next != nullptr && next->trailer_ > version->trailer_) {
      link = &next->older_;
      continue;
    }
    version->older_.store(next, std::memory_order_relaxed);
    version->SetJump(next);
    if (link->compare_exchange_strong(next, version, std::memory_order_release,
                                      std::memory_order_relaxed)) {
      node->versions.fetch_add(1, std::memory_order_relaxed);
      records_.fetch_add(1, std::memory_order_release);
      return;
    }
  }
}

const Memtable::Version* Memtable::VersionAt(const Node* node, SequenceNumber snapshot) {
  const Version* const newest = node->newest.load(std::memory_order_acquire);
  return newest == nullptr ? nullptr : newest->At(snapshot);
}

const Memtable::Version* Memtable::Get(std::string_view user_key, uint64_t hash,
                                       SequenceNumber snapshot) const {
  const EpochGuard guard;
  if (const Node* const node = index_.Find(user_key, hash)) {
    return VersionAt(node, snapshot);
  }
  if (index_.complete()) [[likely]] {
    return nullptr;
  }
  const Node* const node = Find(user_key).after;
  return node != nullptr && node->key() == user_key ? VersionAt(node, snapshot) : nullptr;
}

Memtable::RangeEstimate Memtable::Estimate(std::string_view begin, std::string_view end) const {
  constexpr size_t kEnough = 64;
  RangeEstimate seen;
  const auto count = [&seen](const Node& node, uint64_t weight) {
    const Version& newest = *node.newest.load(std::memory_order_acquire);
    (newest.type() == RecordType::kDeletion ? seen.tombstones : seen.values) += weight;
    seen.bytes += weight * (node.key_bytes + newest.value_bytes_);
  };
  const Node* node = begin.empty() ? head_->Next() : Find(begin).after;
  for (size_t counted = 0; node != nullptr && (end.empty() || node->key() < end);
       node = node->Next()) {
    if (++counted > kEnough) {
      const RangeEstimate exact = seen;
      seen = {};
      order_.Sample(begin, end, kEnough, count);
      // What it lacks is there all the same.
      return seen.values + seen.tombstones < kEnough ? exact : seen;
    }
    count(*node, 1);
  }
  return seen;
}

void Memtable::Iterator::SeekToFirst() { node_ = memtable_->head_->Next(); }

void Memtable::Iterator::SeekToLast() {
  const Node* last = memtable_->order_.Last();
  if (last == nullptr) {
    last = memtable_->head_;
  }
  while (const Node* const next = last->Next()) {
    last = next;
  }
  node_ = last == memtable_->head_ ? nullptr : last;
}

void Memtable::Iterator::Seek(std::string_view user_key) {
  node_ = memtable_->Find(user_key).after;
}

void Memtable::Iterator::SeekForPrev(std::string_view user_key) {
  const Gap gap = memtable_->Find(user_key);
  if (gap.after != nullptr && !gap.differs && gap.after->key() == user_key) {
    node_ = gap.after;
  } else {
    node_ = gap.before == memtable_->head_ ? nullptr : gap.before;
  }
}

// Nodes and versions lie anywhere: the version of the next node, and the node after that, are
// fetched while the caller looks at this one.
void Memtable::Iterator::Next() {
  node_ = node_->Next();
  if (node_ == nullptr) {
    return;
  }
  if (const Node* const next = node_->Next()) {
    const auto* const version =
        reinterpret_cast<const char*>(next->newest.load(std::memory_order_relaxed));
    __builtin_prefetch(version);
    __builtin_prefetch(version + 64);
    __builtin_prefetch(next->Next());
  }
}

void Memtable::Iterator::Prev() {
  const Node* const node = memtable_->Find(node_->key()).before;
  node_ = node == memtable_->head_ ? nullptr : node;
}

std::string_view Memtable::Iterator::user_key() const { return node_->key(); }

const Memtable::Version* Memtable::Iterator::VersionAt(SequenceNumber snapshot) const {
  return Memtable::VersionAt(node_, snapshot);
}

uint64_t Memtable::Iterator::versions() const {
  return node_->versions.load(std::memory_order_relaxed);
}

}  // namespace sluice
