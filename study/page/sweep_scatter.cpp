#include "study/page/sweep_scatter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "study/numbers.hpp"
#include "study/page/html.hpp"
#include "study/page/style.hpp"
#include "study/sweep/scale.hpp"
#include "study/table.hpp"

namespace pipeloom::study::page {
namespace {

using sweep::FrontPoint;
using sweep::Levels;
using sweep::ResultTable;
using sweep::Row;
using sweep::Scale;

constexpr double kWidth = 1160;
constexpr double kHeight = 520;
constexpr double kLeft = 86;
constexpr double kRight = 20;
constexpr double kBottom = 52;
constexpr double kFont = 12;
constexpr double kLine = 20;
constexpr std::size_t kColumns = 96;
constexpr std::size_t kLines = 48;
constexpr std::size_t kLegendEntries = 24;
constexpr double kMarkRadius = 7;

/// Marks of series: of one size, around the origin, and told apart without colour.
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

struct Box {
  double left, top, right, bottom;
  [[nodiscard]] bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

class Picture {
 public:
  Picture(const ResultTable& table, const std::vector<Row>& rows, const Front& front,
          const ScatterQuestion& question)
      : table_(table),
        rows_(rows),
        front_(front),
        question_(question),
        x_column_(table.metric(question.x, {})),
        y_column_(table.metric(question.y, {})),
        unit_(table.time_unit()) {
    const auto scale = [&](const sweep::Column& column, const std::string& name) {
      const sweep::Extent extent = sweep::extent_of(column, rows);
      return Scale(extent.least, extent.most, sweep::marks_of(name));
    };
    x_ = scale(x_column_, question.x);
    y_ = scale(y_column_, question.y);
    find_series();
    place_legend();
  }

  std::string svg() {
    add_head();
    add_axes();
    rows_.size() > kMaxDots ? add_bins() : add_dots();
    add_front();
    return out_ + "</svg>";
  }

 private:
  [[nodiscard]] double x_at(double place) const { return kLeft + place * (kWidth - kLeft - kRight); }
  [[nodiscard]] double y_at(double place) const {
    return kHeight - kBottom - place * (kHeight - kBottom - top_);
  }
  [[nodiscard]] double x_of(Row row) const { return x_at(x_.place(x_column_.number(row))); }
  [[nodiscard]] double y_of(Row row) const { return y_at(y_.place(y_column_.number(row))); }
  [[nodiscard]] bool has(Row row) const { return x_column_.has(row) && y_column_.has(row); }

  void find_series() {
    if (question_.series.empty()) return;
    const sweep::Column& column = table_.column(question_.series, {});
    std::vector<Row> all(table_.rows());
    for (Row row = 0; row < all.size(); ++row) all[row] = row;
    levels_ = sweep::levels_of(column, all);
    for (const Row row : levels_.example) series_.push_back(column.text(row));
  }

  [[nodiscard]] std::size_t series_of(Row row) const {
    if (series_.empty() || levels_.level_of[row] == Levels::kNone) return 0;
    return levels_.level_of[row];
  }

  /// Names of the series above the plot, in as many lines as they need.
  void place_legend() {
    double x = kLeft;
    double y = 14;
    for (std::size_t i = 0; i < std::min(series_.size(), kLegendEntries); ++i) {
      const double width = 22 + text_width(series_[i], kFont);
      if (x + width > kWidth - kRight && x > kLeft) {
        x = kLeft;
        y += kLine;
      }
      legend_.emplace_back(x, y);
      x += width + 8;
    }
    top_ = series_.empty() ? 12 : y + 16;
  }

