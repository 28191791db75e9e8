// Texels: rows with more ops than pixels, and the maps, which show the whole of all runs in little: minimap on top, overview of all ranks
// on the right. Pictures of the maps depend on runs, colours and sizes only and are kept until one of these changes.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <pipeloom/metrics.hpp>
#include "gui/model/draw/chart_builder.hpp"
#include "gui/model/panels/search.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

/// FNV-1a over the inputs of a picture.
class Fingerprint {
 public:
  void add(std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001B3U; }
  /// Never 0: that is the picture which was not made yet.
  [[nodiscard]] std::uint64_t value() const { return hash_ | 1U; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325U;
};

/// `colour` with the opacity of `like`.
Rgba as_opaque_as(Rgba colour, Rgba like) {
  return (colour & 0x00FFFFFFU) | (like & 0xFF000000U);
}

}  // namespace

std::span<const float> ChartListBuilder::shares_of(const tracks::Track& track, std::size_t row,
                                                   TimeRange range, int bins) {
  shares_.assign(static_cast<std::size_t>(bins) * track.channels(), 0);
  track.shares(row, range, bins, shares_);
  return shares_;
}

void ChartListBuilder::fill_from(const tracks::Track& track, std::size_t row, std::span<const Rgba> colours,
                                 TimeRange range, int bins, HatchedTexel* texels) {
  constexpr auto kMargin = static_cast<int>(kHatchMargin);
  const double per_bin = range.length() / bins;
  const TimeRange wide{range.start - kMargin * per_bin, range.end + kMargin * per_bin};
  hatch(shares_of(track, row, wide, bins + 2 * kMargin), colours, std::llround(range.start / per_bin),
        static_cast<int>(hatch_step()), {texels, static_cast<std::size_t>(bins)});
}

double ChartListBuilder::hatch_step() const {
  return std::max(1.0, std::round(scale_));
}

/// Fingerprints everything that colours depend on, other than time and row.
void ChartListBuilder::begin_strips() {
  Fingerprint look;
  const ViewState& view = session_.view;
  look.add(session_.preferences.dark ? 1 : 2);
  for (const char letter : session_.preferences.palette) look.add(static_cast<unsigned char>(letter));
  look.add(view.hidden_kinds);
  look.add(static_cast<std::uint64_t>(view.colour));
  look.add(session_.selection.kind ? 1 + index_of(*session_.selection.kind) : 0);
  for (const auto& [run, tint] : part_.tints) look.add(run ^ reinterpret_cast<std::uintptr_t>(tint.get()));
  for (const auto& [run, found] : part_.bright())
    look.add(run ^ reinterpret_cast<std::uintptr_t>(found.get()));
  for (const auto& [run, slack] : part_.slack) look.add(run ^ reinterpret_cast<std::uintptr_t>(slack.get()));
  const double per_pixel = layout_.ticks_per_pixel();
  const double column = std::round(from_ / per_pixel);
  // Where time 0 is too many pixels away to be counted, nothing is kept.
  const bool counted = std::abs(from_ - column * per_pixel) < per_pixel / 64 && std::abs(column) <= 1e12;
  if (!counted) look.add(++list_.rows.version);
  const auto first = static_cast<std::int64_t>(counted ? column : 0);
  list_.kept_texels.begin_frame(look.value(), per_pixel, first, columns_);
  list_.kept_extents.begin_frame(look.value(), per_pixel, first, columns_);
}

StripCache<Rgba, kHatch>::Row ChartListBuilder::key_of(const RowLane& lane, ChartLane which) const {
  return {lane.run->id, lane.row->rank.value(), static_cast<int>(which)};
}

Rgba* ChartListBuilder::add_strip(const RowLane& lane, const std::vector<Rgba>& planes) {
  ChartPicture& picture = list_.rows;
  picture.width = columns_;
  const double step = hatch_step();
  const bool hatched = !std::equal(planes.begin() + columns_, planes.end(), planes.begin());
  const int rows =
      hatched ? static_cast<int>(std::clamp(std::ceil(lane.strip.height / step), 1.0, 1.0 * kHatch)) : 1;
  add_pieces(lane, hatched ? step * rows : std::max(lane.strip.height, 1.0), rows);
  picture.rows += rows;
  const auto begin = static_cast<std::ptrdiff_t>(picture.texels.size());
  picture.texels.insert(picture.texels.end(), planes.begin(),
                        planes.begin() + std::ptrdiff_t{rows} * columns_);
  return picture.texels.data() + begin;
}

