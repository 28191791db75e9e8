#pragma once

// The questions of a page to the core: text in, text out, in the bytes that the program prints. Nothing is thrown or printed.

#include <string>
#include <string_view>

#include <pipeloom/error.hpp>

namespace pipeloom::web {

struct Answer {
  /// As the program ends: Ok, AnswerIsNo, BadInput, DeviceFailed (memory) or Bug.
  ExitCode code = ExitCode::Ok;
  /// The text that the program prints; from BadInput on its sentence, "NAME:line:column: error: ..".
  std::string text;
  /// The lines that the program writes to standard error, each with its end: "warning: ..".
  std::string warnings = {};
};

/// A text, the name that messages call it by, and options as JSON text, "" for none.
struct Asked {
  std::string_view name;
  std::string_view text;
  std::string_view options;
};

/// One of `functions`:
///   report     `simulate NAME --json`
///   convert    `convert NAME out --to FORMAT`; options: format ("svg"), width, height, title, memory, idle_causes, critical_path, dark
///   plan       `plan NAME --json -j 1`; options: vary, objective, limit, budget, seed, top, orders
///   validate   `validate NAME --json`
///   schedules  names, aliases, summaries, sources and numbers of chunks of all schedules
///   keep       makes `text` a file of that name, which configurations may name; prints nothing
///   version    {"version": ..}
[[nodiscard]] Answer answer(std::string_view function, const Asked& asked);

}  // namespace pipeloom::web
