#pragma once

// The inside of build_chart_list: one builder, its steps spread over chart_*.cpp. Not for other folders.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "gui/model/chart/op_look.hpp"
#include "gui/model/draw/chart_list.hpp"
#include "sim/tracks/cause_track.hpp"
#include "sim/tracks/op_track.hpp"

namespace pipeloom::gui {

using tracks::MessageLane;
using tracks::OpTrack;
using tracks::Slice;
using tracks::StepSlice;

class ChartListBuilder {
 public:
  ChartListBuilder(Session& session, const ChartLayout& layout, const ChartFonts& fonts, ChartList& list);
  void build();

 private:
  /// A row's strip while it is drawn.
  struct RowLane {
    const ChartRow* row;
    const RunModel* run;
    OpLook look;
    Strip strip;
    Box clip = {};  ///< of the strip, inside the plot
    bool labels = false;
    bool letters = false;
    /// The box that was drawn last: the next op may need a line, or a hole, in front of it.
    Ticks end = -1;
    float x1 = 0;
    Rgba edge = 0;
  };

  // chart_list.cpp: rulers, headings.
  void add_rulers();
  void add_axis(const Box& ruler, TimeUnit unit, const std::vector<Strip>& through);
  [[nodiscard]] Strip body_of(std::size_t block) const;
  void add_titles();
  double add_heading(const ChartBlock& block, const Box& box);
  void add_end(const ChartBlock& block);
  void add_steps(const ChartBlock& block);
  void add_badge(const ChartBlock& block, const Box& box, double title_end);

  // chart_rows.cpp: rows.
  void add_row(const ChartRow& row);
  [[nodiscard]] RowLane lane_of(const ChartRow& row, ChartLane lane) const;

  // chart_legend.cpp
  void add_legend();
  [[nodiscard]] const RunModel* first_run(bool tinted) const;
  [[nodiscard]] bool lacks_slack(const RunModel& run) const;
  void add_legend_entry(const LegendEntry& entry, bool coloured);
  double add_legend_scale(double x, const RunModel& run);
  template <class Draw>
  double add_legend_note(double x, std::string_view text, Draw draw);
  double add_legend_shades(double x);
  void add_legend_signs(double x);

  // chart_list.cpp: left of the rows.
  [[nodiscard]] int place_of(const ChartRow& row) const;
  void add_folded_name(const ChartRow& row);
  void add_headers();
  [[nodiscard]] int name_every(const ChartRow& row) const;
  void add_header_buttons(const ChartRow& row, HeaderButton under);
  void add_scroll_bar();

  // chart_rows.cpp: work and copies.
  void add_ops(RowLane& lane, Lane which);
  void add_waiting(const RowLane& lane);
  [[nodiscard]] bool is_dense(const RowLane& lane, Lane which) const;
  /// False if it is too narrow.
  bool add_op(RowLane& lane, std::size_t op);
  void add_edge(RowLane& lane, Ticks start, float x);
  [[nodiscard]] bool has_room_for_numbers(const RowLane& lane, OpKind kind) const;
  void add_op_label(const RowLane& lane, const Box& box, Op op, Rgba colour);
  void add_hatching(const ChartQuad& quad, OpKind kind, Rgba colour);

  // chart_maps.cpp: dense rows.
  void begin_strips();
  /// Returns the row's texels, those below the quads from `first_quad` on cleared.
  const Rgba* add_dense(const RowLane& lane, Lane which, std::size_t first_quad);
  /// A texel for each bin of a track's row, by the shares and colours of its channels.
  void fill_from(const tracks::Track& track, std::size_t row, std::span<const Rgba> colours, TimeRange range,
                 int bins, HatchedTexel* texels);
  [[nodiscard]] std::span<const float> shares_of(const tracks::Track& track, std::size_t row, TimeRange range,
                                                 int bins);
  void fill_texels(const RowLane& lane, Lane which, TimeRange range, int bins, HatchedTexel* texels);
  [[nodiscard]] StripCache<Rgba, kHatch>::Row key_of(const RowLane& lane, ChartLane which) const;
  void clear_under(Rgba* texels, std::size_t first_quad) const;
  void colour_by_op(const RowLane& lane, Lane which, TimeRange range, int bins, HatchedTexel* texels) const;
  void add_dense_gaps(const RowLane& lane, const Rgba* texels);
  void add_dense_matches(const RowLane& lane, Lane which);
  /// A strip of these texels over the lane; returns the first row of them, in the picture. The others follow, where there are any.
  Rgba* add_strip(const RowLane& lane, const std::vector<Rgba>& planes);
  void add_pieces(const RowLane& lane, double height, int rows);
  /// Pixels of a step of the hatching.
  [[nodiscard]] double hatch_step() const;

