#pragma once

// Is this text well-formed XML? Enough of it for what Pipeloom writes: elements, attributes, the five entities.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace pipeloom {

/// "" for character data without bare < or &, else what is wrong.
inline std::string xml_text_problem(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '<' || (c < 0x20 && c != '\n' && c != '\t')) return "bad character in text";
    if (c != '&') continue;
    bool known = false;
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}) {
      known = known || text.substr(i, entity.size()) == entity;
    }
    if (!known) return "bare &";
  }
  return "";
}

/// The same for ` name="value"` pairs.
inline std::string xml_attributes_problem(std::string_view rest) {
  while (rest.find_first_not_of(' ') != std::string_view::npos) {
    const std::size_t quote = rest.find("=\"");
    const std::size_t end = quote == std::string_view::npos ? quote : rest.find('"', quote + 2);
    if (end == std::string_view::npos) return "attribute is not quoted";
    const std::string problem = xml_text_problem(rest.substr(quote + 2, end - quote - 2));
    if (!problem.empty()) return problem;
    rest = rest.substr(end + 1);
  }
  return "";
}

/// Follows one tag, without its < and >: `open` holds the names of the elements around it.
inline std::string xml_tag_problem(std::string_view tag, std::vector<std::string>& open, bool& had_root) {
  if (tag.substr(0, 1) == "?") return "";
  if (tag.substr(0, 1) == "/") {
    if (open.empty() || open.back() != tag.substr(1))
      return "closing " + std::string(tag) + " does not match";
    open.pop_back();
    return "";
  }
  const bool is_empty = !tag.empty() && tag.back() == '/';
  if (is_empty) tag.remove_suffix(1);
  const std::size_t name_end = std::min(tag.find(' '), tag.size());
  if (name_end == 0) return "element without a name";
  if (open.empty() && had_root) return "two roots";
  had_root = true;
  if (!is_empty) open.emplace_back(tag.substr(0, name_end));
  return xml_attributes_problem(tag.substr(name_end));
}

/// "" for a well-formed document, else what is wrong.
inline std::string xml_problem(std::string_view xml) {
  std::vector<std::string> open;
  bool had_root = false;
  for (std::size_t at = 0; at < xml.size();) {
    const std::size_t tag = std::min(xml.find('<', at), xml.size());
    const std::string_view text = xml.substr(at, tag - at);
    if (open.empty() && text.find_first_not_of(" \n") != std::string_view::npos)
      return "text outside the root";
    std::string problem = xml_text_problem(text);
    if (problem.empty() && tag < xml.size()) {
      const std::size_t close = xml.find('>', tag);
      if (close == std::string_view::npos) return "unclosed tag";
      problem = xml_tag_problem(xml.substr(tag + 1, close - tag - 1), open, had_root);
      at = close + 1;
    } else {
      at = tag;
    }
    if (!problem.empty()) return problem;
  }
  if (!open.empty()) return "<" + open.back() + "> is not closed";
  return had_root ? "" : "no root";
}

}  // namespace pipeloom
