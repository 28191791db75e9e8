#include "study/document/formats.hpp"

#include <algorithm>

namespace pipeloom::study::page {
namespace {

template <void (*write)(std::ostream&, const Page&)>
void without_style(std::ostream& out, const Page& page, const PlainStyle& /*style*/) {
  write(out, page);
}

constexpr std::array kPageFormats = {
    PageFormat{"table", {".txt", ""}, false, write_plain},
    PageFormat{"markdown", {".md", ".markdown"}, false, without_style<write_markdown>},
    PageFormat{"html", {".html", ".htm"}, true, without_style<write_html>},
    PageFormat{"latex", {".tex", ""}, false, without_style<write_latex>},
    PageFormat{"csv", {".csv", ""}, false, without_style<write_csv>},
};

}  // namespace

std::span<const PageFormat> page_formats() {
  return kPageFormats;
}

std::vector<std::string> page_format_names() {
  std::vector<std::string> out;
  for (const PageFormat& format : kPageFormats) out.emplace_back(format.name);
  return out;
}

const PageFormat* page_format_named(std::string_view name) {
  const std::string_view whole = name == "md" ? "markdown" : name;
  const auto* const found = std::ranges::find(kPageFormats, whole, &PageFormat::name);
  return found == kPageFormats.end() ? nullptr : found;
}

const PageFormat* page_format_of_file(std::string_view file) {
  const auto* const found = std::ranges::find_if(kPageFormats, [file](const PageFormat& format) {
    return std::ranges::any_of(format.endings, [file](std::string_view ending) {
      return !ending.empty() && file.ends_with(ending);
    });
  });
  return found == kPageFormats.end() ? nullptr : found;
}

}  // namespace pipeloom::study::page
