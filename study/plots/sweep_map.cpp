#include "study/plots/sweep_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/kinds.hpp"
#include "study/answers/select.hpp"
#include "study/document/html.hpp"
#include "study/plots/sweep_scatter.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::page {
namespace {

using sweep::CellKind;
using sweep::MapCell;
using sweep::WinnerMap;

/// Maps are never scaled down, so that their texts stay legible; pages are as wide as this on most screens.
constexpr double kMostWidth = 1060;
constexpr double kMapFont = 12;
constexpr double kSmall = 11;
constexpr double kMapBottom = 48;
constexpr double kMostCell = 150;
constexpr double kLeastCell = 18;

std::string name_of_winners(const WinnerMap& map, const MapCell& cell) {
  std::string out;
  for (const std::uint32_t winner : cell.winners) {
    if (out.size() > 200) return out + ", ...";
    out += (out.empty() ? "" : ", ") + map.contenders[winner];
  }
  return out;
}

class MapPicture {
 public:
  MapPicture(const sweep::ResultTable& table, const WinnerMap& map)
      : metric_(table.metric(map.metric, {})), map_(map), units_(table.units()) {
    double widest = text_width(map.y.key, kMapFont);
    for (const std::string& value : map.y.values) widest = std::max(widest, text_width(value, kMapFont));
    left_ = map.y.key.empty() ? 8 : std::min(widest + 12, 220.0);
    const auto columns = static_cast<double>(map.x.values.size());
    cell_width_ = std::clamp((kMostWidth - left_ - 4) / columns, kLeastCell, kMostCell);
    cell_height_ = cell_width_ >= kTwoLines ? 38 : 22;
    top_ = map.y.key.empty() ? 4 : 24;
    width_ = std::max(left_ + columns * cell_width_ + 4, left_ + text_width(map.x.key, kMapFont) + 4);
    height_ = top_ + static_cast<double>(map.y.values.size()) * cell_height_ + kMapBottom;
  }

  std::string svg() {
    out_ = fmt::format(
        R"(<svg class="map" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">)",
        coordinate(width_), coordinate(height_),
        escaped(fmt::format("The {} with the best {} for each {}{}{}; a table below counts them", map_.what,
                            map_.metric, map_.x.key, map_.y.key.empty() ? "" : " and ", map_.y.key)));
    out_ += '\n';
    for (std::size_t y = 0; y < map_.y.values.size(); ++y)
      for (std::size_t x = 0; x < map_.x.values.size(); ++x) add_cell(x, y);
    add_labels();
    return out_ + "</svg>";
  }

 private:
  static constexpr double kTwoLines = 58;

  [[nodiscard]] double x_at(std::size_t x) const { return left_ + static_cast<double>(x) * cell_width_; }
  /// Larger values are higher, as on any axis.
  [[nodiscard]] double y_at(std::size_t y) const {
    return top_ + static_cast<double>(map_.y.values.size() - 1 - y) * cell_height_;
  }

  void add_text(double x, double y, double size, std::string_view classes, std::string_view text) {
    out_ += fmt::format(R"(<text x="{}" y="{}" font-size="{}" class="{}">{}</text>)", coordinate(x, 1),
                        coordinate(y, 1), size, classes, escaped(text));
  }

