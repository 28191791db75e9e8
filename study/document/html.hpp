#pragma once

// Text that goes into HTML and SVG. Pages are XHTML-compatible: an XML parser reads them too, which is how the tests check them.

#include <string>
#include <string_view>

namespace pipeloom::study::page {

/// `text` as the content of an element or of an attribute in double quotes: & < > " ' are written as references; what no XML
/// text can hold (control characters, bytes that are not UTF-8, U+FFFE and U+FFFF) becomes U+FFFD; so do the marks that turn
/// the direction of writing, with which a file name could disguise itself. Line ends and tabs stay.
[[nodiscard]] std::string escaped(std::string_view text);

/// <name attributes>content</name>. `attributes` is markup such as R"(class="note")", or "".
[[nodiscard]] std::string element(std::string_view name, std::string_view attributes,
                                  std::string_view content);

/// A number of a picture: at most `digits` (0 to 3) digits after the point, no trailing zeros, "0" rather than "-0".
[[nodiscard]] std::string coordinate(double value, int digits = 2);

}  // namespace pipeloom::study::page
