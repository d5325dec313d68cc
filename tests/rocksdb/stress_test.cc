// The stress of stress.cc, with libsluice_rocksdb_preload in front of it, killed again and again.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "util/testing.h"

namespace sluice::interop {
namespace {

class Stress {
 public:
  explicit Stress(std::string executor) : executor_(std::move(executor)) {}

  // Starts it; with the service if `preloaded`.
  pid_t Start(uint64_t seed, uint64_t operations, bool preloaded) const {
    const pid_t child = ::fork();
    if (child == 0) {
      if (preloaded) {
        ::setenv("LD_PRELOAD", SLUICE_PRELOAD, 1);
        if (!executor_.empty()) {
          ::setenv("SLUICE_EXECUTOR", executor_.c_str(), 1);
          ::setenv("SLUICE_EXECUTOR_LIBRARY", SLUICE_FAULTY_UNITS, 1);
        }
      }
      const std::string program = std::string(SLUICE_PROGRAMS) + "/rocksdb_stress";
      ::execl(program.c_str(), program.c_str(), dir_.File("db").c_str(), dir_.File("state").c_str(),
              std::to_string(seed).c_str(), std::to_string(operations).c_str(), nullptr);
      ::_exit(3);
    }
    return child;
  }

  // That it ends by itself, and well.
  static void Finish(pid_t child) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }

  // Lines of Sluice about jobs that it did, in all logs of the database.
  uint64_t Jobs() const {
    uint64_t jobs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.File("db"))) {
      if (entry.path().filename().string().starts_with("LOG")) {
        std::ifstream log(entry.path());
        for (std::string line; std::getline(log, line);) {
          EXPECT_EQ(line.find("background error"), std::string::npos) << line;
          jobs += line.find("[sluice] [JOB") != std::string::npos &&
                  line.find("became") != std::string::npos;
        }
      }
    }
    return jobs;
  }

 private:
  const TempDir dir_;
  const std::string executor_;
};

void KillAgainAndAgain(const std::string& executor, int rounds) {
  TestRandom random(TestSeed());
  const Stress stress(executor);
  for (int round = 0; round < rounds; ++round) {
    const pid_t child = stress.Start(random(), UINT64_MAX, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(Uniform(&random, 100, 1500)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it has ended by itself: " << status;
    if (Uniform(&random, 0, 3) == 0) {
      // RocksDB by itself reads what was left.
      ASSERT_NO_FATAL_FAILURE(Stress::Finish(stress.Start(random(), 0, false)));
    }
  }
  ASSERT_NO_FATAL_FAILURE(Stress::Finish(stress.Start(random(), 3000, true)));
  ASSERT_NO_FATAL_FAILURE(Stress::Finish(stress.Start(random(), 0, false)));
  EXPECT_GT(stress.Jobs(), 5u);
}

TEST(RocksStress, KilledAgainAndAgain) { KillAgainAndAgain("", TestRounds(8)); }

TEST(RocksStress, KilledOverFaultyUnits) { KillAgainAndAgain("faulty:10", TestRounds(4)); }

}  // namespace
}  // namespace sluice::interop
