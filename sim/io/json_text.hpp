#pragma once

// Text that goes into JSON files.

#include <string>
#include <string_view>

#include "sim/error.hpp"

namespace pipeloom::io {

using pipeloom::shortened;

/// Appends `text` as a JSON string with quotes. REQUIRES: valid UTF-8 for the result to be JSON.
void append_json_string(std::string& out, std::string_view text);

}  // namespace pipeloom::io
