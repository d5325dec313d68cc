// Where internals.h says that they are.

#include <array>

#include "internals.h"

#define LAYOUT layout_ours
#include "layout.inc"
