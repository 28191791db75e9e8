#pragma once

// The inside of build_scene: one builder, its steps spread over scene*.cpp. Not for other folders.

#include <string>
#include <utility>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/draw/axis.hpp"
#include "sim/draw/op_colours.hpp"
#include "sim/draw/scene.hpp"
#include "sim/draw/words.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::draw {

/// Heights and text sizes of one picture, in pixels.
struct Measures {
  double margin = 12;
  double title_size = 14;
  double legend_size = 10.5;
  double label_size = 11;
  double axis_size = 10;
  double caption_size = 10;
  double small_size = 8.5;
  double legend_line = 17;
  double row_pitch = 26;     ///< from one row's top to the next, memory strip included
  double row_height = 22;    ///< the ops
  double memory_height = 0;  ///< the strip below them
  double folded_pitch = 10;  ///< the same of a folded row, which has no strip
  double folded_height = 6;
  double plot_top = 0;  ///< of the first row
};

/// One item of the legend: swatches side by side, then text.
struct LegendItem {
  std::vector<Colour> swatches;
  std::string text;
  Pattern pattern = Pattern::None;
  /// Drawn as an outline (critical path) or as a dashed line (limit).
  enum class Look { Fill, Outline, Dashed } look = Look::Fill;
  double swatch_width = 12;
};

class SceneBuilder {
 public:
  SceneBuilder(const Timeline& timeline, const TimelineIndex& index, const SceneOptions& options);
  [[nodiscard]] Scene build() &&;

 private:
  // scene.cpp: sizes before anything is drawn.
  void choose_ranks();
  void choose_range();
  void lay_out();
  void choose_width();
  void choose_rows();
  void leave_memory_out();
  [[nodiscard]] bool is_folded(const Row& row) const;
  [[nodiscard]] double chosen_rows_height(int ranks) const;
  [[nodiscard]] double frame_below() const;

  // scene_rows.cpp: ops.
  void collect_marks();
  void add_row_grounds();
  void add_ops();
  void add_entry(const Row& row, const DrawnEntry& entry);
  void add_op(const Row& row, std::size_t at, std::size_t part, std::size_t parts);
  void add_op_label(const Rectangle& box, Op op);
  [[nodiscard]] bool labels_have_letters() const;
  [[nodiscard]] std::string widest_label(bool letters) const;
  std::uint32_t add_title(Rank rank, std::size_t at);
  void add_lane(const Row& row, const TimelineIndex& lane, const std::vector<Mark>& marks);
  void add_merged(const Row& row, const TimelineIndex& lane, const std::vector<Mark>& marks);
  void add_shared_row(const Row& row);
  void add_bar(const Row& row, Span span, const BusyByKind& busy, Ticks capacity, OpKind kind, Colour colour);
  [[nodiscard]] Colour merged_colour(Rank rank, const TimelineIndex& lane, const Mark& mark,
                                     OpKind kind) const;
  [[nodiscard]] Colour plain_colour(Rank rank, OpKind kind) const;
  [[nodiscard]] Colour colour_at(Rank rank, std::size_t at) const;

  // scene_frame.cpp: the parts that can be switched on.
  void add_idle_causes();
  void add_critical_path();
  void measure_memory_curves();
  [[nodiscard]] bool shows_memory() const { return !memory_.empty(); }
  void add_memory();
  void add_memory_strip(const Row& row, const std::vector<MemoryStep>& curve, double bytes_per_pixel);
  void add_memory_peak(const Row& row, const std::vector<MemoryStep>& curve, double bytes_per_pixel);
  [[nodiscard]] std::string peak_label(const std::vector<MemoryStep>& curve) const;

  // scene_frame.cpp: everything around the ops.
  [[nodiscard]] std::vector<LegendItem> legend_items() const;
  void add_kind_items(std::vector<LegendItem>& items) const;
  void add_series_items(std::vector<LegendItem>& items) const;
  void add_own_items(std::vector<LegendItem>& items) const;
  void add_overlay_items(std::vector<LegendItem>& items) const;
  void place_legend();
  void add_legend();
  void add_swatches(const LegendItem& item, double x, double baseline);
  [[nodiscard]] TimeAxis axis_ticks() const;
  void add_grid();
  void add_axis();
  void add_rank_labels();
  void add_title_text();
  void add_results(double from);
  void add_marked_times();

  // Shapes.
  void text(double x, double y, double size, std::string words, Colour colour, Align align, Role role,
            bool bold = false);
  [[nodiscard]] double plot_bottom() const;
  [[nodiscard]] double clipped_x(Ticks time) const;
  [[nodiscard]] const Row* row_of(Rank rank) const;
  [[nodiscard]] Pattern pattern_of(OpKind kind) const;

  const Timeline& timeline_;
  const TimelineIndex& index_;
  std::optional<TimelineIndex> copies_;  // drawn as a strip at the foot of each rank's row
  const SceneOptions& options_;
  const Surface& surface_;
  OpColours colours_;
  Measures measure_;
  RankRows rank_rows_;
  Rank first_rank_;
  Rank last_rank_;                        // one past the last visible
  std::vector<std::vector<Mark>> marks_;  // [row], empty for rows shared by ranks
  bool with_titles_ = false;
  std::vector<std::vector<MemoryStep>> memory_;  // [row], empty unless memory is shown
  std::vector<std::string> captions_;
  std::vector<LegendItem> legend_;
  std::vector<std::pair<double, int>> legend_places_;  // x, line
  int legend_lines_ = 0;
  Scene scene_;
};

}  // namespace pipeloom::draw
