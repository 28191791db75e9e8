// The rows: every op that can be seen, and merged marks where ops are too narrow.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <pipeloom/schedule.hpp>
#include "sim/draw/scene_builder.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::draw {
namespace {

/// Entries narrower than this merge.
constexpr double kBinWidth = 3;
constexpr double kSmallestText = 6;

/// Between bars that meet within a pixel the ground would shine through as a line. Bars that are too short for a pixel stay as they are.
std::pair<double, double> whole_pixels(double x, double end) {
  const double first = std::round(x);
  const double last = std::round(end);
  return last > first ? std::pair(first, last) : std::pair(x, end);
}

}  // namespace

void SceneBuilder::add_row_grounds() {
  for (const Row& row : scene_.rows) {
    scene_.shapes.emplace_back(Rectangle{.x = scene_.time.x,
                                         .y = row.y,
                                         .width = scene_.time.width,
                                         .height = row.height,
                                         .fill = surface_.row,
                                         .stroke = {},
                                         .role = Role::Row});
  }
}

void SceneBuilder::collect_marks() {
  const int bins = std::max(1, static_cast<int>(scene_.time.width / kBinWidth));
  std::size_t single = 0;
  for (const Row& row : scene_.rows) {
    marks_.emplace_back();
    if (row.is_shared()) continue;
    marks_.back() = index_.marks(row.first, scene_.time.range, bins);
    for (const Mark& mark : marks_.back()) {
      if (!mark.merged) single += index_.entry(row.first, mark.first).count;
    }
  }
  with_titles_ = single <= options_.max_titles;
}

void SceneBuilder::add_ops() {
  for (std::size_t i = 0; i < scene_.rows.size(); ++i) {
    const Row& row = scene_.rows[i];
    if (row.is_shared()) {
      add_shared_row(row);
      continue;
    }
    if (copies_) {
      const int bins = std::max(1, static_cast<int>(scene_.time.width / kBinWidth));
      add_lane(lanes_of(row).copies, *copies_, copies_->marks(row.first, scene_.time.range, bins));
    }
    add_lane(copies_ ? lanes_of(row).work : row, index_, marks_[i]);
  }
}

void SceneBuilder::add_lane(const Row& row, const TimelineIndex& lane, const std::vector<Mark>& marks) {
  add_merged(row, lane, marks);
  for (const Mark& mark : marks) {
    if (!mark.merged) add_entry(row, lane.entry(row.first, mark.first));
  }
}

void SceneBuilder::add_entry(const Row& row, const DrawnEntry& entry) {
  const std::vector<std::size_t> parts = stacked_ops(*timeline_.schedule, entry);
  for (std::size_t i = 0; i < parts.size(); ++i) add_op(row, parts[i], i, parts.size());
}

void SceneBuilder::add_op(const Row& row, std::size_t at, std::size_t part, std::size_t parts) {
  const std::size_t op_index = at % timeline_.schedule->num_ops();
  const Op op = timeline_.schedule->ops()[op_index];
  const double x = clipped_x(timeline_.start[at]);
  const double width = clipped_x(timeline_.end[at]) - x;
  if (width <= 0) return;
  const double height = row.height / static_cast<double>(parts);
  // A hairline to the right and below keeps neighbours apart.
  Rectangle box{.x = x,
                .y = row.y + height * static_cast<double>(part),
                .width = width - std::min(1.0, 0.15 * width),
                .height = height - (part + 1 < parts ? std::min(1.0, 0.1 * height) : 0),
                .fill = colour_at(row.first, at),
                .stroke = {},
                .pattern = pattern_of(op.kind()),
                .role = Role::Op,
                .op = at};
  if (with_titles_) box.title = add_title(row.first, at);
  scene_.shapes.emplace_back(box);
  add_op_label(box, op);
}

void SceneBuilder::add_op_label(const Rectangle& box, Op op) {
  const double tallest = std::min(measure_.axis_size, box.height * 0.82);
  const std::string number = op_number(op);
  for (const bool letters : {labels_have_letters(), false}) {
    // As small as the longest label of the whole run needs, so that boxes of one size have all their labels or none. Whole
    // halves, so that one picture does not mix dozens of sizes.
    const double longest = text_width(widest_label(letters), 1);
    const double size = std::floor(2 * std::min(tallest, (box.width - 1.5) / longest)) / 2;
    if (size < kSmallestText) continue;
    text(box.x + box.width / 2, box.y + box.height / 2 + 0.36 * size, size,
         letters ? letter_of(op.kind()) + number : number, text_on(*box.fill), Align::Middle, Role::Op);
    return;
  }
}

bool SceneBuilder::labels_have_letters() const {
  return options_.patterns || options_.own != nullptr || options_.colour_by != ColourBy::Kind;
}

std::string SceneBuilder::widest_label(bool letters) const {
  const char* const letter = timeline_.schedule->contains(OpKind::BackwardWeight) ? "W" : "B";
  return (letters ? letter : "") + widest_op_number(*timeline_.schedule);
}

