// What SHOW STATUS LIKE 'Sluice%' tells: compactions, and who has merged for them.

#pragma once

#include "server.h"

namespace sluice::mariadb {

// For the plugin's description. Each SHOW STATUS, of whichever variables, costs a DB::GetStatistics.
extern st_mysql_show_var status_variables[];

}  // namespace sluice::mariadb
