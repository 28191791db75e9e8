#include "study/document/document.hpp"

#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "sim/draw/palette.hpp"
#include "sim/kinds.hpp"
#include "study/document/formats.hpp"
#include "study/document/html.hpp"
#include "study/document/sha256.hpp"
#include "study/page/page_support.hpp"
#include "support/catch.hpp"
#include "support/plain_page.hpp"

namespace document_test {

using namespace pipeloom;
using namespace pipeloom::study::page;
using namespace pipeloom::page_tests;
using study::Align;

namespace {

/// "#0b5cad".
draw::Colour colour_of_hex(const std::string& hex) {
  const unsigned long value = std::stoul(hex.substr(1), nullptr, 16);
  return {static_cast<std::uint8_t>(value >> 16U), static_cast<std::uint8_t>(value >> 8U & 0xFFU),
          static_cast<std::uint8_t>(value & 0xFFU)};
}

/// A variable of a theme of the style sheet.
draw::Colour variable(const std::string& theme, const std::string& name) {
  const std::string key = "--" + name + ":";
  const std::size_t at = theme.find(key);
  REQUIRE(at != std::string::npos);
  return colour_of_hex(theme.substr(at + key.size(), 7));
}

std::string hex(std::string_view text) {
  std::string out;
  for (const std::uint8_t byte : sha256(text)) {
    out += "0123456789abcdef"[byte >> 4U];
    out += "0123456789abcdef"[byte & 15U];
  }
  return out;
}

std::string html_of(const Page& page) {
  std::ostringstream out;
  write_html(out, page);
  return out.str();
}

std::string markdown_of(const Page& page) {
  std::ostringstream out;
  write_markdown(out, page);
  return out.str();
}

/// A page with a block of every kind, all of their words `words`.
Page page_of(const std::string& words) {
  Page page;
  page.title = words;
  page.subtitle = words;
  page.footer = words;
  page.lead = {Facts{{{words, words, words, Tone::Good}}}, Paragraph{words, Tone::Warning}};
  PageTable table{words, {{words, Align::Left}, {words, Align::Right}}, {{{words}, {words, Tone::Bad}}}};
  page.sections = {{"one", words, {table, Code{words}, List{{words}}}},
                   {"two", words, {Legend{{{{"s0"}, words}}}}, true},
                   {"three", words, {Figure{"<svg xmlns=\"http://www.w3.org/2000/svg\"/>", words, words}}}};
  return page;
}

}  // namespace

TEST_CASE("SHA-256 of the standard's examples") {
  // FIPS 180-4's examples: one block, two blocks, and the empty text.
  CHECK(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  // The policy's own example of a hash source: alert('Hello, world.');
  CHECK(policy_hash("alert('Hello, world.');") == "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng=");
}

TEST_CASE("Text of a page cannot become markup") {
  CHECK(escaped("<script>alert(\"1\" & '2')</script>") ==
        "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;");
  CHECK(escaped("a\nb\tc") == "a\nb\tc");
  const std::string mark = "\xef\xbf\xbd";
  CHECK(escaped(std::string("a\0b\x1b", 4)) == "a" + mark + "b" + mark);
  CHECK(escaped("\xff"
                "a") == mark + "a");                          // no UTF-8
  CHECK(escaped("\xc0\xaf") == mark + mark);                  // an overlong slash
  CHECK(escaped("\xed\xa0\x80") == mark + mark + mark);       // half a surrogate pair
  CHECK(escaped("x\xe2\x80") == "x" + mark + mark);           // cut off
  CHECK(escaped("\xe2\x80\xaegpj.exe") == mark + "gpj.exe");  // right-to-left override
  CHECK(escaped("\xc3\xa4\xf0\x9f\x99\x82") == "\xc3\xa4\xf0\x9f\x99\x82");
}

TEST_CASE("Numbers of pictures have no more digits than they need") {
  CHECK(coordinate(1.0) == "1");
  CHECK(coordinate(-0.001) == "0");
  CHECK(coordinate(1.25) == "1.25");
  CHECK(coordinate(-1.5) == "-1.5");
  CHECK(coordinate(0.05) == "0.05");
  CHECK(coordinate(2.26, 1) == "2.3");
  CHECK(coordinate(2.5, 0) == "3");
}

TEST_CASE("A page is well-formed and loads nothing, whatever its words are") {
  const std::vector<std::string> hostile = {"plain",
                                            "</title></style></script><script>alert(1)</script>",
                                            "\"'&<>]]>",
                                            "a|b`c`\n# d",
                                            std::string("\x01\xff\0", 3),
                                            ""};
  for (const std::string& words : hostile) {
    const std::string text = html_of(page_of(words));
    const XmlDocument page = read_xml(text);
    CHECK(page.error == "");
    CHECK(page.all("script").size() == 1);
    CHECK(page.all("style").size() == 1);
    std::set<std::string> ids;
    for (const XmlElement& element : page.elements) {
      for (const auto& [name, value] : element.attributes) {
        CHECK(name != "style");
        CHECK(name != "src");
        CHECK(name.substr(0, 2) != "on");
        if (name == "href") CHECK(value.substr(0, 1) == "#");
        if (name == "id") CHECK(ids.insert(value).second);
        if (name == "tabindex") CHECK(value == "0");
        if (name != "xmlns") CHECK(value.find("://") == std::string::npos);
      }
    }
    for (const XmlElement* link : page.all("a")) CHECK(ids.count(link->attributes.at("href").substr(1)) == 1);
  }
}

TEST_CASE("The policy names the style and the script that the page holds, and nothing else may run") {
  const std::string text = html_of(page_of("x"));
  std::string policy;
  const XmlDocument page = read_xml(text);
  for (const XmlElement* meta : page.all("meta"))
    if (meta->attributes.count("http-equiv") == 1) policy = meta->attributes.at("content");
  CHECK(policy == "default-src 'none'; style-src '" + policy_hash(raw_text(text, "style")) +
                      "'; script-src '" + policy_hash(raw_text(text, "script")) +
                      "'; img-src data:; base-uri 'none'; form-action 'none'");
  // The script leaves what CDATA wraps, and no style reaches out.
  CHECK(script().find("]]>") == std::string_view::npos);
  CHECK(script().find("</script") == std::string_view::npos);
  CHECK(style_sheet().find("url(") == std::string::npos);
  CHECK(style_sheet().find("@import") == std::string::npos);
  CHECK(style_sheet().find("</") == std::string::npos);
}

TEST_CASE("Equal pages give equal bytes") {
  CHECK(html_of(page_of("x")) == html_of(page_of("x")));
  CHECK(markdown_of(page_of("x")) == markdown_of(page_of("x")));
}

TEST_CASE("Every text stands out from what it is on") {
  // WCAG 2.1, success criterion 1.4.3: 4.5 : 1. Asked of the sheet as it is written: the light theme, then the dark one.
  const std::string sheet = style_sheet();
  const std::size_t dark = sheet.find("@media screen");
  REQUIRE(dark != std::string::npos);
  for (const std::string& theme : {sheet.substr(0, dark), sheet.substr(dark)}) {
    for (const std::string ground : {"ground", "card", "row"})
      for (const std::string ink : {"text", "muted", "accent", "good", "bad", "warning"}) {
        INFO(ink << " on " << ground);
        CHECK(draw::contrast(variable(theme, ink), variable(theme, ground)) >= 4.5);
      }
    const std::regex number_on_fill(R"(\.([\w-]+)\{color:(#\w{6});--on:(#\w{6})\})");
    const std::sregex_iterator first(theme.begin(), theme.end(), number_on_fill);
    // 1 + 2 + 3 + 4 shades of each kind, the causes, and at least one series.
    CHECK(std::distance(first, {}) > static_cast<std::ptrdiff_t>(10 * kOpKinds + kIdleCauses));
    for (auto fill = first; fill != std::sregex_iterator(); ++fill) {
      INFO("number on " << (*fill)[1]);
      CHECK(draw::contrast(colour_of_hex((*fill)[3]), colour_of_hex((*fill)[2])) >= 4.5);
    }
  }
}

TEST_CASE("Markdown keeps words as they are and tables in shape") {
  CHECK(markdown_escaped("a|b *c* <d> `e`\nf") == "a\\|b \\*c\\* &lt;d> \\`e\\` f");
  Page page;
  page.title = "t";
  page.lead = {PageTable{"", {{"a", Align::Left}, {"b", Align::Right}}, {{{"x|y"}, {"1", Tone::Bad}}}},
               Code{"```\ninside\n```"}};
  CHECK(markdown_of(page) ==
        "## t\n\n| a | b |\n| --- | ---: |\n| x\\|y | \xe2\x9d\x8c 1 "
        "|\n\n````text\n```\ninside\n```\n````\n\n");
}

TEST_CASE("every format of pages has a name, a writer and endings of its own") {
  std::set<std::string_view> seen;
  for (const PageFormat& format : page_formats()) {
    CAPTURE(format.name);
    CHECK(page_format_named(format.name) == &format);
    CHECK(format.write != nullptr);
    for (const std::string_view ending : format.endings) {
      if (ending.empty()) continue;
      CHECK(seen.insert(ending).second);
      CHECK(page_format_of_file("page" + std::string(ending)) == &format);
    }
  }
  CHECK(page_format_named("md") == page_format_named("markdown"));
  CHECK(page_format_named("docx") == nullptr);
  CHECK(page_format_of_file("page.docx") == nullptr);
}

TEST_CASE("plain text has a blank line between blocks, none at its ends, and hides folded sections") {
  Page page;
  page.lead = {List{{"one", "  of one"}}, Paragraph{"a sentence"}};
  page.sections = {{"rows", "Rows", {PageTable{"", {{"a"}, {"b", Align::Right}}, {{{"x"}, {"12"}}}}}},
                   {"hidden", "Hidden", {Paragraph{"folded"}}, true},
                   {"empty", "Empty", {Legend{}}}};
  CHECK(plain_text_of(page) == "one\n  of one\n\na sentence\n\nRows\na   b\nx  12\n");
  page.title = "Title";
  page.subtitle = "subtitle";
  CHECK(plain_text_of(page).starts_with("Title\nsubtitle\n\none\n"));
}

TEST_CASE("text of a page cannot become LaTeX") {
  CHECK(latex_escaped("50 % of a_b & {c} #1 $x$ ~ ^ \\") ==
        "50 \\% of a\\_b \\& \\{c\\} \\#1 \\$x\\$ \\textasciitilde{} \\textasciicircum{} \\textbackslash{}");
  CHECK(latex_escaped("a < b > c | \"d\"") ==
        "a \\textless{} b \\textgreater{} c \\textbar{} \\char34{}d\\char34{}");
  // At the start of a row both would be arguments of the line end before it; two hyphens would be a dash.
  CHECK(latex_escaped("[1] * --set") == "{[}1{]} {*} -{}-set");
  CHECK(latex_escaped("-18.2 %") == "$-$18.2 \\%");
  CHECK(latex_escaped("-") == "-");
  CHECK(latex_escaped("\xc2\xb5s \xc3\xa4 \xe4\xb8\xad a\nb\xff") == "$\\mu$s \xc3\xa4 U+4E2D a b?");
}

TEST_CASE("LaTeX has the tables, and everything else as comments") {
  Page page;
  page.title = "100 % \\input{x}\n\\input{y}";
  page.lead = {Paragraph{"said"}, Facts{{{"makespan", "33.0", "ms", Tone::Good}}}};
  page.sections = {{"t", "Table", {PageTable{"caption", {{"a_b"}, {"n", Align::Right}}, {{{"x"}, {"1"}}}}}}};
  std::ostringstream out;
  write_latex(out, page);
  CHECK(out.str() ==
        "% 100 % \\input{x}?\\input{y}\n% said\n"
        "\\begin{tabular}{lrl}\n\\hline\nmakespan & 33.0 & ms \\\\\n\\hline\n\\end{tabular}\n\n"
        "% Table\n% caption\n"
        "\\begin{tabular}{lr}\n\\hline\na\\_b & n \\\\\n\\hline\nx & 1 \\\\\n\\hline\n\\end{tabular}\n\n");
}

TEST_CASE("CSV names the table of each line, and all lines have as many fields") {
  Page page;
  page.title = "Lead";
  page.lead = {Paragraph{"left out"}, Facts{{{"makespan", "33.0", "a, \"b\"", Tone::Good}}}};
  PageTable named{"a caption", {{"n", Align::Right}}, {{{"1\n2"}}, {{""}}}};
  named.name = "rows";
  page.sections = {{"t", "Heading", {named, named}}};
  std::ostringstream out;
  write_csv(out, page);
  // Four fields: the table's name and the three of the facts, whose columns have no titles.
  CHECK(out.str() ==
        "facts,,,\r\nfacts,makespan,33.0,\"a, \"\"b\"\"\"\r\n"
        "rows,n,,\r\nrows,\"1\n2\",,\r\nrows,,,\r\n"
        "rows 2,n,,\r\nrows 2,\"1\n2\",,\r\nrows 2,,,\r\n");
}

}  // namespace document_test
