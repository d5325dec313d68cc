#include "status_variables.h"

#include <array>
#include <new>
#include <numeric>

#include "engine.h"

namespace sluice::mariadb {

namespace {

struct Variable {
  const char* name;  // behind "Sluice_"
  ulonglong (*value)(const Statistics&);
};

constexpr Variable kVariables[] = {
    {"row_cache_hits", [](const Statistics& s) -> ulonglong { return s.row_cache.hits; }},
    {"row_cache_misses", [](const Statistics& s) -> ulonglong { return s.row_cache.misses; }},
    {"block_cache_hits", [](const Statistics& s) -> ulonglong { return s.block_cache.hits; }},
    {"block_cache_misses", [](const Statistics& s) -> ulonglong { return s.block_cache.misses; }},
    {"compactions",
     [](const Statistics& s) -> ulonglong {
       return std::accumulate(s.compactions.begin(), s.compactions.end(), uint64_t{0});
     }},
    {"compaction_bytes_read",
     [](const Statistics& s) -> ulonglong { return s.compaction_bytes_read; }},
    {"compaction_bytes_written",
     [](const Statistics& s) -> ulonglong { return s.compaction_bytes_written; }},
    {"compaction_cpu_microseconds",
     [](const Statistics& s) -> ulonglong { return s.compaction_cpu_microseconds; }},
    {"units", [](const Statistics& s) -> ulonglong { return s.offload.units; }},
    {"units_in_service",
     [](const Statistics& s) -> ulonglong { return s.offload.units_in_service; }},
    {"unit_tasks", [](const Statistics& s) -> ulonglong { return s.offload.device_tasks; }},
    {"unit_failures", [](const Statistics& s) -> ulonglong { return s.offload.retries; }},
    {"unit_busy_microseconds",
     [](const Statistics& s) -> ulonglong { return s.offload.unit_busy_microseconds; }},
    {"cpu_tasks", [](const Statistics& s) -> ulonglong { return s.offload.cpu_tasks; }},
    {"card_cpu_microseconds",
     [](const Statistics& s) -> ulonglong { return s.offload.card_cpu_microseconds; }},
};

// In the server's buffer, since several connections may ask at once.
struct Shown {
  std::array<ulonglong, std::size(kVariables)> values;
  std::array<st_mysql_show_var, std::size(kVariables) + 1> variables;  // and the end
};
static_assert(sizeof(Shown) <= SHOW_VAR_FUNC_BUFF_SIZE);

int Show(THD* /*thd*/, st_mysql_show_var* out, void* buffer, system_status_var* /*sums*/,
         enum_var_type /*scope*/) {
  auto* const shown = new (buffer) Shown{};
  const Statistics statistics = engine->db->GetStatistics();
  for (size_t i = 0; i < std::size(kVariables); ++i) {
    shown->values[i] = kVariables[i].value(statistics);
    shown->variables[i] = {kVariables[i].name, &shown->values[i], SHOW_LONGLONG};
  }
  out->type = SHOW_ARRAY;
  out->value = shown->variables.data();
  return 0;
}

}  // namespace

st_mysql_show_var status_variables[] = {
    {"Sluice", reinterpret_cast<void*>(&Show), SHOW_FUNC},
    {nullptr, nullptr, SHOW_UNDEF},
};

}  // namespace sluice::mariadb