  // chart_rows.cpp: gaps, messages.
  void add_gaps(const RowLane& lane);
  [[nodiscard]] static std::span<const IdleSpan> gaps_in(const RowLane& lane, double from, double to);
  [[nodiscard]] bool is_looked_at(const RowLane& lane, const IdleSpan& gap) const;
  void add_gap(const RowLane& lane, const IdleSpan& gap, double from, double to);
  void add_messages(const RowLane& lane, MessageLane which);
  [[nodiscard]] bool add_message_boxes(const RowLane& lane, std::size_t row, std::span<const Rgba> colours);

  /// One rank of a run on the track under the rows.
  struct TrackCurve {
    const ChartBlock* block;
    Rank rank;
    bool active = false;
  };
  // chart_memory.cpp
  void add_memory(const RowLane& lane);
  void add_memory_limit(const RowLane& lane, double per_byte);
  void add_memory_peak(const RowLane& lane, double per_byte, std::size_t bin, Bytes most);
  [[nodiscard]] std::vector<TrackCurve> track_curves();
  void add_memory_track();
  void add_track_curve(const TrackCurve& curve, double per_byte);
  void add_track_words(const TrackCurve& curve);
  void add_track_limit(const TrackCurve& curve, double per_byte);

  // chart_overlays.cpp: shapes on top.
  void add_critical(const ChartBlock& block);
  void add_selection();
  void add_microbatch();
  void add_dependencies();
  void add_waits(const ChartBlock& block);
  [[nodiscard]] double stop_of(const RunModel& run, Rank rank) const;
  void add_wait(const RunModel& run, const WaitNode<Op>& node, bool in_cycle);
  void add_range();
  void add_marks();
  void add_pointer();
  void add_cursor();
  [[nodiscard]] std::string cursor_text() const;
  /// The box of the time cursor's time; no value if it is out of sight.
  [[nodiscard]] std::optional<Box> cursor_pill() const;

  // chart_maps.cpp
  void add_minimap();
  void add_minimap_window(const Box& inner);
  void add_hits(const Box& inner);
  void add_rank_hits();
  void add_overview();
  void begin_map(ChartPicture& picture, const Box& box, std::uint64_t print);
  static void add_map_strips(ChartPicture& picture, const Box& box);
  void add_map_rows(ChartPicture& picture, const ChartBlock& block, int columns, int rows);

  // Shapes.
  [[nodiscard]] float clamp_x(double x) const;
  void quad(std::vector<ChartQuad>& to, const Box& box, Rgba colour);
  void label(std::vector<ChartLabel>& to, double x, double y, std::string_view text, Rgba colour,
             ChartFace face = ChartFace::Small);
  /// Centred in the box, if it fits there with a little air.
  bool label_inside(const Box& box, std::string_view text, Rgba colour);

  Session& session_;
  std::vector<Box> on_ruler_;  ///< of texts at the top of the ruler
  ChartPart& part_;
  const ChartLayout& layout_;
  const ChartFonts& fonts_;
  ChartList& list_;
  ChartInk ink_;
  double scale_;
  double from_ = 0;  ///< visible ticks
  double to_ = 0;
  double pixels_per_tick_ = 0;
  int columns_ = 0;  ///< texels of a strip
  std::optional<Microbatch> hovered_;
  std::vector<float> shares_;
};

}  // namespace pipeloom::gui
