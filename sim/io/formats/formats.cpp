// The formats whose readers and writers are a call each.

#include "sim/io/formats/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include <pipeloom/error.hpp>
#include "sim/analysis/dag.hpp"
#include "sim/analysis/validate.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "sim/io/formats/timeline_jsonl.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

// Each is defined in its format's own source file.
#define PIPELOOM_FORMAT(function) Format function();
#include "sim/io/formats/formats.def"
#undef PIPELOOM_FORMAT

namespace {

std::vector<std::string> names_of(bool readable_only) {
  std::vector<std::string> names;
  for (const Format& format : all_formats())
    if (!readable_only || format.read) names.push_back(format.name);
  return names;
}

}  // namespace

const std::vector<Format>& all_formats() {
  static const std::vector<Format> formats = {
#define PIPELOOM_FORMAT(function) function(),
#include "sim/io/formats/formats.def"
#undef PIPELOOM_FORMAT
  };
  return formats;
}

const Format& find_format(std::string_view name, const Where& where) {
  for (const Format& format : all_formats())
    if (format.name == name) return format;
  throw InputError::unknown_name(where, "format", shortened(name, 64), names_of(false));
}

const Format* format_by_extension(std::string_view path) {
  const std::string name = lower(path);
  const Format* best = nullptr;
  std::size_t longest = 0;
  for (const Format& format : all_formats())
    for (const auto& extension : format.extensions)
      if (extension.size() > longest && name.ends_with(extension)) {
        best = &format;
        longest = extension.size();
      }
  return best;
}

const Format* format_by_content(std::string_view text) {
  for (const Format& format : all_formats())
    if (format.read && format.sniff && format.sniff(text)) return &format;
  return nullptr;
}

Imported read_schedule(std::string_view text, const std::string& path, std::string_view format_name) {
  const Format* format = format_name.empty() ? format_by_content(text) : &find_format(format_name);
  if (format == nullptr) format = format_by_extension(path);
  const std::string readable = fmt::format("{}", fmt::join(names_of(true), ", "));
  if (format == nullptr)
    throw InputError(
        Where{path},
        fmt::format(
            "this is no schedule in a format that is known; readable formats: {}; --from says which it is",
            readable));
  if (!format->read && !format->read_instead.empty())
    throw InputError(Where{path},
                     fmt::format("the format {} holds no schedule: {}", format->name, format->read_instead));
  if (!format->read)
    throw InputError(Where{path}, fmt::format("the format {} can only be written; readable formats: {}",
                                              format->name, readable));
  return format->read(text, path);
}

namespace {

/// The reader tells the three forms of a timeline apart by content.
void reads_times(Format& format) {
  format.read_timeline = [](std::string_view text, const std::string& name) {
    return read_timeline(text, name);
  };
  format.read_instead = "it holds times; `pipeloom convert` draws them, `pipeloom gui` shows them";
}

}  // namespace

Format json_format() {
  Format out;
  out.name = "json";
  out.extensions = {".json"};
  out.summary = "a schedule: ranks, stages, microbatches, placement, orders";
  out.read = [](std::string_view text, const std::string& name) {
    return Imported{std::make_shared<const Schedule>(read_schedule_json(Document::parse(text, name).root())),
                    {}};
  };
  out.write = [](std::ostream& stream, const Exported& run) { write_schedule_json(stream, *run.schedule); };
  out.sniff = [](std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return false;
    const bool is_dict = first + 1 < text.size() && text[first + 1] >= '0' && text[first + 1] <= '9';
    return (text[first] == '{' && !is_dict) || text[first] == '/';
  };
  return out;
}

Format timeline_format() {
  Format out;
  out.name = "timeline";
  out.extensions = {".jsonl"};
  out.summary = "start and end of every op, one JSON object per line";
  out.needs_times = true;
  out.bytes_per_op = 50;
  out.write = [](std::ostream& stream, const Exported& run) {
    run.timeline->unit == TimeUnit::Unit ? write_timeline_jsonl(stream, *run.timeline)
                                         : write_timeline_with_unit(stream, *run.timeline);
  };
  reads_times(out);
  return out;
}

Format csv_format() {
  Format out;
  out.name = "csv";
  out.summary = "start and end of every op, as a table";
  out.needs_times = true;
  out.bytes_per_op = 20;
  out.write = [](std::ostream& stream, const Exported& run) { write_timeline_csv(stream, *run.timeline); };
  reads_times(out);
  return out;
}

Format report_format() {
  Format out;
  out.name = "report";
  out.summary = "the report of `simulate --json`, with orders and timeline";
  out.needs_times = true;
  out.bytes_per_op = kReportBytesPerOp;
  out.needs_metrics = true;
  out.write = [](std::ostream& stream, const Exported& run) { run.report(stream); };
  reads_times(out);
  return out;
}

Format dot_format() {
  Format out;
  out.name = "dot";
  out.extensions = {".dot", ".gv"};
  out.summary = "the dependency graph for Graphviz";
  out.write = [](std::ostream& stream, const Exported& run) {
    // A schedule that hangs has a graph, and a cycle to look at; one with missing or doubled ops has none.
    const auto problems = validate_structure(*run.schedule);
    if (!problems.empty())
      throw ScheduleError("no dependency graph of an illegal schedule: " + problems.front().message +
                          "; `pipeloom validate` lists all that is wrong");
    stream << to_dot(Dag(*run.schedule));
  };
  return out;
}

}  // namespace pipeloom::io
