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

// As a big-endian number, zero-padded: decides most comparisons.
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

// The first 8 bytes of the key of what `next` leads to, as Prefix has them, or of one that it led to
// before: never less than that, because links only come to lead to smaller keys, and `bound` follows
// after `next`. So who reads `bound` first knows that what `next` leads to is not above it.
struct Memtable::Link {
  std::atomic<Node*> next;
  std::atomic<uint64_t> bound;

  void Set(Node* node);
};

// In the arena: the links of the levels above 0, top first, then the node, then its key. The links
// that a search reads together lie together, and level 0, which every node has, beside the key.
struct Memtable::Node {
  Link link0;
  std::atomic<Version*> newest;
  std::atomic<uint32_t> versions;
  uint32_t key_bytes;

  char* key_data() { return reinterpret_cast<char*>(&key_bytes + 1); }
  std::string_view key() const {
    return {reinterpret_cast<const char*>(&key_bytes + 1), key_bytes};
  }
  Link& link(int level) { return level == 0 ? link0 : reinterpret_cast<Link*>(this)[-level]; }
  Node* Next(int level) { return link(level).next.load(std::memory_order_acquire); }
  // Never asked of the head.
  int Compare(std::string_view other, uint64_t other_prefix) const {
    const uint64_t prefix = Prefix(key());
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

void Memtable::Link::Set(Node* node) {
  next.store(node, std::memory_order_relaxed);
  bound.store(node == nullptr ? ~uint64_t{0} : Prefix(node->key()), std::memory_order_relaxed);
}

// A record of 16 + 100 bytes takes about 200 with its node: so many keys fit, if none is updated.
Memtable::Memtable(size_t expected_bytes, MemtableMemory* all)
    : account_(all),
      arena_(&account_),
      index_(expected_bytes / 192, &account_),
      head_(MakeNode(head_memory_, {}, kMaxHeight)) {}

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
  return sizeof(Link) * (height - 1) +
         std::max(sizeof(Node), offsetof(Node, key_bytes) + sizeof(uint32_t) + key_bytes);
}

Memtable::Node* Memtable::MakeNode(char* memory, std::string_view user_key, int height) {
  static_assert(kHeadBytes >= sizeof(Link) * (kMaxHeight - 1) + sizeof(Node));
  auto* const node = new (memory + sizeof(Link) * (height - 1)) Node;
  node->newest.store(nullptr, std::memory_order_relaxed);
  node->versions.store(0, std::memory_order_relaxed);
  node->key_bytes = static_cast<uint32_t>(user_key.size());
  std::copy(user_key.begin(), user_key.end(), node->key_data());
  for (int level = 0; level < height; ++level) {
    node->link(level).Set(nullptr);
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
                                  Node* before, const Node** beyond) {
  while (true) {
    Link& link = before->link(level);
    if (level > 0) {
      __builtin_prefetch(before->Next(level - 1));  // where the search goes if `next` is beyond
    }
    const uint64_t bound = link.bound.load(std::memory_order_acquire);
    if (bound > prefix) {
      return before;
    }
    Node* const next = link.next.load(std::memory_order_acquire);
    if (bound == prefix) [[unlikely]] {
      if (next == *beyond || next == nullptr || next->Compare(user_key, prefix) >= 0) {
        *beyond = next;
        return before;
      }
    }
    before = next;
  }
}

Memtable::Node* Memtable::FindAfter(std::string_view user_key, uint64_t prefix, int level,
                                    Node** before) {
  while (true) {
    Node* const next = (*before)->Next(level);
    if (next == nullptr || next->Compare(user_key, prefix) >= 0) {
      return next;
    }
    *before = next;
  }
}

Memtable::Gap Memtable::Find(std::string_view user_key) const {
  const uint64_t prefix = Prefix(user_key);
  Node* before = head_;
  const Node* beyond = nullptr;
  for (int level = height_.load(std::memory_order_relaxed) - 1; level >= 0; --level) {
    before = Advance(user_key, prefix, level, before, &beyond);
  }
  Node* const after = FindAfter(user_key, prefix, 0, &before);
  return {before, after};
}

// A search for the place of a new key, in steps. Each reads one node, which the step before began
// to fetch, so that searches that take turns wait for memory together.
struct Memtable::Search {
  std::string_view user_key;
  Version* version;  // the key's first
  uint64_t prefix;
  uint64_t hash;
  int level;
  Node* at;
  Node* next;          // to be compared: the link to it does not tell; null if there is none
  const Node* beyond;  // its key is known not to be less
  Node* before[kMaxHeight];

  void Begin(const Record& record, Version* first, uint64_t hash_of_key, Node* head, int height) {
    user_key = record.user_key;
    version = first;
    prefix = Prefix(user_key);
    hash = hash_of_key;
    level = height - 1;
    at = head;
    next = nullptr;
    beyond = nullptr;
    std::fill(before + height, before + kMaxHeight, head);
  }

  // Whether there is another step.
  bool Step() {
    if (next != nullptr) {
      if (next->Compare(user_key, prefix) < 0) {
        at = next;
      } else {
        beyond = next;
        before[level--] = at;
      }
      next = nullptr;
    }
    for (; level >= 0; before[level--] = at) {
      const Link& link = at->link(level);
      const uint64_t bound = link.bound.load(std::memory_order_acquire);
      if (bound > prefix) {
        continue;
      }
      Node* const to = link.next.load(std::memory_order_acquire);
      if (bound < prefix) {
        at = to;
      } else if (to != beyond && to != nullptr) {
        next = to;
        __builtin_prefetch(to->key_data() + user_key.size());
      } else {
        continue;
      }
      __builtin_prefetch(&to->link(level));
      return true;
    }
    __builtin_prefetch(at->Next(0));
    return false;
  }

  // All steps of a search that has no other beside it.
  void Run() {
    for (; level >= 0; --level) {
      at = Advance(user_key, prefix, level, at, &beyond);
      before[level] = at;
    }
  }
};

void Memtable::Add(std::span<const Record> records) {
  const EpochGuard guard;
  const size_t count = records.size();
  uint64_t hashes[kMostAtOnce];
  for (size_t i = 0; i < count; ++i) {
    hashes[i] = Hash64(records[i].user_key);
    index_.Prefetch(hashes[i]);
  }
  Search searches[kMostAtOnce];
  Search* under_way[kMostAtOnce];
  size_t searched = 0;
  const int tallest = height_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < count; ++i) {
    const Record& record = records[i];
    if (Node* const node = index_.Find(record.user_key, hashes[i])) {
      AddVersion(node, NewVersion(record, /*with_jump=*/true));
    } else {
      Version* const version = NewVersion(record, /*with_jump=*/false);
      under_way[searched] = &searches[searched];
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
  const uint64_t prefix = search->prefix;
  Version* const version = search->version;
  Node** const before = search->before;
  Node* after = FindAfter(user_key, prefix, 0, &before[0]);
  if (after != nullptr && after->Compare(user_key, prefix) == 0) {
    return AddVersionOfNew(after, search->hash, version);
  }

  const int height = RandomHeight();
  for (int seen = tallest; seen < height;) {
    if (height_.compare_exchange_weak(seen, height, std::memory_order_relaxed)) {
      break;
    }
  }
  Node* const node =
      MakeNode(arena_.Allocate(NodeBytes(user_key.size(), height)), user_key, height);
  version->older_.store(nullptr, std::memory_order_relaxed);
  node->newest.store(version, std::memory_order_relaxed);
  node->versions.store(1, std::memory_order_relaxed);
  // From the bottom up: once in level 0 the key is there, and the levels above only speed searches.
  for (int level = 0; level < height; ++level) {
    while (true) {
      node->link(level).Set(after);
      Link& link = before[level]->link(level);
      if (link.next.compare_exchange_strong(after, node, std::memory_order_release)) {
        link.bound.store(prefix, std::memory_order_release);
        break;
      }
      after = FindAfter(user_key, prefix, level, &before[level]);
      if (level == 0 && after != nullptr && after->Compare(user_key, prefix) == 0) {
        // Another thread was first; the node is lost memory.
        return AddVersionOfNew(after, search->hash, version);
      }
    }
    if (level + 1 < height) {
      after = FindAfter(user_key, prefix, level + 1, &before[level + 1]);
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
  const uint64_t begin_prefix = Prefix(begin);
  const uint64_t end_prefix = Prefix(end);
  Node* before = head_;
  for (int level = height_.load(std::memory_order_relaxed) - 1;; --level) {
    RangeEstimate seen;
    Node* node = FindAfter(begin, begin_prefix, level, &before);
    for (; node != nullptr && (end.empty() || node->Compare(end, end_prefix) < 0);
         node = node->Next(level)) {
      const Version& newest = *node->newest.load(std::memory_order_acquire);
      ++(newest.type() == RecordType::kDeletion ? seen.tombstones : seen.values);
      seen.bytes += node->key_bytes + newest.value_bytes_;
    }
    if (level == 0 || seen.values + seen.tombstones >= kEnough) {
      // So many nodes of the lowest level stand for one of this.
      uint64_t each = 1;
      for (int i = 0; i < level; ++i) {
        each *= kBranching;
      }
      return {seen.values * each, seen.tombstones * each, seen.bytes * each};
    }
  }
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
  node_ = memtable_->Find(user_key).after;
}

void Memtable::Iterator::SeekForPrev(std::string_view user_key) {
  const Gap gap = memtable_->Find(user_key);
  if (gap.after != nullptr && gap.after->key() == user_key) {
    node_ = gap.after;
  } else {
    node_ = gap.before == memtable_->head_ ? nullptr : gap.before;
  }
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
