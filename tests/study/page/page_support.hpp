#pragma once

// Pages as the tests read them: a strict reader of XML, which pages are written for, and what is found in them.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pipeloom::page_tests {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;  ///< references resolved
  std::string text;                               ///< of this element and all below it
};

/// Every element of a document in the order of its start tags, and what is wrong with it: "" if it is well-formed. Checked are tags that
/// match, quotes, attributes that stand twice, references, and characters that XML cannot hold.
struct XmlDocument {
  std::vector<XmlElement> elements;
  std::string error;

  [[nodiscard]] std::vector<const XmlElement*> all(std::string_view name) const;
  [[nodiscard]] std::vector<const XmlElement*> of_class(std::string_view name) const;
};
[[nodiscard]] XmlDocument read_xml(std::string_view text);

/// What stands between the first `<name...>` and `</name>`, as a browser takes a script's or style's text.
[[nodiscard]] std::string raw_text(std::string_view page, std::string_view name);

}  // namespace pipeloom::page_tests
