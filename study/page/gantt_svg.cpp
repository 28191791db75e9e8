#include "study/page/gantt_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "sim/draw/axis.hpp"
#include "sim/draw/marks.hpp"
#include "sim/draw/op_colours.hpp"
#include "sim/draw/scene.hpp"
#include "sim/text.hpp"
#include "study/numbers.hpp"
#include "study/page/html.hpp"
#include "study/page/plot_paths.hpp"
#include "study/page/style.hpp"
#include "study/page/time_chart.hpp"

namespace pipeloom::study::page {
namespace {

using draw::BusyByKind;
using draw::DrawnEntry;
using draw::Lane;
using draw::Mark;
using draw::TimelineIndex;

constexpr double kAllRowsHeight = 560;
constexpr double kWorkShare = 0.74;  // of a row with copies below the work
constexpr double kCopyShare = 0.22;
constexpr int kFinestBins = 250'000;
/// Bars of binned rows in one picture: some 12 bytes each.
constexpr int kMostBars = 200'000;
/// Gaps with a cause in one picture.
constexpr std::size_t kMostIdleMarks = 24'000;
constexpr double kHair = 1;  // pixels below which a lone thing is drawn by a hairline

constexpr std::array<const char*, kOpKinds> kKindNames = {
    "forward", "backward", "input gradient", "weight gradient", "recompute", "offload", "reload"};

using BarOutlines = std::array<BarOutline, kOpKinds>;

struct RowPlace {
  Rank first;
  Rank last;  ///< one past
  double y = 0;
  double height = 0;
};

class GanttDrawer {
 public:
  explicit GanttDrawer(const GanttInput& input)
      : input_(input),
        timeline_(*input.timeline),
        schedule_(*timeline_.schedule),
        index_(timeline_),
        colours_(schedule_, draw::Theme::Light, draw::ColourBy::Kind),
        range_(input.range.value_or(index_.span())) {
    if (range_.length() <= 0) range_.end = range_.start + 1;
    if (schedule_.has_copies()) copies_.emplace(timeline_, Lane::Copies);
    const std::size_t ops = schedule_.num_ops() * static_cast<std::size_t>(timeline_.steps);
    detail_ = ops <= kMostBoxes ? Detail::Boxes : ops <= kMostPathOps ? Detail::Paths : Detail::Bins;
  }

  Gantt draw() {
    place_rows();
    for (const RowPlace& row : rows_) draw_row(row);
    add_critical();
    Gantt out;
    out.detail = detail_;
    out.legend = legend();
    out.figure.zooms = true;
    TimeChart chart{input_.id,      input_.title, description(), input_.link,      range_,
                    timeline_.unit, height_,      labels(),      std::move(plot_), std::move(numbers_)};
    out.figure.markup = to_svg(chart);
    return out;
  }

 private:
  void place_rows() {
    const int ranks = schedule_.ranks();
    ranks_per_row_ = (ranks + kMostRows - 1) / kMostRows;
    const int rows = (ranks + ranks_per_row_ - 1) / ranks_per_row_;
    const double largest = schedule_.has_groups() ? 36 : copies_ ? 32 : 27;
    pitch_ = std::clamp(kAllRowsHeight / rows, 4.0, largest);
    const double gap = pitch_ < 6 ? 0.6 : std::min(5.0, pitch_ * 0.16);
    for (int i = 0; i < rows; ++i)
      rows_.push_back({Rank(i * ranks_per_row_), Rank(std::min(ranks, (i + 1) * ranks_per_row_)), i * pitch_,
                       pitch_ - gap});
    height_ = rows * pitch_ - gap;
  }

  std::vector<RowLabel> labels() const {
    std::vector<RowLabel> out;
    const double size = std::min(12.0, std::max(9.0, pitch_ * 0.8));
    const auto every = draw::nice_step(std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::ceil((size + 2) / pitch_ * ranks_per_row_))));
    for (const RowPlace& row : rows_) {
      const std::int64_t rank = row.first.value();
      const std::int64_t before = rank - ranks_per_row_;
      if (rank != 0 && rank / every == before / every) continue;
      out.push_back({row.y + row.height / 2 + 0.36 * size, fmt::format("rank {}", rank), size});
    }
    return out;
  }

