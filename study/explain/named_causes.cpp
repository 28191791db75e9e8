#include "study/explain/named_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/number_text.hpp"
#include "study/explain/ops/cause_times.hpp"
#include "study/explain/words.hpp"

namespace pipeloom::study::explain {
namespace {

/// Whether the two meet, microbatches apart.
bool share_ops(const Wiring& wiring, const OpCause& a, const OpCause& b) {
  if (a.ops.microbatch || b.ops.microbatch) return false;
  for (std::size_t e = 0; e < wiring.entries(); ++e)
    for (const Part& part : wiring.parts_of(e))
      if (a.ops.has(wiring.rank[e], part.op) && b.ops.has(wiring.rank[e], part.op)) return true;
  return false;
}

/// What some entries take more than predicted: as a factor, and in ticks.
struct MoreTime {
  double least = 1e300;  // of the log factors
  double most = -1e300;
  double ticks = 0;
  double count = 0;

  void add(double log_factor, Ticks predicted) {
    least = std::min(least, log_factor);
    most = std::max(most, log_factor);
    ticks += std::expm1(log_factor) * static_cast<double>(predicted);
    count += 1;
  }
};

/// Whether members of each group take the same factor more.
template <class Key>
bool are_alike(const std::map<Key, MoreTime>& groups) {
  return std::all_of(groups.begin(), groups.end(),
                     [](const auto& group) { return group.second.most - group.second.least < 1e-6; });
}

}  // namespace

std::optional<Ticks> added_by_factor(const Wiring& wiring, const std::vector<OpCause>& all,
                                     const OpCause& found) {
  if (found.is_added || !found.alike || found.ops.microbatch) return std::nullopt;
  for (const OpCause& other : all)
    if (&other != &found && !other.is_added && share_ops(wiring, found, other)) return std::nullopt;
  return std::llround(std::expm1(found.log_factor) * found.usual);
}

std::string seen_apart(const Wiring& wiring, const std::vector<OpCause>& all, const OpCause& found,
                       TimeUnit unit) {
  if (found.ops.kind || (!found.ops.rank && !found.ops.stage)) return {};
  std::vector<OpCause> meeting = {found};
  for (const OpCause& other : all)
    if (&other != &found && share_ops(wiring, found, other)) meeting.push_back(other);
  if (meeting.size() < 2) return {};
  std::map<OpKind, MoreTime> kinds;
  std::map<Stage, MoreTime> stages;
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    const Part& part = wiring.parts_of(e).front();
    if (wiring.predicted[e] == 0 || !found.ops.has(wiring.rank[e], part.op)) continue;
    if (wiring.parts_of(e).size() > 1) return {};
    const double log_factor = log_factor_of(wiring, e, meeting);
    kinds[part.op.kind()].add(log_factor, wiring.predicted[e]);
    stages[part.op.stage()].add(log_factor, wiring.predicted[e]);
  }
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  if (are_alike(kinds)) {
    for (const auto& [kind, more] : kinds) add(more_each(std::llround(more.ticks / more.count), kind, unit));
  } else if (are_alike(stages)) {
    for (const auto& [stage, more] : stages)
      if (more.most != 0)
        add(fmt::format("stage {} by {}", stage.value(), percent_text(std::expm1(more.most))));
  }
  return text;
}

Cause cause_of(const OpCause& found) {
  Cause cause{.kind = CauseKind::Op,
              .rank = found.ops.rank,
              .stage = found.ops.stage,
              .microbatch = found.ops.microbatch,
              .op_kind = found.ops.kind};
  if (found.is_added)
    cause.added = std::llround(found.added);
  else
    cause.factor = std::exp(found.log_factor);
  if (found.ops.rank)
    cause.kind = CauseKind::Rank;
  else if (found.ops.stage)
    cause.kind = CauseKind::Stage;
  else if (found.ops.microbatch)
    cause.kind = CauseKind::Microbatch;
  for (const OpSet& other : found.equivalent) cause.equivalent.push_back(text_of(other));
  return cause;
}

Cause cause_of(const LinkCause& found) {
  Cause cause{.kind = CauseKind::Link, .both_ways = found.both_ways, .added = found.added};
  if (found.link) {
    cause.from = found.link->from;
    cause.to = found.link->to;
  }
  return cause;
}

Cause cause_of(const Wiring& wiring, const Hiccup& found) {
  Cause cause{.kind = CauseKind::Hiccup, .rank = found.rank, .added = Ticks{0}};
  for (const Hiccup::Place& place : found.places) {
    *cause.added += place.longer + place.later;
    cause.ops.push_back(wiring.parts[wiring.part_begin[place.entry]].op);
  }
  return cause;
}

Cause cause_of(const Pause& found) {
  return {.kind = CauseKind::Pause, .rank = found.rank, .added = found.each};
}

}  // namespace pipeloom::study::explain
