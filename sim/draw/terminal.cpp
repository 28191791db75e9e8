#include "sim/draw/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/base/tick_sum.hpp"
#include "sim/draw/ansi.hpp"
#include "sim/draw/axis.hpp"
#include "sim/draw/op_colours.hpp"
#include "sim/draw/rows.hpp"
#include "sim/draw/words.hpp"
#include "sim/kinds.hpp"
#include "sim/tracks/marks.hpp"

namespace pipeloom::draw {
namespace {

using tracks::BusyByKind;
using tracks::DrawnEntry;
using tracks::Mark;
using tracks::TimelineIndex;

constexpr int kLeastWidth = 20;
constexpr int kLegendWidth = 16;  // of its longest words, without indent
constexpr double kTickColumns = 3;

class TerminalChart {
 public:
  TerminalChart(const Timeline& timeline, const TerminalOptions& options)
      : timeline_(timeline),
        schedule_(*timeline.schedule),
        options_(options),
        index_(timeline),
        copies_(timeline, Lane::Copies),
        colours_(schedule_, options.theme, options.colour_by),
        width_(options.width),
        coloured_(options.colour != TerminalColour::None) {
    choose_range();
    shown_ = std::min(schedule_.ranks(), std::max(1, options.max_ranks));
    label_width_ = static_cast<int>(rank_label(Rank(shown_ - 1)).size()) + 1;
    if (schedule_.has_copies()) label_width_ = std::max(label_width_, 8);
    choose_columns();
    shows_ops_ = most_ops_fit();
  }

  std::string text() {
    if (!options_.title.empty()) out_ += clipped(options_.title, width_) + "\n";
    for (Rank rank(0); rank.value() < shown_; ++rank) {
      add_row(rank_label(rank), rank, index_);
      if (schedule_.has_copies()) add_row(" copies", rank, copies_);
    }
    if (shown_ < schedule_.ranks()) {
      out_ += clipped(fmt::format("... {} more ranks", schedule_.ranks() - shown_), width_) + "\n";
    }
    add_axis();
    add_legend();
    return std::move(out_);
  }

 private:
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
      for (std::size_t i = 0; i < index_.size(rank); ++i) {
        const DrawnEntry entry = index_.entry(rank, i);
        step = std::gcd(std::gcd(step, entry.start - range_.start), entry.end - entry.start);
        if (range_.length() / step > columns_) return;
      }
    }
    const int steps = static_cast<int>(range_.length() / step);
    // No wider than a label and some room around it: a short schedule need not fill the screen.
    const auto label = static_cast<Ticks>(std::to_string(schedule_.microbatches() - 1).size()) + 3;
    const TickSum::Wide enough =
        (TickSum::times(step, label).value() + index_.shortest() - 1) / index_.shortest();
    columns_ = steps * static_cast<int>(std::min<TickSum::Wide>(columns_ / steps, enough));
  }

  [[nodiscard]] Ticks edge(int column) const { return tracks::Bins{range_, columns_}.edge(column); }
  [[nodiscard]] int column_of(Ticks time) const {
    return static_cast<int>(multiply_divide(std::clamp(time, range_.start, range_.end) - range_.start,
                                            columns_, range_.length()));
  }

  [[nodiscard]] int column_before(Ticks time) const {
    int column = column_of(time);
    if (edge(column) > time) --column;
    return column;
  }

  void add_row(const std::string& label, Rank rank, const TimelineIndex& lane) {
    std::vector<Cell> cells(static_cast<std::size_t>(columns_), Cell{coloured_ ? " " : ".", {}, {}});
    if (shows_ops_) {
      add_ops(cells, rank, lane);
    } else {
      for (int column = 0; column < columns_; ++column) add_busy_column(cells, rank, lane, column);
      drop_lone_letters(cells);
    }
    out_ += fmt::format("{:<{}}", label, label_width_);
    append_cells(out_, cells, options_.colour);
    out_ += '\n';
  }

  /// Single ops are worth drawing if all but a few are at least a column wide.
  [[nodiscard]] bool most_ops_fit() const {
    const Ticks column = edge(1) - range_.start;
    std::size_t visible = 0;
    std::size_t narrow = 0;
    for (Rank rank(0); rank.value() < shown_; ++rank) {
      for (std::size_t i = 0; i < index_.size(rank); ++i) {
        const DrawnEntry entry = index_.entry(rank, i);
        if (entry.end <= range_.start || entry.start >= range_.end) continue;
        ++visible;
        if (entry.end - entry.start < column) ++narrow;
      }
    }
    return narrow * 20 <= visible;
  }

  void add_ops(std::vector<Cell>& cells, Rank rank, const TimelineIndex& lane) {
    const auto marks = lane.marks(rank, range_, columns_);
    for (const Mark& mark : marks) {
      if (!mark.merged) add_entry(cells, rank, lane.entry(rank, mark.first));
    }
    // The few narrow ones come last, so that none of them vanishes under a wide one.
    for (const Mark& mark : marks) {
      if (mark.merged) add_busy_column(cells, rank, lane, std::min(columns_ - 1, column_before(mark.start)));
    }
  }

