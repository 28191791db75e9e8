#include "sim/io/json/rounding.hpp"

#include <fmt/format.h>

namespace pipeloom::io {

std::string rounded_warning(const Where& where, std::string_view key, std::string_view found) {
  const std::string place = where.text();
  return fmt::format("{}{}{} is {}, more digits than are kept; it was rounded", place,
                     place.empty() ? "" : ": ", key, found);
}

}  // namespace pipeloom::io
