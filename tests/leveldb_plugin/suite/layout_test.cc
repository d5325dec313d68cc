// Whether plugin/leveldb/internals.h describes LevelDB's classes as LevelDB's own sources do.

#include <array>
#include <cstdio>

extern const std::array<unsigned long, 47> layout_own;
extern const std::array<unsigned long, 47> layout_ours;

int main() {
  int wrong = 0;
  for (size_t i = 0; i < layout_own.size(); ++i) {
    if (layout_own[i] != layout_ours[i]) {
      std::printf("number %zu of layout.inc: %lu in LevelDB, %lu here\n", i, layout_own[i],
                  layout_ours[i]);
      ++wrong;
    }
  }
  return wrong == 0 ? 0 : 1;
}