std::uint32_t SceneBuilder::add_title(Rank rank, std::size_t at) {
  const std::size_t num_ops = timeline_.schedule->num_ops();
  const Op op = timeline_.schedule->ops()[at % num_ops];
  const Ticks start = timeline_.start[at];
  const Ticks end = timeline_.end[at];
  std::string words = fmt::format("{}: rank {}, stage {}, microbatch {}{}\n{} to {}, {} {}", to_text(op),
                                  rank.value(), op.stage().value(), op.microbatch().value(),
                                  timeline_.steps > 1 ? fmt::format(", step {}", at / num_ops) : "",
                                  format_ticks(start, timeline_.unit), format_ticks(end, timeline_.unit),
                                  format_ticks(end - start, timeline_.unit), name_of(timeline_.unit));
  scene_.titles.push_back(std::move(words));
  return static_cast<std::uint32_t>(scene_.titles.size() - 1);
}

void SceneBuilder::add_bar(const Row& row, Span span, const BusyByKind& busy, Ticks capacity, OpKind kind,
                           Colour colour) {
  const Ticks all = tracks::total(busy);
  const double height = bar_height(static_cast<double>(all) / static_cast<double>(capacity), row.height);
  const auto [x, end] = whole_pixels(clipped_x(span.start), clipped_x(span.end));
  double below = 0;
  for (const OpKind lower : kAllOpKinds) {
    const double part = height * static_cast<double>(busy[index_of(lower)]) / static_cast<double>(all);
    if (lower == kind && part > 0) {
      scene_.shapes.emplace_back(Rectangle{.x = x,
                                           .y = row.y + row.height - below - part,
                                           .width = end - x,
                                           .height = part,
                                           .fill = colour,
                                           .stroke = {},
                                           .role = Role::Merged});
    }
    below += part;
  }
}

void SceneBuilder::add_merged(const Row& row, const TimelineIndex& lane, const std::vector<Mark>& marks) {
  // Kind by kind, so that a writer can join neighbours of one colour into one path.
  for (const OpKind kind : kAllOpKinds) {
    for (const Mark& mark : marks) {
      if (!mark.merged || mark.busy[index_of(kind)] == 0) continue;
      add_bar(row, {mark.start, mark.end}, mark.busy, mark.end - mark.start, kind,
              merged_colour(row.first, lane, mark, kind));
    }
  }
}

Colour SceneBuilder::merged_colour(Rank rank, const TimelineIndex& lane, const Mark& mark,
                                   OpKind kind) const {
  // The mean of some of the ops, evenly spread: one op's colour would alias.
  constexpr std::size_t kSamples = 8;
  const auto ops = timeline_.schedule->ops();
  const std::size_t stride = std::max<std::size_t>(1, (mark.last - mark.first) / kSamples);
  std::optional<Colour> mean;
  int seen = 0;
  for (std::size_t i = mark.first; i < mark.last; i += stride) {
    const DrawnEntry entry = lane.entry(rank, i);
    for (std::size_t part = 0; part < entry.count; ++part) {
      const std::size_t at = entry.op + part;
      if (ops[at % ops.size()].kind() != kind) continue;
      const Colour colour = colour_at(rank, at);
      mean = mean ? blend(*mean, colour, 1.0 / ++seen) : (seen = 1, colour);
    }
  }
  return mean.value_or(plain_colour(rank, kind));
}

/// Colour of the op at a position in the timeline, which ran on `rank`.
Colour SceneBuilder::colour_at(Rank rank, std::size_t at) const {
  const auto ops = timeline_.schedule->ops();
  return options_.own != nullptr ? options_.own->of(at) : colours_.of(ops[at % ops.size()], rank);
}

Colour SceneBuilder::plain_colour(Rank rank, OpKind kind) const {
  return options_.colour_by == ColourBy::Rank
             ? series_colour(options_.theme, rank.value(), timeline_.schedule->ranks(), kind,
                             options_.palette)
             : kind_colour(options_.theme, kind, 0, 1, options_.palette);
}

void SceneBuilder::add_shared_row(const Row& row) {
  const tracks::Bins bins{
      scene_.time.range, std::max<std::int64_t>(1, static_cast<std::int64_t>(scene_.time.width / kBinWidth))};
  const std::vector<BusyByKind> busy = busy_of_row(index_, row, bins);
  for (const OpKind kind : kAllOpKinds) {
    for (std::int64_t bin = 0; bin < bins.count; ++bin) {
      const BusyByKind& sum = busy[static_cast<std::size_t>(bin)];
      if (sum[index_of(kind)] == 0) continue;
      const Span span = bins.span_of(bin);
      add_bar(row, span, sum, span.length() * row.ranks(), kind, plain_colour(row.first, kind));
    }
  }
}

Pattern SceneBuilder::pattern_of(OpKind kind) const {
  return options_.patterns ? pipeloom::row_of(kind).pattern : Pattern::None;
}

}  // namespace pipeloom::draw
