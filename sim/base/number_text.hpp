#pragma once

// The pieces of a JSON number, so that decimals are read digit by digit and never through a double.

#include <optional>
#include <string_view>

namespace pipeloom {

/// (-) integer . fraction * 10^exponent; views into the text that was split.
struct NumberText {
  bool negative = false;
  std::string_view integer;   ///< at least one digit, no leading zero but a single one
  std::string_view fraction;  ///< may be empty
  long exponent = 0;          ///< clamped to +-9999: further ones are as good as zero or overflow
};

/// Nothing for text that is no JSON number.
[[nodiscard]] std::optional<NumberText> split_number(std::string_view text);

}  // namespace pipeloom
