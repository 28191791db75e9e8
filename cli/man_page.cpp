#include "cli/man_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/base/text_tools.hpp"
#include "version.hpp"

namespace pipeloom::cli {
namespace {

constexpr std::string_view kBefore =
    ".SH NAME\n"
    "pipeloom \\- simulate pipeline\\-parallel training schedules\n"
    ".SH SYNOPSIS\n"
    ".B pipeloom\n.I COMMAND\n.RI [ OPTION ]...\n"
    ".SH DESCRIPTION\n"
    "Simulates pipeline\\-parallel training schedules and says where their time and memory go: makespan, "
    "bubbles,\n"
    "peak memory, critical path and the causes of idle time. Reads configurations and schedule files of its "
    "own\n"
    "and of PyTorch, and checks suites of runs against a baseline.\n";

constexpr std::string_view kAfter =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nfine\n"
    ".TP\n.B 1\nit ran, but the answer is no: a difference in\n.BR check ,\n"
    "an illegal or hanging schedule in\n.BR validate ,\nover the memory limit\n"
    ".TP\n.B 2\nwrong usage, unreadable input, parameters that a schedule refuses\n"
    ".TP\n.B 3\na disk, device or worker failed\n"
    ".TP\n.B 70\na defect of the program\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B NO_COLOR\nif set, output has no colours.\n";

/// Text in which roff sees nothing of its own.
std::string roff_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  // A line that begins with a full stop or an apostrophe would be a request.
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string synopsis_of(const SubCommand& command) {
  std::string out = fmt::format("pipeloom {}", command.name);
  for (const Argument& option : command.options.all())
    if (option.is_positional)
      out += option.is_required ? " " + option.names.front() : fmt::format(" [{}]", option.names.front());
  return out;
}

std::string entry_of(const Argument& option) {
  std::string out = fmt::format(".TP\n\\fB{}\\fR", roff_text(join(option.names, ", ")));
  if (!option.is_positional && option.takes_value())
    out += fmt::format(" \\fI{}\\fR", roff_text(option.type));
  return out + "\n" + roff_text(option.help) + "\n";
}

/// The text of help below the options, line by line.
std::string footer_of(const OptionList& list) {
  const std::string& text = list.footer();
  if (text.empty()) return {};
  std::string out = ".PP\n.nf\n";
  for (std::size_t begin = text.front() == '\n' ? 1 : 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += roff_text(std::string_view(text).substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return out + ".fi\n";
}

}  // namespace

std::string man_page(const CommandLine& line) {
  std::string out = fmt::format(".TH PIPELOOM 1 \"\" \"pipeloom {}\" \"User Commands\"\n", kVersion);
  out += kBefore;
  out += ".SH COMMANDS\n";
  for (const SubCommand& command : line.commands)
    out += fmt::format(".TP\n.B {}\n{}.\n", command.name, roff_text(command.summary));
  out += ".SH OPTIONS\n";
  for (const SubCommand& command : line.commands) {
    out += fmt::format(".SS {}\n", roff_text(synopsis_of(command)));
    for (const Argument& option : command.options.all()) out += entry_of(option);
    out += footer_of(command.options);
  }
  return out + std::string(kAfter);
}

}  // namespace pipeloom::cli
