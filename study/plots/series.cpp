#include "study/plots/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/text_tools.hpp"
#include "study/document/html.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::page {
namespace {

constexpr std::size_t kNameText = 40;

/// Marks of one size, around the origin, that differ without colour.
constexpr std::array<std::string_view, 8> kShapes = {
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "M-4 -4h8v8h-8z",
    "M0 -5.2L5.2 4H-5.2z",
    "M0 -5.6L5.6 0L0 5.6L-5.6 0z",
    "M-1.6 -5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
    "M0 5.2L5.2 -4H-5.2z",
    "M-5 -2.2L-2.2 -5L0 -2.8L2.2 -5L5 -2.2L2.8 0L5 2.2L2.2 5L0 2.8L-2.2 5L-5 2.2L-2.8 0z",
    "M0 -5.4L5.1 -1.7L3.2 4.4H-3.2L-5.1 -1.7z",
};

/// Pairs of colour and shape repeat only after 64 series.
std::size_t shape_of(std::size_t series) {
  return (series + series / kShapes.size()) % kShapes.size();
}

}  // namespace

Series::Series(const sweep::ResultTable& table, const std::string& key) {
  if (key.empty()) return;
  const sweep::Column& column = table.column(key, {});
  std::vector<sweep::Row> all(table.rows());
  for (sweep::Row row = 0; row < all.size(); ++row) all[row] = row;
  levels_ = sweep::levels_of(column, all);
  for (const sweep::Row row : levels_.example) names_.push_back(shortened(column.text(row), kNameText));
  const auto& levels = levels_.level_of;
  if (std::find(levels.begin(), levels.end(), sweep::Levels::kNone) != levels.end())
    names_.push_back("no " + key);
  if (names_.size() <= kMost) return;
  const std::size_t others = names_.size() - kMost + 1;
  names_.resize(kMost - 1);
  names_.push_back(fmt::format("{} others", count_text(others)));
}

std::size_t Series::of(sweep::Row row) const {
  return names_.empty() ? 0 : std::min<std::size_t>(levels_.level_of[row], names_.size() - 1);
}

std::string Series::shapes(const std::string& id) {
  std::string out;
  for (std::size_t i = 0; i < kShapes.size(); ++i)
    out += fmt::format(R"(<path id="{}-m{}" d="{}"/>)", id, i, kShapes[i]);
  return out;
}

std::string Series::mark(const std::string& id, std::size_t series, const std::string& place,
                         std::string_view classes, const std::string& title) {
  const std::string use = fmt::format(R"(<use href="#{}-m{}" {} class="{} {}")", id, shape_of(series), place,
                                      series_class(static_cast<int>(series % kSeriesColours)), classes);
  return use + (title.empty() ? "/>" : fmt::format("><title>{}</title></use>\n", escaped(title)));
}

}  // namespace pipeloom::study::page
