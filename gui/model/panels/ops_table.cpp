#include "gui/model/panels/ops_table.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include <pipeloom/schedule.hpp>
#include "gui/model/run/build_run.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

constexpr std::size_t kMostRows = ~std::uint32_t{0};

}  // namespace

std::string_view name_of(OpColumn column) {
  constexpr std::string_view kNames[] = {"rank",       "op",    "kind",     "stage",
                                         "microbatch", "start", "duration", "slack"};
  return kNames[static_cast<std::size_t>(column)];
}

std::string narrowed_to(const std::string& text, Ticks low, Ticks high, bool last, TimeUnit unit) {
  std::string range =
      "dur>=" + format_ticks(low, unit) + (last ? " dur<=" : " dur<") + format_ticks(high, unit);
  if (text.find_first_not_of(' ') == std::string::npos) return range;
  // Only "or" binds less than standing side by side.
  const bool loose = text.find("or") != std::string::npos || text.find("OR") != std::string::npos;
  return (loose ? "(" + text + ")" : text) + " " + range;
}

std::size_t OpsTable::num_rows() const {
  if (!run_) return 0;
  return rows_ ? rows_->size() : run_->timeline.start.size();
}

OpRow OpsTable::row(std::size_t i) const {
  const std::size_t in_order = reversed_ ? num_rows() - 1 - i : i;
  const std::size_t position = position_of(order_.empty() ? in_order : order_[in_order]);
  const std::size_t num_ops = run_->schedule->num_ops();
  const std::size_t index = position % num_ops;
  OpRow row{position,
            run_->schedule->rank_of_op(index),
            static_cast<int>(position / num_ops),
            run_->schedule->ops()[index],
            run_->timeline.start[position],
            run_->timeline.end[position],
            std::nullopt};
  if (slack_known() && position < slack_->size()) row.slack = (*slack_)[position];
  return row;
}

std::optional<std::size_t> OpsTable::find_row(std::size_t position) const {
  std::size_t at = position;
  if (rows_) {
    const auto found = std::lower_bound(rows_->begin(), rows_->end(), position);
    if (found == rows_->end() || *found != position) return std::nullopt;
    at = static_cast<std::size_t>(found - rows_->begin());
  }
  if (at >= num_rows()) return std::nullopt;
  if (!order_.empty())
    at = static_cast<std::size_t>(std::find(order_.begin(), order_.end(), static_cast<std::uint32_t>(at)) -
                                  order_.begin());
  return reversed_ ? num_rows() - 1 - at : at;
}

void OpsTable::sort_by(OpColumn column) {
  if (column_ != column) return sort(column, false);
  if (!descending_) return sort(column, true);
  sort(std::nullopt, false);
}

void OpsTable::sort(std::optional<OpColumn> column, bool descending) {
  column_ = column;
  descending_ = descending;
  order_wanted_ = true;
}

void OpsTable::follow(Session& session) {
  auto& search = session.part<SearchModel>();
  const RunPtr now = session.active_run() == nullptr ? nullptr : session.runs[session.active].run;
  if (now == run_ && search.revision() == search_revision_) return;
  if (now != run_) {
    slack_ = nullptr;
    slack_under_way_ = false;
  }
  run_ = now;
  search_revision_ = search.revision();
  rows_ = run_ ? search.found(run_->id) : nullptr;
  order_.clear();
  reversed_ = false;
  order_wanted_ = column_.has_value();
  stats_stale_ = true;
  if (!run_) stats_ = nullptr;
}

void OpsTable::submit_sort(Session& session) {
  order_wanted_ = false;
  // Positions are already in the order of steps, ranks and queues.
  const bool in_order = !column_ || (column_ == OpColumn::Rank && run_ && run_->timeline.steps == 1);
  if (!run_ || in_order || num_rows() > kMostRows) {
    session.jobs.cancel("sort");
    sorting_ = false;
    order_.clear();
    reversed_ = column_ == OpColumn::Rank && descending_;
    return;
  }
  sorting_ = true;
  session.jobs.submit("sort",
                      [&session, run = run_, rows = rows_, column = *column_, descending = descending_,
                       slack = slack_](const Cancelled& cancelled) -> Jobs::Finish {
                        const std::vector<Ticks> none;
                        auto order = std::make_shared<std::vector<std::uint32_t>>(
                            sorted_rows(*run, rows, column, slack ? *slack : none, cancelled));
                        return [&session, run, rows, descending, order] {
                          auto& table = session.part<OpsTable>();
                          table.sorting_ = false;
                          if (table.run_ != run || table.rows_ != rows) return;
                          table.order_ = std::move(*order);
                          table.reversed_ = descending;
                        };
                      });
}

