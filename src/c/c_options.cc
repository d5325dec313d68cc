// The options of the C interface, set by their names.

#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "c/c_types.h"
#include "db/describe.h"
#include "sluice/listener.h"
#include "tree/subtable_options.h"

using sluice::Copy;
using sluice::Status;
using sluice::Tell;

namespace {

template <typename T>
bool ParseNumber(std::string_view text, T* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool ParseBool(std::string_view text, bool* value) {
  *value = text == "1";
  return text == "0" || text == "1";
}

// Calls visit(part) for each part of `text` between commas, until it is false; whether it never was.
template <typename Visit>
bool ForEachPart(std::string_view text, const Visit& visit) {
  for (size_t end = 0; end != std::string_view::npos;) {
    end = text.find(',');
    if (!visit(text.substr(0, end))) {
      return false;
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return true;
}

template <typename T>
bool Parse(std::string_view text, T* number) {
  return ParseNumber(text, number);
}
bool Parse(std::string_view text, bool* value) { return ParseBool(text, value); }
bool Parse(std::string_view text, sluice::Compression* compression) {
  return sluice::ParseCompression(text, compression);
}
template <typename T>
bool Parse(std::string_view text, std::vector<T>* levels) {
  levels->clear();
  return text.empty() || ForEachPart(text, [&](std::string_view part) {
           return Parse(part, &levels->emplace_back());
         });
}

Status NoOption(const std::string& name) {
  return Status::InvalidArgument("no option '" + name + "' (sluice/options.h)");
}
Status NoValue(const std::string& name, const std::string& value) {
  return Status::InvalidArgument("'" + value + "' is no value for option " + name);
}

// Sets an option from its text; false if the text is none for it.
using Setter = bool (*)(sluice::Options*, std::string_view);

const std::map<std::string_view, Setter>& Setters() {
#define NUMBER(field)                                                                           \
  {                                                                                             \
#field,                                                                                     \
        [](sluice::Options * o, std::string_view text) { return ParseNumber(text, &o->field); } \
  }
#define TRUTH(field)                                                                              \
  {                                                                                               \
#field, [](sluice::Options * o, std::string_view text) { return ParseBool(text, &o->field); } \
  }
  static const std::map<std::string_view, Setter> setters = {
      TRUTH(create_if_missing),
      TRUTH(error_if_exists),
      TRUTH(read_only),
      NUMBER(memtable_bytes),
      NUMBER(max_waiting_memtables),
      NUMBER(write_buffer_bytes),
      NUMBER(row_cache_bytes),
      NUMBER(block_cache_bytes),
      NUMBER(table_cache_bytes),
      TRUTH(direct_io),
      NUMBER(transaction_memory_bytes),
      NUMBER(extent_bytes),
      NUMBER(block_bytes),
      NUMBER(restart_interval),
      NUMBER(zstd_level),
      NUMBER(zstd_dictionary_bytes),
      NUMBER(bloom_bits_per_key),
      NUMBER(prefix_bytes),
      NUMBER(separate_value_bytes),
      NUMBER(l0_compaction_runs),
      NUMBER(l0_slowdown_runs),
      NUMBER(l0_stop_runs),
      NUMBER(l1_bytes),
      NUMBER(max_space_amplification),
      NUMBER(deletion_share),
      TRUTH(automatic_compactions),
      NUMBER(compaction_threads),
      NUMBER(flush_threads),
      NUMBER(background_bytes_per_second),
      NUMBER(write_queues),
      NUMBER(log_segment_bytes),
      NUMBER(max_log_bytes),
      NUMBER(task_bytes),
      NUMBER(compaction_bytes),
      TRUTH(offload),
      TRUTH(always_offload),
      {"failed_task_dir",
       [](sluice::Options* o, std::string_view text) {
         o->failed_task_dir = text;
         return true;
       }},
      {"compression",
       [](sluice::Options* o, std::string_view text) { return Parse(text, &o->compression); }},
      {"compression_per_level",
       [](sluice::Options* o, std::string_view text) {
         return Parse(text, &o->compression_per_level);
       }},
      {"level_paths",
       [](sluice::Options* o, std::string_view text) {
         o->level_paths.clear();
         return ForEachPart(text, [o](std::string_view path) {
           o->level_paths.emplace_back(path);
           return true;
         });
       }},
  };
#undef NUMBER
#undef TRUTH
  return setters;
}

class Listener final : public sluice::EventListener {
 public:
  Listener(sluice_listener_t call, void* context) : call_(call), context_(context) {}

  void OnFlush(const sluice::FlushEvent& event) override { Call("flush", ToJson(event)); }
  void OnCompaction(const sluice::CompactionEvent& event) override {
    Call("compaction", ToJson(event));
  }
  void OnSetAside(const sluice::SetAsideEvent& event) override { Call("set aside", ToJson(event)); }
  void OnCompactionAbandoned(const std::string& subtable, const Status& reason) override {
    Call("compaction abandoned", {{"subtable", subtable}, {"reason", reason.ToString()}});
  }
  void OnStall(const sluice::StallEvent& event) override { Call("stall", ToJson(event)); }
  void OnOffloadFailure(const sluice::OffloadFailureEvent& event) override {
    Call("offload failure", ToJson(event));
  }
  void OnBackgroundError(const Status& status) override {
    Call("background error", {{"error", status.ToString()}});
  }

 private:
  void Call(const char* kind, const nlohmann::json& json) {
    call_(context_, kind, sluice::TextOf(json, -1).c_str());
  }

  const sluice_listener_t call_;
  void* const context_;
};

}  // namespace

extern "C" {

sluice_options_t* sluice_options_create(void) { return new sluice_options_t; }
void sluice_options_destroy(sluice_options_t* options) { delete options; }
void sluice_options_set(sluice_options_t* options, const char* name, const char* value,
                        char** error) {
  const auto setter = Setters().find(name);
  sluice::Options changed = options->rep;
  if (setter == Setters().end()) {
    Tell(NoOption(name), error);
  } else if (!setter->second(&changed, value)) {
    Tell(NoValue(name, value), error);
  } else {
    options->rep = std::move(changed);
  }
}
void sluice_options_set_listener(sluice_options_t* options, sluice_listener_t listener,
                                 void* context) {
  options->rep.listeners.clear();
  if (listener != nullptr) {
    options->rep.listeners = {std::make_shared<Listener>(listener, context)};
  }
}

sluice_subtable_options_t* sluice_subtable_options_create(void) {
  return new sluice_subtable_options_t;
}
void sluice_subtable_options_destroy(sluice_subtable_options_t* options) { delete options; }
void sluice_subtable_options_set(sluice_subtable_options_t* options, const char* name,
                                 const char* value, char** error) {
  Status status = NoOption(name);
  sluice::VisitOptions(options->rep, [&](uint32_t, const char* of, auto& option) {
    if (std::strcmp(of, name) != 0) {
      return;
    }
    typename std::remove_reference_t<decltype(option)>::value_type parsed{};
    if (value == nullptr) {
      option.reset();
      status = {};
    } else if (Parse(value, &parsed)) {
      option = parsed;
      status = {};
    } else {
      status = NoValue(name, value);
    }
  });
  Tell(status, error);
}
char* sluice_subtable_options_text(const sluice_subtable_options_t* options) {
  return Copy(options->rep.ToString());
}

}  // extern "C"
