#pragma once

// Options that several commands share: spelt, explained and read in one place.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/units.hpp>
#include "cli/console.hpp"
#include "cli/option_list.hpp"
#include "sim/io/json/file.hpp"
#include "study/run/input.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::page {
struct Page;
}  // namespace pipeloom::study::page

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
void add_output_options(OptionList& list, OutputOptions& options);

/// The format of standard output: --format NAME, with --json and --markdown as short words for two of the names.
struct PrintOptions {
  std::vector<std::string> choices;  ///< the first is what is printed if nothing is said
  std::optional<std::string> format;
  bool json = false;
  bool markdown = false;
  std::optional<std::string> json_file;  ///< of commands with add_json_file_option()
  bool force = false;                    ///< an existing json_file is overwritten

  /// Throws IoError if json_file is there and may not be overwritten. Call it before long work.
  void require_free_file() const;

  /// Throws InputError if --format names none of `choices`.
  [[nodiscard]] std::string chosen() const;
  [[nodiscard]] bool is(std::string_view name) const { return chosen() == name; }
};
/// `choices` hold "json", and "markdown" where there is such a thing. `names` are the spellings of --format, for commands that had another one.
void add_print_options(OptionList& list, PrintOptions& options, std::vector<std::string> choices,
                       const std::string& help, const std::string& names = "--format");
/// The same for commands whose answer is a page: "table", "json" and every other format of pages (study/document/formats.hpp).
void add_page_options(OptionList& list, PrintOptions& options, const std::string& help);
/// --json-out: the JSON in a file, beside what is printed.
void add_json_file_option(OptionList& list, PrintOptions& options);
/// The same and --force, for commands that write no other file.
void add_json_file_options(OptionList& list, PrintOptions& options);
/// Nothing without --json-out. Throws IoError where the file cannot be written.
void write_json_file(const PrintOptions& options, const std::string& json);
/// A page as text for this terminal; folded sections too if `everything`.
[[nodiscard]] std::string page_text(const study::page::Page& page, const Screen& screen,
                                    bool everything = false);
/// Prints a page in the format that the options say. REQUIRES: not "json".
void print_page(const PrintOptions& options, const OutputOptions& output, const study::page::Page& page);
/// Prints `json` or, unless quiet, `page`, in the format that the options say, and writes `json` to the file of --json-out. Throws IoError
/// where it cannot be written.
void print_answer(const PrintOptions& options, const OutputOptions& output,
                  const std::function<std::string()>& json, const std::function<study::page::Page()>& page);
/// Prints `json` or, unless `quiet`, `page`, as the options say, and writes `json` to the file of --json-out. Throws IoError where it
/// cannot be written.
void print_answer(const PrintOptions& options, bool quiet, const std::function<std::string()>& json,
                  const std::function<std::string()>& page);

/// A run as the command line gives it.
struct InputOptions : pipeloom::Request {
  std::optional<std::string> max_memory;

  [[nodiscard]] pipeloom::Limits limits() const;
};
/// --schedule, --ranks, --microbatches, --chunks.
void add_shape_options(OptionList& list, InputOptions& options);
/// --mapping, for traces.
void add_mapping_option(OptionList& list, InputOptions& options);
/// --from and --mapping, for commands whose files may be traces.
void add_trace_options(OptionList& list, InputOptions& options);
/// --set and --max-memory.
void add_value_options(OptionList& list, InputOptions& options);

// Their values are read as every program reads them.
using study::evaluate;
using study::Input;
using study::read_input;

/// Throws InputError if `path` is empty, or an existing file while `force` is false: said before the work, not after it.
void require_free(const std::string& path, bool force);
[[nodiscard]] inline io::Overwrite overwrite_if(bool force) {
  return force ? io::Overwrite::Yes : io::Overwrite::No;
}

/// Throws InputError at `option` unless `value` is one of `allowed`, naming the nearest.
void require_choice(std::string_view option, const std::string& value,
                    const std::vector<std::string>& allowed);

/// A time above 0: "30", in `unit`, or with a unit of its own, "500ms". Throws InputError at `option` for anything else.
[[nodiscard]] Ticks parse_time(std::string_view option, const std::string& text, TimeUnit unit);

using study::parse_count;
/// "4,4,4,3", or one number for the whole model where stages have the same, as one for each stage; empty without text. Throws InputError at --layers.
[[nodiscard]] std::vector<std::int32_t> parse_layers(const std::optional<std::string>& text, int stages);

// How many descriptors this process may have.

/// As many as the system lets it: the usual limit of 1024 is a soft one.
void allow_many_files();

}  // namespace pipeloom::cli