void OpsTable::submit_stats(Session& session) {
  counting_ = true;
  stats_stale_ = false;
  session.jobs.submit(
      "durations", [&session, run = run_, rows = rows_](const Cancelled& cancelled) -> Jobs::Finish {
        auto stats = std::make_shared<const DurationStats>(duration_stats(*run, rows, cancelled));
        return [&session, stats] {
          auto& table = session.part<OpsTable>();
          table.counting_ = false;
          table.stats_ = stats;
        };
      });
}

void OpsTable::submit_slack(Session& session) {
  slack_under_way_ = true;
  session.jobs.submit("slack of ops", [&session, run = run_](const Cancelled&) -> Jobs::Finish {
    auto slack = std::make_shared<const std::vector<Ticks>>(run_slack(*run));
    return [&session, run, slack] {
      auto& table = session.part<OpsTable>();
      if (table.run_ != run) return;
      table.slack_ = slack;
      if (table.column_ == OpColumn::Slack) table.order_wanted_ = true;
    };
  });
}

bool OpsTable::update(Session& session) {
  const RunPtr before = run_;
  follow(session);
  bool changed = run_ != before;
  if ((wants_slack_ || column_ == OpColumn::Slack) && run_ && !slack_ && !slack_under_way_)
    submit_slack(session);
  wants_slack_ = false;
  if (order_wanted_ && !(column_ == OpColumn::Slack && slack_under_way_ && !slack_)) {
    submit_sort(session);
    changed = true;
  }
  if (stats_wanted_ && stats_stale_ && run_) submit_stats(session);
  stats_wanted_ = false;
  return changed;
}

std::string OpsTable::text(std::size_t first, std::size_t last, char separator) const {
  if (!run_) return "";
  const TimeUnit unit = run_->timeline.unit;
  const bool steps = run_->timeline.steps > 1;
  std::string out;
  const auto cell = [&](const std::string& value, bool last_one = false) {
    out += value;
    out += last_one ? '\n' : separator;
  };
  cell("rank");
  if (steps) cell("step");
  for (const char* name : {"op", "kind", "stage", "microbatch", "start", "end"}) cell(name);
  cell("duration", !slack_known());
  if (slack_known()) cell("slack", true);
  for (std::size_t i = first; i < std::min(last, num_rows()); ++i) {
    const OpRow r = row(i);
    cell(std::to_string(r.rank.value()));
    if (steps) cell(std::to_string(r.step));
    cell(to_text(r.op));
    cell(std::string(1, letter_of(r.op.kind())));
    cell(std::to_string(r.op.stage().value()));
    cell(std::to_string(r.op.microbatch().value()));
    cell(format_ticks(r.start, unit));
    cell(format_ticks(r.end, unit));
    cell(format_ticks(r.end - r.start, unit), !slack_known());
    if (slack_known()) cell(r.slack ? format_ticks(*r.slack, unit) : "", true);
  }
  return out;
}

void OpsTable::write_kinds(io::JsonWriter& out) const {
  const auto time = [&](auto ticks) {
    return static_cast<double>(ticks) / static_cast<double>(ticks_per(run_->timeline.unit));
  };
  std::map<char, const KindDurations*> by_letter;
  for (const OpKind kind : kAllOpKinds)
    if (stats_->of[index_of(kind)].count > 0) by_letter[letter_of(kind)] = &stats_->of[index_of(kind)];
  out.object();
  for (const auto& [letter, durations] : by_letter)
    out.key(std::string(1, letter))
        .object()
        .member("count", durations->count)
        .member("max", time(durations->most))
        .member("mean", time(durations->mean()))
        .member("median", time(durations->median))
        .member("p95", time(durations->p95))
        .member("total", time(durations->total))
        .close();
  out.close();
}

void OpsTable::write_state(const Session&, io::JsonWriter& out) const {
  const auto write_name = [&](const char* key, std::size_t position) {
    const OpRow r = row(position);
    out.member(key, std::to_string(r.rank.value()) + "/" + to_text(r.op));
  };
  const bool counted = stats_ && run_;
  out.object().member("descending", descending_);
  num_rows() > 0 ? write_name("first", 0) : void(out.key("first").null());
  out.key("kinds");
  counted ? write_kinds(out) : void(out.null());
  num_rows() > 0 ? write_name("last", num_rows() - 1) : void(out.key("last").null());
  out.key("outliers");
  counted ? out.number(stats_->num_outliers) : out.null();
  out.member("rows", num_rows()).key("sort");
  column_ ? out.text(name_of(*column_)) : out.null();
  out.close();
}

