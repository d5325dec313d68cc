// The server's headers, and nothing else of them: include this first.

#pragma once

#define MYSQL_SERVER 1  // NOLINT: asked for by the headers
#include <my_global.h>

#include "sql_class.h"
// sql_class.h comes first.
#include "handler.h"
#include "key.h"
#include "rpl_rli.h"
#include "sql_parse.h"
#include "sql_table.h"

#undef min
#undef max
#undef test
