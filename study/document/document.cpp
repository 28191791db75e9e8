#include "study/document/document.hpp"

#include <fmt/format.h>

#include <array>
#include <ostream>

#include "sim/base/text_tools.hpp"
#include "study/document/formats.hpp"
#include "study/document/html.hpp"
#include "study/document/sha256.hpp"

namespace pipeloom::study::page {
namespace {

constexpr std::array<std::string_view, 5> kToneClasses = {"", "good", "bad", "warning", "muted"};
constexpr std::array<std::string_view, 5> kSigns = {"", "\xe2\x9c\x93", "\xe2\x9c\x97", "!", ""};

std::string_view class_of(Tone tone) {
  return kToneClasses[static_cast<std::size_t>(tone)];
}

/// Check mark, cross or exclamation mark, hidden from readers that speak the text itself.
std::string html_sign(Tone tone) {
  const std::string_view mark = kSigns[static_cast<std::size_t>(tone)];
  return mark.empty() ? "" : fmt::format(R"(<span class="html_sign" aria-hidden="true">{}</span> )", mark);
}

std::string class_attribute(std::string_view one, std::string_view other = {}) {
  if (one.empty() && other.empty()) return {};
  return fmt::format(" class=\"{}{}{}\"", one, one.empty() || other.empty() ? "" : " ", other);
}

std::string swatch(std::string_view name) {
  return name.empty() ? "" : fmt::format(R"(<i class="swatch {}"></i>)", name);
}

/// A name that may be broken after each of its parts: peak_|activation_|bytes, costs.|forward.
std::string breakable(const std::string& name) {
  std::string out;
  std::string part;
  for (std::size_t i = 0; i < name.size(); ++i) {
    part += name[i];
    if ((name[i] != '_' && name[i] != '.') || i + 1 == name.size()) continue;
    out += escaped(part) + "<wbr/>";
    part.clear();
  }
  return out + escaped(part);
}

class HtmlWriter {
 public:
  explicit HtmlWriter(std::ostream& out) : out_(out) {}

  void operator()(const Paragraph& text) {
    out_ << "<p" << class_attribute(class_of(text.tone)) << '>' << html_sign(text.tone) << escaped(text.text)
         << "</p>\n";
  }

  void operator()(const Facts& facts) {
    out_ << "<dl class=\"facts\">\n";
    for (const Fact& fact : facts.facts) {
      out_ << "<div" << class_attribute("fact", class_of(fact.tone)) << "><dt>" << escaped(fact.label)
           << "</dt><dd class=\"value\">" << escaped(fact.value) << "</dd>";
      if (!fact.note.empty())
        out_ << "<dd class=\"note\">" << html_sign(fact.tone) << escaped(fact.note) << "</dd>";
      out_ << "</div>\n";
    }
    out_ << "</dl>\n";
  }

  void operator()(const PageTable& table) {
    const bool sorts = table.sortable && table.rows.size() > 1;
    out_ << "<div class=\"scroll\"><table"
         << class_attribute(sorts ? "sort" : "", table.headings == 2 ? "numbered" : "") << '>';
    if (!table.caption.empty()) out_ << "<caption>" << escaped(table.caption) << "</caption>";
    out_ << "\n<thead><tr>";
    for (const Column& column : table.columns) {
      const bool number = column.align == Align::Right;
      // A cell without words is no heading: readers would announce an empty one.
      if (column.title.empty())
        out_ << "<td></td>";
      else
        out_ << "<th scope=\"col\"" << (number ? " class=\"n\"" : "") << '>' << breakable(column.title)
             << "</th>";
    }
    out_ << "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) write_row(table, row);
    out_ << "</tbody></table></div>\n";
  }

  void operator()(const Figure& figure) {
    if (figure.markup.empty()) return (*this)(Code{figure.text_chart});
    out_ << "<figure>";
    if (figure.zooms)
      out_ << "<div class=\"tools\"><button type=\"button\" data-do=\"in\" aria-label=\"Zoom in\">+</button>"
              "<button type=\"button\" data-do=\"out\" aria-label=\"Zoom out\">\xe2\x88\x92</button>"
              "<button type=\"button\" data-do=\"all\">Show all</button>"
              "<span>drag to pan, Ctrl and wheel to zoom; arrow keys where the chart has the "
              "focus</span></div>";
    out_ << "\n<div class=\"scroll\">" << figure.markup << "</div>\n";
    if (!figure.caption.empty()) out_ << "<figcaption>" << escaped(figure.caption) << "</figcaption>";
    out_ << "</figure>\n";
  }

