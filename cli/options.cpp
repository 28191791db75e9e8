#include "cli/options.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>

#include "cli/numbers.hpp"

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

void add_output_options(CLI::App& app, OutputOptions& options) {
  app.add_flag("-q,--quiet", options.quiet, "Print nothing but what was asked for, and errors");
  app.add_flag("-v,--verbose", options.verbose, "Leave nothing out");
  app.add_option("--color", options.color, "Colour: on a terminal unless NO_COLOR is set, always or never")
      ->type_name("auto|always|never");
}

study::Limits InputOptions::limits() const {
  study::Limits limits;
  if (max_memory) limits.max_memory = parse_size(*max_memory, "--max-memory");
  return limits;
}

void add_shape_options(CLI::App& app, InputOptions& options) {
  app.add_option("--schedule", options.schedule, "Name of the schedule (see `pipeloom schedules`)")
      ->type_name("SCHEDULE");
  app.add_option("--ranks", options.ranks, "p, pipeline devices")->type_name("P");
  app.add_option("--microbatches", options.microbatches, "m, microbatches of one step")->type_name("M");
  app.add_option("--chunks", options.chunks, "v, stages per rank and replica")->type_name("V");
}

void add_value_options(CLI::App& app, InputOptions& options) {
  app.add_option("--set", options.set, "Any key of the configuration, such as costs.forward=1.5; repeatable")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->take_all();
  app.add_option("--max-memory", options.max_memory,
                 "Refuse runs that need more, such as 8GiB; default 3/4 of this machine's memory")
      ->type_name("SIZE");
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

int parse_count(std::string_view option, const std::string& text, int least, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least || number > most)
    throw InputError(
        Where{std::string(option)},
        fmt::format("found '{}'; allowed is a whole number from {} to {}", shortened(text, 64), least, most));
  return number;
}

}  // namespace pipeloom::cli
