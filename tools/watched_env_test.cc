#include "watched_env.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sluice/conformance.h"
#include "util/testing.h"
#include "util/xfs_mount.h"

namespace sluice::tools {
namespace {

TEST(WatchedEnv, KeepsTheContract) {
  const TempDir dir;
  WatchedEnv env;
  const Status status = CheckEnv(&env, dir.File("scratch"));
  EXPECT_TRUE(status.ok()) << status.ToString();
}

// Commands make checkpoints through it.
TEST(WatchedEnv, Clones) {
  const XfsMount xfs;
  if (!xfs.error().empty()) {
    GTEST_SKIP() << xfs.error();
  }
  WatchedEnv env;
  std::unique_ptr<DataFile> source;
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(env.NewDataFile(xfs.path() + "/source", &source).ok());
  ASSERT_TRUE(env.NewDataFile(xfs.path() + "/file", &file).ok());
  const std::string page(4096, 'x');
  ASSERT_TRUE(source->Write(0, page).ok());
  const Status cloned = file->CloneFrom(*source, 0, 0, page.size());
  EXPECT_TRUE(cloned.ok()) << cloned.ToString();
  std::string found(page.size(), '\0');
  ASSERT_TRUE(file->Read(0, found.size(), found.data()).ok());
  EXPECT_EQ(found, page);
}

}  // namespace
}  // namespace sluice::tools
