#pragma once

// A page as text for a terminal: headings, aligned tables, charts of letters. Content that only a picture can show is left out.

#include <iosfwd>

#include "study/document/document.hpp"

namespace pipeloom::study::page {

struct PlainStyle {
  std::size_t width = 100;  ///< columns that sentences may take; tables take as many as they need
  bool colour = false;      ///< headings in bold
  bool everything = false;  ///< folded sections too
};

/// Control characters in names from files become '?', so that no text can steer the terminal.
void write_plain(std::ostream& out, const Page& page, const PlainStyle& style);

}  // namespace pipeloom::study::page
