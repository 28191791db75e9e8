#pragma once

// Numbers with more digits than are kept: one wording for every reader.

#include <string>
#include <string_view>

#include <pipeloom/error.hpp>

namespace pipeloom::io {

/// "run.json:3:12: costs.forward is 0.12345678901, more digits than are kept; it was rounded". `found` is printable already.
[[nodiscard]] std::string rounded_warning(const Where& where, std::string_view key, std::string_view found);

}  // namespace pipeloom::io
