// pipeloom merge FILES... -o OUT: the shards of a sweep become the whole.

#include "study/sweep/result/merge.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"

namespace pipeloom::cli::commands {
namespace {

struct MergeOptions {
  std::vector<std::string> files;
  std::string out;
  bool force = false;
  OutputOptions output;
};

ExitCode run_merge(const MergeOptions& options) {
  require_free(options.out, options.force);
  allow_many_files();  // all shards are open at once
  const sweep::MergeSummary summary = sweep::merge(options.files, options.out, options.force);
  if (!options.output.quiet)
    say(fmt::format("{} of {}, complete\n", count_text(summary.points, "point"),
                    count_text(static_cast<std::size_t>(summary.files), "file")));
  return ExitCode::Ok;
}

}  // namespace

Run merge(OptionList& list) {
  auto options = std::make_shared<MergeOptions>();
  list.set_footer(
      "\nThe output has the bytes that one run of the whole grid would have written. Shards that are "
      "missing, twice there,\n"
      "cut short, or of another grid, version or set of metrics are refused.\n\n"
      "Example:\n"
      "  pipeloom merge part*.jsonl -o result.jsonl");
  list.positional("FILES", options->files, "FILE", "Results of all shards, in any order").required();
  list.option("-o,--output", options->out, "FILE", "The whole result; - is standard output").required();
  list.flag("--force", options->force, "Overwrite an existing file");
  add_output_options(list, options->output);
  return [options] { return run_merge(*options); };
}

}  // namespace pipeloom::cli::commands
