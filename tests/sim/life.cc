#include "life.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>

#include "client.h"
#include "engine/workload.h"
#include "world.h"

namespace sluice::sim {

namespace {

constexpr char kPath[] = "db";

// So small that stalls, switches and compactions never end.
Options DrawOptions(TestRandom* random, FaultEnv* env) {
  Options options = RandomOptions(random);
  options.env = env;
  options.memtable_bytes = 8192 << Uniform(random, 0, 3);
  options.max_waiting_memtables = Uniform(random, 1, 3);
  options.write_buffer_bytes = 32768 << Uniform(random, 0, 4);
  options.log_segment_bytes = 16384 << Uniform(random, 0, 2);
  options.max_log_bytes = Uniform(random, 0, 1) * (65536 << Uniform(random, 0, 2));
  options.l0_slowdown_runs = Uniform(random, 3, 5);
  options.l0_stop_runs = Uniform(random, 5, 8);
  options.extent_bytes = std::min<uint32_t>(options.extent_bytes, 32768);
  options.block_bytes = std::min<uint32_t>(options.block_bytes, 4096);
  options.l1_bytes = std::min<uint64_t>(options.l1_bytes, 131072);
  options.transaction_memory_bytes = 1 << 20;
  return options;
}

class Database {
 public:
  explicit Database(uint64_t seed)
      : random_(seed),
        model_(Uniform(&random_, 1, 4)),
        keys_(&random_),
        env_(std::make_unique<FaultEnv>()) {}

  const Totals& totals() const { return totals_; }

  void Live() {
    recovered_ = closed_ = false;
    Scheduler::Get()->DrawStrategy();
    World world;
    world.env = env_.get();
    world.model = &model_;
    world.named = named_;
    world.options = DrawOptions(&random_, env_.get());
    world.synced_percent = std::array{0, 3, 25, 90}[Uniform(&random_, 0, 3)];
    world.mix = random_();
    DrawTrouble(&world);
    // What is in trouble may leave rows locked.
    world.patient = world.trouble == Trouble::kNone && Uniform(&random_, 0, 2) != 0;
    std::printf("life %lu, %zu clients\n", life_++, model_.clients());
    if (Open(&world)) {
      Use(&world);
      Close(&world);
    }
    db_.reset();
    static constexpr const char* kTroubles[] = {"none", "a crash", "a failed call", "no space",
                                                "a failed read"};
    std::printf("  trouble: %s%s%s; %lu operations\n", kTroubles[static_cast<int>(world.trouble)],
                world.Troubled() ? ", met: " : "", env_->failure().c_str(), world.operations);
    named_ = world.named;
    for (Image& image : world.images) {
      CheckImage(std::move(image));
      ++totals_.images;
    }
    Die();
  }

 private:
  void DrawTrouble(World* world) {
    const uint64_t seed = random_();
    // While it opens, or later.
    const uint64_t after = Uniform(&random_, 0, Uniform(&random_, 0, 3) == 0 ? 60 : 4000);
    const uint64_t soon = env_->operations() + after;
    world->trouble = static_cast<Trouble>(Uniform(&random_, 0, 6) % 5);
    env_->CrashAt(world->trouble == Trouble::kCrash ? soon : UINT64_MAX, seed);
    const bool no_space = world->trouble == Trouble::kNoSpace;
    const bool for_a_while = no_space && Uniform(&random_, 0, 3) != 0;
    const bool fails = world->trouble == Trouble::kFailure || (no_space && !for_a_while);
    env_->FailAt(fails ? soon : UINT64_MAX, no_space ? ENOSPC : EIO, seed);
    env_->FillUp(for_a_while ? soon : UINT64_MAX, soon + Uniform(&random_, 1, 500), seed);
    env_->FailReadAt(world->trouble == Trouble::kFailedRead ? env_->reads() + after : UINT64_MAX,
                     EIO, seed);
  }

  // Opens it, and checks that all is there that must be. False if there was trouble.
  bool Open(World* world) {
    std::unique_ptr<DB> db;
    Status status = DB::Open(world->options, kPath, &db);
    if (status.ok()) {
      status = Recover(db.get());
    }
    Expect(status.ok() || world->Troubled(), "open: " + status.ToString());
    if (!status.ok()) {
      return false;
    }
    ++totals_.opened;
    db_ = std::move(db);
    world->db = db_.get();
    return ResolveSome(world) && MakeTables(world);
  }

  Status Recover(DB* db) {
    State found;
    std::set<std::string> tables;
    SLUICE_RETURN_IF_ERROR(ReadAll(db, {}, {}, &found, &tables));
    const std::vector<std::string> prepared = db->ListPrepared();
    span_.end = model_.Now();
    ExpectRight(model_.Recover(found, tables, {prepared.begin(), prepared.end()}, span_),
                "found after opening");
    recovered_ = true;
    return {};
  }

  // Those that are left prepared have their locks still.
  bool ResolveSome(World* world) {
    for (const std::string& name : db_->ListPrepared()) {
      for (const TableKey& row : model_.LockedBy(name)) {
        const auto other = db_->BeginTransaction({.lock_timeout = {}}, {});
        Subtable* const subtable = db_->FindSubtable(row.first);
        Expect(subtable == nullptr || !other->Put(subtable, row.second, "").ok(),
               "a prepared transaction has lost its locks");
      }
      if (world->patient || Uniform(&random_, 0, 3) != 0) {
        ResolvePrepared(world, name, Uniform(&random_, 0, 1) != 0, Uniform(&random_, 0, 1) != 0);
      }
    }
    return !world->Troubled();
  }