  void draw_row(const RowPlace& row) {
    plot_ += fmt::format("<rect class=\"row-ground\" x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                         coordinate(row.y), plot_x(range_, index_.span().end), coordinate(row.height));
    if (row.last != row.first + 1) {
      draw_shared_row(row);
      return;
    }
    draw_idle(row);
    RowPlace work = row;
    if (copies_) {
      work.height = row.height * kWorkShare;
      RowPlace strip = row;
      strip.height = row.height * kCopyShare;
      strip.y = row.y + row.height - strip.height;
      draw_lane(strip, *copies_);
    }
    draw_lane(work, index_);
  }

  [[nodiscard]] int bins() const {
    if (detail_ != Detail::Bins) return kFinestBins;
    const int per_row = kMostBars / (3 * static_cast<int>(rows_.size()));
    return std::clamp(per_row, 128, static_cast<int>(2 * kPlotWidth));
  }

  [[nodiscard]] std::string class_of(Op op) const {
    const int shades = colours_.shades();
    const int chunks = shades / schedule_.placement().replicas();
    const int shade = colours_.chunk_of(op).value() + chunks * schedule_.replica_of(op.microbatch()).value();
    return op_class(op.kind(), shade, shades);
  }

  [[nodiscard]] Op op_at(std::size_t at) const { return schedule_.ops()[at % schedule_.num_ops()]; }

  void draw_lane(const RowPlace& row, const TimelineIndex& lane) {
    const auto marks = lane.marks(row.first, range_, bins());
    paths_.clear();
    draw_bars(row, marks);
    for (const Mark& mark : marks)
      if (!mark.merged) draw_entry(row, lane.entries(row.first)[mark.first]);
    flush_paths(row);
    draw_hairs(row, lane, marks);
  }

  /// The ops of an entry from top to bottom, forwards above backwards.
  void draw_entry(const RowPlace& row, const DrawnEntry& entry) {
    std::vector<std::size_t> parts(entry.count);
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = entry.op + i;
    std::stable_sort(parts.begin(), parts.end(),
                     [&](std::size_t a, std::size_t b) { return op_at(a).kind() < op_at(b).kind(); });
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::int64_t x = plot_x(range_, timeline_.start[parts[i]]);
      const std::int64_t end = plot_x(range_, timeline_.end[parts[i]]);
      if (end <= x) continue;
      if (detail_ == Detail::Boxes) {
        draw_box(row, parts[i], i, parts.size(), {x, end});
      } else {
        SpanPath& path = paths_[{class_of(op_at(parts[i])), i, parts.size()}];
        // A little is left out at its end, so that neighbours are told apart where there is room.
        path.add(x, end - std::min<std::int64_t>(kPlotUnits / 1200, (end - x) / 12));
        path.busy += timeline_.end[parts[i]] - timeline_.start[parts[i]];
      }
    }
  }

  void draw_box(const RowPlace& row, std::size_t at, std::size_t part, std::size_t parts,
                std::pair<std::int64_t, std::int64_t> x) {
    const Op op = op_at(at);
    const std::string name = class_of(op);
    const double height = row.height / static_cast<double>(parts);
    const double y = row.y + height * static_cast<double>(part);
    const double width = pixels(x.second - x.first);
    std::string number = std::to_string(op.microbatch().value());
    if (op.is_sliced()) number += fmt::format(".{}", op.slice());
    plot_ += fmt::format(
        R"(<rect class="{} fill{}" x="{}" y="{}" width="{}" height="{}" data-n="{}"><title>{}</title></rect>)"
        "\n",
        name, width >= 2.5 ? " edged" : "", x.first, coordinate(y), x.second - x.first, coordinate(height),
        number, box_text(row.first, at));
    const double tallest = std::min(11.0, height * 0.8);
    const double size = std::floor(2 * std::min(tallest, (width - 2) / widest_number())) / 2;
    if (size < 6) return;
    numbers_ += fmt::format(R"(<text class="num {}" x="{}" y="{}" font-size="{}">{}</text>)", name,
                            coordinate(kPlotX + pixels(x.first) + width / 2),
                            coordinate(kPlotY + y + height / 2 + 0.36 * size), coordinate(size), number);
  }

