#include "sim/draw/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include "sim/draw/ansi.hpp"
#include "sim/draw/axis.hpp"
#include "sim/draw/marks.hpp"
#include "sim/draw/op_colours.hpp"
#include "sim/error.hpp"

namespace pipeloom::draw {
namespace {

constexpr int kLeastWidth = 40;
constexpr double kTickGap = 3;
constexpr std::array<const char*, kOpKinds> kKindNames = {
    "forward", "backward", "input gradient", "weight gradient", "recompute", "offload", "reload"};

class TerminalChart {
 public:
  TerminalChart(const Timeline& timeline, const TerminalOptions& options)
      : timeline_(timeline),
        schedule_(*timeline.schedule),
        options_(options),
        index_(timeline),
        colours_(schedule_, options.theme, options.colour_by),
        width_(std::max(options.width, kLeastWidth)),
        coloured_(options.colour != TerminalColour::None) {
    choose_range();
    shown_ = std::min(schedule_.ranks(), std::max(1, options.max_ranks));
    label_width_ = static_cast<int>(rank_label(Rank(shown_ - 1)).size()) + 1;
    choose_columns();
    shows_ops_ = most_ops_fit();
  }

  std::string text() {
    if (!options_.title.empty()) out_ += clipped(options_.title, width_) + "\n";
    for (Rank rank(0); rank.value() < shown_; ++rank) add_row(rank);
    if (shown_ < schedule_.ranks()) out_ += fmt::format("... {} more ranks\n", schedule_.ranks() - shown_);
    add_axis();
    add_legend();
    return std::move(out_);
  }

 private:
  static std::string rank_label(Rank rank) { return fmt::format("rank {}", rank.value()); }

  void choose_range() {
    range_ = options_.range.value_or(index_.span());
    if (options_.range && range_.length() <= 0) {
      throw InputError("the visible range is empty; its end must lie after its start");
    }
    if (range_.length() <= 0) range_.end = range_.start + 1;
  }

  void choose_columns() {
    columns_ = width_ - label_width_;
    // The largest step of which all times are multiples: with whole columns per step, nothing needs rounding.
    Ticks step = range_.length();
    for (Rank rank(0); rank.value() < schedule_.ranks(); ++rank) {
      for (const DrawnEntry& entry : index_.entries(rank)) {
        step = std::gcd(std::gcd(step, entry.start - range_.start), entry.end - entry.start);
        if (range_.length() / step > columns_) return;
      }
    }
    const int steps = static_cast<int>(range_.length() / step);
    // No wider than a label and some room around it: a short schedule need not fill the screen.
    const auto label = static_cast<Ticks>(std::to_string(schedule_.microbatches() - 1).size()) + 3;
    const Ticks enough = std::max<Ticks>(1, (label * step + index_.shortest() - 1) / index_.shortest());
    columns_ = steps * static_cast<int>(std::min<Ticks>(columns_ / steps, enough));
  }

  [[nodiscard]] Ticks edge(int column) const {
    return range_.start + multiply_divide(range_.length(), column, columns_);
  }
  [[nodiscard]] int column_of(Ticks time) const {
    return static_cast<int>(multiply_divide(std::clamp(time, range_.start, range_.end) - range_.start,
                                            columns_, range_.length()));
  }

  [[nodiscard]] int column_before(Ticks time) const {
    int column = column_of(time);
    if (edge(column) > time) --column;
    return column;
  }

  void add_row(Rank rank) {
    std::vector<Cell> cells(static_cast<std::size_t>(columns_), Cell{coloured_ ? " " : ".", {}, {}});
    if (shows_ops_) {
      add_ops(cells, rank);
    } else {
      for (int column = 0; column < columns_; ++column) add_busy_column(cells, rank, column);
      drop_lone_letters(cells);
    }
    out_ += fmt::format("{:<{}}", rank_label(rank), label_width_);
    append_cells(out_, cells, options_.colour);
    out_ += '\n';
  }