/// The strip below each other in pieces of this height, each with all `rows` that come next in the picture. Pieces keep their place where the
/// strip is cut off.
void ChartListBuilder::add_pieces(const RowLane& lane, double height, int rows) {
  ChartPicture& picture = list_.rows;
  const auto x0 = static_cast<float>(layout_.plot.x0);
  const auto x1 = static_cast<float>(layout_.plot.x0 + columns_);
  for (double y = lane.strip.y; y < lane.clip.y1; y += height) {
    const double from = std::max(y, lane.clip.y0);
    const double to = std::min(y + height, lane.clip.y1);
    if (to <= from) continue;
    const auto row_at = [&](double at) {
      return static_cast<float>(picture.rows + (at - y) / height * rows);
    };
    picture.strips.push_back(
        {x0, static_cast<float>(from), x1, static_cast<float>(to), row_at(from), row_at(to), columns_});
  }
}

void ChartListBuilder::fill_texels(const RowLane& lane, Lane which, TimeRange range, int bins,
                                   HatchedTexel* texels) {
  std::array<Rgba, kOpKinds> fill{};
  for (const OpKind kind : kAllOpKinds) {
    const bool left_out =
        lane.look.matches != nullptr || (session_.selection.kind && *session_.selection.kind != kind);
    fill[index_of(kind)] = left_out ? lane.look.colours->dimmed().fill : lane.look.colours->kind_fill(kind);
  }
  const OpTrack& track = *lane.run->op_track;
  fill_from(track, track.row_of(lane.row->rank, which), fill, range, bins, texels);
  const bool by_kind = session_.view.colour == GanttColour::Kind && lane.look.tint == nullptr;
  if (!by_kind && lane.look.matches == nullptr) colour_by_op(lane, which, range, bins, texels);
}

const Rgba* ChartListBuilder::add_dense(const RowLane& lane, Lane which, std::size_t first_quad) {
  const ChartLane strip = which == Lane::Work ? ChartLane::Work : ChartLane::Copies;
  Rgba* const texels = add_strip(
      lane, list_.kept_texels.of(key_of(lane, strip), [&](TimeRange range, int bins, HatchedTexel* out) {
        fill_texels(lane, which, range, bins, out);
      }));
  const auto rows = static_cast<std::size_t>(list_.rows.texels.data() + list_.rows.texels.size() - texels) /
                    static_cast<std::size_t>(columns_);
  for (std::size_t y = 0; y < rows; ++y)
    clear_under(texels + y * static_cast<std::size_t>(columns_), first_quad);
  if (lane.look.matches != nullptr) add_dense_matches(lane, which);
  return texels;
}

/// Boxes of wide ops in the same row: the part of a texel that they cover is theirs.
void ChartListBuilder::clear_under(Rgba* texels, std::size_t first_quad) const {
  for (std::size_t i = first_quad; i < list_.quads.size(); ++i) {
    const ChartQuad& quad = list_.quads[i];
    const long first = std::max(std::lround(quad.x0 - layout_.plot.x0), 0L);
    const long last = std::min(std::lround(quad.x1 - layout_.plot.x0), static_cast<long>(columns_));
    for (long x = first; x < last; ++x) texels[x] = 0;
  }
}

