#include "job_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "util/coding.h"

namespace sluice::rocks {

namespace {

constexpr uint32_t kTextVersion = 1;

bool ParseHex(std::string_view hex, std::string* bytes) {
  bytes->clear();
  if (hex.size() % 2 != 0) {
    return false;
  }
  for (size_t i = 0; i < hex.size(); i += 2) {
    uint8_t byte;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (error != std::errc() || end != hex.data() + i + 2) {
      return false;
    }
    bytes->push_back(static_cast<char>(byte));
  }
  return true;
}

std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    fmt::format_to(std::back_inserter(hex), "{:02X}", static_cast<uint8_t>(c));
  }
  return hex;
}

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseBool(std::string_view text, bool* value) {
  *value = text == "true";
  return *value || text == "false";
}

// Calls parse(element) for each element of a vector, until it answers false.
template <typename Parse>
bool ParseVector(std::string_view text, const Parse& parse) {
  while (!text.empty()) {
    const size_t colon = std::min(text.find(':'), text.size());
    if (!parse(text.substr(0, colon))) {
      return false;
    }
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  return true;
}

// What stands in the braces around `text`; `text` itself if there are none.
std::string_view InBraces(std::string_view text) {
  return text.size() >= 2 && text.front() == '{' && text.back() == '}'
             ? text.substr(1, text.size() - 2)
             : text;
}

bool ParseFamily(std::string_view text, JobInput* input) {
  Fields fields;
  return ParseFields(InBraces(text), &fields).ok() && ParseHex(fields["name"], &input->family);
}

// False if the value is malformed, or the name is not known.
bool ParseInputField(std::string_view name, std::string_view value, JobInput* input) {
  if (name == "column_family") {
    return ParseFamily(value, input);
  }
  if (name == "cf_name") {
    return ParseHex(value, &input->family);
  }
  if (name == "snapshots") {
    return ParseVector(InBraces(value), [input](std::string_view element) {
      return ParseNumber(element, &input->snapshots.emplace_back());
    });
  }
  if (name == "input_files") {
    return ParseVector(InBraces(value), [input](std::string_view element) {
      return ParseHex(element, &input->files.emplace_back());
    });
  }
  if (name == "output_level") {
    return ParseNumber(value, &input->output_level);
  }
  if (name == "has_begin") {
    return ParseBool(value, &input->has_begin);
  }
  if (name == "has_end") {
    return ParseBool(value, &input->has_end);
  }
  if (name == "begin") {
    return ParseHex(value, &input->begin);
  }
  if (name == "end") {
    return ParseHex(value, &input->end);
  }
  return name == "db_options" || name == "db_id" || name == "options_file_number";
}

std::string EncodeFile(const JobOutput& output, const OutputFile& file, int major) {
  std::string text = fmt::format(
      "file_name={};smallest_seqno={};largest_seqno={};smallest_internal_key={};"
      "largest_internal_key={};oldest_ancester_time={};file_creation_time={};paranoid_hash=0;"
      "marked_for_compaction=false;unique_id=0:0;",
      Hex(file.name), file.smallest_sequence, file.largest_sequence, Hex(file.smallest),
      Hex(file.largest), output.oldest_ancestor_time, output.creation_time);
  if (major >= 8) {
    text += fmt::format(
        "epoch_number={};is_proximal_level_output=false;table_properties={{num_entries={};}};",
        output.epoch_number, file.entries);
  }
  return text;
}

}  // namespace

Status ParseFields(std::string_view text, Fields* fields) {
  const auto malformed = [](std::string_view what) {
    return Status::NotSupported(
        fmt::format("the job's fields cannot be told apart, as of braces in a name: {}", what));
  };
  fields->clear();
  while (!text.empty()) {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) {
      return malformed("a name without a value");
    }
    size_t end = equals + 1;
    int depth = 0;
    for (; end < text.size() && (depth > 0 || text[end] != ';'); ++end) {
      depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
      if (depth < 0) {
        return malformed("a brace that nothing opened");
      }
    }
    if (end >= text.size() || depth != 0) {
      return malformed("a value without an end");
    }
    std::string name(text.substr(0, equals));
    if (!fields->emplace(std::move(name), text.substr(equals + 1, end - equals - 1)).second) {
      return malformed("a name comes twice");
    }
    text.remove_prefix(end + 1);
  }
  return {};
}

Status ParseJobInput(std::string_view text, JobInput* input) {
  *input = {};
  if (text.size() < 4 || DecodeFixed32(text.data()) != kTextVersion) {
    return Status::NotSupported("the job is described in another version of the format");
  }
  Fields fields;
  SLUICE_RETURN_IF_ERROR(ParseFields(text.substr(4), &fields));
  for (const auto& [name, value] : fields) {
    if (!ParseInputField(name, value, input)) {
      return Status::NotSupported(fmt::format("field \"{}\" of the job is not understood", name));
    }
  }
  if (input->family.empty() || input->files.empty()) {
    return Status::NotSupported("the job names no column family or no files");
  }
  std::sort(input->snapshots.begin(), input->snapshots.end());
  input->snapshots.erase(std::unique(input->snapshots.begin(), input->snapshots.end()),
                         input->snapshots.end());
  return {};
}

std::string EncodeJobOutput(const JobOutput& output, int major) {
  std::string text;
  PutFixed32(&text, kTextVersion);
  fmt::format_to(std::back_inserter(text),
                 "status={{code=0;subcode=0;severity=0;message=;}};output_level={};output_path={};"
                 "bytes_read={};bytes_written={};",
                 output.output_level, Hex(output.dir), output.bytes_read, output.bytes_written);
  std::string stats = fmt::format(
      "num_input_records={};num_output_records={};num_output_files={};"
      "total_input_bytes={};total_output_bytes={};elapsed_micros={};",
      output.input_records, output.output_records, output.files.size(), output.bytes_read,
      output.bytes_written, output.micros);
  if (major >= 8) {
    fmt::format_to(std::back_inserter(text), "stats={{is_remote_compaction=true;{}}};", stats);
    fmt::format_to(
        std::back_inserter(text),
        "internal_stats={{output_level_stats={{num_output_records={};num_output_files={};"
        "bytes_written={};micros={};count=1;}};}};",
        output.output_records, output.files.size(), output.bytes_written, output.micros);
  } else {
    fmt::format_to(std::back_inserter(text), "stats={{{}}};num_output_records={};total_bytes={};",
                   stats, output.output_records, output.bytes_written);
  }
  std::string files;
  for (const OutputFile& file : output.files) {
    fmt::format_to(std::back_inserter(files), "{}{{{{{}}}}}", files.empty() ? "" : ":",
                   EncodeFile(output, file, major));
  }
  fmt::format_to(std::back_inserter(text), "output_files={{{}}};", files);
  return text;
}

}  // namespace sluice::rocks