  // Those that there always are, and the accounts.
  bool MakeTables(World* world) {
    for (const std::string name : {"a", "b"}) {
      Subtable* made;
      if (db_->FindSubtable(name) == nullptr) {
        model_.BeginCreate(name);
        const Status status = db_->CreateSubtable(name, &made);
        Expect(status.ok() || world->Troubled(), "making a sub-table: " + status.ToString());
        if (!status.ok()) {
          return false;
        }
        model_.Created(name);
      }
    }
    std::string value;
    if (db_->Get({}, Model::Account(0).second, &value).IsNotFound()) {
      WriteBatch batch;
      for (size_t i = 0; i < Model::kAccounts; ++i) {
        const TableKey key = Model::Account(i);
        batch.Put(db_->FindSubtable(key.first), key.second, std::to_string(Model::kEach));
      }
      const Status status = db_->Write({.sync = true}, batch);
      Expect(status.ok() || world->Troubled(), "opening accounts: " + status.ToString());
    }
    return !world->Troubled();
  }

  void Use(World* world) {
    const uint64_t operations = Uniform(&random_, 10, 300);
    std::vector<std::unique_ptr<Client>> clients;
    for (size_t i = 0; i < model_.clients(); ++i) {
      clients.push_back(std::make_unique<Client>(world, i, keys_, random_()));
    }
    std::vector<std::thread> threads;
    for (const auto& client : clients) {
      threads.emplace_back([&] { client->Run(operations); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    totals_.operations += world->operations;
    const Statistics statistics = db_->GetStatistics();
    totals_.flushes += statistics.flushes;
    totals_.compactions = std::accumulate(statistics.compactions.begin(),
                                          statistics.compactions.end(), totals_.compactions);
    totals_.stalled += statistics.stall_microseconds;
  }

  void Close(World* world) {
    if (!world->Troubled() && Uniform(&random_, 0, 1) != 0) {
      CheckAtRest(world);
    }
    const Status status = db_->Close();
    Expect(status.ok() || world->Troubled(), "close: " + status.ToString());
    db_.reset();
    closed_ = status.ok() && !world->Troubled();
  }

  void CheckAtRest(World* world) {
    const auto fine = [&](const Status& status, std::string_view doing) {
      Expect(status.ok() || world->Troubled(), fmt::format("{}: {}", doing, status.ToString()));
      return status.ok();
    };
    if (!fine(db_->WaitForBackgroundWork(), "background work")) {
      return;
    }
    State found;
    std::set<std::string> tables;
    const Moment now = model_.Now();
    if (fine(ReadAll(db_.get(), {}, FixedTables(), &found, &tables), "read at rest")) {
      ExpectRight(model_.Check(found, FixedTables(), {now, now}), "at rest");
      fine(db_->Verify({}), "verify");
    }
  }

  // Opens what the crash left, and no more: the database itself goes on.
  static void CheckImage(Image image) {
    FaultEnv env(image.files);
    TestRandom random(image.files.size());
    Options options = DrawOptions(&random, &env);
    options.read_only = Uniform(&random, 0, 3) == 0;
    std::unique_ptr<DB> db;
    Status status = DB::Open(options, kPath, &db);
    Expect(status.ok(), "open after a crash: " + status.ToString());
    State found;
    std::set<std::string> tables;
    status = ReadAll(db.get(), {}, {}, &found, &tables);
    Expect(status.ok(), "read after a crash: " + status.ToString());
    const std::vector<std::string> prepared = db->ListPrepared();
    ExpectRight(
        options.read_only
            ? image.model.Check(found, tables, image.span)
            : image.model.Recover(found, tables, {prepared.begin(), prepared.end()}, image.span),
        image.span.kind == Span::Kind::kPowerCrash ? "found after a loss of power"
                                                   : "found after a kill");
    status = db->Verify({});
    Expect(status.ok(), "verify after a crash: " + status.ToString());
    status = db->Close();
    Expect(status.ok(), "close after a crash: " + status.ToString());
  }

  // The process ends, and perhaps the power.
  void Die() {
    const bool power = Uniform(&random_, 0, 1) != 0;
    std::printf("  ends %s %s\n", closed_ ? "closed," : "not closed,",
                power ? "and power is lost" : "and another process comes");
    if (recovered_) {
      span_ = {model_.Now(), 0, Span::Kind::kProcessCrash};
    }  // else what is known of the lives before is all that there is
    if (power) {
      if (!closed_) {
        span_.kind = Span::Kind::kPowerCrash;
      }
      env_ = std::make_unique<FaultEnv>(env_->Survivors(CrashKind::kPower, random_()));
    } else {
      env_->Restart(random_());
    }
  }

  TestRandom random_;
  Model model_;
  const KeySpace keys_;
  std::unique_ptr<FaultEnv> env_;
  std::unique_ptr<DB> db_;
  Totals totals_;
  uint64_t life_ = 0;
  uint64_t named_ = 0;
  bool recovered_ = false;  // in this life
  bool closed_ = false;     // likewise, and nothing went wrong
  // From the end of the last life that was recovered to the beginning of this one.
  Span span_{0, 0, Span::Kind::kProcessCrash};
};

}  // namespace

Totals LiveAndDie(uint64_t seed, uint64_t lives) {
  Database database(seed);
  for (uint64_t life = 0; life < lives; ++life) {
    database.Live();
  }
  return database.totals();
}

}  // namespace sluice::sim
