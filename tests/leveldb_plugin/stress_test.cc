// The stress of stress.cc, with the drop-in library in place of LevelDB's, killed again and again.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "util/testing.h"

namespace sluice {
namespace {

class Stress {
 public:
  explicit Stress(std::string executor) : executor_(std::move(executor)) {}

  // Starts it; with Sluice if `preloaded`.
  pid_t Start(uint64_t seed, uint64_t operations, bool preloaded) const {
    const pid_t child = ::fork();
    if (child == 0) {
      if (preloaded) {
        ::setenv("LD_PRELOAD", SLUICE_DROPIN, 1);
        if (!executor_.empty()) {
          ::setenv("SLUICE_EXECUTOR", executor_.c_str(), 1);
          ::setenv("SLUICE_EXECUTOR_LIBRARY", SLUICE_FAULTY_UNITS, 1);
        }
      }
      ::execl(SLUICE_STRESS, SLUICE_STRESS, dir_.File("db").c_str(), dir_.File("state").c_str(),
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

  // Compactions that Sluice did since the last two starts, of which LevelDB keeps the logs.
  uint64_t Compactions() const {
    uint64_t compactions = 0;
    for (const char* const name : {"LOG", "LOG.old"}) {
      std::ifstream log(dir_.File("db") + "/" + name);
      for (std::string line; std::getline(log, line);) {
        EXPECT_EQ(line.find("Compaction error"), std::string::npos) << line;
        // It may be closed at once when it was only opened to see what is there.
        EXPECT_TRUE(line.find("[sluice] left to LevelDB") == std::string::npos ||
                    line.find("the database is being closed") != std::string::npos)
            << line;
        compactions +=
            line.find("[sluice]") != std::string::npos && line.find("became") != std::string::npos;
      }
    }
    return compactions;
  }

 private:
  const TempDir dir_;
  const std::string executor_;
};

void KillAgainAndAgain(const std::string& executor, int rounds) {
  TestRandom random(TestSeed());
  const Stress stress(executor);
  uint64_t compactions = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    const pid_t child = stress.Start(random(), UINT64_MAX, true);
    // Some are killed while they recover.
    std::this_thread::sleep_for(std::chrono::milliseconds(
        Uniform(&random, 0, 7) == 0 ? Uniform(&random, 0, 30) : Uniform(&random, 100, 1500)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it has ended by itself: " << status;
    compactions += stress.Compactions();
    // LevelDB by itself reads what was left, or Sluice's goes on with it.
    ASSERT_NO_FATAL_FAILURE(Stress::Finish(stress.Start(random(), 0, Uniform(&random, 0, 1) == 0)));
  }
  ASSERT_NO_FATAL_FAILURE(Stress::Finish(stress.Start(random(), 3000, true)));
  ASSERT_NO_FATAL_FAILURE(Stress::Finish(stress.Start(random(), 0, false)));
  EXPECT_GT(compactions + stress.Compactions(), 5u);
}

TEST(LevelDbStress, KilledAgainAndAgain) { KillAgainAndAgain("", TestRounds(8)); }

TEST(LevelDbStress, KilledOverFaultyUnits) { KillAgainAndAgain("faulty:10", TestRounds(4)); }

}  // namespace
}  // namespace sluice
