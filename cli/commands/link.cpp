// pipeloom link RUN [B]: the address of a run, which says all of it.

#include "sim/io/links/link.hpp"

#include <fmt/format.h>

#include <utility>

#include <pipeloom/link.hpp>
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "study/run/run_link.hpp"

namespace pipeloom::cli::commands {
namespace {

struct LinkOptions {
  InputOptions input;
  std::vector<std::string> files;
  std::string base = std::string(kServeAddress);
};

constexpr const char* kLinkFooter =
    "\nThe text after '#' is the configuration itself, packed: a browser sends it to no server, and every "
    "command\n"
    "takes a link where it takes a configuration. Nothing is loaded from a network. A schedule's name as B "
    "is "
    "RUN\n"
    "under that schedule. Options count for both.\n\n"
    "Examples:\n"
    "  pipeloom link run.json\n"
    "  pipeloom link --schedule zbv --ranks 8 --microbatches 32\n"
    "  pipeloom link run.json zb-h1 --base https://example.org/pipeloom/\n"
    "  pipeloom simulate \"$(pipeloom link run.json)\" --chart";

/// The value of a link to the run of `request`.
std::string value_of(const pipeloom::Request& request) {
  return study::link_value_of(read_input(request));
}

/// The request of the second run: a schedule's name is the first under that schedule.
pipeloom::Request second_of(const LinkOptions& options, const pipeloom::Request& first) {
  pipeloom::Request out = static_cast<const pipeloom::Request&>(options.input);
  out.file = options.files[1];
  out = study::settled(std::move(out));
  if (out.file) return out;
  out.file = first.file;
  out.text = first.text;
  return out;
}

ExitCode run_link(const LinkOptions& options) {
  if (options.files.size() > 2)
    throw InputError(Where{"RUN"}, fmt::format("{} runs; a link holds one, or two that are compared",
                                               options.files.size()));
  pipeloom::Request first = static_cast<const pipeloom::Request&>(options.input);
  if (!options.files.empty()) first.file = options.files.front();
  if (first.file == "-") first.text = io::read_file("-");
  first = study::settled(std::move(first));
  std::optional<std::string> compare;
  const std::string value = value_of(first);
  if (options.files.size() == 2) compare = value_of(second_of(options, first));
  print(io::link_text(options.base, value, compare) + '\n');
  return ExitCode::Ok;
}

}  // namespace

Run link(OptionList& list) {
  auto options = std::make_shared<LinkOptions>();
  list.set_footer(kLinkFooter);
  list.positional("RUN", options->files, "FILE",
                  "Configuration, schedule's name or link, and a second one to compare; - is standard input")
      .at_least(0);
  add_shape_options(list, options->input);
  list.option("--set", options->input.set, "PATH=VALUE",
              "Any key of the configuration, such as costs.forward=1.5; repeatable")
      .repeatable();
  list.option("--base", options->base, "URL",
              "Address of the page, by default that of `pipeloom serve`; '' prints the fragment alone");
  return [options] { return run_link(*options); };
}

}  // namespace pipeloom::cli::commands
