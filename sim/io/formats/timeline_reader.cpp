#include "sim/io/formats/timeline_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include <pipeloom/schedule.hpp>
#include "sim/base/table_size.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/formats/queue_reader.hpp"
#include "sim/io/formats/timeline_rows.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::io {
namespace {

std::string_view first_line(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  return text.substr(0, text.find('\n'));
}

bool has(std::string_view line, std::string_view word) {
  return line.find(word) != std::string_view::npos;
}

bool is_jsonl(std::string_view line) {
  if (!line.starts_with('{') || !has(line, "}")) return false;
  return (has(line, "\"rank\"") && has(line, "\"op\"")) ||
         (has(line, "\"time_unit\"") && (!has(line, ",") || has(line, "\"partial\"")));
}

bool is_csv(std::string_view line) {
  return !line.starts_with('{') && has(line, "rank") && has(line, "op") && has(line, "start") &&
         has(line, "end");
}

/// The form of `simulate --json`: schema_version leads, the tool follows, and the timeline, if there is one, comes last.
bool is_report(std::string_view text) {
  const std::string_view head = text.substr(0, 200);
  return text.starts_with('{') && has(head, "\"schema_version\"") &&
         (has(head, "\"tool\"") || has(text, "\"timeline\""));
}

/// Rows of one rank and step.
using RowSpan = std::span<const TimelineRow>;

bool is_group(const TimelineRow& a, const TimelineRow& b) {
  if (b.is_joined) return true;
  return a.start == b.start && a.end == b.end && a.end > a.start && !is_copy(a.op.kind()) &&
         !is_copy(b.op.kind());
}

/// Sorts rows into steps, ranks and time, and finds the rows of each step and rank.
class Sorted {
 public:
  Sorted(std::vector<TimelineRow> rows, std::string name) : rows_(std::move(rows)), name_(std::move(name)) {
    if (rows_.empty())
      throw InputError(Where{name_},
                       "the file has no rows; a timeline has one for each op: give one that `pipeloom "
                       "convert` or `run -o` has written");
    // Stable: ops that take no time stay in the order of the file.
    std::stable_sort(rows_.begin(), rows_.end(), [](const TimelineRow& a, const TimelineRow& b) {
      if (a.step != b.step) return a.step < b.step;
      if (a.rank != b.rank) return a.rank < b.rank;
      return a.start < b.start;
    });
    steps_ = rows_.back().step + 1;
    require_rows_for("step", rows_.back(), steps_);
    const auto last_rank =
        std::max_element(rows_.begin(), rows_.end(),
                         [](const TimelineRow& a, const TimelineRow& b) { return a.rank < b.rank; });
    ranks_ = last_rank->rank + 1;
    require_rows_for("rank", *last_rank, ranks_);
  }

  [[nodiscard]] int steps() const { return steps_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<TimelineRow>& rows() const { return rows_; }

  /// Calls fn(step, rank, rows) in order; rows of a rank without ops are empty.
  template <class Fn>
  void for_each(Fn&& fn) const {
    std::size_t at = 0;
    for (int step = 0; step < steps_; ++step)
      for (int rank = 0; rank < ranks_; ++rank) {
        const std::size_t begin = at;
        while (at < rows_.size() && rows_[at].step == step && rows_[at].rank == rank) ++at;
        fn(step, rank, RowSpan(rows_).subspan(begin, at - begin));
      }
  }

 private:
  /// Every step and every rank has a row at least. `row` has the largest number of all.
  void require_rows_for(std::string_view what, const TimelineRow& row, int count) const {
    if (static_cast<std::size_t>(count) <= rows_.size()) return;
    throw InputError(
        Where{name_, static_cast<int>(row.line), 1},
        fmt::format("{0} {1} takes {2} {0}s of a row at least, but the file has {3}; add the rows "
                    "that are missing, or correct the number",
                    what, count - 1, count, count_of_rows()));
  }
  [[nodiscard]] std::string count_of_rows() const {
    return fmt::format("{} row{}", rows_.size(), rows_.size() == 1 ? "" : "s");
  }

  std::vector<TimelineRow> rows_;
  std::string name_;
  int steps_ = 0;
  int ranks_ = 0;
};

void require_one_after_another(RowSpan rows, const std::string& name) {
  const TimelineRow* before = nullptr;
  for (const TimelineRow& row : rows) {
    if (is_copy(row.op.kind())) continue;
    if (before != nullptr && row.start < before->end && (row.is_joined || !is_group(*before, row)))
      throw InputError(Where{name, static_cast<int>(row.line), 1},
                       fmt::format("{} starts before {} of the same rank has ended; only ops that start and "
                                   "end together may overlap: correct one of the times",
                                   to_text(row.op), to_text(before->op)));
    before = &row;
  }
}

void add_queue(QueueReader& queues, RowSpan rows, const std::string& name) {
  queues.begin_rank();
  std::vector<Op> group;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    group.push_back(rows[i].op);
    if (i + 1 < rows.size() && is_group(rows[i], rows[i + 1])) continue;
    queues.add(group, Where{name, static_cast<int>(rows[i].line), 1});
    group.clear();
  }
}

Schedule schedule_of(const Sorted& sorted, const std::string& name) {
  QueueReader queues(Where{name});
  sorted.for_each([&](int step, int, RowSpan rows) {
    if (step == 0) add_queue(queues, rows, name);
  });
  return queues.build(queues.infer());
}

/// Op -> index, rank by rank, for steps whose order differs from the first.
class OpIndex {
 public:
  explicit OpIndex(const Schedule& schedule) : schedule_(&schedule) {}
  /// num_ops() if the rank has no such op.
  std::size_t of(Op op, Rank rank) {
    if (rank.value() != rank_) fill(rank);
    const auto found = index_.find(op.key());
    return found == index_.end() ? schedule_->num_ops() : found->second;
  }