  /// Width of the longest number of the run at size 1, so that boxes of one size have all their numbers or none.
  [[nodiscard]] double widest_number() const {
    std::string longest(std::to_string(std::max(0, schedule_.microbatches() - 1)).size(), '0');
    if (schedule_.slices() > 1) longest += "." + std::to_string(schedule_.slices() - 1);
    return draw::text_width(longest, 1);
  }

  [[nodiscard]] std::string box_text(Rank rank, std::size_t at) const {
    const Op op = op_at(at);
    const std::string_view unit = timeline_.unit == TimeUnit::Unit ? "" : name_of(timeline_.unit);
    const std::string step =
        timeline_.steps > 1 ? fmt::format(", step {}", at / schedule_.num_ops()) : std::string();
    return fmt::format("{}: {}, rank {}, stage {}, microbatch {}{}\n{} to {}{}{}, takes {}", to_text(op),
                       kKindNames[index_of(op.kind())], rank.value(), op.stage().value(),
                       op.microbatch().value(), step, format_ticks(timeline_.start[at], timeline_.unit),
                       format_ticks(timeline_.end[at], timeline_.unit), unit.empty() ? "" : " ", unit,
                       format_ticks(timeline_.end[at] - timeline_.start[at], timeline_.unit));
  }

  void flush_paths(const RowPlace& row) {
    for (const auto& [key, path] : paths_) {
      const auto& [name, part, parts] = key;
      const double height = row.height / static_cast<double>(parts);
      const double y = row.y + height * (static_cast<double>(part) + 0.5);
      const std::size_t kind = std::string_view("FBIWROL").find(name.front());
      plot_ += fmt::format(
          "<path class=\"line dense {}\" stroke-width=\"{}\" d=\"{}\"><title>rank {}: {}, {}, busy "
          "{}</title></path>\n",
          name, coordinate(height), path.at_height(y), row.first.value(), kKindNames[kind],
          count_text(path.count(), "op"), format_ticks(path.busy, timeline_.unit));
    }
  }

  /// Merged marks: a bar as high as the rank was busy, its kinds one above the other.
  void draw_bars(const RowPlace& row, const std::vector<Mark>& marks) {
    BarOutlines outlines;
    for (const Mark& mark : marks)
      if (mark.merged) add_bar(outlines, row, {mark.start, mark.end}, mark.busy, mark.end - mark.start);
    flush_bars(row, outlines);
  }

  void add_bar(BarOutlines& outlines, const RowPlace& row, Span span, const BusyByKind& busy,
               Ticks capacity) {
    const std::int64_t x = plot_x(range_, span.start);
    const std::int64_t end = plot_x(range_, span.end);
    const Ticks all = draw::total(busy);
    if (end <= x || all == 0) return;
    // A short op stays visible in an idle bin, and a short gap in a busy one.
    const double share = static_cast<double>(all) / static_cast<double>(capacity);
    const double least = std::min(1.0, row.height / 3);
    const double height = share >= 1 ? row.height : std::clamp(share * row.height, least, row.height - least);
    const double ground = row.y + row.height;
    double top = ground;
    for (const OpKind kind : kAllOpKinds) {
      const double part = height * static_cast<double>(busy[index_of(kind)]) / static_cast<double>(all);
      if (part <= 0) continue;
      top -= part;
      outlines[index_of(kind)].add(ground, x, end, top);
    }
  }

  void flush_bars(const RowPlace& row, BarOutlines& outlines) {
    const std::string who = row.last == row.first + 1
                                ? fmt::format("rank {}", row.first.value())
                                : fmt::format("ranks {} to {}", row.first.value(), (row.last + -1).value());
    for (std::size_t i = kOpKinds; i-- > 0;) {
      outlines[i].close();
      if (!outlines[i].text().empty())
        plot_ += fmt::format("<path class=\"fill dense {}\" d=\"{}\"><title>{}: {}</title></path>\n",
                             op_class(kAllOpKinds[i], 0, 1), outlines[i].text(), who, kKindNames[i]);
    }
  }

