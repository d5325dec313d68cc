// Finds the node before a key in a list of nodes in key order: what a search in a memtable costs is the
// memory that it has to wait for, and a skiplist waits for some twenty nodes that lie anywhere.
//
// A tree of pages, each of up to kEntries nodes in order, with a word of each key beside the other
// words: a search waits for a page of each level, of which only the lowest is not in a cache, and looks
// at no key unless words are equal. A page's words come after what all its keys have in common, so that
// they tell keys apart which begin alike.
//
// It is a hint: the list alone says which nodes there are. The index may lack nodes, and who searches
// goes on in the list from the node that it was given. So an insertion that finds a page locked, or no
// memory, leaves it at that.
//
// Thread-safe. Searches take no lock: a page has a version, odd while it changes, and a search that
// meets a change does with what it has from the page above. Insertions lock a page; splits of pages
// come one at a time. Pages are never freed, nor do their prefixes change.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include "mem/arena.h"
#include "util/mutex.h"

namespace sluice {

// Node has `std::string_view key() const` and `Node* Next() const`, and stays where it is as long as the
// index.
template <typename Node>
class OrderIndex {
 private:
  class Page;

 public:
  // The memory of pages is taken from `arena`, which outlives this.
  explicit OrderIndex(Arena* arena) : arena_(*arena) {}
  OrderIndex(const OrderIndex&) = delete;
  OrderIndex& operator=(const OrderIndex&) = delete;

  // Where a key is in the order, as far as the index knows.
  struct Place {
    Node* before = nullptr;        // its key is less; null: none is known
    const Node* beyond = nullptr;  // its key is not less; null: none is known
    bool differs = false;          // the key of `beyond` is greater
    Page* leaf = nullptr;
    uint32_t splits = 0;  // that there had been
  };

  // A search in steps. Each reads one page, which the step before began to fetch, so that searches
  // that take turns wait for memory together.
  class Search {
   public:
    Search() = default;
    Search(const OrderIndex& index, std::string_view key) : key_(key), page_(nullptr) {
      place_.splits = index.splits_.load(std::memory_order_acquire);
      page_ = index.root_.load(std::memory_order_acquire);
      if (page_ != nullptr) {
        page_->Prefetch();
      }
    }
    // Whether there is another step.
    bool Step() {
      if (page_ == nullptr) {
        return false;
      }
      for (int turn = 0; !Look(); ++turn) {
        if (turn == kTurns) {
          page_ = nullptr;  // its change has been begun by a thread that is not running now
          break;
        }
      }
      if (page_ != nullptr) {
        page_->Prefetch();
        return true;
      }
      __builtin_prefetch(place_.before);
      __builtin_prefetch(place_.beyond);
      return false;
    }
    const Place& place() const { return place_; }

   private:
    static constexpr int kTurns = 32;

    // Goes down from the page; false if it has changed meanwhile.
    bool Look() {
      const uint32_t version = page_->version.load(std::memory_order_acquire);
      if (version % 2 != 0) {
        return false;
      }
      const size_t entries = page_->entries.load(std::memory_order_acquire);
      bool equal = false;
      const size_t less = page_->Less(key_, entries, &equal);
      Node* const before = less == 0 ? nullptr : page_->node(less - 1);
      Node* const beyond = less == entries ? nullptr : page_->node(less);
      Page* const below = page_->is_leaf() ? nullptr : page_->child(less == 0 ? 0 : less - 1);
      if (page_->version.load(std::memory_order_relaxed) != version) {
        return false;
      }
      if (before != nullptr) {
        place_.before = before;
      }
      if (beyond != nullptr) {
        place_.beyond = beyond;
        place_.differs = !equal;
      }
      if (below == nullptr) {
        place_.leaf = page_;
      }
      page_ = below;
      return true;
    }

    std::string_view key_;
    Page* page_ = nullptr;
    Place place_;
  };

  Place Find(std::string_view key) const {
    Search search(*this, key);
    while (search.Step()) {
    }
    return search.place();
  }

  // One of the last nodes; null: none is known.
  Node* Last() const {
    Node* last = nullptr;
    for (const Page* page = root_.load(std::memory_order_acquire); page != nullptr;) {
      const size_t entries = page->entries.load(std::memory_order_acquire);
      Node* const node = page->node(entries - 1);
      page = page->is_leaf() ? nullptr : page->child(entries - 1);
      last = node != nullptr ? node : last;
    }
    return last;
  }

