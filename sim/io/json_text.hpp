#pragma once

// Text that goes into JSON files and error messages.

#include <string>
#include <string_view>

namespace pipeloom::io {

/// Appends `text` as a JSON string with quotes. REQUIRES: valid UTF-8 for the result to be JSON.
void append_json_string(std::string& out, std::string_view text);

/// At most `limit` bytes of `text`, "..." where something was cut, control characters as '?': fit for one line. Cuts
/// between UTF-8 characters only.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t limit);

}  // namespace pipeloom::io
