#pragma once

// Text that goes into JSON files.

#include <string>
#include <string_view>

#include "sim/base/error.hpp"

namespace pipeloom::io {

using pipeloom::shortened;

/// Appends `text` as a JSON string with quotes; a byte that is not UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);
/// The same as a text of its own.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace pipeloom::io
