#include "tree/dead_stretches.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice {

namespace {

using Stretch = DeadStretches::Stretch;

// Whether the stretch ends before the key.
bool EndsBefore(const Stretch& stretch, std::string_view key) {
  return !stretch.end.empty() && stretch.end < key;
}

std::string_view LaterEnd(std::string_view a, std::string_view b) {
  return a.empty() || b.empty() ? std::string_view() : std::max(a, b);
}

// What both have; none if that is nothing.
std::optional<Stretch> Both(const Stretch& a, const Stretch& b) {
  Stretch both = {.begin = std::max(a.begin, b.begin),
                  .end = a.end.empty()   ? b.end
                         : b.end.empty() ? a.end
                                         : std::min(a.end, b.end),
                  .keys = std::min(a.keys, b.keys)};
  if (!both.end.empty() && both.begin >= both.end) {
    return {};
  }
  return both;
}

// What is left of a stretch on both sides of a key that comes to life.
void AddCut(const std::shared_ptr<const Stretch>& stretch, std::string_view key,
            std::vector<std::shared_ptr<const Stretch>>* to) {
  if (!stretch->Contains(key)) {
    to->push_back(stretch);
    return;
  }
  // Half of the keys each, as far as is known: pieces of what is cut often are soon forgotten. Where
  // there is no bound, nothing was behind.
  const uint64_t keys = stretch->end.empty() ? stretch->keys : stretch->keys / 2;
  if (keys < DeadStretches::kLeastKeys) {
    return;
  }
  if (stretch->begin < key) {
    to->push_back(std::make_shared<const Stretch>(Stretch{.begin = stretch->begin,
                                                          .end = std::string(key),
                                                          .keys = keys,
                                                          .sequence = stretch->sequence}));
  }
  std::string behind = std::string(key) + '\0';
  if (!stretch->end.empty() && behind < stretch->end) {
    to->push_back(std::make_shared<const Stretch>(Stretch{.begin = std::move(behind),
                                                          .end = stretch->end,
                                                          .keys = keys,
                                                          .sequence = stretch->sequence}));
  }
}

}  // namespace

const Stretch* DeadStretches::FindIn(const All& all, std::string_view key,
                                     SequenceNumber snapshot) {
  auto at = std::upper_bound(
      all.dead.begin(), all.dead.end(), key,
      [](std::string_view k, const StretchPtr& stretch) { return k < stretch->begin; });
  if (at == all.dead.begin()) {
    return nullptr;
  }
  const Stretch& stretch = **--at;
  return stretch.sequence <= snapshot && stretch.Contains(key) ? &stretch : nullptr;
}

const DeadStretches::All* DeadStretches::Publish(All all) {
  const All* next = nullptr;
  if (!all.dead.empty() || !all.watched.empty()) {
    next = new All(std::move(all));
  }
  return all_.exchange(next, std::memory_order_seq_cst);
}

void DeadStretches::Clear() {
  const All* before = nullptr;
  {
    const MutexLock lock(mutex_);
    before = Publish({});
  }
  Retire(before);
}

void DeadStretches::Close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  Clear();
}

void DeadStretches::Retire(const All* all) {
  if (all != nullptr) {
    EpochRetire(const_cast<All*>(all));
  }
}

