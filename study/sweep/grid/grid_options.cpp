// Grid::of_options: axes as the command line gives them.

#include <fmt/format.h>

#include <utility>

#include "sim/base/printable.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/sweep/grid/grid_keys.hpp"
#include "study/sweep/grid/grid_reader.hpp"

namespace pipeloom::sweep {
namespace {

using io::Value;
using io::ValueKind;

/// `text` as JSON, or nothing.
std::optional<io::Document> parsed(const std::string& text, const std::string& source) {
  try {
    return io::Document::parse(text, source);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// "1..8" or "1..8:2" as the text of a range object; "" for anything else.
std::string range_text(std::string_view text) {
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) return {};
  const std::string_view from = text.substr(0, dots);
  std::string_view to = text.substr(dots + 2);
  std::string_view step = "1";
  if (const auto colon = to.find(':'); colon != std::string_view::npos) {
    step = to.substr(colon + 1);
    to = to.substr(0, colon);
  }
  if (!parse_nano(from) || !parse_nano(to) || !parse_nano(step)) return {};
  return fmt::format(R"({{"from": {}, "to": {}, "step": {}}})", from, to, step);
}

/// "a,b,c" as the text of an array: each item is JSON, or a bare word.
std::string list_text(std::string_view text, const std::string& source) {
  std::string out = "[";
  for (;;) {
    const auto comma = std::min(text.find(','), text.size());
    const std::string item(text.substr(0, comma));
    if (out.size() > 1) out += ',';
    if (!item.empty() && parsed(item, source))
      out += item;
    else
      io::append_json_string(out, item);
    if (comma == text.size()) return out + "]";
    text.remove_prefix(comma + 1);
  }
}

/// What a grid file would say in the place of these values.
io::Document values_of(const std::string& text, const std::string& source) {
  if (const std::string range = range_text(text); !range.empty()) return io::Document::parse(range, source);
  if (auto whole = parsed(text, source)) {
    const Value& root = whole->root();
    if (root.is(ValueKind::Array) || (root.is(ValueKind::Object) && root.find("from") != nullptr))
      return *std::move(whole);
  }
  if (auto list = parsed("[" + text + "]", source); list && !list->root().items().empty())
    return *std::move(list);
  return io::Document::parse(list_text(text, source), source);
}

}  // namespace

Grid Grid::of_options(const io::Document& base, const std::vector<std::string>& axes,
                      const GridLimits& limits) {
  GridReader reader("--axis", limits);
  reader.set_base(base);
  Block block;
  for (const std::string& text : axes) {
    const auto equals = text.find('=');
    if (equals == std::string::npos)
      throw InputError(Where{"--axis"},
                       fmt::format("'{}' has no '='; write KEY=VALUES, such as ranks=4,8 or ranks=4..32:4",
                                   shortened(text, 80)));
    const std::string source = fmt::format("--axis {}", shortened(text.substr(0, equals), 80));
    const std::string key = normal_key(text.substr(0, equals), Where{source});
    const io::Document values = values_of(text.substr(equals + 1), source);
    Axis axis;
    axis.columns.push_back(reader.column(key, values.root()));
    block.axes.push_back(std::make_shared<const Axis>(std::move(axis)));
  }
  reader.add_block(std::move(block));
  return Grid(reader.finish());
}

}  // namespace pipeloom::sweep