 private:
  void fill(Rank rank) {
    rank_ = rank.value();
    index_.clear();
    for (std::size_t i = schedule_->queue_begin(rank); i < schedule_->queue_end(rank); ++i)
      index_.emplace(schedule_->ops()[i].key(), i);
  }
  const Schedule* schedule_;
  int rank_ = -1;
  std::unordered_map<std::uint64_t, std::size_t> index_;
};

void keep_last_step(std::vector<TimelineRow>& rows) {
  std::int32_t last = 0;
  for (const TimelineRow& row : rows) last = std::max(last, row.step);
  rows.erase(
      std::remove_if(rows.begin(), rows.end(), [last](const TimelineRow& row) { return row.step != last; }),
      rows.end());
  for (TimelineRow& row : rows) row.step = 0;
}

constexpr Ticks kUnset = -1;

/// Puts the rows of one rank and step where the schedule has the ops.
class Filler {
 public:
  Filler(Timeline& timeline, Ticks origin, std::string name)
      : timeline_(&timeline), index_(*timeline.schedule), origin_(origin), name_(std::move(name)) {}

  void fill(int step, Rank rank, RowSpan rows) {
    const Schedule& schedule = *timeline_->schedule;
    const std::size_t begin = schedule.queue_begin(rank);
    const std::size_t count = schedule.queue_end(rank) - begin;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const TimelineRow& row = rows[k];
      std::size_t op = begin + k;
      if (k >= count || !(schedule.ops()[op] == row.op)) op = index_.of(row.op, rank);
      if (op == schedule.num_ops())
        fail(row,
             fmt::format("step 0 has no {} on rank {}, and every step runs the same ops; add it there, or "
                         "leave this one out",
                         to_text(row.op), rank.value()));
      const std::size_t at = timeline_->index(step, op);
      if (timeline_->start[at] != kUnset)
        fail(row, fmt::format("{} stands twice in step {}; leave one of them out", to_text(row.op), step));
      timeline_->start[at] = row.start - origin_;
      timeline_->end[at] = row.end - origin_;
    }
    if (rows.size() != count)
      throw InputError(
          Where{name_, rows.empty() ? 0 : static_cast<int>(rows[rows.size() - 1].line), rows.empty() ? 0 : 1},
          fmt::format("rank {} has {} ops in step {}, but {} in step 0; every step runs the same ops: "
                      "complete it, or leave the step out",
                      rank.value(), rows.size(), step, count));
  }

 private:
  [[noreturn]] void fail(const TimelineRow& row, const std::string& what) const {
    throw InputError(Where{name_, static_cast<int>(row.line), 1}, what);
  }
  Timeline* timeline_;
  OpIndex index_;
  Ticks origin_;
  std::string name_;
};

}  // namespace

bool looks_like_timeline(std::string_view text) {
  const std::string_view line = first_line(text);
  return is_jsonl(line) || is_csv(line) || is_report(text);
}

bool says_unit(std::string_view text) {
  const std::string_view line = first_line(text);
  if (is_jsonl(line)) return has(line, "\"time_unit\"");
  return !is_csv(line);
}

std::string failure_of_partial(std::string_view text) {
  const std::string_view line = first_line(text);
  if (!is_jsonl(line) || !has(line, "\"partial\"")) return {};
  return read_jsonl_rows(line, "", TimeUnit::Unit).partial;
}

TimelineFile timeline_of(TimelineRows read, const std::string& name) {
  const Sorted sorted(std::move(read.rows), name);
  TimelineFile out;
  Timeline& timeline = out.timeline;
  timeline.schedule = std::make_shared<const Schedule>(schedule_of(sorted, name));
  timeline.steps = sorted.steps();
  timeline.unit = read.unit;
  Ticks origin = kMaxTicks;
  for (const TimelineRow& row : sorted.rows()) origin = std::min(origin, row.start);
  timeline.start.assign(table_size(timeline.schedule->num_ops(), timeline.steps), kUnset);
  timeline.end = timeline.start;
  Filler filler(timeline, origin, name);
  sorted.for_each([&](int step, int rank, RowSpan rows) {
    require_one_after_another(rows, name);
    filler.fill(step, Rank(rank), rows);
  });
  if (!read.rounded.empty()) out.warnings.push_back(read.rounded);
  return out;
}

TimelineFile read_timeline(std::string_view text, const std::string& name, TimeUnit unit, Partial partial) {
  const std::string_view line = first_line(text);
  TimelineRows read = is_csv(line)      ? read_csv_rows(text, name, unit)
                      : is_report(text) ? read_report_rows(text, name)
                                        : read_jsonl_rows(text, name, unit);
  if (!read.partial.empty()) {
    if (partial == Partial::Refuse)
      throw InputError(Where{name, 1, 1},
                       fmt::format("the run that wrote it failed ({}), so only some of its ops are here; "
                                   "`pipeloom convert` draws how far it got",
                                   shortened(read.partial, 256)));
    keep_last_step(read.rows);
  }
  return timeline_of(std::move(read), name);
}

}  // namespace pipeloom::io
