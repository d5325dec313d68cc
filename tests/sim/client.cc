#include "client.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace sluice::sim {

namespace {

constexpr size_t kMostValueBytes = 4000;

}  // namespace

struct Client::Choice {
  void (Client::*act)();
  uint64_t weight;
};

constexpr Client::Choice Client::kChoices[] = {
    {&Client::WriteOne, 20},
    {&Client::WriteSome, 20},
    {&Client::WriteAsynchronously, 30},
    {&Client::DeleteSome, 2},
    {&Client::DeleteOneByOne, 2},
    {&Client::Ingest, 2},
    {&Client::ReadOne, 20},
    {&Client::ReadMany, 4},
    {&Client::ReadTable, 4},
    {&Client::ReadEverything, 2},
    {&Client::TakeSnapshot, 2},
    {&Client::ReleaseSnapshot, 2},
    {&Client::Transact, 15},
    {&Client::CancelWaits, 3},
    {&Client::Flush, 2},
    {&Client::Compact, 2},
    {&Client::MakeTable, 1},
    {&Client::ChangeOptions, 1},
    {&Client::DropTable, 1},
    {&Client::WriteToForeignTable, 1},
    {&Client::Checkpoint, 1},
    {&Client::TakeImage, 1},
    {&Client::Look, 4},
};

// Each life leaves out some kinds of operations and does more of others: what goes wrong between
// two kinds is met sooner where little else happens.
void Client::DrawWeights() {
  TestRandom mix(world_.mix);
  for (const Choice& choice : kChoices) {
    static constexpr std::array<uint64_t, 4> kFactors = {0, 1, 1, 8};
    weights_.push_back(choice.weight * kFactors[Uniform(&mix, 0, kFactors.size() - 1)]);
  }
  weights_.front() = std::max(weights_.front(), uint64_t{1});
}

Client::Client(World* world, size_t number, const KeySpace& keys, uint64_t seed)
    : world_(*world),
      number_(number),
      random_(seed),
      keys_(keys),
      values_(&random_, kMostValueBytes) {
  DrawWeights();
  // Sub-tables of earlier lives are dealt out.
  size_t i = 0;
  for (const std::string& name : model().Tables()) {
    if (!FixedTables().contains(name) && i++ % model().clients() == number) {
      own_tables_.push_back(name);
    }
  }
}

bool Client::Fine(const Status& status, std::string_view doing) {
  Scheduler* const scheduler = Scheduler::Get();
  scheduler->Note(static_cast<uint64_t>(status.code()));
  Expect(status.ok() || world_.Troubled(), fmt::format("{}: {}", doing, status.ToString()));
  return status.ok();
}

void Client::Run(uint64_t operations) {
  for (; operations > 0 && !world_.env->crashed(); --operations) {
    DoOne();
    Scheduler::Get()->Progress();
    ++world_.operations;
  }
  AwaitWrites(0);
  while (!snapshots_.empty()) {
    ReleaseSnapshot();
  }
}

void Client::DoOne() {
  uint64_t at = Draw(0, std::accumulate(weights_.begin(), weights_.end(), uint64_t{0}) - 1);
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (at < weights_[i]) {
      (this->*kChoices[i].act)();
      return;
    }
    at -= weights_[i];
  }
}

}  // namespace sluice::sim