  /// Single ops are worth drawing if all but a few are at least a column wide.
  [[nodiscard]] bool most_ops_fit() const {
    const Ticks column = edge(1) - range_.start;
    std::size_t visible = 0;
    std::size_t narrow = 0;
    for (Rank rank(0); rank.value() < shown_; ++rank) {
      for (const DrawnEntry& entry : index_.entries(rank)) {
        if (entry.end <= range_.start || entry.start >= range_.end) continue;
        ++visible;
        if (entry.end - entry.start < column) ++narrow;
      }
    }
    return narrow * 20 <= visible;
  }

  void add_ops(std::vector<Cell>& cells, Rank rank) {
    const auto marks = index_.marks(rank, range_, columns_);
    for (const Mark& mark : marks) {
      if (!mark.merged) add_entry(cells, rank, index_.entries(rank)[mark.first]);
    }
    // The few narrow ones come last, so that none of them vanishes under a wide one.
    for (const Mark& mark : marks) {
      if (mark.merged) add_busy_column(cells, rank, std::min(columns_ - 1, column_before(mark.start)));
    }
  }

  void add_entry(std::vector<Cell>& cells, Rank rank, const DrawnEntry& entry) {
    const int first = column_of(entry.start);
    const int last = std::max(first + 1, column_of(entry.end));
    std::vector<std::string> labels;
    int wanted = 0;
    for (std::size_t i = 0; i < entry.count; ++i) {
      const Op op = op_at(entry.op + i);
      labels.push_back(fmt::format("{}{}", letter_of(op.kind()), op.microbatch().value()));
      wanted += static_cast<int>(labels.back().size());
    }
    const bool grouped = entry.count > 1;
    const bool fits = wanted <= last - first;
    const char fill = coloured_ ? ' ' : grouped ? '=' : '-';
    int column = first;
    for (std::size_t i = 0; i < entry.count; ++i) {
      const Op op = op_at(entry.op + i);
      const int end = part_end(labels, i, first, last, wanted);
      std::string words = fits ? labels[i] : std::string(1, letter_of(op.kind()));
      if (grouped && !fits) words = i == 0 ? "X" : "";
      shows_groups_ = shows_groups_ || (grouped && !(coloured_ && fits));
      for (int at = 0; column < end; ++column, ++at) {
        const auto position = static_cast<std::size_t>(at);
        const char letter = position < words.size() ? words[position] : fill;
        const Colour colour = colours_.of(op, rank);
        cells[static_cast<std::size_t>(std::min(column, columns_ - 1))] = {std::string(1, letter),
                                                                           text_on(colour), colour};
      }
    }
  }

  /// Where part i of a group ends: equal parts if the labels fit these, else as the labels need.
  static int part_end(const std::vector<std::string>& labels, std::size_t i, int first, int last,
                      int wanted) {
    const auto parts = static_cast<int>(labels.size());
    const int length = last - first;
    const int spare = std::max(0, length - wanted);
    int needed = 0;
    for (std::size_t k = 0; k <= i; ++k) needed += static_cast<int>(labels[k].size());
    const int done = static_cast<int>(i) + 1;
    if (wanted > length) return first + (length * done + parts - 1) / parts;
    return done == parts ? last : first + needed + spare * done / parts;
  }

  void add_busy_column(std::vector<Cell>& cells, Rank rank, int column) {
    const Ticks length = edge(column + 1) - edge(column);
    const BusyByKind busy = index_.busy(rank, edge(column), edge(column + 1));
    if (total(busy) == 0) return;
    Cell& cell = cells[static_cast<std::size_t>(column)];
    const auto most = static_cast<std::size_t>(std::max_element(busy.begin(), busy.end()) - busy.begin());
    const Ticks all = total(busy);
    const Colour colour = kind_colour(options_.theme, kAllOpKinds[most]);
    if (all == length && busy[most] == all) {
      cell = {std::string(1, letter_of(kAllOpKinds[most])), text_on(colour), colour};
    } else if (all == length && coloured_ && options_.unicode) {
      // Full: the most frequent kind in the lower part, the next one above it.
      BusyByKind others = busy;
      others[most] = 0;
      const auto next =
          static_cast<std::size_t>(std::max_element(others.begin(), others.end()) - others.begin());
      cell = {level_glyph(busy[most], length, options_.unicode), colour,
              kind_colour(options_.theme, kAllOpKinds[next])};
    } else {
      cell = {level_glyph(all, length, options_.unicode), colour, {}};
    }
    shows_levels_ = shows_levels_ || cell.glyph.front() != letter_of(kAllOpKinds[most]);
  }

