#pragma once

// Numbers from 1000 on.

#include <string>
#include <string_view>

namespace pipeloom::gui {

/// Numbers in a text as people read them: thin spaces between thousands, and no decimals from 1000 on. "13821.0 units" -> "13 821 units",
/// "383,007 tokens/s" -> "383 007 tokens/s". Names that have digits in them stay: "0F1000", "2026-11-30.json", "ranks=1024".
[[nodiscard]] std::string with_thin_spaces(std::string_view text);

}  // namespace pipeloom::gui