/// Shares are by kind only: where colours mean something else, they are those of the op in the middle of each pixel.
void ChartListBuilder::colour_by_op(const RowLane& lane, Lane which, TimeRange range, int bins,
                                    HatchedTexel* texels) const {
  const OpTrack& index = *lane.run->op_track;
  const auto& starts = lane.run->timeline.start;
  const double per_bin = range.length() / bins;
  const StepSlice steps = index.steps(lane.row->rank, range.start, range.end, which);
  for (int step = steps.first; step < steps.last; ++step) {
    const Slice slice = index.visible(lane.row->rank, range.start, range.end, step, which);
    if (slice.empty()) continue;
    std::size_t at = slice.first;
    const double begin = (static_cast<double>(starts[slice.first]) - range.start) / per_bin;
    const double end = (static_cast<double>(lane.run->timeline.end[slice.last - 1]) - range.start) / per_bin;
    const int last = static_cast<int>(std::min(std::ceil(end), static_cast<double>(bins)));
    for (int x = static_cast<int>(std::max(begin, 0.0)); x < last; ++x) {
      if (texels[x][0] == 0) continue;
      const auto middle = static_cast<Ticks>(range.start + (x + 0.5) * per_bin);
      // In steps that double: neighbours are close.
      std::size_t hop = 1;
      while (at + hop < slice.last && starts[at + hop] <= middle) hop *= 2;
      const auto low = starts.begin() + static_cast<std::ptrdiff_t>(at);
      const auto high = starts.begin() + static_cast<std::ptrdiff_t>(std::min(at + hop, slice.last));
      const auto found = std::upper_bound(low, high, middle);
      at = found == low ? at : static_cast<std::size_t>(found - starts.begin()) - 1;
      texels[x].fill(as_opaque_as(lane.look.of(at).fill, texels[x][0]));
    }
  }
}

/// Gaps of several pixels are tinted as in other rows; shorter ones show as less opaque texels.
void ChartListBuilder::add_dense_gaps(const RowLane& lane, const Rgba* texels) {
  constexpr int kLeast = 4;
  for (int x = 0; x < columns_;) {
    int end = x;
    while (end < columns_ && texels[end] == 0) ++end;
    double from = from_ + x / pixels_per_tick_;
    const double to = from_ + end / pixels_per_tick_;
    const int empty = end - x;
    x = end + 1;
    if (empty < kLeast) continue;
    for (const IdleSpan& gap : gaps_in(lane, from, to)) {
      add_gap(lane, gap, from, to);
      from = static_cast<double>(gap.end);
    }
  }
}

/// Adds the matches of a search, as bars of two pixels at least.
void ChartListBuilder::add_dense_matches(const RowLane& lane, Lane which) {
  const Timeline& timeline = lane.run->timeline;
  const StepSlice steps = lane.run->op_track->steps(lane.row->rank, from_, to_, which);
  double drawn_to = layout_.plot.x0;
  for (int step = steps.first; step < steps.last; ++step) {
    const Slice slice = lane.run->op_track->visible(lane.row->rank, from_, to_, step, which);
    auto hit = std::lower_bound(lane.look.matches->begin(), lane.look.matches->end(), slice.first);
    while (hit != lane.look.matches->end() && *hit < slice.last) {
      const double x = layout_.x_of(static_cast<double>(timeline.start[*hit]));
      const double end = std::max(layout_.x_of(static_cast<double>(timeline.end[*hit])), x + 2);
      if (end - x < kNarrow && end > drawn_to) {
        quad(list_.quads, {std::max(x, drawn_to), lane.clip.y0, std::min(end, lane.clip.x1), lane.clip.y1},
             ink_.accent);
        drawn_to = end;
      }
      ++hit;
      // The rest of this pixel is drawn already.
      const auto past = static_cast<Ticks>(layout_.time_of(drawn_to - 1));
      hit = std::partition_point(hit, lane.look.matches->end(),
                                 [&](std::size_t op) { return op < slice.last && timeline.end[op] < past; });
    }
  }
}

// Maps.