  /// In a chart of busy columns a letter marks a stretch of one kind; alone among mixed columns it would be noise.
  void drop_lone_letters(std::vector<Cell>& cells) const {
    const std::vector<Cell> before = cells;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_letter = before[i].glyph.front() >= 'A' && before[i].glyph.front() <= 'Z';
      const bool like_left = i > 0 && before[i - 1].glyph == before[i].glyph;
      const bool like_right = i + 1 < cells.size() && before[i + 1].glyph == before[i].glyph;
      if (is_letter && !like_left && !like_right)
        cells[i] = {level_glyph(1, 1, options_.unicode), before[i].ground, {}};
    }
  }

  [[nodiscard]] Op op_at(std::size_t at) const { return schedule_.ops()[at % schedule_.num_ops()]; }

  void add_axis() {
    const TimeAxis axis =
        fitted_time_axis(range_, timeline_.unit, columns_, kTickGap,
                         [](const std::string& label) { return static_cast<double>(label.size()); });
    std::string line(static_cast<std::size_t>(label_width_), ' ');
    for (const AxisTick& tick : axis.ticks) {
      const auto at = static_cast<std::size_t>(label_width_) + static_cast<std::size_t>(column_of(tick.time));
      if (at < line.size() && line.size() > static_cast<std::size_t>(label_width_)) continue;
      if (at + tick.label.size() > static_cast<std::size_t>(width_)) break;
      line.resize(at, ' ');
      line += tick.label + " ";
    }
    line.pop_back();
    const std::string unit = timeline_.unit == TimeUnit::Unit ? "units" : std::string(name_of(axis.unit));
    if (line.size() + 1 + unit.size() <= static_cast<std::size_t>(width_)) {
      line += " " + unit;
    } else {
      legend_.push_back({{}, "time in " + unit});
    }
    out_ += line + "\n";
  }

  void add_legend() {
    std::vector<LegendCells> items;
    for (const OpKind kind : kAllOpKinds) {
      if (!schedule_.contains(kind)) continue;
      LegendCells item{{}, fmt::format(" {}", kKindNames[index_of(kind)])};
      const bool shades = options_.colour_by == ColourBy::Kind && coloured_;
      for (int shade = 0; shade < (shades ? std::min(colours_.shades(), 4) : 1); ++shade) {
        const Colour colour = kind_colour(options_.theme, kind, shade, colours_.shades());
        Cell cell{std::string(1, letter_of(kind)), {}, {}};
        if (shades) cell = {cell.glyph, text_on(colour), colour};
        item.cells.push_back(cell);
      }
      items.push_back(std::move(item));
    }
    if (shows_groups_) items.push_back({{}, coloured_ ? "X overlapped" : "X or = overlapped"});
    if (shows_levels_)
      items.push_back({{}, options_.unicode ? "\u2581 to \u2588 how busy" : ": + % # how busy"});
    if (!coloured_) items.push_back({{}, ". idle"});
    items.insert(items.end(), legend_.begin(), legend_.end());
    append_legend(out_, items, label_width_, width_, options_.colour);
  }

  const Timeline& timeline_;
  const Schedule& schedule_;
  const TerminalOptions& options_;
  TimelineIndex index_;
  OpColours colours_;
  int width_;
  bool coloured_;
  Span range_;
  int shown_ = 0;
  int label_width_ = 0;
  int columns_ = 0;
  bool shows_ops_ = true;
  bool shows_levels_ = false;
  bool shows_groups_ = false;
  std::vector<LegendCells> legend_;  // what the axis had no room for
  std::string out_;
};

}  // namespace

std::string terminal_chart(const Timeline& timeline, const TerminalOptions& options) {
  return TerminalChart(timeline, options).text();
}

}  // namespace pipeloom::draw