void DeadStretches::AddDead(Stretch stretch, std::vector<StretchPtr>* dead) {
  // Those that overlap or touch it become one with it.
  const auto first = std::partition_point(dead->begin(), dead->end(), [&](const StretchPtr& other) {
    return EndsBefore(*other, stretch.begin);
  });
  const auto last = std::partition_point(first, dead->end(), [&](const StretchPtr& other) {
    return stretch.end.empty() || other->begin <= stretch.end;
  });
  uint64_t most_keys = 0;
  uint64_t apart_keys = 0;
  for (auto at = first; at != last; ++at) {
    const Stretch& other = **at;
    const bool touches = other.end == stretch.begin || other.begin == stretch.end;
    (touches ? apart_keys : most_keys) += other.keys;
    stretch.begin = std::min(stretch.begin, other.begin);
    stretch.end = LaterEnd(stretch.end, other.end);
    stretch.sequence = std::max(stretch.sequence, other.sequence);
  }
  stretch.keys = std::max(stretch.keys, most_keys) + apart_keys;
  dead->insert(dead->erase(first, last), std::make_shared<const Stretch>(std::move(stretch)));
  if (dead->size() > kMostStretches) {
    dead->erase(std::min_element(
        dead->begin(), dead->end(),
        [](const StretchPtr& a, const StretchPtr& b) { return a->keys < b->keys; }));
  }
}

void DeadStretches::Note(std::string_view begin, std::string_view end, uint64_t keys,
                         SequenceNumber snapshot, const std::atomic<SequenceNumber>& given) {
  if (begin.size() > kMostKeyBytes || end.size() > kMostKeyBytes ||
      (!end.empty() && begin >= end)) {
    return;
  }
  Stretch walked = {
      .begin = std::string(begin), .end = std::string(end), .keys = keys, .sequence = snapshot};
  const All* before = nullptr;
  const All* meanwhile = nullptr;
  {
    const MutexLock lock(mutex_);
    if (closed_) {
      return;
    }
    const All* const now = all_.load(std::memory_order_relaxed);
    All all = now == nullptr ? All() : *now;
    std::vector<Stretch> dead;
    for (const StretchPtr& watched : all.watched) {
      if (watched->sequence <= snapshot) {
        if (std::optional<Stretch> both = Both(*watched, walked)) {
          both->sequence = snapshot;
          dead.push_back(*std::move(both));
        }
      }
    }
    const auto watched = std::make_shared<Stretch>(walked);
    watched->sequence = kMaxSequence;
    all.watched.push_back(watched);
    before = Publish(all);
    const SequenceNumber last_given = given.load(std::memory_order_seq_cst);
    all.watched.pop_back();
    if (last_given <= snapshot) {
      dead = {std::move(walked)};
    } else {
      auto later = std::make_shared<Stretch>(*watched);
      later->sequence = last_given;
      all.watched.push_back(std::move(later));
      if (all.watched.size() > kMostWatched) {
        all.watched.erase(all.watched.begin());
      }
    }
    for (Stretch& stretch : dead) {
      AddDead(std::move(stretch), &all.dead);
    }
    meanwhile = Publish(std::move(all));
  }
  Retire(before);
  Retire(meanwhile);
}

void DeadStretches::CutIn(const All& all, std::string_view key) {
  const auto contains = [key](const StretchPtr& stretch) { return stretch->Contains(key); };
  if (FindIn(all, key, kMaxSequence) == nullptr &&
      std::none_of(all.watched.begin(), all.watched.end(), contains)) {
    return;
  }
  const All* before = nullptr;
  {
    const MutexLock lock(mutex_);
    const All* const now = all_.load(std::memory_order_relaxed);
    if (now == nullptr) {
      return;  // another put has cut it
    }
    All cut;
    for (const StretchPtr& stretch : now->dead) {
      AddCut(stretch, key, &cut.dead);
    }
    for (const StretchPtr& stretch : now->watched) {
      AddCut(stretch, key, &cut.watched);
    }
    while (cut.dead.size() > kMostStretches) {
      cut.dead.pop_back();
    }
    while (cut.watched.size() > kMostWatched) {
      cut.watched.erase(cut.watched.begin());
    }
    before = Publish(std::move(cut));
  }
  Retire(before);
}

std::vector<Stretch> DeadStretches::stretches() const {
  const EpochGuard guard;
  std::vector<Stretch> copies;
  if (const All* const all = all_.load(std::memory_order_acquire)) {
    for (const StretchPtr& stretch : all->dead) {
      copies.push_back(*stretch);
    }
  }
  return copies;
}

}  // namespace sluice
