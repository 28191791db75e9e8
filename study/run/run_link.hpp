#pragma once

// Links to runs (<pipeloom/link.hpp>): the configuration that a run was read from.

#include <optional>
#include <string>
#include <string_view>

#include <pipeloom/run.hpp>
#include "sim/io/json/json_value.hpp"
#include "study/run/input.hpp"

namespace pipeloom::study {

/// Throws InputError at the place where a configuration that comes by a link names a file: a link of others
/// does not decide which files of this machine are read.
void require_no_files(const io::Value& config);

/// The JSON of a file, of standard input ("-") or of a link. Throws InputError as io::read_text(), io::Document::parse() and, of a link,
/// require_no_files() do.
[[nodiscard]] io::Document read_config_text(const std::string& path);

/// The value of a link to it (io::link_value()). Throws InputError if it is of a schedule file, of times, or of a configuration that names files
/// or is too long.
[[nodiscard]] std::string link_value_of(const Input& input);
[[nodiscard]] std::string link_value_of(const Run& run);

/// The body of pipeloom::link_of().
[[nodiscard]] std::string address_of(const Run& run, const Run* compare, std::string_view base);
/// The same for pages, which have none where that throws.
[[nodiscard]] std::optional<std::string> link_if_any(const Run& run, const Run* compare,
                                                     std::string_view base);

}  // namespace pipeloom::study