  void add_box(double x, double y, std::string_view attributes) {
    out_ +=
        fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" {}/>)", coordinate(x + 1),
                    coordinate(y + 1), coordinate(cell_width_ - 2), coordinate(cell_height_ - 2), attributes);
  }

  void add_cell(std::size_t x, std::size_t y) {
    const MapCell& cell = map_.at(x, y);
    out_ += fmt::format("<g><title>{}</title>", escaped(title_of(x, y)));
    const double left = x_at(x);
    const double top = y_at(y);
    switch (kind_of(cell)) {
      case CellKind::Won:
        add_won(cell, left, top);
        break;
      case CellKind::NoAnswer:
        add_box(left, top, R"(class="no-answer")");
        out_ += fmt::format(R"(<path class="axis-line" d="M{} {}l{} {}m0 {}l{} {}"/>)", coordinate(left + 4),
                            coordinate(top + 4), coordinate(cell_width_ - 8), coordinate(cell_height_ - 8),
                            coordinate(8 - cell_height_), coordinate(8 - cell_width_),
                            coordinate(cell_height_ - 8));
        break;
      case CellKind::NotAsked:
        add_box(left, top, R"(class="not-asked")");
        out_ += fmt::format(R"(<path class="axis-line" d="M{} {}h10"/>)",
                            coordinate(left + cell_width_ / 2 - 5), coordinate(top + cell_height_ / 2));
        break;
      case CellKind::NoPoint:
        add_box(left, top, R"(class="no-point")");
    }
    out_ += "</g>\n";
  }

  /// Slanted lines, none of which leaves the cell.
  void add_hatching(double left, double top) {
    const double height = cell_height_ - 2;
    std::string path;
    for (double x = 1; x + height <= cell_width_ - 1 || x == 1; x += 9) {
      const double length = std::min(height, cell_width_ - 1 - x);
      path += fmt::format("M{} {}l{} {}", coordinate(left + x), coordinate(top + cell_height_ - 1),
                          coordinate(length), coordinate(-length));
    }
    out_ += fmt::format(R"(<path class="tie-line" d="{}"/>)", path);
  }

  void add_won(const MapCell& cell, double left, double top) {
    const std::uint32_t first = cell.winners.front();
    out_ += fmt::format(R"(<g class="{}">)", series_class(static_cast<int>(first % kSeriesColours)));
    add_box(left, top, R"(class="fill")");
    if (cell.winners.size() > 1) add_hatching(left, top);
    const double middle = left + cell_width_ / 2;
    const std::string more = cell.winners.size() > 1 ? fmt::format(" +{}", cell.winners.size() - 1) : "";
    const double line = cell_width_ >= kTwoLines ? top + 16 : top + cell_height_ / 2 + 4;
    for (const std::string& text :
         {map_.contenders[first] + more, letters_of(first) + more, letters_of(first)})
      if (text_width(text, kSmall) <= cell_width_ - 6 || text == letters_of(first)) {
        add_text(middle, line, kSmall, "num strong", text);
        break;
      }
    const std::string value = sweep::metric_text(map_.metric, metric_, *cell.best, units_);
    if (cell_width_ >= kTwoLines && text_width(value, kSmall) <= cell_width_ - 6)
      add_text(middle, top + 30, kSmall, "num", value);
    out_ += "</g>";
  }

  [[nodiscard]] std::string title_of(std::size_t x, std::size_t y) const {
    const MapCell& cell = map_.at(x, y);
    std::string out = fmt::format("{} {}", map_.x.key, map_.x.values[x]);
    if (!map_.y.key.empty()) out = fmt::format("{} {}, {}", map_.y.key, map_.y.values[y], out);
    switch (kind_of(cell)) {
      case CellKind::NoAnswer:
        return fmt::format("{}\nnone of {} has an answer", out, count_text(cell.all, "point"));
      case CellKind::NotAsked:
      case CellKind::NoPoint:
        return fmt::format("{}\n{}", out, words_of(map_, kind_of(cell)));
      case CellKind::Won:
        break;
    }
    return fmt::format("{}\n{}\n{} {}\nbest of {}", out, name_of_winners(map_, cell), map_.metric,
                       sweep::metric_text(map_.metric, metric_, *cell.best, units_),
                       count_text(cell.points, "point"));
  }

  void add_labels() {
    const double bottom = top_ + static_cast<double>(map_.y.values.size()) * cell_height_;
    // Labels that would run into each other are left out, evenly.
    double widest = 0;
    for (const std::string& value : map_.x.values) widest = std::max(widest, text_width(value, kMapFont));
    const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil((widest + 8) / cell_width_)));
    for (std::size_t x = 0; x < map_.x.values.size(); x += every)
      add_text(x_at(x) + cell_width_ / 2, bottom + 16, kMapFont, "muted-ink middle", map_.x.values[x]);
    for (std::size_t y = 0; y < map_.y.values.size() && !map_.y.key.empty(); ++y)
      add_text(left_ - 6, y_at(y) + cell_height_ / 2 + 4, kMapFont, "muted-ink end", map_.y.values[y]);
    add_text(left_, bottom + 38, kMapFont, "ink", map_.x.key);
    if (!map_.y.key.empty()) add_text(2, 14, kMapFont, "ink", map_.y.key);
  }

  const sweep::Column& metric_;
  const WinnerMap& map_;
  sweep::ValueUnits units_;
  double left_ = 0;
  double top_ = 0;
  double cell_width_ = 0;
  double cell_height_ = 0;
  double width_ = 0;
  double height_ = 0;
  std::string out_;
};

}  // namespace

std::string map_svg(const sweep::ResultTable& table, const WinnerMap& map) {
  return MapPicture(table, map).svg();
}

std::string_view map_style() {
  return ".map{width:auto;min-width:0}.no-answer,.not-asked{fill:var(--row)}"
         ".no-point{fill:none;stroke:var(--axis);stroke-dasharray:1 4}"
         ".tie-line{stroke:var(--on);stroke-width:1.6;opacity:.45;fill:none}";
}

}  // namespace pipeloom::study::page
