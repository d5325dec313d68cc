#include "mem/memtable.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <utility>

#include "util/epoch.h"
#include "util/hash.h"

namespace sluice {

namespace {

uint64_t Prefix(std::string_view key) {
  uint64_t bytes = 0;
  if (key.size() >= sizeof(bytes)) {
    std::memcpy(&bytes, key.data(), sizeof(bytes));
  } else if (!key.empty()) {
    std::memcpy(&bytes, key.data(), key.size());
  }
  return __builtin_bswap64(bytes);
}

}  // namespace

// In the arena: the links of the levels above 0, top first, then the node, then its key. The links
// that a search reads together lie together, and level 0, which every node has, beside the key.
struct Memtable::Node {
  std::atomic<Node*> next0;
  std::atomic<Version*> newest;
  uint64_t prefix;  // the key's first 8 bytes as a big-endian number, zero-padded: most comparisons
  uint32_t key_bytes;

  char* key_data() { return reinterpret_cast<char*>(&key_bytes + 1); }
  std::string_view key() const {
    return {reinterpret_cast<const char*>(&key_bytes + 1), key_bytes};
  }
  std::atomic<Node*>& link(int level) {
    return level == 0 ? next0 : reinterpret_cast<std::atomic<Node*>*>(this)[-level];
  }
  Node* Next(int level) { return link(level).load(std::memory_order_acquire); }
  // Never asked of the head.
  int Compare(std::string_view other, uint64_t other_prefix) const {
    if (prefix != other_prefix) {
      return prefix < other_prefix ? -1 : 1;
    }
    // Numbers padded with zeros, say, have one prefix.
    if (key_bytes >= 2 * sizeof(prefix) && other.size() >= 2 * sizeof(prefix)) {
      const uint64_t rest = Prefix(key().substr(sizeof(prefix)));
      const uint64_t other_rest = Prefix(other.substr(sizeof(prefix)));
      if (rest != other_rest) {
        return rest < other_rest ? -1 : 1;
      }
    }
    return key().compare(other);
  }
};

// A record of 16 + 100 bytes takes about 200 with its node: so many keys fit, if none is updated.
Memtable::Memtable(size_t expected_bytes, MemtableMemory* all)
    : account_(all),
      arena_(&account_),
      index_(expected_bytes / 192, &account_),
      head_(MakeNode(head_memory_, {}, 0, kMaxHeight)) {}

Memtable::~Memtable() { delete ranges_.load(std::memory_order_relaxed); }

int Memtable::RandomHeight() {
  // xorshift64*: cheap, and no two threads share it.
  thread_local uint64_t state = std::random_device{}() | 1;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  uint64_t random = (state * 0x2545F4914F6CDD1D) >> 16;
  int height = 1;
  while (height < kMaxHeight && random % kBranching == 0) {
    random /= kBranching;
    ++height;
  }
  return height;
}

size_t Memtable::NodeBytes(size_t key_bytes, int height) {
  return sizeof(std::atomic<Node*>) * (height - 1) +
         std::max(sizeof(Node), offsetof(Node, key_bytes) + sizeof(uint32_t) + key_bytes);
}

Memtable::Node* Memtable::MakeNode(char* memory, std::string_view user_key, uint64_t prefix,
                                   int height) {
  static_assert(kHeadBytes >= sizeof(std::atomic<Node*>) * (kMaxHeight - 1) + sizeof(Node));
  auto* const node = new (memory + sizeof(std::atomic<Node*>) * (height - 1)) Node;
  node->newest.store(nullptr, std::memory_order_relaxed);
  node->prefix = prefix;
  node->key_bytes = static_cast<uint32_t>(user_key.size());
  std::copy(user_key.begin(), user_key.end(), node->key_data());
  for (int level = 0; level < height; ++level) {
    node->link(level).store(nullptr, std::memory_order_relaxed);
  }
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

Memtable::Node* Memtable::Advance(std::string_view user_key, uint64_t prefix, int level,
                                  const Node* bound, Node** before) {
  while (true) {
    Node* const next = (*before)->Next(level);
    if (next == bound || next == nullptr) {
      return next;
    }
    if (level > 0) {
      // Where the search goes if `next` is beyond the key, and if it is not.
      __builtin_prefetch((*before)->Next(level - 1));
      __builtin_prefetch(next->Next(level - 1));
    }
    if (next->Compare(user_key, prefix) >= 0) {
      return next;
    }
    *before = next;
  }
}

Memtable::Node* Memtable::FindBefore(std::string_view user_key, bool or_equal) const {
  const uint64_t prefix = Prefix(user_key);
  Node* before = head_;
  Node* next = nullptr;
  for (int level = height_.load(std::memory_order_relaxed) - 1; level >= 0; --level) {
    const Node* const bound = next;
    next = Advance(user_key, prefix, level, bound, &before);
    if (or_equal && next != bound && next->Compare(user_key, prefix) == 0) {
      return next;
    }
  }
  return before;
}

// A search for the place of a new key, in steps. Each reads one node, which the step before began to fetch,
// so that searches that take turns wait for memory together.
struct Memtable::Search {
  std::string_view user_key;
  Version* version;  // the key's first
  uint64_t prefix;
  uint64_t hash;
  int level;
  Node* at;
  Node* next;
  Node* bound;  // known to be beyond the key; null: the end
  Node* found;  // has the key; null if none has
  Node* before[kMaxHeight];
  Node* after[kMaxHeight];

  void Begin(const Record& record, Version* first, uint64_t hash_of_key, Node* head, int height) {
    user_key = record.user_key;
    version = first;
    prefix = Prefix(user_key);
    hash = hash_of_key;
    level = height - 1;
    at = head;
    bound = found = nullptr;
    std::fill(before + height, before + kMaxHeight, head);
    std::fill(after + height, after + kMaxHeight, nullptr);
    Fetch();
  }

  // Whether there is another step.
  bool Step() {
    if (next != bound && next != nullptr) {
      const int order = next->Compare(user_key, prefix);
      if (order < 0) {
        at = next;
        Fetch();
        return true;
      }
      if (order == 0) {
        found = next;
        return false;
      }
      bound = next;
    }
    before[level] = at;
    after[level] = next;
    if (level == 0) {
      return false;
    }
    --level;
    Fetch();
    return true;
  }

  // All steps of a search that has no other beside it: Advance fetches what it may come to.
  void Run() {
    for (;; --level) {
      next = Advance(user_key, prefix, level, bound, &at);
      if (next != bound && next->Compare(user_key, prefix) == 0) {
        found = next;
        return;
      }
      before[level] = at;
      after[level] = bound = next;
      if (level == 0) {
        return;
      }
    }
  }

 private:
  void Fetch() {
    next = at->Next(level);
    if (next != bound && next != nullptr) {
      // A step reads the node's link and its key, which may lie in two lines.
      __builtin_prefetch(&next->link(level));
      __builtin_prefetch(next->key_data() + user_key.size());
    }
  }
};

void Memtable::Add(std::span<const Record> records) {
  const EpochGuard guard;
  uint64_t hashes[kMostAtOnce];
  for (size_t i = 0; i < records.size(); ++i) {
    hashes[i] = Hash64(records[i].user_key);
    index_.Prefetch(hashes[i]);
  }
  Search searches[kMostAtOnce];
  Search* under_way[kMostAtOnce];
  size_t searched = 0;
  const int tallest = height_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (Node* const node = index_.Find(record.user_key, hashes[i])) {
      AddVersion(node, NewVersion(record, /*with_jump=*/true));
    } else {
      under_way[searched] = &searches[searched];
      Version* const version = NewVersion(record, /*with_jump=*/false);
      searches[searched++].Begin(record, version, hashes[i], head_, tallest);
    }
  }
  if (searched == 1) {
    searches[0].Run();
  } else {
    for (size_t left = searched; left > 0;) {
      for (size_t i = 0; i < left;) {
        if (under_way[i]->Step()) {
          ++i;
        } else {
          under_way[i] = under_way[--left];
        }
      }
    }
  }
  for (size_t i = 0; i < searched; ++i) {
    AddNode(&searches[i], tallest);
  }
}

void Memtable::AddNode(Search* search, int tallest) {
  const std::string_view user_key = search->user_key;
  Version* const version = search->version;
  if (search->found != nullptr) {
    return AddVersionOfNew(search->found, search->hash, version);
  }
  Node** const before = search->before;
  Node** const after = search->after;
  const int height = RandomHeight();
  for (int seen = tallest; seen < height;) {
    if (height_.compare_exchange_weak(seen, height, std::memory_order_relaxed)) {
      break;
    }
  }
  Node* const node = MakeNode(arena_.Allocate(NodeBytes(user_key.size(), height)), user_key,
                              search->prefix, height);
  version->older_.store(nullptr, std::memory_order_relaxed);
  node->newest.store(version, std::memory_order_relaxed);
  // From the bottom up: once in level 0 the key is there, and the levels above only speed searches.
  for (int level = 0; level < height; ++level) {
    while (true) {
      node->link(level).store(after[level], std::memory_order_relaxed);
      if (before[level]->link(level).compare_exchange_strong(after[level], node,
                                                             std::memory_order_release)) {
        break;
      }
      after[level] = Advance(user_key, search->prefix, level, nullptr, &before[level]);
      if (level == 0 && after[0] != nullptr && after[0]->Compare(user_key, search->prefix) == 0) {
        // Another thread, or a record beside this one, was first; the node is lost memory.
        return AddVersionOfNew(after[0], search->hash, version);
      }
    }
  }
  index_.Insert(node, search->hash);
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

// Whoever made the node may not have come to index it yet, and this version must be found.
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
  const Node* const node = FindBefore(user_key, true);
  return node != head_ && node->key() == user_key ? VersionAt(node, snapshot) : nullptr;
}

void Memtable::Iterator::SeekToFirst() { node_ = memtable_->head_->Next(0); }

void Memtable::Iterator::SeekToLast() {
  Node* last = memtable_->head_;
  for (int level = memtable_->height_.load(std::memory_order_relaxed) - 1; level >= 0; --level) {
    while (Node* const next = last->Next(level)) {
      last = next;
    }
  }
  node_ = last == memtable_->head_ ? nullptr : last;
}

void Memtable::Iterator::Seek(std::string_view user_key) {
  node_ = memtable_->FindBefore(user_key, false)->Next(0);
  // A smaller key may have come in between the two steps.
  while (Valid() && this->user_key() < user_key) {
    Next();
  }
}

void Memtable::Iterator::SeekForPrev(std::string_view user_key) {
  const Node* const node = memtable_->FindBefore(user_key, true);
  node_ = node == memtable_->head_ ? nullptr : node;
}

// Nodes and versions lie anywhere: the version of the next node, and the node after that, are
// fetched while the caller looks at this one.
void Memtable::Iterator::Next() {
  node_ = const_cast<Node*>(node_)->Next(0);
  if (node_ == nullptr) {
    return;
  }
  if (Node* const next = const_cast<Node*>(node_)->Next(0)) {
    const auto* const version =
        reinterpret_cast<const char*>(next->newest.load(std::memory_order_relaxed));
    __builtin_prefetch(version);
    __builtin_prefetch(version + 64);
    __builtin_prefetch(next->Next(0));
  }
}

void Memtable::Iterator::Prev() {
  const Node* const node = memtable_->FindBefore(node_->key(), false);
  node_ = node == memtable_->head_ ? nullptr : node;
}

std::string_view Memtable::Iterator::user_key() const { return node_->key(); }

const Memtable::Version* Memtable::Iterator::VersionAt(SequenceNumber snapshot) const {
  return Memtable::VersionAt(node_, snapshot);
}

}  // namespace sluice
