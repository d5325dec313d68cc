// Status is public; the code below include/ knows it by this name.

#pragma once

#include "sluice/status.h"