  void draw_shared_row(const RowPlace& row) {
    const int count = detail_ == Detail::Bins ? bins() : static_cast<int>(kPlotWidth / 2);
    const int ranks = (row.last - row.first.value()).value();
    BarOutlines outlines;
    for (int bin = 0; bin < count; ++bin) {
      const Span span{range_.start + multiply_divide(range_.length(), bin, count),
                      range_.start + multiply_divide(range_.length(), bin + 1, count)};
      BusyByKind sum{};
      for (Rank rank = row.first; rank < row.last; ++rank) {
        const BusyByKind one = index_.busy(rank, span.start, span.end);
        for (std::size_t k = 0; k < kOpKinds; ++k) sum[k] += one[k];
      }
      add_bar(outlines, row, span, sum, span.length() * ranks);
    }
    flush_bars(row, outlines);
  }

  /// What is thinner than a pixel where everything is shown, yet stands alone: an op among idle time, a gap among ops.
  void draw_hairs(const RowPlace& row, const TimelineIndex& lane, const std::vector<Mark>& marks) {
    const auto start_of = [&](std::size_t i) { return pixels(plot_x(range_, marks[i].start)); };
    const auto end_of = [&](std::size_t i) { return pixels(plot_x(range_, marks[i].end)); };
    const auto down = [&](std::size_t i) {
      return fmt::format("M{} {}v{}", plot_x(range_, marks[i].start), coordinate(row.y),
                         coordinate(row.height));
    };
    std::map<std::string, std::string> ops;
    std::string gaps;
    double last_gap = -4;
    double drawn_to = -kHair;  // pixel up to which something shows
    for (std::size_t first = 0, last = 0; first < marks.size(); first = last) {
      // Marks that touch, or nearly so, are seen together.
      for (last = first + 1; last < marks.size() && start_of(last) - end_of(last - 1) < kHair; ++last) {
        const bool is_gap = marks[last].start > marks[last - 1].end;
        const bool between_ops =
            end_of(last - 1) - start_of(last - 1) >= 1.5 && end_of(last) - start_of(last) >= 1.5;
        if (!is_gap || !between_ops || start_of(last) - last_gap < 4) continue;
        gaps += down(last);
        last_gap = start_of(last);
      }
      if (end_of(last - 1) - start_of(first) < kHair && start_of(first) - drawn_to >= kHair)
        ops[class_of(op_at(lane.entries(row.first)[marks[first].first].op))] += down(first);
      drawn_to = end_of(last - 1);
    }
    for (const auto& [name, path] : ops)
      plot_ += fmt::format("<path class=\"hair {}\" d=\"{}\"/>\n", name, path);
    if (!gaps.empty()) plot_ += fmt::format("<path class=\"gap\" d=\"{}\"/>\n", gaps);
  }

  void draw_idle(const RowPlace& row) {
    if (input_.idle == nullptr || input_.idle->empty()) return;
    const auto& spans = (*input_.idle)[row.first.at()];
    const std::size_t budget = kMostIdleMarks / rows_.size();
    const bool boxes = detail_ == Detail::Boxes && spans.size() <= budget;
    const std::int64_t least = spans.size() <= budget ? 1 : kPlotUnits / static_cast<std::int64_t>(budget);
    std::array<SpanPath, kIdleCauses> paths;
    for (const IdleSpan& span : spans) {
      const std::int64_t x = plot_x(range_, span.start);
      const std::int64_t end = plot_x(range_, span.end);
      if (end - x < least) continue;
      const auto cause = static_cast<std::size_t>(span.cause);
      causes_.set(cause);
      if (!boxes) {
        paths[cause].add(x, end);
        continue;
      }
      plot_ += fmt::format(
          "<rect class=\"fill {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>rank {} idle: {}\n{} "
          "to {}, "
          "{} long</title></rect>\n",
          idle_class(span.cause), x, coordinate(row.y), end - x, coordinate(row.height), row.first.value(),
          name_of(span.cause), format_ticks(span.start, timeline_.unit),
          format_ticks(span.end, timeline_.unit), format_ticks(span.end - span.start, timeline_.unit));
    }
    for (std::size_t i = 0; i < kIdleCauses; ++i) {
      if (paths[i].count() == 0) continue;
      const auto cause = static_cast<IdleCause>(i);
      plot_ += fmt::format(
          "<path class=\"line dense {}\" stroke-width=\"{}\" d=\"{}\"><title>rank {} idle: "
          "{}</title></path>\n",
          idle_class(cause), coordinate(row.height), paths[i].at_height(row.y + row.height / 2),
          row.first.value(), name_of(cause));
    }
  }

