#pragma once

// Pages as the terminal shows them.

#include <cstddef>
#include <sstream>
#include <string>
#include <utility>

#include "study/document/formats.hpp"

namespace pipeloom {

inline std::string plain_text_of(const study::page::Page& page, std::size_t width = 100) {
  std::ostringstream out;
  study::page::write_plain(out, page, {.width = width});
  return std::move(out).str();
}

inline std::string plain_text_of(study::page::Section section) {
  study::page::Page page;
  page.sections.push_back(std::move(section));
  return plain_text_of(page);
}

}  // namespace pipeloom