namespace {

std::uint64_t fingerprint(const Session& session, const ChartLayout& layout, const Box& box) {
  Fingerprint print;
  for (const ChartBlock& block : layout.blocks) print.add(block.run->id);
  print.add(session.preferences.dark ? 1 : 2);
  for (const char letter : session.preferences.palette) print.add(static_cast<unsigned char>(letter));
  print.add(session.view.hidden_kinds);
  for (const int rank : session.view.hidden) print.add(static_cast<std::uint64_t>(rank));
  print.add(session.view.order.listed().size());
  for (const int rank : session.view.order.listed()) print.add(static_cast<std::uint64_t>(rank));
  print.add(static_cast<std::uint64_t>(std::llround(box.width())));
  print.add(static_cast<std::uint64_t>(std::llround(box.height())));
  return print.value();
}

std::array<Rgba, kOpKinds> fills_of(const ChartColours& colours) {
  std::array<Rgba, kOpKinds> fills{};
  for (const OpKind kind : kAllOpKinds) fills[index_of(kind)] = colours.kind_fill(kind);
  return fills;
}

/// Ranks that the filter leaves, from the top.
std::vector<int> shown_ranks(const ViewState& view, const RunModel& run) {
  std::vector<int> ranks;
  view.order.for_each(run.ranks(), [&](int rank) {
    if (!view.hidden.contains(rank)) ranks.push_back(rank);
  });
  return ranks;
}

}  // namespace

/// `rows` rows of `columns` texels over the whole span, a pixel high: the ranks, or an even choice of them.
void ChartListBuilder::add_map_rows(ChartPicture& picture, const ChartBlock& block, int columns, int rows) {
  if (!block.run->op_track) return;
  const std::vector<int> ranks = shown_ranks(session_.view, *block.run);
  const auto fills = fills_of(part_.colours_of(session_, *block.run));
  const OpTrack& track = *block.run->op_track;
  std::vector<HatchedTexel> texels(static_cast<std::size_t>(columns));
  std::size_t filled = ranks.size();
  for (int row = 0; row < rows && !ranks.empty(); ++row) {
    const std::size_t rank = static_cast<std::size_t>(row) * ranks.size() / static_cast<std::size_t>(rows);
    if (rank != filled)
      fill_from(track, track.row_of(Rank(ranks[rank]), Lane::Work), fills, layout_.span, columns,
                texels.data());
    filled = rank;
    const std::size_t y = static_cast<std::size_t>(row) / static_cast<std::size_t>(hatch_step()) % kHatch;
    for (const HatchedTexel& texel : texels) picture.texels.push_back(texel[y]);
    ++picture.rows;
  }
}

void ChartListBuilder::begin_map(ChartPicture& picture, const Box& box, std::uint64_t print) {
  picture.version = print;
  picture.rows = 0;
  picture.width = std::max(1, static_cast<int>(box.width()));
  picture.texels.clear();
}

/// Strips of one picture lie below each other in the order of their rows.
void ChartListBuilder::add_map_strips(ChartPicture& picture, const Box& box) {
  const double height = box.height() / std::max(1, picture.rows);
  for (int row = 0; row < picture.rows; ++row) {
    const double y = box.y0 + height * row;
    picture.strips.push_back({static_cast<float>(box.x0), static_cast<float>(y), static_cast<float>(box.x1),
                              static_cast<float>(y + height), static_cast<float>(row),
                              static_cast<float>(row + 1), picture.width});
  }
}

void ChartListBuilder::add_minimap() {
  const Box& box = layout_.minimap;
  if (box.empty() || layout_.blocks.empty()) return;
  const double pad = 2 * scale_;
  const Box inner{box.x0, box.y0 + pad, box.x1, box.y1 - pad};
  ChartPicture& picture = list_.minimap;
  const std::uint64_t print = fingerprint(session_, layout_, box);
  if (picture.version != print) {
    begin_map(picture, box, print);
    const int each =
        std::max(1, static_cast<int>(inner.height() / static_cast<double>(layout_.blocks.size())));
    for (const ChartBlock& block : layout_.blocks) add_map_rows(picture, block, picture.width, each);
  }
  quad(list_.ground, inner, ink_.row);
  add_map_strips(picture, inner);
  add_minimap_window(inner);
  add_hits(inner);
}