  void operator()(const Legend& legend) {
    out_ << "<ul class=\"legend\">";
    for (const LegendEntry& entry : legend.entries) {
      out_ << "<li>";
      for (const std::string& name : entry.swatches) out_ << swatch(name);
      out_ << escaped(entry.text) << "</li>";
    }
    out_ << "</ul>\n";
  }

  void operator()(const Code& code) { out_ << "<pre>" << escaped(code.text) << "</pre>\n"; }

  void operator()(const List& list) {
    out_ << "<ul>";
    for (const std::string& item : list.items)
      out_ << "<li" << class_attribute(item.starts_with("  ") ? "part" : "") << '>' << escaped(trimmed(item))
           << "</li>";
    out_ << "</ul>\n";
  }

  void operator()(const Reference& link) {
    out_ << "<p><a href=\"" << escaped(link.address) << "\">" << escaped(link.text) << "</a>"
         << escaped(link.note) << "</p>\n";
  }

  void blocks(const std::vector<Block>& all) {
    for (const Block& block : all) std::visit(*this, block);
  }

 private:
  void write_row(const PageTable& table, const std::vector<Cell>& row) {
    out_ << "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string_view number = table.columns[i].align == Align::Right ? "n" : "";
      out_ << (i == 0 ? "<th scope=\"row\"" : "<td") << class_attribute(number, class_of(row[i].tone)) << '>'
           << swatch(row[i].swatch) << html_sign(row[i].tone) << escaped(row[i].text)
           << (i == 0 ? "</th>" : "</td>");
    }
    out_ << "</tr>\n";
  }

  std::ostream& out_;
};

/// Content between the tags, so that HTML and XML parsers see the same bytes but for the marker's own comment.
std::string shielded(std::string_view content) {
  return fmt::format("/*<![CDATA[*/{}/*]]>*/", content);
}

void write_head(std::ostream& out, const Page& page, const std::string& style, const std::string& code) {
  out << "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
         "<meta charset=\"utf-8\"/>\n"
      << fmt::format(
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}'; "
             "script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'\"/>\n",
             policy_hash(style), policy_hash(code))
      << "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
         "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>"
      << escaped(page.title) << "</title>\n<style>" << style << "</style>\n</head>\n";
}

void write_contents(std::ostream& out, const Page& page) {
  if (page.sections.size() < 3) return;
  out << "<nav aria-label=\"Sections\"><ul>";
  for (const Section& section : page.sections)
    out << "<li><a href=\"#" << section.id << "\">" << escaped(section.heading) << "</a></li>";
  out << "</ul></nav>\n";
}

}  // namespace

PageTable PageTable::of(const Table& table, std::string caption, std::string name) {
  PageTable out;
  out.caption = std::move(caption);
  out.name = std::move(name);
  out.columns = table.columns();
  for (const auto& row : table.rows()) {
    out.rows.emplace_back();
    for (const std::string& text : row) out.rows.back().push_back({text});
  }
  return out;
}

PageTable PageTable::of(const Facts& facts) {
  PageTable out;
  out.columns = {{"", Align::Left}, {"", Align::Right}, {"", Align::Left}};
  for (const Fact& fact : facts.facts) out.rows.push_back({{fact.label}, {fact.value}, {fact.note}});
  return out;
}

void write_html(std::ostream& out, const Page& page) {
  const std::string style = shielded(style_sheet() + page.style);
  const std::string code = shielded(script());
  write_head(out, page, style, code);
  out << "<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header>\n";
  if (!page.title.empty()) out << "<h1>" << escaped(page.title) << "</h1>\n";
  if (!page.subtitle.empty()) out << "<p class=\"subtitle\">" << escaped(page.subtitle) << "</p>\n";
  HtmlWriter writer(out);
  writer.blocks(page.lead);
  write_contents(out, page);
  out << "</header>\n<main id=\"main\">\n";
  for (const Section& section : page.sections) {
    const std::string heading =
        section.heading.empty() ? std::string() : element("h2", "", escaped(section.heading));
    if (section.folded)
      out << fmt::format("<details class=\"section\" id=\"{}\"><summary>{}</summary>\n", section.id, heading);
    else
      out << fmt::format("<section id=\"{}\" aria-label=\"{}\">\n{}\n", section.id, escaped(section.heading),
                         heading);
    writer.blocks(section.blocks);
    out << (section.folded ? "</details>\n" : "</section>\n");
  }
  out << "</main>\n<footer><p>" << escaped(page.footer) << "</p></footer>\n<script>" << code
      << "</script>\n</body>\n</html>\n";
}

}  // namespace pipeloom::study::page
