#include "gui/model/panels/range_stats.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <variant>

#include <pipeloom/metrics.hpp>
#include "gui/model/chart/chart_layout.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

constexpr std::size_t kBlock = 64;
/// Ops above which the sums are made in a job.
constexpr std::size_t kSumsNow = 300'000;

/// The part of [start, end) inside of [from, to).
Ticks overlap(Ticks start, Ticks end, Ticks from, Ticks to) {
  return std::max<Ticks>(0, std::min(end, to) - std::max(start, from));
}

/// The first i of [0, size) for which `is` holds; it holds for all behind it too. `size` if there is none.
template <class Is>
std::size_t first_that(std::size_t size, Is&& is) {
  std::size_t low = 0;
  std::size_t high = size;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (is(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

void subtract_causes(IdleCauses& sums, const IdleCauses& less) {
  for (std::size_t i = 0; i < kIdleCauses; ++i)
    sums.of(static_cast<IdleCause>(i)) -= less.of(static_cast<IdleCause>(i));
}

}  // namespace

void RangeTotal::add(const RankRange& rank) {
  busy += rank.busy;
  for (std::size_t k = 0; k < kOpKinds; ++k) busy_of[k] += rank.busy_of[k];
  idle += rank.idle;
  idle_of += rank.idle_of;
  ops += rank.ops;
}

RangeSums::RangeSums(RunPtr run) : run_(std::move(run)) {
  for (int step = 0; step < run_->timeline.steps; ++step)
    for (Rank rank{0}; rank < Rank(run_->ranks()); ++rank) {
      fill(work_.emplace_back(), step, rank, false);
      if (run_->schedule->has_copies()) fill(copies_.emplace_back(), step, rank, true);
    }
  for (const std::vector<IdleSpan>& spans : run_->idle) {
    std::vector<IdleCauses>& before = idle_before_.emplace_back();
    IdleCauses so_far;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (i % kBlock == 0) before.push_back(so_far);
      so_far.of(spans[i].cause) += spans[i].end - spans[i].start;
    }
  }
}

void RangeSums::fill(Lane& lane, int step, Rank rank, bool copies) const {
  const Schedule& schedule = *run_->schedule;
  lane.begin = run_->timeline.index(step, schedule.queue_begin(rank));
  lane.size = schedule.queue(rank).size();
  if (schedule.has_copies()) {
    const auto queue = schedule.queue(rank);
    for (std::size_t i = 0; i < queue.size(); ++i)
      if (is_copy(queue[i].kind()) == copies) lane.order.push_back(static_cast<std::uint32_t>(i));
    lane.size = lane.order.size();
  }
  // What did not run (a run that hangs) stands at the end of its queue, at negative times.
  while (lane.size > 0 && run_->timeline.end[lane.at(lane.size - 1)] < 0) --lane.size;
  KindSums so_far{};
  for (std::size_t i = 0; i < lane.size; ++i) {
    if (i % kBlock == 0) lane.before.push_back(so_far);
    so_far[index_of(op_at(*run_, lane.at(i)).kind())] += part_of_op(lane.at(i), 0, kMaxTicks);
  }
}

/// The op's time within [from, to), or its part of that where its group ran as one.
Ticks RangeSums::part_of_op(std::size_t position, Ticks from, Ticks to) const {
  const Timeline& timeline = run_->timeline;
  const Ticks time = overlap(timeline.start[position], timeline.end[position], from, to);
  const DrawnGroup group = group_of(timeline, position);
  const auto count = static_cast<Ticks>(group.last - group.first);
  const auto number = static_cast<Ticks>(position - group.first);
  return time / count + (number < time % count ? 1 : 0);
}

RangeSums::KindSums RangeSums::up_to(const Lane& lane, std::size_t i) const {
  if (i == 0) return {};
  // The block that ends at or behind op i - 1 exists, one that starts at i may not.
  const std::size_t block = (i - 1) / kBlock;
  KindSums sums = lane.before[block];
  for (std::size_t k = block * kBlock; k < i; ++k)
    sums[index_of(op_at(*run_, lane.at(k)).kind())] += part_of_op(lane.at(k), 0, kMaxTicks);
  return sums;
}

/// Adds to busy_of; the number of ops that overlap.
std::size_t RangeSums::add(RankRange& out, const Lane& lane, Ticks from, Ticks to) const {
  const Timeline& timeline = run_->timeline;
  const std::size_t first =
      first_that(lane.size, [&](std::size_t i) { return timeline.end[lane.at(i)] > from; });
  const std::size_t last =
      first_that(lane.size, [&](std::size_t i) { return timeline.start[lane.at(i)] >= to; });
  if (last <= first) return 0;
  const KindSums low = up_to(lane, first);
  const KindSums high = up_to(lane, last);
  for (std::size_t k = 0; k < kOpKinds; ++k) out.busy_of[k] += high[k] - low[k];
  // Ops that stick out at either end count in part.
  const auto cut = [&](std::size_t i) {
    const std::size_t at = lane.at(i);
    out.busy_of[index_of(op_at(*run_, at).kind())] += part_of_op(at, from, to) - part_of_op(at, 0, kMaxTicks);
  };
  std::size_t left = first;
  for (; left < last && timeline.start[lane.at(left)] < from; ++left) cut(left);
  for (std::size_t i = last; i > left && timeline.end[lane.at(i - 1)] > to; --i) cut(i - 1);
  return last - first;
}

IdleCauses RangeSums::idle_up_to(std::size_t rank, std::size_t i) const {
  if (i == 0) return {};
  const std::size_t block = (i - 1) / kBlock;
  IdleCauses sums = idle_before_[rank][block];
  for (std::size_t k = block * kBlock; k < i; ++k) {
    const IdleSpan& span = run_->idle[rank][k];
    sums.of(span.cause) += span.end - span.start;
  }
  return sums;
}

IdleCauses RangeSums::idle_in(std::size_t rank, Ticks from, Ticks to) const {
  const std::vector<IdleSpan>& spans = run_->idle[rank];
  const std::size_t first = first_that(spans.size(), [&](std::size_t i) { return spans[i].end > from; });
  const std::size_t last = first_that(spans.size(), [&](std::size_t i) { return spans[i].start >= to; });
  IdleCauses sums;
  if (last <= first) return sums;
  sums = idle_up_to(rank, last);
  subtract_causes(sums, idle_up_to(rank, first));
  // Gaps do not overlap, so only the first and the last can stick out.
  sums.of(spans[first].cause) -= std::max<Ticks>(0, from - spans[first].start);
  sums.of(spans[last - 1].cause) -= std::max<Ticks>(0, spans[last - 1].end - to);
  return sums;
}

RankRange RangeSums::of(Rank rank, Ticks from, Ticks to) const {
  RankRange out;
  for (std::size_t lane = rank.at(); lane < work_.size(); lane += static_cast<std::size_t>(run_->ranks())) {
    out.ops += add(out, work_[lane], from, to);
    if (!copies_.empty()) add(out, copies_[lane], from, to);
  }
  for (const OpKind kind : kAllOpKinds)
    if (!is_copy(kind)) out.busy += out.busy_of[index_of(kind)];
  out.idle = std::max<Ticks>(0, overlap(run_->span().start, run_->span().end, from, to) - out.busy);
  if (rank.at() < run_->idle.size()) out.idle_of = idle_in(rank.at(), from, to);
  return out;
}

// RangeStats

const RangeSums* RangeStats::sums_of(Session& session, const RunPtr& run) {
  if (sums_ != nullptr && sums_->run().id == run->id) return sums_.get();
  sums_.reset();
  if (run->timeline.start.size() <= kSumsNow) {
    sums_ = std::make_shared<const RangeSums>(run);
    return sums_.get();
  }
  if (under_way_ == run->id) return nullptr;
  under_way_ = run->id;
  session.jobs.submit("range", [this, run](const Cancelled&) -> Jobs::Finish {
    auto sums = std::make_shared<const RangeSums>(run);
    return [this, sums] {
      sums_ = sums;
      under_way_ = 0;
    };
  });
  return nullptr;
}

const std::vector<RankRange>* RangeStats::of_range(Session& session) {
  if (!session.range || session.active >= session.runs.size()) return nullptr;
  const RunPtr& run = session.runs[session.active].run;
  if (range_ == session.range && run_ == run->id) return &ranks_;
  const RangeSums* sums = sums_of(session, run);
  if (sums == nullptr) return nullptr;
  range_ = session.range;
  run_ = run->id;
  ranks_.clear();
  total_ = {};
  for (Rank rank{0}; rank < Rank(run->ranks()); ++rank)
    total_.add(ranks_.emplace_back(sums->of(rank, range_->start, range_->end)));
  return &ranks_;
}

bool RangeStats::update(Session& session) {
  // The sums hold their run: a closed one must go.
  if (sums_ != nullptr && session.find_run(sums_->run().id) == nullptr) sums_.reset();
  return false;
}

void RangeStats::write_state(const Session& session, io::JsonWriter& out) const {
  const RunModel* run = session.active_run();
  if (!session.range || run == nullptr || range_ != session.range || run_ != run->id) {
    out.null();
    return;
  }
  const auto time = [&](Ticks ticks) { return to_double(ticks, run->timeline.unit); };
  out.array();
  for (const RankRange& rank : ranks_) {
    std::map<std::string_view, std::variant<double, std::uint64_t>> row = {
        {"busy", time(rank.busy)}, {"idle", time(rank.idle)}, {"ops", rank.ops}};
    for (std::size_t i = 0; i < kIdleCauses; ++i) {
      const auto cause = static_cast<IdleCause>(i);
      row[name_of(cause)] = time(rank.idle_of.of(cause));
    }
    out.object();
    for (const auto& [name, number] : row)
      std::visit([&, name = name](auto shown) { out.member(name, shown); }, number);
    out.close();
  }
  out.close();
}

std::string to_text(const RunModel& run, const std::vector<RankRange>& ranks) {
  std::string text = "rank\tbusy";
  for (const OpKind kind : kAllOpKinds)
    if (run.schedule->contains(kind)) text += std::string("\t") + letter_of(kind);
  text += "\tidle";
  for (std::size_t i = 0; i < kIdleCauses; ++i)
    text += "\t" + std::string(name_of(static_cast<IdleCause>(i)));
  text += "\tops\n";
  const auto add = [&](Ticks ticks) { text += "\t" + format_ticks(ticks, run.timeline.unit); };
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    text += std::to_string(rank);
    add(ranks[rank].busy);
    for (const OpKind kind : kAllOpKinds)
      if (run.schedule->contains(kind)) add(ranks[rank].busy_of[index_of(kind)]);
    add(ranks[rank].idle);
    for (std::size_t i = 0; i < kIdleCauses; ++i) add(ranks[rank].idle_of.of(static_cast<IdleCause>(i)));
    text += "\t" + std::to_string(ranks[rank].ops) + "\n";
  }
  return text;
}

}  // namespace pipeloom::gui
