#pragma once

// Options that several commands share: spelt, explained and read in one place.
//
// The type name of an option or positional ("FILE", "SCHEDULE", "a|b|c") is what help shows and what shell
// completion goes by (cli/completion.hpp).

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.hpp"
#include "sim/actions.hpp"
#include "sim/io/file.hpp"
#include "sim/io/run_config.hpp"
#include "sim/schedule.hpp"
#include "study/evaluate.hpp"

namespace CLI {
class App;
}

namespace pipeloom::cli {

/// -q, -v, --color: how much is said, and how.
struct OutputOptions {
  bool quiet = false;
  bool verbose = false;
  std::string color = "auto";

  [[nodiscard]] Screen screen() const;
  /// Prints warnings to standard error unless quiet.
  void warn(const std::vector<std::string>& warnings) const;
};
void add_output_options(CLI::App& app, OutputOptions& options);

/// A run as the command line gives it: a file, and values that go on top of it. All are texts: the reader of
/// configurations checks them and names the option that is wrong.
struct InputOptions {
  std::optional<std::string> file;  ///< configuration or schedule file, "-" for standard input
  std::optional<std::string> from;  ///< format of the file; without it content decides, then the extension
  std::optional<std::string> schedule;
  std::optional<std::string> ranks;
  std::optional<std::string> microbatches;
  std::optional<std::string> chunks;
  std::vector<std::string> set;  ///< PATH=VALUE
  std::optional<std::string> max_memory;

  [[nodiscard]] study::Limits limits() const;
};
/// --schedule, --ranks, --microbatches, --chunks.
void add_shape_options(CLI::App& app, InputOptions& options);
/// --set and --max-memory.
void add_value_options(CLI::App& app, InputOptions& options);

/// A run that has been read but not evaluated.
struct RunInput {
  io::RunConfig config;
  /// Set if the file holds a schedule; `config` then says costs, memory and step only.
  std::shared_ptr<const Schedule> schedule;
  /// Of a schedule file: the blanks it draws, its actions if they are more than computations, and its format.
  std::shared_ptr<const IdleCells> idle_cells;
  std::shared_ptr<const ActionLists> actions;
  std::string format;
  /// The text of the schedule file, for the places of what is wrong in it.
  std::string text;
  /// The file's name, or "" if there is none.
  std::string name;
  /// What the schedule file's reader passed over.
  std::vector<std::string> warnings;
};

/// Reads the file, if any, and puts the options on top. Throws InputError.
[[nodiscard]] RunInput read_input(const InputOptions& options);
/// The whole run; warnings of the input come first. Throws as study::evaluate() does.
[[nodiscard]] study::Evaluation evaluate(const RunInput& input, const study::Limits& limits);

/// Throws InputError if `path` is empty, or an existing file while `force` is false: said before the work, not after it.
void require_free(const std::string& path, bool force);
[[nodiscard]] inline io::Overwrite overwrite_if(bool force) {
  return force ? io::Overwrite::Yes : io::Overwrite::No;
}

/// Throws InputError at `option` unless `value` is one of `allowed`, naming the nearest.
void require_choice(std::string_view option, const std::string& value,
                    const std::vector<std::string>& allowed);

/// A whole number from `least` to `most`. Throws InputError at `option` for anything else.
[[nodiscard]] int parse_count(std::string_view option, const std::string& text, int least, int most);

}  // namespace pipeloom::cli
