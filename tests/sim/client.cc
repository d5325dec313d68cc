#include "client.h"

#include <chrono>
#include <thread>

namespace sluice::sim {

namespace {

constexpr size_t kMostValueBytes = 4000;

struct Choice {
  void (Client::*act)();
  uint64_t weight;
};

}  // namespace

Client::Client(World* world, size_t number, const KeySpace& keys, uint64_t seed)
    : world_(*world),
      number_(number),
      random_(seed),
      keys_(keys),
      values_(&random_, kMostValueBytes) {
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
  static constexpr Choice kChoices[] = {
      {&Client::WriteOne, 20},    {&Client::WriteSome, 20},      {&Client::WriteAsynchronously, 30},
      {&Client::DeleteSome, 2},   {&Client::Ingest, 2},          {&Client::ReadOne, 20},
      {&Client::ReadMany, 4},     {&Client::ReadTable, 4},       {&Client::ReadEverything, 2},
      {&Client::TakeSnapshot, 2}, {&Client::ReleaseSnapshot, 2}, {&Client::Transact, 15},
      {&Client::CancelWaits, 3},  {&Client::Flush, 2},           {&Client::Compact, 2},
      {&Client::MakeTable, 1},    {&Client::DropTable, 1},       {&Client::WriteToForeignTable, 1},
      {&Client::Checkpoint, 1},   {&Client::TakeImage, 1},       {&Client::Look, 4},
  };
  static constexpr uint64_t kWeight = [] {
    uint64_t sum = 0;
    for (const Choice& choice : kChoices) {
      sum += choice.weight;
    }
    return sum;
  }();
  uint64_t at = Draw(0, kWeight - 1);
  for (const Choice& choice : kChoices) {
    if (at < choice.weight) {
      (this->*choice.act)();
      return;
    }
    at -= choice.weight;
  }
}

}  // namespace sluice::sim
