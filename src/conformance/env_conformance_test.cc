// The Envs of this library keep their contract, and one that does not is found out.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sluice/conformance.h"
#include "util/fault_env.h"
#include "util/testing.h"
#include "util/xfs_mount.h"

namespace sluice {
namespace {

TEST(EnvConformance, Posix) {
  const TempDir dir;
  const Status status = CheckEnv(Env::Posix(), dir.File("scratch"));
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST(EnvConformance, PosixOnXfs) {
  const XfsMount xfs;
  if (!xfs.error().empty()) {
    GTEST_SKIP() << xfs.error();
  }
  const Status status = CheckEnv(Env::Posix(), xfs.path() + "/scratch");
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST(EnvConformance, FaultEnv) {
  for (const bool clones : {false, true}) {
    FaultEnv env;
    env.SetClones(clones);
    const Status status = CheckEnv(&env, "scratch");
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
}

TEST(EnvConformance, ADirectoryInUseIsLeftAlone) {
  const TempDir dir;
  EXPECT_EQ(CheckEnv(Env::Posix(), "/proc/self").code(), Status::Code::kInvalidArgument);
}

// One operation after the other fails: the error says that it should not have.
TEST(EnvConformance, AFailureIsFoundOut) {
  FaultEnv counted;
  ASSERT_TRUE(CheckEnv(&counted, "scratch").ok());
  for (uint64_t k = 0; k < counted.operations(); k += 1 + k / 20) {
    FaultEnv env;
    env.FailAt(k, EIO, 1);
    const Status status = CheckEnv(&env, "scratch");
    EXPECT_NE(status.message().find("breaks a rule"), std::string::npos)
        << k << ": " << status.ToString();
  }
}

}  // namespace
}  // namespace sluice
