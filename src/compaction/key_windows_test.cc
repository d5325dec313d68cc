// What is kept of windows from edit to edit against what all extents tell.

#include "compaction/key_windows.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "compaction/run_totals.h"
#include "tree/extent_space.h"
#include "tree/random_edits.h"
#include "util/testing.h"

namespace sluice {
namespace {

TEST(KeyWindows, AreThoseOfAllExtents) {
  std::unique_ptr<ExtentSpace> space;
  ASSERT_TRUE(ExtentSpace::OpenReadOnly(Env::Posix(), {{"none", 0}}, &space).ok());
  RandomEdits edits(TestSeed(), space->At(0, Extent{.bytes = 1}));
  Metadata metadata;
  const Metadata::Subtable& subtable = metadata.subtables[1];
  RunTotals totals;
  size_t compared = 0;
  size_t closed = 0;
  for (size_t i = 0; i < RandomEdits::kEdits && !testing::Test::HasFailure(); ++i) {
    ASSERT_TRUE(metadata.Apply(edits.Next(1, subtable)).ok());
    auto* const version = new Version;
    version->SetRuns(subtable, totals.Update(subtable));
    const UpperRunList runs = UpperRuns(*version);
    const Windows expected = MakeWindows(*version, runs, /*thin_from=*/kLastLevel);
    // Windows are counted only now and then, so that what several edits changed is counted at once.
    if (i % 3 > 0 && !totals.UseWindows([&](const auto& begins, const auto& windows) {
          EXPECT_EQ(begins, expected.begins);
          ASSERT_EQ(windows.size(), expected.windows.size());
          for (size_t w = 0; w < windows.size(); ++w) {
            EXPECT_EQ(windows[w], expected.windows[w]) << "edit " << i << ", window " << w;
            closed += windows[w].closed ? 1 : 0;
          }
          compared += windows.size();
        })) {
      EXPECT_TRUE(version->Last().empty());
    }
    version->Unref();
  }
  EXPECT_GT(compared, closed);
  EXPECT_GT(closed, 0u);
}

}  // namespace
}  // namespace sluice
