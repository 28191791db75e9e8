// The whole of all runs in little: minimap on top, overview of all ranks on the right. Their pictures depend on runs, colours and sizes
// only and are kept until one of these changes.

#include <algorithm>
#include <cmath>

#include "gui/model/draw/chart_builder.hpp"

namespace pipeloom::gui {
namespace {

/// FNV-1a over what a picture depends on.
class Fingerprint {
 public:
  void add(std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001B3U; }
  /// Never 0: that is the picture which was not made yet.
  [[nodiscard]] std::uint64_t value() const { return hash_ | 1U; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325U;
};

std::uint64_t fingerprint(const Session& session, const ChartLayout& layout, const Box& box) {
  Fingerprint print;
  for (const ChartBlock& block : layout.blocks) print.add(block.run->id);
  print.add(session.preferences.dark ? 1 : 2);
  for (const char letter : session.preferences.palette) print.add(static_cast<unsigned char>(letter));
  print.add(session.view.hidden_kinds);
  for (const int rank : session.view.hidden) print.add(static_cast<std::uint64_t>(rank));
  print.add(static_cast<std::uint64_t>(std::llround(box.width())));
  print.add(static_cast<std::uint64_t>(std::llround(box.height())));
  return print.value();
}

std::array<Rgba, kOpKinds> fills_of(const ChartColours& colours) {
  std::array<Rgba, kOpKinds> fills{};
  for (const OpKind kind : kAllOpKinds) fills[index_of(kind)] = colours.kind_fill(kind);
  return fills;
}

/// Ranks that the filter leaves.
std::vector<int> shown_ranks(const ViewState& view, const RunModel& run) {
  std::vector<int> ranks;
  for (int rank = 0; rank < run.ranks(); ++rank)
    if (!view.hidden.contains(rank)) ranks.push_back(rank);
  return ranks;
}

}  // namespace

/// `rows` rows of `columns` texels over the whole span: the ranks, or an even choice of them.
void ChartListBuilder::add_map_rows(ChartPicture& picture, const ChartBlock& block, int columns, int rows) {
  if (!block.run->op_track) return;
  const std::vector<int> ranks = shown_ranks(session_.view, *block.run);
  const auto fills = fills_of(part_.colours_of(session_, *block.run));
  for (int row = 0; row < rows && !ranks.empty(); ++row) {
    const std::size_t rank = static_cast<std::size_t>(row) * ranks.size() / static_cast<std::size_t>(rows);
    const std::size_t begin = picture.texels.size();
    picture.texels.resize(begin + static_cast<std::size_t>(columns));
    fill_from(*block.run->op_track, block.run->op_track->row_of(Rank(ranks[rank]), Lane::Work), fills,
              layout_.span, columns, picture.texels.data() + begin);
    ++picture.rows;
  }
}

void ChartListBuilder::begin_map(ChartPicture& picture, const Box& box, std::uint64_t print) {
  picture.version = print;
  picture.rows = 0;
  picture.width = std::max(1, static_cast<int>(box.width()));
  picture.texels.clear();
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
    for (const ChartBlock& block : layout_.blocks)
      add_map_rows(picture, block, picture.width, std::min(each, block.run->ranks()));
  }
  quad(list_.ground, inner, ink_.row);
  const double height = inner.height() / std::max(1, picture.rows);
  for (int row = 0; row < picture.rows; ++row) {
    const double y = inner.y0 + height * row;
    picture.strips.push_back({static_cast<float>(box.x0), static_cast<float>(y), static_cast<float>(box.x1),
                              static_cast<float>(y + height), row, picture.width});
  }
  add_minimap_window(inner);
}

/// What is outside of the view is veiled, what is inside framed.
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
      add_map_rows(picture, block, picture.width,
                   std::clamp(static_cast<int>(height), 1, block.run->ranks()));
  }
  quad(list_.ground, box, ink_.row);
  // Strips of one picture lie below each other in the order of their rows.
  const double each = box.height() / std::max(1, picture.rows);
  for (int row = 0; row < picture.rows; ++row) {
    const double y = box.y0 + each * row;
    picture.strips.push_back({static_cast<float>(box.x0), static_cast<float>(y), static_cast<float>(box.x1),
                              static_cast<float>(y + each), row, picture.width});
  }
  const double top = box.y0 + layout_.scroll / layout_.content_height * box.height();
  const double bottom = top + layout_.body.height / layout_.content_height * box.height();
  const Rgba veil = (ink_.background & 0x00FFFFFFU) | 0xA0000000U;
  quad(list_.front, {box.x0, box.y0, box.x1, top}, veil);
  quad(list_.front, {box.x0, bottom, box.x1, box.y1}, veil);
  list_.front_outlines.push_back({static_cast<float>(box.x0), static_cast<float>(top),
                                  static_cast<float>(box.x1), static_cast<float>(bottom), ink_.accent, 1});
}

}  // namespace pipeloom::gui
