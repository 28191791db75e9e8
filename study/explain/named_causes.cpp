#include "study/explain/named_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "sim/base/number_text.hpp"
#include "sim/kinds.hpp"
#include "study/explain/ops/op_candidates.hpp"

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

namespace {

constexpr std::array<std::string_view, kCauseKinds> kNames = {
    "rank",  "stage",  "microbatch", "op",    "link",  "message_time",
    "order", "hiccup", "pause",      "costs", "noise", "unexplained"};

constexpr std::size_t kMostListed = 6;

/// Four digits, the unit behind it.
std::string time_text(Ticks ticks, TimeUnit unit) {
  const std::string number = fmt::format("{:.4g}", to_double(ticks, unit));
  return unit == TimeUnit::Unit ? number : fmt::format("{} {}", number, name_of(unit));
}

/// The first few of `list`, as `write` has them, and how many more there are.
template <class List, class Write>
std::string listed(const List& list, Write&& write) {
  std::string text;
  for (std::size_t i = 0; i < list.size() && i < kMostListed; ++i)
    text += (i == 0 ? "" : ", ") + write(list[i]);
  if (list.size() > kMostListed) text += fmt::format(" and {} more", list.size() - kMostListed);
  return text;
}

/// "is slower by 15.0 %", "is slower by 15.0 %, 1.5 ms an op", "takes 1.5 ms more an op".
std::string slower(const Cause& cause, TimeUnit unit) {
  if (!cause.factor)
    return fmt::format("takes {} {} an op", time_text(std::abs(*cause.added), unit),
                       *cause.added < 0 ? "less" : "more");
  const double more = *cause.factor - 1;
  std::string text =
      fmt::format("is {} by {}", more >= 0 ? "slower" : "faster", percent_text(std::abs(more)));
  if (cause.each) text += fmt::format(", {} an op", time_text(std::abs(*cause.each), unit));
  return text;
}

std::string link_text(const Cause& cause, TimeUnit unit) {
  const char* const sign = *cause.added < 0 ? "less" : "more";
  const std::string time = time_text(std::abs(*cause.added), unit);
  if (!cause.from) return fmt::format("every message takes {} {} on its way", time, sign);
  return fmt::format("each message from rank {} to {}{} takes {} {}", cause.from->value(), cause.to->value(),
                     cause.both_ways ? " and back" : "", time, sign);
}

std::string hiccup_text(const Cause& cause, TimeUnit unit) {
  return fmt::format("rank {} lost {} at {}", cause.rank->value(), time_text(*cause.added, unit),
                     listed(cause.ops, [](Op op) { return to_text(op); }));
}

std::string pause_text(const Cause& cause, TimeUnit unit) {
  const std::string who = cause.rank ? fmt::format("rank {}", cause.rank->value()) : "every rank";
  return fmt::format("{} is idle between ops, {} each", who, time_text(*cause.added, unit));
}

std::string costs_text(const Cause& cause) {
  const std::size_t small = cause.equivalent.size();
  if (small == 0) return "predicted costs that are wrong";
  return fmt::format("predicted costs that are wrong, and {} {} too small to name", small,
                     small == 1 ? "cause" : "causes");
}

}  // namespace

std::string_view name_of(CauseKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

std::string text_of(const OpSet& ops) {
  std::string text;
  if (ops.rank) text = fmt::format("rank {}", ops.rank->value());
  if (ops.stage) text = fmt::format("stage {}", ops.stage->value());
  if (ops.microbatch) text = fmt::format("microbatch {}", ops.microbatch->value());
  if (!ops.kind) return text.empty() ? "every op" : text;
  const std::string letter(1, letter_of(*ops.kind));
  return text.empty() ? fmt::format("every {}", letter) : fmt::format("{} of {}", letter, text);
}

std::string text_of(const Cause& cause, TimeUnit unit) {
  switch (cause.kind) {
    case CauseKind::Rank:
    case CauseKind::Stage:
    case CauseKind::Microbatch:
    case CauseKind::Op:
      return fmt::format("{} {}", text_of(OpSet{cause.rank, cause.stage, cause.microbatch, cause.op_kind}),
                         slower(cause, unit));
    case CauseKind::Link:
      return link_text(cause, unit);
    case CauseKind::MessageTime:
      return fmt::format("each message takes {} {} of its sender and of its receiver",
                         time_text(std::abs(*cause.added), unit), *cause.added < 0 ? "less" : "more");
    case CauseKind::Order:
      return fmt::format("the order of ops differs on rank {}",
                         listed(cause.ranks, [](Rank rank) { return fmt::format("{}", rank.value()); }));
    case CauseKind::Hiccup:
      return hiccup_text(cause, unit);
    case CauseKind::Pause:
      return pause_text(cause, unit);
    case CauseKind::Costs:
      return costs_text(cause);
    case CauseKind::Noise:
      return "noise of single ops";
    case CauseKind::Unexplained:
      break;
  }
  return "not explained";
}

std::string more_each(Ticks ticks, OpKind kind, TimeUnit unit) {
  return fmt::format("{} {} each {}", time_text(std::abs(ticks), unit), ticks < 0 ? "less" : "more",
                     letter_of(kind));
}

std::string clock_warning(Ticks uncertain, TimeUnit unit) {
  return fmt::format(
      "messages arrive before they leave: the clocks of the ranks were aligned by their messages, to within "
      "{}; "
      "amounts sum to the aligned step",
      time_text(uncertain, unit));
}

}  // namespace pipeloom::study::explain
