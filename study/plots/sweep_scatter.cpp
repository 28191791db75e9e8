#include "study/plots/sweep_scatter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/text_tools.hpp"
#include "sim/draw/box.hpp"
#include "study/answers/select.hpp"
#include "study/document/html.hpp"
#include "study/plots/point_heaps.hpp"
#include "study/plots/series.hpp"
#include "study/text/numbers.hpp"
#include "study/text/table.hpp"

namespace pipeloom::study::page {
namespace {

using sweep::FrontPoint;
using sweep::ResultTable;
using sweep::Row;
using sweep::Scale;

constexpr double kScatterWidth = 1160;
constexpr double kScatterHeight = 520;
constexpr double kBottom = 52;
constexpr double kFont = 12;
constexpr std::size_t kMarksAcross = 9;
constexpr std::size_t kMarksUp = 7;
constexpr double kLine = 20;
constexpr std::size_t kMaxMarks = 2000;
constexpr double kMarkRadius = 7;
/// Longer names would cover the points.
constexpr double kLongestName = 360;
/// A mark of many points is this many times larger at most.
constexpr double kLargestMark = 2.2;

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
        units_(table.units()),
        series_(table, question.series) {
    const auto scale = [&](const sweep::Column& column, const std::string& name) {
      const sweep::Extent extent = sweep::extent_of(column, rows);
      return Scale(extent.least, extent.most, sweep::metric_unit(name));
    };
    x_ = scale(x_column_, question.x);
    y_ = scale(y_column_, question.y);
    make_room();
    place_legend();
  }

  Scatter drawn() {
    add_head();
    add_axes();
    add_points();
    add_front();
    return {out_ + "</svg>", merged_};
  }

 private:
  [[nodiscard]] double x_at(double place) const { return left_ + place * (kScatterWidth - left_ - right_); }
  [[nodiscard]] double y_at(double place) const {
    return kScatterHeight - kBottom - place * (kScatterHeight - kBottom - top_);
  }
  [[nodiscard]] double x_of(Row row) const { return x_at(x_.place(x_column_.number(row))); }
  [[nodiscard]] double y_of(Row row) const { return y_at(y_.place(y_column_.number(row))); }
  [[nodiscard]] bool has(Row row) const { return x_column_.has(row) && y_column_.has(row); }

  /// For the texts beside the axes.
  void make_room() {
    for (const sweep::AxisMark& mark : y_.marks(kMarksUp))
      left_ = std::max(left_, text_width(mark.text, kFont) + 36);
    for (const sweep::AxisMark& mark : x_.marks(kMarksAcross))
      right_ = std::max(right_, text_width(mark.text, kFont) / 2 + 4);
  }

  /// A key whose values say little by themselves: "chunks" before 2, 4 and 8.
  [[nodiscard]] std::string legend_title() const {
    return question_.series == "schedule" || series_.names().empty() ? "" : shortened(question_.series, 40);
  }

  /// Names of the series above the plot, in as many lines as they need.
  void place_legend() {
    const std::string title = legend_title();
    double x = left_ + (title.empty() ? 0 : text_width(title, kFont) + 8);
    double y = 14;
    for (const std::string& name : series_.names()) {
      const double width = 22 + text_width(name, kFont);
      if (x + width > kScatterWidth - right_ && x > left_) {
        x = left_;
        y += kLine;
      }
      legend_.emplace_back(x, y);
      x += width + 8;
    }
    top_ = series_.names().empty() ? 12 : y + 16;
  }

  void add_head() {
    out_ = fmt::format(
        R"(<svg class="scatter" viewBox="0 0 {} {}" role="img" aria-label="{}">)", kScatterWidth,
        kScatterHeight,
        escaped(fmt::format("{} against {} of {}; {} on the Pareto front", question_.y, question_.x,
                            count_text(rows_.size(), "point"), count_text(front_.all))));
    out_ += fmt::format("<defs>{}</defs>\n", Series::shapes(question_.id));
    if (!legend_.empty()) add_text(left_, legend_.front().second + 4, legend_title(), "ink");
    for (std::size_t i = 0; i < legend_.size(); ++i) {
      const auto [x, y] = legend_[i];
      add_mark(x + 8, y, i, "fill");
      add_text(x + 18, y + 4, series_.names()[i], "ink");
    }
  }

  void add_text(double x, double y, const std::string& text, std::string_view classes) {
    out_ += fmt::format(R"(<text x="{}" y="{}" font-size="{}" class="{}">{}</text>)", coordinate(x, 1),
                        coordinate(y, 1), kFont, classes, escaped(text));
  }

  void add_mark(double x, double y, std::size_t series, std::string_view classes,
                const std::string& title = {}) {
    out_ += Series::mark(question_.id, series,
                         fmt::format(R"(x="{}" y="{}")", coordinate(x, 1), coordinate(y, 1)), classes, title);
  }