  void add_head() {
    out_ = fmt::format(
        R"(<svg class="scatter" viewBox="0 0 {} {}" role="img" aria-label="{}">)", kWidth, kHeight,
        escaped(fmt::format("{} against {} of {}; {} on the Pareto front", question_.y, question_.x,
                            count_text(rows_.size(), "point"), count_text(front_.all))));
    out_ += "<defs>";
    for (std::size_t i = 0; i < kShapes.size(); ++i)
      out_ += fmt::format(R"(<path id="{}-m{}" d="{}"/>)", question_.id, i, kShapes[i]);
    out_ += "</defs>\n";
    for (std::size_t i = 0; i < legend_.size(); ++i) {
      const auto [x, y] = legend_[i];
      add_mark(x + 8, y, i, "fill");
      add_text(x + 18, y + 4, series_[i], "ink");
    }
  }

  void add_text(double x, double y, const std::string& text, std::string_view classes) {
    out_ += fmt::format(R"(<text x="{}" y="{}" font-size="{}" class="{}">{}</text>)", coordinate(x, 1),
                        coordinate(y, 1), kFont, classes, escaped(text));
  }

  void add_mark(double x, double y, std::size_t series, std::string_view classes,
                const std::string& title = {}) {
    out_ +=
        fmt::format(R"(<use href="#{}-m{}" x="{}" y="{}" class="{} {}")", question_.id, shape_of(series),
                    coordinate(x, 1), coordinate(y, 1), series_class(static_cast<int>(series % 8)), classes);
    out_ += title.empty() ? "/>" : fmt::format("><title>{}</title></use>\n", escaped(title));
  }

  void add_axes() {
    const double bottom = y_at(0);
    for (const sweep::AxisMark& mark : x_.marks(9)) {
      const double x = x_at(x_.place(mark.value));
      out_ += fmt::format(R"(<path class="grid-line" d="M{0} {1}V{2}"/>)", coordinate(x), coordinate(top_),
                          coordinate(bottom));
      add_text(x, bottom + 18, mark.text, "muted-ink middle");
    }
    for (const sweep::AxisMark& mark : y_.marks(7)) {
      const double y = y_at(y_.place(mark.value));
      out_ += fmt::format(R"(<path class="grid-line" d="M{} {}H{}"/>)", coordinate(kLeft), coordinate(y),
                          coordinate(kWidth - kRight));
      add_text(kLeft - 8, y + 4, mark.text, "muted-ink end");
    }
    out_ += fmt::format(R"(<path class="axis-line" d="M{} {}V{}H{}"/>)", coordinate(kLeft), coordinate(top_),
                        coordinate(bottom), coordinate(kWidth - kRight));
    add_text((kLeft + kWidth - kRight) / 2, kHeight - 10, axis_title(question_.x, x_), "ink middle");
    const double middle = (top_ + bottom) / 2;
    out_ += fmt::format(
        R"svg(<text x="0" y="0" font-size="{}" class="ink middle" transform="translate(16 {}) rotate(-90)">{}</text>)svg",
        kFont, coordinate(middle), escaped(axis_title(question_.y, y_)));
    out_ += '\n';
  }

  [[nodiscard]] std::string axis_title(const std::string& metric, const Scale& scale) const {
    return sweep::metric_title(metric, unit_) + (scale.is_log() ? " (logarithmic)" : "");
  }

  [[nodiscard]] std::string title_of(Row row) const {
    return fmt::format("{}\n{} {}\n{} {}", table_.title(row), question_.y,
                       sweep::metric_text(question_.y, y_column_, row, unit_), question_.x,
                       sweep::metric_text(question_.x, x_column_, row, unit_));
  }

  void add_dots() {
    out_ += "<g opacity=\".5\">";
    for (const Row row : rows_)
      if (has(row)) add_mark(x_of(row), y_of(row), series_of(row), "fill", title_of(row));
    out_ += "</g>\n";
  }

