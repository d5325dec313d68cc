// What a child of fork can do with the databases that its parent has open, and with its own.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "db/fixture.h"
#include "sluice/db.h"
#include "util/testing.h"

namespace sluice {
namespace {

std::string Key(int i) { return fmt::format("{:08}", i); }

class ForkTest : public DbFixture {
 protected:
#ifdef __SANITIZE_ADDRESS__
  void SetUp() override {
    GTEST_SKIP() << "a child gets the locks of this sanitizer's allocator as threads held them";
  }
#elif defined(__SANITIZE_THREAD__)
  void SetUp() override {
    GTEST_SKIP() << "this sanitizer lets no child of a process with threads have any";
  }
#endif
  // Whether `run` returned true in a child.
  template <typename Run>
  bool InChild(const Run& run) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);  // rather than to hang
      ::_exit(run() ? 0 : 1);
    }
    int outcome = 0;
    EXPECT_EQ(::waitpid(child, &outcome, 0), child);
    return WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0;
  }
  // From now on two threads write and read.
  void Begin() {
    stop_ = false;
    threads_.emplace_back([this] {
      for (; !stop_; ++written_) {
        ASSERT_TRUE(db_->Put({}, Key(written_), Key(written_ + 1)).ok());
      }
    });
    threads_.emplace_back([this] {
      for (std::string value; !stop_;) {
        (void)db_->Get({}, Key(written_ / 2), &value);
      }
    });
  }
  void End() {
    stop_ = true;
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
  }
  void ExpectAll() {
    std::string value;
    for (int i = 0; i < written_; ++i) {
      const Status status = db_->Get({}, Key(i), &value);
      ASSERT_TRUE(status.ok()) << i << ": " << status.ToString();
      ASSERT_EQ(value, Key(i + 1));
    }
    EXPECT_TRUE(db_->Get({}, "child", &value).IsNotFound());
  }

  std::atomic<int> written_{0};

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// Each call of a child's that would change something.
std::vector<std::pair<std::string, Status>> TryToChange(DB* db, const std::string& copy) {
  std::vector<std::pair<std::string, Status>> outcomes;
  const auto add = [&](const std::string& what, Status status) {
    outcomes.emplace_back(what, std::move(status));
  };
  for (const bool sync : {false, true}) {
    add("put", db->Put({.sync = sync}, "child", "child"));
    add("delete", db->Delete({.sync = sync}, Key(0)));
    add("delete range", db->DeleteRange({.sync = sync}, "", ""));
    WriteBatch batch;
    batch.Put("child", "child");
    add("batch", db->Write({.sync = sync}, batch));
    add("asynchronous batch", db->WriteAsync({.sync = sync}, batch).get());
    const auto transaction = db->BeginTransaction({}, {.sync = sync});
    add("commit", transaction->PutUntracked(nullptr, "child", "child").ok() ? transaction->Commit()
                                                                            : Status());
  }
  add("sync", db->Write({.sync = true}, WriteBatch()));
  add("flush", db->Flush(nullptr));
  add("compaction", db->CompactRange(nullptr, {}, {}));
  add("wait", db->WaitForBackgroundWork());
  add("checkpoint", db->CreateCheckpoint(copy));
  Subtable* subtable = nullptr;
  add("sub-table", db->CreateSubtable("child", &subtable));
  std::unique_ptr<Ingestion> ingestion;
  add("ingestion", db->NewIngestion(&ingestion));
  return outcomes;
}

TEST_F(ForkTest, AChildChangesNothingOfItsParents) {
  Open();
  Begin();
  for (int round = 0; round < 10; ++round) {
    EXPECT_TRUE(InChild([&] {
      bool refused = true;
      for (const auto& [what, status] : TryToChange(db_.get(), dir_.File("copy"))) {
        refused = refused && status.code() == Status::Code::kBusy;
        EXPECT_EQ(status.code(), Status::Code::kBusy) << what << ": " << status.ToString();
      }
      std::unique_ptr<DB> again;
      const Status opened = DB::Open(options_, dir_.File("db"), &again);
      EXPECT_EQ(opened.code(), Status::Code::kBusy) << opened.ToString();
      return refused && opened.code() == Status::Code::kBusy;
    })) << round;
  }
  End();
  ExpectAll();
  Open();
  ExpectAll();
  EXPECT_TRUE(db_->Verify({}).ok());
}

// As destructors of static objects do when a child ends by exit().
TEST_F(ForkTest, AChildMayDestroyWhatItsParentHasOpen) {
  Open();
  Begin();
  for (int round = 0; round < 10; ++round) {
    EXPECT_TRUE(InChild([&] {
      const bool closed = round % 2 == 0 || db_->Close().ok();
      db_.reset();
      return closed;
    })) << round;
  }
  EXPECT_EQ(DB::Destroy(options_, dir_.File("db")).code(), Status::Code::kBusy);
  End();
  ExpectAll();
  Open();
  ExpectAll();
}

TEST_F(ForkTest, AChildOpensWhatItsParentHasClosed) {
  Open();
  ASSERT_TRUE(db_->Put({}, "key", "value").ok());
  int closed[2];
  ASSERT_EQ(::pipe(closed), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    db_.reset();
    char byte;
    bool found = ::read(closed[0], &byte, 1) == 1;
    const Status opened = DB::Open(options_, dir_.File("db"), &db_);
    EXPECT_TRUE(opened.ok()) << opened.ToString();
    std::string value;
    found = found && opened.ok() && db_->Get({}, "key", &value).ok() && value == "value" &&
            db_->Put({}, "key", "child").ok();
    db_.reset();
    ::_exit(found ? 0 : 1);
  }
  ASSERT_TRUE(db_->Close().ok());
  ASSERT_EQ(::write(closed[1], "", 1), 1);
  int outcome = 0;
  ASSERT_EQ(::waitpid(child, &outcome, 0), child);
  EXPECT_TRUE(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0) << outcome;
  ::close(closed[0]);
  ::close(closed[1]);
  Open();
  std::string value;
  EXPECT_TRUE(db_->Get({}, "key", &value).ok());
  EXPECT_EQ(value, "child");
}

TEST_F(ForkTest, AChildHasDatabasesOfItsOwn) {
  Open();
  Begin();
  for (int round = 0; round < 10; ++round) {
    EXPECT_TRUE(InChild([&] {
      bool ok = true;
      std::unique_ptr<DB> own;
      ok = DB::Open(options_, dir_.File("own"), &own).ok();
      for (int i = 0; ok && i < 2000; ++i) {
        ok = own->Put({}, Key(i), std::string(100, 'v')).ok();
      }
      ok = ok && own->CompactRange(nullptr, {}, {}).ok() && own->Verify({}).ok() &&
           own->Close().ok();
      own.reset();
      return ok && DB::Destroy(options_, dir_.File("own")).ok();
    })) << round;
  }
  End();
  ExpectAll();
}

}  // namespace
}  // namespace sluice