  // Tells it of a node that was put into the list between `before` (null: the first) and what came after
  // that. `place`: what it had found for the node's key; `passed`: nodes from there to `before`. `first`:
  // the list's first node.
  void Insert(Node* node, Node* before, const Place& place, size_t passed, Node* first) noexcept {
    // Its page may have been split since, by those of the same batch, or have been locked.
    const bool found =
        place.leaf != nullptr && place.splits == splits_.load(std::memory_order_acquire);
    Page* const leaf = found ? place.leaf : Find(node->key()).leaf;
    if (leaf == nullptr) {
      if (root_.load(std::memory_order_acquire) == nullptr) {
        NoThrow([&] { Begin(first); });
      }
    } else if (leaf->Lock()) {
      NoThrow([&] { InsertIn(leaf, node); });
      if (passed > kMostPassed) {
        NoThrow([&] { InsertIn(leaf, before); });  // it lacks this one, and more
      }
      leaf->Unlock();
    }
  }

  // Calls visit(node, weight) for nodes in [begin, end) (empty: no bound), some `most` of them at most
  // but for a few: each stands for `weight`, so that these add up to about as many as there are.
  template <typename Visit>
  void Sample(std::string_view begin, std::string_view end, size_t most, const Visit& visit) const {
    if (const Page* const root = root_.load(std::memory_order_acquire)) {
      SampleIn(*root, begin, end, most, 1, visit);
    }
  }

 private:
  // A leaf is nine cache lines, which a search fetches at once. With twice as many entries a seek took a
  // tenth less, and an insertion as long.
  static constexpr size_t kEntries = 32;
  static constexpr size_t kFirstEntries = 16;  // of the list, when the index begins
  static constexpr size_t kMostLevels = 16;
  static constexpr size_t kLine = 64;
  static constexpr int kSpins = 64;
  static constexpr size_t kMostPassed = 16;

  // Children follow it in memory if it has some. Each has the keys above its entry's; the first one of a
  // level has no lower bound, and its entry no node.
  class alignas(kLine) Page {
   public:
    // Of keys from `low` to `high`, and others now and then.
    Page(bool is_leaf, std::string_view low, std::string_view high) : is_leaf_(is_leaf) {
      const size_t bytes = std::min({low.size(), high.size(), sizeof(prefix_)});
      prefix_bytes_ =
          std::mismatch(low.begin(), low.begin() + bytes, high.begin()).first - low.begin();
      std::memcpy(prefix_, low.data(), prefix_bytes_);
      for (std::atomic<Node*>& node : nodes_) {
        node.store(nullptr, std::memory_order_relaxed);
      }
    }

    bool is_leaf() const { return is_leaf_; }
    Node* node(size_t i) const { return nodes_[i].load(std::memory_order_acquire); }
    Page* child(size_t i) const { return children()[i].load(std::memory_order_acquire); }
    Node* first_node() const { return node(0) != nullptr ? node(0) : node(1); }

    void Prefetch() const {
      const char* const begin = reinterpret_cast<const char*>(this);
      for (size_t at = 0; at < sizeof(Page); at += kLine) {
        __builtin_prefetch(begin + at);
      }
    }

    // How many of the first `count` keys are less. `*equal`: the next may be the same.
    size_t Less(std::string_view key, size_t count, bool* equal) const {
      const uint64_t word = WordOf(key);
      size_t less = 0;
      for (size_t left = count; left > 0;) {
        const size_t half = (left + 1) / 2;
        less += words_[less + half - 1].load(std::memory_order_acquire) < word ? half : 0;
        left -= half;
      }
      *equal = less < count && words_[less].load(std::memory_order_acquire) == word;
      return *equal ? LessOfEqual(key, word, less, count) : less;
    }