  void add_bins() {
    std::vector<std::size_t> counts(kColumns * kLines, 0);
    for (const Row row : rows_) {
      if (!has(row)) continue;
      const auto cell = [](double place, std::size_t cells) {
        return std::min(static_cast<std::size_t>(place * static_cast<double>(cells)), cells - 1);
      };
      const std::size_t column = cell(x_.place(x_column_.number(row)), kColumns);
      ++counts[cell(y_.place(y_column_.number(row)), kLines) * kColumns + column];
    }
    const double most = std::log1p(static_cast<double>(*std::max_element(counts.begin(), counts.end())));
    const double width = x_at(1.0 / kColumns) - x_at(0);
    const double height = y_at(0) - y_at(1.0 / kLines);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      const double shade = 0.15 + 0.6 * std::log1p(static_cast<double>(counts[i])) / most;
      const double x = x_at(static_cast<double>(i % kColumns) / kColumns);
      const std::size_t line = i / kColumns + 1;
      const double y = y_at(static_cast<double>(line) / kLines);
      out_ += fmt::format(
          R"(<rect class="muted-ink" x="{}" y="{}" width="{}" height="{}" opacity="{}"><title>{}</title></rect>)",
          coordinate(x), coordinate(y), coordinate(width), coordinate(height), coordinate(shade),
          count_text(counts[i], "point"));
    }
    out_ += '\n';
  }

  /// The stairs that no point is below, then the points, then the numbers and names of some.
  void add_front() {
    std::string stairs;
    for (const FrontPoint& point : front_.points) {
      const std::string x = coordinate(x_of(point.row), 1);
      const std::string y = coordinate(y_of(point.row), 1);
      stairs += stairs.empty() ? fmt::format("M{} {}", x, y) : fmt::format("V{}H{}", y, x);
    }
    if (front_.points.size() > 1) out_ += fmt::format(R"(<path class="hair stairs" d="{}"/>)", stairs);
    for (const FrontPoint& point : front_.points) {
      const double x = x_of(point.row);
      const double y = y_of(point.row);
      add_mark(x, y, series_of(point.row), "fill front", title_of(point.row));
      taken_.push_back({x - kMarkRadius, y - kMarkRadius, x + kMarkRadius, y + kMarkRadius});
    }
    for (std::size_t i = 0; i < front_.named.size(); ++i) add_name(i);
  }

  /// The number with the point's name where that has room, else the number alone, else nothing: the table below has them all.
  void add_name(std::size_t i) {
    const Row row = front_.named[i].row;
    const std::string number = fmt::format("{}", i + 1);
    for (const std::string& text : {fmt::format("{}  {}", number, table_.title(row)), number})
      for (const auto& [right, above] :
           {std::pair(true, true), {false, true}, {true, false}, {false, false}}) {
        const double width = text_width(text, kFont);
        const double x = x_of(row) + (right ? 10 : -10 - width);
        const double y = y_of(row) + (above ? -8 : 16);
        const Box box{x, y - 11, x + width, y + 4};
        if (box.left < kLeft || box.right > kWidth - kRight || box.top < top_ || box.bottom > y_at(0))
          continue;
        if (std::any_of(taken_.begin(), taken_.end(), [&](const Box& other) { return box.meets(other); }))
          continue;
        taken_.push_back(box);
        add_text(x, y, text, "ink halo");
        return;
      }
  }

  const ResultTable& table_;
  const std::vector<Row>& rows_;
  const Front& front_;
  const ScatterQuestion& question_;
  const sweep::Column& x_column_;
  const sweep::Column& y_column_;
  std::string unit_;
  Scale x_;
  Scale y_;
  Levels levels_;
  std::vector<std::string> series_;
  std::vector<std::pair<double, double>> legend_;
  std::vector<Box> taken_;
  double top_ = 12;
  std::string out_;
};

}  // namespace

double text_width(std::string_view text, double size) {
  return 0.56 * size * static_cast<double>(display_width(text));
}

std::string_view scatter_style() {
  return ".scatter .front{stroke:var(--text);stroke-width:1.2}.stairs{stroke:var(--text);opacity:.6}"
         ".halo{paint-order:stroke;stroke:var(--card);stroke-width:3px;stroke-linejoin:round}";
}

std::string scatter_svg(const ResultTable& table, const std::vector<Row>& rows, const Front& front,
                        const ScatterQuestion& question) {
  return Picture(table, rows, front, question).svg();
}

}  // namespace pipeloom::study::page