  void add_entry(std::vector<Cell>& cells, Rank rank, const DrawnEntry& entry) {
    const int first = column_of(entry.start);
    const int last = std::max(first + 1, column_of(entry.end));
    const std::vector<Op> ops = ops_of(entry);
    const std::string words =
        ops.size() > 1 ? group_label(ops, last - first) : op_label(ops[0], last - first);
    const char fill = coloured_ ? ' ' : ops.size() > 1 ? '=' : '-';
    for (int column = first; column < last; ++column) {
      const auto at = static_cast<std::size_t>(column - first);
      // Ops of a group share the columns evenly, by colour alone.
      const Colour colour = colours_.of(ops[at * ops.size() / static_cast<std::size_t>(last - first)], rank);
      cells[static_cast<std::size_t>(std::min(column, columns_ - 1))] = {
          std::string(1, at < words.size() ? words[at] : fill), text_on(colour), colour};
    }
  }

  /// "F5" where it fits, else "F".
  [[nodiscard]] static std::string op_label(Op op, int columns) {
    const std::string label = letter_of(op.kind()) + op_number(op);
    return label.size() <= static_cast<std::size_t>(columns) ? label : label.substr(0, 1);
  }

  /// "X5/1" for F5 with B1 where it fits, else "X": one label for the whole group.
  std::string group_label(const std::vector<Op>& ops, int columns) {
    std::string label = "X";
    std::string meaning;
    for (const Op op : ops) {
      label += fmt::format("{}{}", label.size() > 1 ? "/" : "", op.microbatch().value());
      meaning += fmt::format("{}{}{}", meaning.empty() ? "" : " with ", letter_of(op.kind()),
                             op.microbatch().value());
    }
    shows_groups_ = true;
    if (label.size() > static_cast<std::size_t>(columns)) return "X";
    if (group_example_.empty()) group_example_ = fmt::format(": {} is {}", label, meaning);
    return label;
  }

  void add_busy_column(std::vector<Cell>& cells, Rank rank, const TimelineIndex& lane, int column) {
    const Ticks length = edge(column + 1) - edge(column);
    const BusyByKind busy = lane.busy(rank, edge(column), edge(column + 1));
    if (tracks::total(busy) == 0) return;
    Cell& cell = cells[static_cast<std::size_t>(column)];
    const auto most = static_cast<std::size_t>(std::max_element(busy.begin(), busy.end()) - busy.begin());
    const Ticks all = tracks::total(busy);
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

  /// Forwards before backwards.
  [[nodiscard]] std::vector<Op> ops_of(const DrawnEntry& entry) const {
    std::vector<Op> ops;
    for (const std::size_t at : stacked_ops(schedule_, entry))
      ops.push_back(schedule_.ops()[at % schedule_.num_ops()]);
    return ops;
  }

  void add_axis() {
    const TimeAxis axis =
        fitted_time_axis(range_, timeline_.unit, columns_, kTickColumns,
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
    const std::string unit = std::string(unit_words(axis.unit));
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
      LegendCells item{{}, fmt::format(" {}", words_of(kind))};
      const bool shades = options_.colour_by == ColourBy::Kind && coloured_;
      for (int shade = 0; shade < (shades ? std::min(colours_.shades(), 4) : 1); ++shade) {
        const Colour colour = kind_colour(options_.theme, kind, shade, colours_.shades());
        Cell cell{std::string(1, letter_of(kind)), {}, {}};
        if (shades) cell = {cell.glyph, text_on(colour), colour};
        item.cells.push_back(cell);
      }
      items.push_back(std::move(item));
    }
    if (shows_groups_) items.push_back({{}, "X overlapped" + group_example_});
    if (shows_levels_)
      items.push_back({{}, options_.unicode ? "\u2581 to \u2588 how busy" : ": + % # how busy"});
    if (!coloured_) items.push_back({{}, ". idle"});
    items.insert(items.end(), legend_.begin(), legend_.end());
    const int indent = width_ - label_width_ >= kLegendWidth ? label_width_ : 0;
    append_legend(out_, items, indent, width_, options_.colour);
  }

  const Timeline& timeline_;
  const Schedule& schedule_;
  const TerminalOptions& options_;
  TimelineIndex index_;
  TimelineIndex copies_;
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
  std::string group_example_;        // meaning of the first labelled group, for the legend
  std::vector<LegendCells> legend_;  // cells that the axis had no room for
  std::string out_;
};

}  // namespace

std::string terminal_chart(const Timeline& timeline, const TerminalOptions& options) {
  if (options.width < kLeastWidth) {
    return clipped(fmt::format("needs {} columns", kLeastWidth), std::max(0, options.width)) + "\n";
  }
  return TerminalChart(timeline, options).text();
}

}  // namespace pipeloom::draw