  void add_axes() {
    const double bottom = y_at(0);
    for (const sweep::AxisMark& mark : x_.marks(kMarksAcross)) {
      const double x = x_at(x_.place(mark.value));
      out_ += fmt::format(R"(<path class="grid-line" d="M{0} {1}V{2}"/>)", coordinate(x), coordinate(top_),
                          coordinate(bottom));
      add_text(x, bottom + 18, mark.text, "muted-ink middle");
    }
    for (const sweep::AxisMark& mark : y_.marks(kMarksUp)) {
      const double y = y_at(y_.place(mark.value));
      out_ += fmt::format(R"(<path class="grid-line" d="M{} {}H{}"/>)", coordinate(left_), coordinate(y),
                          coordinate(kScatterWidth - right_));
      add_text(left_ - 8, y + 4, mark.text, "muted-ink end");
    }
    out_ += fmt::format(R"(<path class="axis-line" d="M{} {}V{}H{}"/>)", coordinate(left_), coordinate(top_),
                        coordinate(bottom), coordinate(kScatterWidth - right_));
    add_text((left_ + kScatterWidth - right_) / 2, kScatterHeight - 10, axis_title(question_.x, x_),
             "ink middle");
    const double middle = (top_ + bottom) / 2;
    out_ += fmt::format(
        R"svg(<text x="0" y="0" font-size="{}" class="ink middle" transform="translate(16 {}) rotate(-90)">{}</text>)svg",
        kFont, coordinate(middle), escaped(axis_title(question_.y, y_)));
    out_ += '\n';
  }

  [[nodiscard]] std::string axis_title(const std::string& metric, const Scale& scale) const {
    return sweep::metric_title(metric, units_.time) + (scale.is_log() ? " (logarithmic)" : "");
  }

  [[nodiscard]] std::string title_of(Row row) const {
    return fmt::format("{}\n{} {}\n{} {}", table_.title(row), question_.y,
                       sweep::metric_text(question_.y, y_column_, row, units_), question_.x,
                       sweep::metric_text(question_.x, x_column_, row, units_));
  }

  /// Every point in its series' colour. Points on top of each other are one mark, the larger the more they are, and few lie above many.
  void add_points() {
    std::vector<PlacedPoint> points;
    for (const Row row : rows_)
      if (has(row))
        points.push_back({x_of(row), y_of(row), static_cast<std::uint32_t>(series_.of(row)), row});
    const std::vector<PointHeap> heaps = point_heaps(points, kMaxMarks);
    out_ += "<g class=\"points\">";
    for (const PointHeap& heap : heaps) {
      if (heap.count == 1)
        add_mark(heap.x, heap.y, heap.first.series, "fill", title_of(heap.first.row));
      else
        add_heap(heap);
    }
    out_ += "</g>\n";
  }

  void add_heap(const PointHeap& heap) {
    merged_ = true;
    const std::string series = series_.names().empty() ? "" : " of " + series_.names()[heap.first.series];
    const double scale = std::min(kLargestMark, 1 + 0.14 * std::log2(static_cast<double>(heap.count)));
    out_ += Series::mark(question_.id, heap.first.series,
                         fmt::format(R"at(transform="translate({} {})scale({})")at", coordinate(heap.x, 1),
                                     coordinate(heap.y, 1), coordinate(scale)),
                         "fill",
                         fmt::format("{}{}, the first is\n{}", count_text(heap.count, "point"), series,
                                     title_of(heap.first.row)));
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
      add_mark(x, y, series_.of(point.row), "fill front", title_of(point.row));
      taken_.push_back({x - kMarkRadius, y - kMarkRadius, x + kMarkRadius, y + kMarkRadius});
    }
    for (std::size_t i = 0; i < front_.named.size(); ++i) add_name(i);
  }

  /// The number with the point's name where that has room, else the number alone, else nothing: the table below has them all.
  void add_name(std::size_t i) {
    const Row row = front_.named[i].row;
    const std::string number = fmt::format("{}", i + 1);
    for (const std::string& text : {fmt::format("{}: {}", number, table_.title(row)), number})
      for (const auto& [right, above] :
           {std::pair(true, true), {false, true}, {true, false}, {false, false}}) {
        const double width = text_width(text, kFont);
        if (width > kLongestName) continue;
        const double x = x_of(row) + (right ? 10 : -10 - width);
        const double y = y_of(row) + (above ? -8 : 16);
        const draw::Box box{x, y - 11, x + width, y + 4};
        if (box.left < left_ || box.right > kScatterWidth - right_ || box.top < top_ || box.bottom > y_at(0))
          continue;
        if (std::any_of(taken_.begin(), taken_.end(),
                        [&](const draw::Box& other) { return box.meets(other); }))
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
  sweep::ValueUnits units_;
  Series series_;
  Scale x_;
  Scale y_;
  std::vector<std::pair<double, double>> legend_;
  std::vector<draw::Box> taken_;
  double left_ = 86;
  double right_ = 20;
  double top_ = 12;
  bool merged_ = false;
  std::string out_;
};

}  // namespace

double text_width(std::string_view text, double size) {
  return 0.56 * size * static_cast<double>(display_width(text));
}

std::string_view scatter_style() {
  return ".points{fill-opacity:.7}.scatter "
         ".front{stroke:var(--text);stroke-width:1.2}.stairs{stroke:var(--text);opacity:.6}"
         ".halo{paint-order:stroke;stroke:var(--card);stroke-width:3px;stroke-linejoin:round}";
}

Scatter scatter(const ResultTable& table, const std::vector<Row>& rows, const Front& front,
                const ScatterQuestion& question) {
  return Picture(table, rows, front, question).drawn();
}

}  // namespace pipeloom::study::page