    // The rest is for who has the lock, or a page that nobody knows.
    bool Lock() {
      for (int spin = 0; spin < kSpins; ++spin) {
        uint32_t now = version.load(std::memory_order_relaxed);
        if (now % 2 == 0 && version.compare_exchange_weak(now, now + 1, std::memory_order_acquire,
                                                          std::memory_order_relaxed)) {
          return true;
        }
      }
      return false;
    }
    void Unlock() {
      version.store(version.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    size_t count() const { return entries.load(std::memory_order_relaxed); }
    void InsertAt(size_t at, Node* node, Page* child) {
      const size_t end = count();
      for (size_t i = end; i > at; --i) {
        Move(i - 1, this, i);
      }
      words_[at].store(node == nullptr ? 0 : WordOf(node->key()), std::memory_order_release);
      nodes_[at].store(node, std::memory_order_release);
      if (!is_leaf_) {
        children()[at].store(child, std::memory_order_release);
      }
      Truncate(end + 1);
    }
    void Append(Node* node, Page* child) { InsertAt(count(), node, child); }
    // The entries from `begin` on, to a page that nobody knows.
    void CopyTo(size_t begin, Page* to) const {
      for (size_t i = begin; i < count(); ++i) {
        to->Append(node(i), is_leaf_ ? nullptr : child(i));
      }
    }
    void Truncate(size_t count) {
      entries.store(static_cast<uint32_t>(count), std::memory_order_release);
    }

    std::atomic<uint32_t> version{0};  // odd: locked
    std::atomic<uint32_t> entries{0};

   private:
    // Ascends with the key, if not strictly.
    uint64_t WordOf(std::string_view key) const {
      if (prefix_bytes_ > 0) {
        const int order = key.substr(0, prefix_bytes_).compare({prefix_, prefix_bytes_});
        if (order != 0) {
          return order < 0 ? 0 : ~uint64_t{0};
        }
        key.remove_prefix(prefix_bytes_);
      }
      uint64_t word = 0;
      if (key.size() >= sizeof(word)) {
        std::memcpy(&word, key.data(), sizeof(word));
      } else if (!key.empty()) {
        std::memcpy(&word, key.data(), key.size());
      }
      return __builtin_bswap64(word);
    }
    // From `less` on the words of some keys are equal to that of `key`.
    size_t LessOfEqual(std::string_view key, uint64_t word, size_t less, size_t count) const {
      size_t end = less + 1;
      while (end < count && words_[end].load(std::memory_order_acquire) == word) {
        ++end;
      }
      while (less < end) {
        const size_t middle = (less + end) / 2;
        const Node* const at = node(middle);
        if (at == nullptr || at->key() < key) {
          less = middle + 1;
        } else {
          end = middle;
        }
      }
      return less;
    }
    void Move(size_t from, Page* page, size_t to) {
      page->words_[to].store(words_[from].load(std::memory_order_relaxed),
                             std::memory_order_release);
      page->nodes_[to].store(nodes_[from].load(std::memory_order_relaxed),
                             std::memory_order_release);
      if (!is_leaf_) {
        page->children()[to].store(child(from), std::memory_order_release);
      }
    }
    std::atomic<Page*>* children() const {
      return reinterpret_cast<std::atomic<Page*>*>(const_cast<Page*>(this) + 1);
    }

    const bool is_leaf_;
    uint8_t prefix_bytes_;
    char prefix_[kLine - 10];
    std::array<std::atomic<uint64_t>, kEntries> words_;
    std::array<std::atomic<Node*>, kEntries> nodes_;
  };
  static_assert(sizeof(Page) == kLine + 2 * kEntries * sizeof(uint64_t));

  // Without memory it goes without: whatever takes some does so before it changes anything.
  template <typename Change>
  static void NoThrow(const Change& change) noexcept {
    try {
      change();
    } catch (const std::bad_alloc&) {
    }
  }

  Page* NewPage(bool is_leaf, const Node* low, const Node* high) {
    const size_t children = is_leaf ? 0 : kEntries * sizeof(std::atomic<Page*>);
    auto at = reinterpret_cast<uintptr_t>(arena_.Allocate(sizeof(Page) + children + kLine));
    at = (at + kLine - 1) / kLine * kLine;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): rounded up
    return new (reinterpret_cast<void*>(at)) Page(is_leaf, low->key(), high->key());
  }

  // The first page, once there are enough nodes to tell what their keys have in common.
  void Begin(Node* first) {
    std::array<Node*, kFirstEntries> nodes;
    size_t count = 0;
    for (Node* node = first; node != nullptr && count < nodes.size(); node = node->Next()) {
      nodes[count++] = node;
    }
    if (count < nodes.size() || !structure_.try_lock()) {
      return;
    }
    const MutexLock lock(structure_, std::adopt_lock);
    if (root_.load(std::memory_order_relaxed) == nullptr) {
      Page* const page = NewPage(true, nodes.front(), nodes.back());
      for (Node* const node : nodes) {
        page->Append(node, nullptr);
      }
      root_.store(page, std::memory_order_release);
    }
  }

  // REQUIRES: `leaf` is locked.
  void InsertIn(Page* leaf, Node* node) {
    bool equal;
    const size_t at = leaf->Less(node->key(), leaf->count(), &equal);
    if (at < leaf->count() && leaf->node(at) == node) {
      return;
    }
    if (leaf->count() < kEntries) {
      leaf->InsertAt(at, node, nullptr);
    } else if (structure_.try_lock()) {
      const MutexLock lock(structure_, std::adopt_lock);
      Split(leaf, at, node);
    }
  }

