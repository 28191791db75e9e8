#include "sim/io/traces/rank_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/kinds.hpp"

namespace pipeloom::io {

std::string text_of_last(const RankTrace& rank) {
  const auto last = std::max_element(rank.ops.begin(), rank.ops.end(),
                                     [](const TraceOp& a, const TraceOp& b) { return a.start < b.start; });
  if (last == rank.ops.end()) return {};
  std::string text(1, letter_of(last->kind));
  if (last->stage != kUnknown) text += fmt::format(" of stage {}", last->stage);
  if (last->stage == kUnknown && last->chunk != kUnknown) text += fmt::format(" of chunk {}", last->chunk);
  if (last->microbatch != kUnknown) text += fmt::format(", microbatch {}", last->microbatch);
  return text;
}

OpName name_of_op(const TraceOp& op) {
  return {op.kind, op.stage, op.chunk, op.microbatch, op.slice};
}

namespace {

bool is_backward_part(OpKind kind) {
  return kind == OpKind::Backward || kind == OpKind::BackwardInput || kind == OpKind::BackwardWeight;
}

using OpSpan = std::pair<Ops::const_iterator, Ops::const_iterator>;

/// Up to where no op comes for a second time.
Ops::const_iterator end_of_step(Ops::const_iterator at, Ops::const_iterator end) {
  std::set<OpName> seen;
  while (at != end && seen.insert(name_of_op(*at)).second) ++at;
  return at;
}

/// True if each forward of these ops has a backward behind it and the other way round.
bool is_closed(OpSpan ops) {
  using Pass = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
  std::set<Pass> open, done;
  for (auto op = ops.first; op != ops.second; ++op) {
    const Pass pass{op->stage, op->chunk, op->microbatch, op->slice};
    if (op->kind == OpKind::Forward)
      open.insert(pass);
    else if (is_backward_part(op->kind) && open.erase(pass) == 0 && !done.contains(pass))
      return false;
    if (is_backward_part(op->kind)) done.insert(pass);
  }
  return open.empty();
}

/// Where the first whole step begins: a recording may have started in the middle of one. `ops` repeat at `repeat` for the first time. Steps begin with
/// a forward of the first microbatch nearly always; where no such place gives a step that goes backward for each forward, the first op does.
Ops::const_iterator first_whole_step(const Ops& ops, Ops::const_iterator repeat) {
  std::int32_t lowest = kMaxIndex;
  for (const TraceOp& op : ops)
    if (op.kind == OpKind::Forward) lowest = std::min(lowest, op.microbatch);
  int tries = 0;
  constexpr int kMostTries = 64;
  for (auto at = ops.begin(); at != repeat && tries < kMostTries; ++at) {
    if (at->kind != OpKind::Forward || at->microbatch != lowest) continue;
    ++tries;
    if (is_closed({at, end_of_step(at, ops.end())})) return at;
  }
  return ops.begin();
}

/// Microbatches that nobody named count up by kind and chunk. Such ops are of one step: nothing tells the next one.
bool number_microbatches(Ops& ops) {
  std::map<OpName, std::int32_t> next;
  bool any = false;
  for (TraceOp& op : ops) {
    if (op.stage == kUnknown && op.chunk == kUnknown) op.chunk = 0;
    if (op.microbatch != kUnknown) continue;
    any = true;
    op.microbatch = next[name_of_op(op)]++;
  }
  return any;
}

}  // namespace

RankSteps::RankSteps(RankTrace& rank) : rank_(rank.rank), file_(rank.file) {
  std::stable_sort(rank.ops.begin(), rank.ops.end(), [](const TraceOp& a, const TraceOp& b) {
    return std::tie(a.step, a.start) < std::tie(b.step, b.start);
  });
  const bool is_marked = !rank.ops.empty() && rank.ops.back().step != kUnknown;
  for (auto at = rank.ops.begin(); at != rank.ops.end();) {
    const auto end =
        std::find_if(at, rank.ops.end(), [at](const TraceOp& op) { return op.step != at->step; });
    if (is_marked && at->step == kUnknown)
      num_unmarked_ = static_cast<std::size_t>(end - at);
    else
      split(Ops(at, end));
    at = end;
  }
  for (const auto& [name, ops] : steps_)
    if (whole_ == nullptr || ops.size() > whole_->size()) whole_ = &ops;
  if (whole_ != nullptr) names_ = names_of(*whole_);
}

bool RankSteps::is_whole(StepName name) const {
  const auto found = steps_.find(name);
  return found != steps_.end() && found->second.size() == names_.size() && names_of(found->second) == names_;
}

std::size_t RankSteps::count_in(StepName name) const {
  const auto found = steps_.find(name);
  return found == steps_.end() ? 0 : found->second.size();
}

std::vector<OpName> RankSteps::names_of(const Ops& ops) {
  std::vector<OpName> names;
  for (const TraceOp& op : ops) names.push_back(name_of_op(op));
  std::sort(names.begin(), names.end());
  return names;
}

void RankSteps::split(Ops ops) {
  const std::int32_t mark = ops.front().step;
  if (number_microbatches(ops)) {
    steps_.emplace(StepName{mark, 0}, std::move(ops));
    return;
  }
  auto end = end_of_step(ops.cbegin(), ops.cend());
  auto at = end == ops.cend() ? ops.cbegin() : first_whole_step(ops, end);
  if (at != ops.cbegin()) steps_.emplace(StepName{mark, kUnknown}, Ops(ops.cbegin(), at));
  for (std::int32_t count = 0; at != ops.cend(); at = end, ++count) {
    end = end_of_step(at, ops.cend());
    steps_.emplace(StepName{mark, count}, Ops(at, end));
  }
}

}  // namespace pipeloom::io
