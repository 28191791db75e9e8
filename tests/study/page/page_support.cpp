#include "study/page/page_support.hpp"

#include <cctype>
#include <sstream>

namespace pipeloom::page_tests {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  XmlDocument read() {
    while (at_ < text_.size() && out_.error.empty()) step();
    if (out_.error.empty() && !open_.empty()) fail("<" + out_.elements[open_.back()].name + "> stays open");
    return std::move(out_);
  }

 private:
  void fail(const std::string& what) {
    if (out_.error.empty()) out_.error = what + " at byte " + std::to_string(at_);
  }
  [[nodiscard]] bool looking_at(std::string_view words) const {
    return text_.substr(at_, words.size()) == words;
  }

  void step() {
    if (text_[at_] != '<') return character();
    if (looking_at("<![CDATA[")) return skip_to("]]>", true);
    if (looking_at("<!DOCTYPE")) return skip_to(">", false);
    if (looking_at("</")) return end_tag();
    start_tag();
  }

  void skip_to(std::string_view end, bool keeps) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) return fail("no end of " + std::string(end));
    if (keeps) add_text(text_.substr(at_ + 9, found - at_ - 9));
    at_ = found + end.size();
  }

  void add_text(std::string_view words) {
    for (const std::size_t element : open_) out_.elements[element].text += words;
  }

  /// One character of text, or one reference.
  void character() {
    const std::size_t begin = at_;
    const std::string one = next_character('<');
    if (at_ == begin) ++at_;
    add_text(one);
  }

  std::string next_character(char quote) {
    const char c = text_[at_];
    if (c == '&') return reference();
    if (c == '<' && quote != '<') fail("< in an attribute");
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') fail("a control character");
    ++at_;
    return {c};
  }

  std::string reference() {
    static const std::map<std::string_view, std::string> kKnown = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}};
    for (const auto& [written, meant] : kKnown)
      if (looking_at(written)) {
        at_ += written.size();
        return meant;
      }
    fail("an unknown reference");
    return {};
  }

  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '-' || text_[at_] == ':'))
      ++at_;
    if (at_ == begin) fail("a name is missing");
    return std::string(text_.substr(begin, at_ - begin));
  }

  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  void end_tag() {
    at_ += 2;
    const std::string tag = name();
    if (!looking_at(">")) fail("an end tag does not end");
    ++at_;
    if (open_.empty() || out_.elements[open_.back()].name != tag)
      return fail("</" + tag + "> closes nothing");
    open_.pop_back();
  }

  void start_tag() {
    ++at_;
    XmlElement element;
    element.name = name();
    while (out_.error.empty()) {
      blanks();
      if (at_ >= text_.size()) return fail("a tag does not end");
      if (looking_at("/>") || looking_at(">")) break;
      attribute(element);
    }
    const bool empty = looking_at("/>");
    at_ += empty ? 2 : 1;
    out_.elements.push_back(std::move(element));
    if (!empty) open_.push_back(out_.elements.size() - 1);
  }

  void attribute(XmlElement& element) {
    const std::string key = name();
    if (!looking_at("=\"")) return fail("an attribute without quotes");
    at_ += 2;
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"' && out_.error.empty()) value += next_character('"');
    ++at_;
    if (!element.attributes.emplace(key, value).second) fail("attribute " + key + " stands twice");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  XmlDocument out_;
  std::vector<std::size_t> open_;
};

}  // namespace

std::vector<const XmlElement*> XmlDocument::all(std::string_view name) const {
  std::vector<const XmlElement*> found;
  for (const XmlElement& element : elements)
    if (element.name == name) found.push_back(&element);
  return found;
}

std::vector<const XmlElement*> XmlDocument::of_class(std::string_view name) const {
  std::vector<const XmlElement*> found;
  for (const XmlElement& element : elements) {
    const auto classes = element.attributes.find("class");
    if (classes == element.attributes.end()) continue;
    std::istringstream words(classes->second);
    for (std::string word; words >> word;)
      if (word == name) found.push_back(&element);
  }
  return found;
}

XmlDocument read_xml(std::string_view text) {
  return Reader(text).read();
}

std::string raw_text(std::string_view page, std::string_view name) {
  const std::size_t tag = page.find("<" + std::string(name));
  const std::size_t begin = page.find('>', tag) + 1;
  return std::string(page.substr(begin, page.find("</" + std::string(name) + ">", begin) - begin));
}

}  // namespace pipeloom::page_tests