// The order of rows.

namespace {

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

/// Least digit first, each pass stable: passes in which all keys have the same digit are left out. The price is random access to keys, so
/// that keys are not copied: ten million of them would be 80 MB twice.
template <class Key>
std::vector<std::uint32_t> radix_order(std::size_t n, const Cancelled& cancelled, Key&& key) {
  std::vector<std::uint32_t> order(n);
  std::uint64_t all_or = 0;
  std::uint64_t all_and = ~std::uint64_t{0};
  for (std::size_t i = 0; i < n; ++i) {
    order[i] = static_cast<std::uint32_t>(i);
    all_or |= key(i);
    all_and &= key(i);
  }
  const std::uint64_t varying = all_or & ~all_and;
  std::vector<std::uint32_t> next(varying == 0 ? 0 : n);
  for (unsigned shift = 0; shift < 64 && (varying >> shift) != 0 && !cancelled; shift += kDigitBits) {
    if ((varying >> shift) % kDigits == 0) continue;
    std::array<std::size_t, kDigits + 1> begin{};
    const auto digit = [&](std::uint32_t i) { return static_cast<std::size_t>(key(i) >> shift) % kDigits; };
    for (std::uint32_t i = 0; i < n; ++i) ++begin[digit(i) + 1];
    for (std::size_t d = 1; d <= kDigits; ++d) begin[d] += begin[d - 1];
    for (const std::uint32_t i : order) next[begin[digit(i)]++] = i;
    order.swap(next);
  }
  return order;
}

/// A key that sorts ops as their texts read: by stage, kind, microbatch, slice.
std::uint64_t text_key(Op op) {
  return static_cast<std::uint64_t>(op.stage().at()) << 40U | static_cast<std::uint64_t>(op.kind()) << 36U |
         static_cast<std::uint64_t>(op.microbatch().at()) << 16U | static_cast<std::uint64_t>(op.slice());
}

std::uint64_t time_key(Ticks ticks) {
  // Times of ops that did not run are negative: they come first.
  return static_cast<std::uint64_t>(ticks) ^ (std::uint64_t{1} << 63U);
}

}  // namespace

std::vector<std::uint32_t> sorted_rows(const RunModel& run, const Found& rows, OpColumn column,
                                       const std::vector<Ticks>& slack, const Cancelled& cancelled) {
  const Timeline& timeline = run.timeline;
  const Schedule& schedule = *run.schedule;
  const auto ops = schedule.ops();
  const std::size_t num_ops = std::max<std::size_t>(ops.size(), 1);
  const std::size_t n = rows ? rows->size() : timeline.start.size();
  const auto position = [&](std::size_t i) { return rows ? (*rows)[i] : i; };
  const auto op = [&](std::size_t i) { return ops[position(i) % num_ops]; };
  const auto by = [&](auto&& key) { return radix_order(n, cancelled, key); };
  switch (column) {
    case OpColumn::Op:
      return by([&](std::size_t i) { return text_key(op(i)); });
    case OpColumn::Kind:
      return by([&](std::size_t i) { return static_cast<std::uint64_t>(op(i).kind()); });
    case OpColumn::Stage:
      return by([&](std::size_t i) { return static_cast<std::uint64_t>(op(i).stage().at()); });
    case OpColumn::Microbatch:
      return by([&](std::size_t i) { return static_cast<std::uint64_t>(op(i).microbatch().at()); });
    case OpColumn::Start:
      return by([&](std::size_t i) { return time_key(timeline.start[position(i)]); });
    case OpColumn::Duration:
      return by(
          [&](std::size_t i) { return time_key(timeline.end[position(i)] - timeline.start[position(i)]); });
    case OpColumn::Slack:
      return by([&](std::size_t i) {
        // Unknown slack comes last.
        const std::size_t p = position(i);
        return p < slack.size() ? time_key(slack[p]) : ~std::uint64_t{0};
      });
    case OpColumn::Rank:
      break;
  }
  return by([&](std::size_t i) {
    return static_cast<std::uint64_t>(schedule.rank_of_op(position(i) % num_ops).at());
  });
}

}  // namespace pipeloom::gui
