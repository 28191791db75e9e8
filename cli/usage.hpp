#pragma once

// Wrong usage in our own words: one line that names the nearest right thing.

#include <string_view>

#include "sim/base/error.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace pipeloom::cli {

/// Throws InputError, with the nearest name, unless there is such a command.
void require_command(std::string_view name);

/// Throws InputError for the first argument that no option or positional took: an unknown command, an unknown option
/// (with the nearest of its command's), or an argument too many.
void require_no_extras(const CLI::App& app);

/// The parser's error as ours. An unknown argument comes first: it is the likelier cause of what is missing.
[[nodiscard]] InputError usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace pipeloom::cli
