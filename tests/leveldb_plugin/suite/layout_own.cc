// Where LevelDB's sources have their members.

#include <array>

#include "db/db_impl.cc"

#define LAYOUT layout_own
#include "layout.inc"
