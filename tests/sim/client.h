// A client of the database: does all that clients do, at random, and checks what it sees.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/workload.h"
#include "world.h"

namespace sluice::sim {

class Client {
 public:
  // What it does is drawn from `seed`.
  Client(World* world, size_t number, const KeySpace& keys, uint64_t seed);

  // So many operations, or fewer if the device or the database fails for good.
  void Run(uint64_t operations);

 private:
  struct HeldSnapshot {
    const Snapshot* snapshot;
    Span taken;
  };
  struct UnderWay {  // an asynchronous write
    bool done = false;
    Status status;
  };

  struct Choice;
  static const Choice kChoices[];

  void DrawWeights();
  void DoOne();

  // client_writes.cc
  Change DrawChange(const std::string& table);
  std::string DrawTable();
  std::vector<Change> DrawChanges();
  bool DrawSync() { return Draw(0, 99) < world_.synced_percent; }
  void WriteOne();
  void WriteSome();
  void WriteAsynchronously();
  void DeleteSome();
  void DeleteOneByOne();
  void Ingest();
  // What became of batch `number`.
  void Outcome(size_t number, const Status& status);
  void AwaitWrites(size_t most_left);
  // After an error that is for good, no write may succeed.
  void ProbeFailure();

  // client_reads.cc
  void ReadOne();
  void ReadMany();
  void ReadTable();
  void ReadEverything();
  void TakeSnapshot();
  void ReleaseSnapshot();
  void CheckState(const ReadOptions& options, Span span);

  // client_transactions.cc
  void Transact();
  // Locks and writes what it is to. Ok, or why it is to be rolled back.
  Status Fill(Transaction* transaction, const std::vector<Change>& changes);
  Status Audit(Transaction* transaction);
  void ExpectAsAudited();
  Status MoveMoney(Transaction* transaction);
  void TransactInTwoPhases(std::unique_ptr<Transaction> transaction, std::vector<Change> changes,
                           bool sync);
  void Resolve(const std::string& name, Transaction* transaction, bool commit, bool sync);
  void CancelWaits();

  // client_upkeep.cc
  void Flush();
  void Compact();
  void MakeTable();
  void ChangeOptions();
  void DropTable();
  void WriteToForeignTable();
  void Checkpoint();
  void TakeImage();
  void Look();

  // Fails unless it is ok, or there was trouble that explains it. Returns whether it is ok.
  bool Fine(const Status& status, std::string_view doing);
  uint64_t Draw(uint64_t low, uint64_t high) { return Uniform(&random_, low, high); }
  Subtable* Find(const std::string& table) { return world_.db->FindSubtable(table); }
  Model& model() { return *world_.model; }
  DB& db() { return *world_.db; }

  World& world_;
  const size_t number_;
  TestRandom random_;
  std::vector<uint64_t> weights_;  // of kChoices
  KeySpace keys_;
  ValueSpace values_;
  std::vector<std::pair<size_t, std::shared_ptr<UnderWay>>> under_way_;
  std::vector<HeldSnapshot> snapshots_;
  std::vector<std::string> own_tables_;
  std::vector<std::string> audited_;  // values of all accounts, if the transaction has locked them
  Status failure_;                    // after which no write may succeed
};

// Commits or rolls back what is prepared and has nobody else.
void ResolvePrepared(World* world, const std::string& name, bool commit, bool sync);

}  // namespace sluice::sim