/// A tick at the foot of the strip for each column in which the search found ops.
void ChartListBuilder::add_hits(const Box& inner) {
  constexpr std::size_t kMostHits = 20'000;  // of more, evenly spread ones
  const auto& search = session_.part<SearchModel>();
  for (const ChartBlock& block : layout_.blocks) {
    const Found found = search.active() ? search.found(block.run->id) : nullptr;
    if (!found) continue;
    const std::size_t stride = found->size() / kMostHits + 1;
    std::vector<bool> columns(static_cast<std::size_t>(std::max(inner.width(), 0.0)) + 1);
    for (std::size_t i = 0; i < found->size(); i += stride) {
      const double x =
          layout_.minimap_x_of(static_cast<double>(block.run->timeline.start[(*found)[i]])) - inner.x0;
      if (x >= 0 && x < inner.width()) columns[static_cast<std::size_t>(x)] = true;
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const double x = inner.x0 + static_cast<double>(i);
      if (columns[i]) quad(list_.front, {x, inner.y1 - 6 * scale_, x + 2 * scale_, inner.y1}, ink_.text);
    }
  }
}

/// A tick at the edge of each rank's name in whose row the search found ops.
void ChartListBuilder::add_rank_hits() {
  const auto& search = session_.part<SearchModel>();
  if (!search.active()) return;
  for (const ChartRow& row : layout_.rows) {
    if (!layout_.is_visible(row)) continue;
    const RunModel& run = *layout_.blocks[row.block].run;
    const Found found = search.found(run.id);
    if (!found) continue;
    const auto in_step = [&](int step) {
      const std::size_t begin = run.timeline.index(step, run.schedule->queue_begin(row.rank));
      const std::size_t count = run.schedule->queue_end(row.rank) - run.schedule->queue_begin(row.rank);
      const auto first = std::ranges::lower_bound(*found, begin);
      return first != found->end() && *first < begin + count;
    };
    bool any = false;
    for (int step = 0; step < run.timeline.steps && !any; ++step) any = in_step(step);
    const Box strip = layout_.clipped(row, row.lane(ChartLane::Work));
    if (any && !strip.empty())
      quad(list_.front, {layout_.headers.x1 - 4 * scale_, strip.y0, layout_.headers.x1 - scale_, strip.y1},
           ink_.accent);
  }
}

/// Veils the part outside of the view, and frames the part inside.
void ChartListBuilder::add_minimap_window(const Box& inner) {
  const double x0 = std::clamp(layout_.minimap_x_of(from_), inner.x0, inner.x1);
  const double x1 = std::clamp(std::max(layout_.minimap_x_of(to_), x0 + 3), inner.x0, inner.x1);
  const Rgba veil = (ink_.background & 0x00FFFFFFU) | 0xA0000000U;
  quad(list_.front, {inner.x0, inner.y0, x0, inner.y1}, veil);
  quad(list_.front, {x1, inner.y0, inner.x1, inner.y1}, veil);
  list_.front_outlines.push_back({static_cast<float>(x0), static_cast<float>(inner.y0 - 1),
                                  static_cast<float>(x1), static_cast<float>(inner.y1 + 1), ink_.accent, 1});
}

void ChartListBuilder::add_overview() {
  const Box& all = layout_.overview;
  if (all.empty()) return;
  const Box box{all.x0 + 4 * scale_, all.y0, all.x1, all.y1};
  ChartPicture& picture = list_.overview;
  const std::uint64_t print = fingerprint(session_, layout_, box);
  const double height = box.height() / static_cast<double>(std::max<std::size_t>(1, layout_.blocks.size()));
  if (picture.version != print) {
    begin_map(picture, box, print);
    for (const ChartBlock& block : layout_.blocks)
      add_map_rows(picture, block, picture.width, std::max(static_cast<int>(height), 1));
  }
  quad(list_.ground, box, ink_.row);
  add_map_strips(picture, box);
  const double top = box.y0 + layout_.scroll / layout_.content_height * box.height();
  const double bottom = top + layout_.body.height / layout_.content_height * box.height();
  const Rgba veil = (ink_.background & 0x00FFFFFFU) | 0xA0000000U;
  quad(list_.front, {box.x0, box.y0, box.x1, top}, veil);
  quad(list_.front, {box.x0, bottom, box.x1, box.y1}, veil);
  list_.front_outlines.push_back({static_cast<float>(box.x0), static_cast<float>(top),
                                  static_cast<float>(box.x1), static_cast<float>(bottom), ink_.accent, 1});
}

}  // namespace pipeloom::gui