  /// A line below the ops of the critical path; neighbours closer than half a pixel join.
  void add_critical() {
    if (input_.critical == nullptr) return;
    std::map<int, SpanPath> paths;  // by row
    std::map<int, std::pair<std::int64_t, std::int64_t>> open;
    for (const std::size_t op : *input_.critical) {
      const int row = schedule_.rank_of_op(op).value() / ranks_per_row_;
      const std::int64_t x = plot_x(range_, timeline_.start_of(op));
      const std::int64_t end = plot_x(range_, timeline_.end_of(op));
      auto [at, fresh] = open.try_emplace(row, x, end);
      if (fresh) continue;
      if (pixels(x - at->second.second) < 0.5) {
        at->second.second = std::max(at->second.second, end);
      } else {
        paths[row].add(at->second.first, at->second.second);
        at->second = {x, end};
      }
    }
    for (const auto& [row, span] : open) paths[row].add(span.first, span.second);
    for (const auto& [row, path] : paths) {
      const RowPlace& place = rows_[static_cast<std::size_t>(row)];
      const double thick = std::min(2.5, place.height / 3);
      plot_ += fmt::format("<path class=\"critical-path\" stroke-width=\"{}\" d=\"{}\"/>\n",
                           coordinate(thick), path.at_height(place.y + place.height - thick / 2));
      has_critical_ = true;
    }
  }

  [[nodiscard]] Legend legend() const {
    Legend out;
    const int shades = std::min(4, colours_.shades());
    for (const OpKind kind : kAllOpKinds) {
      if (!schedule_.contains(kind)) continue;
      std::vector<std::string> swatches;
      for (int shade = 0; shade < shades; ++shade) swatches.push_back(op_class(kind, shade, shades));
      std::string name = kKindNames[index_of(kind)];
      name.front() = static_cast<char>(name.front() - 'a' + 'A');
      out.entries.push_back({swatches, fmt::format("{} ({})", name, letter_of(kind))});
    }
    if (shades > 1)
      out.entries.push_back({{},
                             schedule_.placement().replicas() > 1 ? "shades: chunks and directions"
                                                                  : "shades: chunks, the first full"});
    for (std::size_t i = 0; i < kIdleCauses; ++i)
      if (causes_.test(i))
        out.entries.push_back({{idle_class(static_cast<IdleCause>(i))},
                               fmt::format("Idle: {}", name_of(static_cast<IdleCause>(i)))});
    if (has_critical_) out.entries.push_back({{"critical-swatch"}, "Critical path"});
    return out;
  }

  [[nodiscard]] std::string description() const {
    const char* const how = detail_ == Detail::Boxes   ? "Every op is a box."
                            : detail_ == Detail::Paths ? "Ops are drawn side by side."
                                                       : "Bars show how busy each rank was.";
    return fmt::format("{} from {} to {} {}. {}",
                       count_text(static_cast<std::size_t>(schedule_.ranks()), "rank"),
                       format_ticks(range_.start, timeline_.unit), format_ticks(range_.end, timeline_.unit),
                       timeline_.unit == TimeUnit::Unit ? "units" : name_of(timeline_.unit), how);
  }

  const GanttInput& input_;
  const Timeline& timeline_;
  const Schedule& schedule_;
  TimelineIndex index_;
  std::optional<TimelineIndex> copies_;
  draw::OpColours colours_;
  Span range_;
  Detail detail_ = Detail::Boxes;
  std::vector<RowPlace> rows_;
  int ranks_per_row_ = 1;
  double pitch_ = 0;
  double height_ = 0;
  std::string plot_;
  std::string numbers_;
  std::map<std::tuple<std::string, std::size_t, std::size_t>, SpanPath> paths_;  // class, part, parts
  std::bitset<kIdleCauses> causes_;
  bool has_critical_ = false;
};

}  // namespace

Gantt draw_gantt(const GanttInput& input) {
  return GanttDrawer(input).draw();
}

Span whole_span(const Timeline& timeline) {
  Span span = span_of(timeline);
  for (int step = 1; step < timeline.steps; ++step) {
    const Span one = span_of(timeline, step);
    span.start = std::min(span.start, one.start);
    span.end = std::max(span.end, one.end);
  }
  return span;
}

}  // namespace pipeloom::study::page
