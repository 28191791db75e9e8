#include "cli/options.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "cli/numbers.hpp"
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "study/document/formats.hpp"

namespace pipeloom::cli {

Screen OutputOptions::screen() const {
  require_choice("--color", color, {"auto", "always", "never"});
  return cli::screen(color == "always"  ? ColourMode::Always
                     : color == "never" ? ColourMode::Never
                                        : ColourMode::Auto);
}

void OutputOptions::warn(const std::vector<std::string>& warnings) const {
  if (quiet) return;
  for (const std::string& warning : warnings) print_warning(warning);
}

void add_output_options(OptionList& list, OutputOptions& options) {
  list.flag("-q,--quiet", options.quiet, "Print nothing but what was asked for, and errors");
  list.flag("-v,--verbose", options.verbose, "Leave nothing out");
  list.option("--color", options.color, "auto|always|never",
              "Colour: on a terminal unless NO_COLOR is set, always or never");
}

std::string PrintOptions::chosen() const {
  if (json) return "json";
  if (markdown) return "markdown";
  if (!format) return choices.front();
  require_choice("--format", *format, choices);
  return *format;
}

void add_print_options(OptionList& list, PrintOptions& options, std::vector<std::string> choices,
                       const std::string& help, const std::string& names) {
  options.choices = std::move(choices);
  list.option(names, options.format, fmt::format("{}", fmt::join(options.choices, "|")), help);
  list.flag("--json", options.json, "The same as --format json").excludes("--format");
  if (std::find(options.choices.begin(), options.choices.end(), "markdown") == options.choices.end()) return;
  list.flag("--markdown", options.markdown, "The same as --format markdown")
      .excludes("--format")
      .excludes("--json");
}

void add_page_options(OptionList& list, PrintOptions& options, const std::string& help) {
  std::vector<std::string> choices = study::page::page_format_names();
  choices.insert(choices.begin() + 1, "json");
  add_print_options(list, options, std::move(choices), help);
}

void add_json_file_option(OptionList& list, PrintOptions& options) {
  list.option("--json-out", options.json_file, "FILE",
              "Also write the JSON to FILE; what is printed stays as it is");
}

void add_json_file_options(OptionList& list, PrintOptions& options) {
  add_json_file_option(list, options);
  list.flag("--force", options.force, "Overwrite an existing file");
}

void PrintOptions::require_free_file() const {
  if (json_file == "-")
    throw InputError(Where{"--json-out"},
                     "standard output has what people read; name a file, or give --json instead");
  if (json_file) require_free(*json_file, force);
}

void write_json_file(const PrintOptions& options, const std::string& json) {
  if (options.json_file)
    io::write_file(*options.json_file, overwrite_if(options.force), [&](std::ostream& out) { out << json; });
}

void print_answer(const PrintOptions& options, bool quiet, const std::function<std::string()>& json,
                  const std::function<std::string()>& page) {
  const bool is_json = options.is("json");
  const std::string text = is_json || options.json_file ? json() : "";
  write_json_file(options, text);
  if (is_json)
    print(text);
  else if (!quiet)
    print(page());
}

void print_page(const PrintOptions& options, const OutputOptions& output, const study::page::Page& page) {
  const study::page::PageFormat& format = *study::page::page_format_named(options.chosen());
  const Screen screen = output.screen();
  if (&format == study::page::page_formats().data()) return print(page_text(page, screen, output.verbose));
  // Not by print(), which takes the ends of CSV's lines for what steers a terminal.
  io::write_file("-", io::Overwrite::Yes, [&](std::ostream& out) { format.write(out, page, {}); });
}

std::string page_text(const study::page::Page& page, const Screen& screen, bool everything) {
  std::ostringstream out;
  study::page::write_plain(out, page,
                           {static_cast<std::size_t>(screen.width), screen.has_colour(), everything});
  return std::move(out).str();
}

void print_answer(const PrintOptions& options, const OutputOptions& output,
                  const std::function<std::string()>& json, const std::function<study::page::Page()>& page) {
  const bool is_json = options.is("json");
  const std::string text = is_json || options.json_file ? json() : "";
  write_json_file(options, text);
  if (is_json)
    print(text);
  else if (!output.quiet)
    print_page(options, output, page());
}

pipeloom::Limits InputOptions::limits() const {
  pipeloom::Limits limits;
  if (max_memory) limits.max_memory = parse_size(*max_memory, "--max-memory");
  return limits;
}

void add_shape_options(OptionList& list, InputOptions& options) {
  list.option("--schedule", options.schedule, "SCHEDULE", "Name of the schedule (see `pipeloom schedules`)");
  list.option("--ranks", options.ranks, "P", "p, pipeline devices");
  list.option("--microbatches", options.microbatches, "M", "m, microbatches of one step");
  list.option("--chunks", options.chunks, "V", "v, stages per rank and replica");
}

std::vector<std::int32_t> parse_layers(const std::optional<std::string>& text, int stages) {
  if (!text) return {};
  constexpr int kMost = 1'000'000;
  std::vector<std::int32_t> layers;
  std::string_view rest = *text;
  for (;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    layers.push_back(parse_count("--layers", std::string(rest.substr(0, comma)), 0, kMost));
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  if (layers.size() == 1 && layers.front() % stages == 0)
    layers.assign(static_cast<std::size_t>(stages), layers.front() / stages);
  if (layers.size() != static_cast<std::size_t>(stages))
    throw InputError(Where{"--layers"},
                     fmt::format("'{}' does not say the layers of {} stages; give one number for each, "
                                 "\"4,4,4,3\", or a model's that they share equally",
                                 shortened(*text, 40), stages));
  return layers;
}

void add_mapping_option(OptionList& list, InputOptions& options) {
  list.option("--mapping", options.mapping, "FILE",
              "Of a trace: what the names of its ranges mean; PyTorch's are known");
}

void add_trace_options(OptionList& list, InputOptions& options) {
  list.option("--from", options.from, "FORMAT",
              "Format of the files, such as kineto; found by content if left out");
  add_mapping_option(list, options);
}

void add_value_options(OptionList& list, InputOptions& options) {
  list.option("--set", options.set, "PATH=VALUE",
              "Any key of the configuration, such as costs.forward=1.5; repeatable")
      .repeatable();
  list.option("--max-memory", options.max_memory, "SIZE",
              "Refuse runs that need more, such as 8GiB; default 3/4 of this machine's memory");
}

void require_free(const std::string& path, bool force) {
  if (path.empty()) throw InputError("the name of the output file is empty; name a file, or -");
  struct stat info {};
  if (!force && path != "-" && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode))
    throw InputError::exists(path);
}

void require_choice(std::string_view option, const std::string& value,
                    const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  throw InputError::unknown_name(Where{std::string(option)}, "value", shortened(value, 64), allowed);
}

Ticks parse_time(std::string_view option, const std::string& text, TimeUnit unit) {
  auto time = parse_time_literal(text);
  if (const auto plain = parse_ticks(text, unit); plain) time = plain;
  if (!time || time->value <= 0)
    throw InputError(
        Where{std::string(option)},
        fmt::format("found '{}'; allowed is a time above 0: a number of {}, or a text such as 500ms",
                    shortened(text, 64), name_of(unit)));
  return time->value;
}

void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace pipeloom::cli