  // Keys that come in order leave full pages behind.
  static size_t LeftOfSplit(size_t at) { return at == kEntries ? kEntries : kEntries / 2; }

  // Of a full leaf, into which the node is to be inserted as number `at`. REQUIRES: it is locked.
  void Split(Page* leaf, size_t at, Node* node) SLUICE_REQUIRES(structure_) {
    std::array<Page*, kMostLevels> path;
    size_t levels = 0;
    Page* page = root_.load(std::memory_order_relaxed);
    const Node* next = nullptr;  // the first of the page behind the leaf
    for (bool equal; !page->is_leaf() && levels < path.size(); ++levels) {
      path[levels] = page;
      const size_t less = page->Less(node->key(), page->count(), &equal);
      next = less < page->count() ? page->node(less) : next;
      page = page->child(less == 0 ? 0 : less - 1);
    }
    if (page != leaf) {
      return;  // another thread has split it meanwhile
    }
    const size_t left = LeftOfSplit(at);
    Node* const first = left == kEntries ? node : leaf->node(left);
    Page* const right = NewPage(true, left == kEntries ? leaf->node(0) : first,
                                next != nullptr    ? next
                                : left == kEntries ? node
                                                   : leaf->node(kEntries - 1));
    leaf->CopyTo(left, right);
    if (at > left || left == kEntries) {
      right->InsertAt(at - left, node, nullptr);
    }
    AddChild({path.data(), levels}, leaf, right);
    splits_.store(splits_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    leaf->Truncate(left);
    if (at <= left && left != kEntries) {
      leaf->InsertAt(at, node, nullptr);
    }
  }

  // Makes `child` the one behind `before`, whose parents are `path`.
  void AddChild(std::span<Page* const> path, Page* before, Page* child)
      SLUICE_REQUIRES(structure_) {
    Node* const first = child->node(0);
    if (path.empty()) {
      Page* const root = NewPage(false, before->first_node(), first);
      root->Append(nullptr, before);
      root->Append(first, child);
      root_.store(root, std::memory_order_release);
      return;
    }
    Page* const parent = path.back();
    bool equal;
    const size_t at = parent->Less(first->key(), parent->count(), &equal);
    if (parent->count() < kEntries) {
      Change(parent, parent->count(), at, first, child);
      return;
    }
    const size_t left = LeftOfSplit(at);
    const bool to_the_right = at > left || left == kEntries;
    Page* const right = NewPage(false, left == kEntries ? parent->first_node() : parent->node(left),
                                left == kEntries ? first : parent->node(kEntries - 1));
    parent->CopyTo(left, right);
    if (to_the_right) {
      right->InsertAt(at - left, first, child);
    }
    AddChild(path.first(path.size() - 1), parent, right);
    Change(parent, left, at, to_the_right ? nullptr : first, child);
  }
  // Only who splits pages locks those above leaves.
  static void Change(Page* page, size_t count, size_t at, Node* first, Page* child) {
    while (!page->Lock()) {
    }
    page->Truncate(count);
    if (first != nullptr) {
      page->InsertAt(at, first, child);
    }
    page->Unlock();
  }

  template <typename Visit>
  static void SampleIn(const Page& page, std::string_view begin, std::string_view end, size_t most,
                       uint64_t weight, const Visit& visit) {
    const size_t count = page.entries.load(std::memory_order_acquire);
    bool equal;
    size_t first = begin.empty() ? 0 : page.Less(begin, count, &equal);
    size_t behind = end.empty() ? count : page.Less(end, count, &equal);
    if (!page.is_leaf()) {
      first -= first > 0 ? 1 : 0;  // the child that may have some of its keys
    }
    if (first >= behind) {
      if (page.is_leaf() || first >= count) {
        return;
      }
      behind = first + 1;
    }
    const size_t stride = std::max<size_t>(1, (behind - first) / most);
    const size_t each = std::max<size_t>(1, most * stride / (behind - first));
    for (size_t i = first + stride / 2; i < behind; i += stride) {
      if (!page.is_leaf()) {
        SampleIn(*page.child(i), begin, end, each, weight * stride, visit);
      } else if (const Node* const node = page.node(i)) {
        visit(*node, weight * stride);
      }
    }
  }

  Arena& arena_;
  std::atomic<Page*> root_{nullptr};
  std::atomic<uint32_t> splits_{0};
  Mutex structure_;  // of who splits pages
};

}  // namespace sluice
