// Idle time of two runs by cause, and sentences about what differs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <pipeloom/metrics.hpp>
#include "study/compare/compare.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study {
CauseTotals cause_totals(const std::vector<std::vector<IdleSpan>>& idle) {
  CauseTotals out;
  for (const auto& spans : idle) {
    IdleCauses& rank = out.of_rank.emplace_back();
    for (const IdleSpan& span : spans) rank.of(span.cause) += span.end - span.start;
    out.total += rank;
  }
  return out;
}

namespace {

constexpr IdleCause kCauses[] = {IdleCause::Warmup,   IdleCause::Cooldown, IdleCause::Imbalance,
                                 IdleCause::Transfer, IdleCause::Queueing, IdleCause::Memory};

std::string more_or_less(TickSum change, TimeUnit unit) {
  return fmt::format("{} {}", time_text(change < 0 ? -change : change, unit), change < 0 ? "less" : "more");
}

/// The cause whose change goes the way of the whole and is the largest.
IdleCause leading_cause(const CauseSums& a, const CauseSums& b, bool less) {
  IdleCause leading = kCauses[0];
  TickSum most;
  for (const IdleCause cause : kCauses) {
    const TickSum change = less ? a.of(cause) - b.of(cause) : b.of(cause) - a.of(cause);
    if (change > most) {
      most = change;
      leading = cause;
    }
  }
  return leading;
}

}  // namespace

std::string explain_idle(const CauseTotals& a, const CauseTotals& b, TimeUnit unit) {
  const TickSum change = b.total.total() - a.total.total();
  if (change == 0) {
    const IdleCause moved = leading_cause(a.total, b.total, false);
    const TickSum more = b.total.of(moved) - a.total.of(moved);
    if (more == 0) return "idle time is the same";
    return fmt::format("idle time is the same, but {} is {}", name_of(moved), more_or_less(more, unit));
  }
  const IdleCause cause = leading_cause(a.total, b.total, change < 0);
  std::string text = fmt::format("idle time is {}: most of it {}, {}", more_or_less(change, unit),
                                 name_of(cause), more_or_less(b.total.of(cause) - a.total.of(cause), unit));
  if (a.of_rank.size() != b.of_rank.size()) return text;
  std::size_t rank = 0;
  Ticks most = 0;
  for (std::size_t r = 0; r < a.of_rank.size(); ++r) {
    const Ticks own = (b.of_rank[r].of(cause) - a.of_rank[r].of(cause)) * (change < 0 ? -1 : 1);
    if (own > most) {
      most = own;
      rank = r;
    }
  }
  return most == 0 ? text
                   : text + fmt::format(", of which rank {} has {}", rank,
                                        more_or_less(change < 0 ? -most : most, unit));
}

std::vector<CauseChange> cause_changes(const CauseTotals& a, const CauseTotals& b, std::size_t most) {
  std::vector<CauseChange> out;
  if (a.of_rank.size() != b.of_rank.size()) return out;
  for (std::size_t rank = 0; rank < a.of_rank.size(); ++rank)
    for (const IdleCause cause : kCauses)
      if (a.of_rank[rank].of(cause) != b.of_rank[rank].of(cause))
        out.push_back({rank, cause, a.of_rank[rank].of(cause), b.of_rank[rank].of(cause)});
  std::stable_sort(out.begin(), out.end(), [](const CauseChange& x, const CauseChange& y) {
    return std::abs(x.change()) > std::abs(y.change());
  });
  out.resize(std::min(out.size(), most));
  return out;
}

bool same_clock(const Timeline& a, const Timeline& b) {
  return (a.unit == TimeUnit::Unit) == (b.unit == TimeUnit::Unit);
}

std::string clock_difference(const Timeline& a, const Timeline& b) {
  if (same_clock(a, b)) return {};
  const auto said = [](TimeUnit unit) {
    return unit == TimeUnit::Unit ? std::string("abstract units") : std::string(name_of(unit));
  };
  return fmt::format("times cannot be compared: {} here, {} there; set costs.time_unit", said(a.unit),
                     said(b.unit));
}

namespace {

bool has_other_ops(const Schedule& a, const Schedule& b) {
  return std::any_of(std::begin(kAllOpKinds), std::end(kAllOpKinds),
                     [&](OpKind kind) { return a.contains(kind) != b.contains(kind); });
}

/// What would make the two comparable, or why nothing does.
std::string about_work(const Timeline& a, const Timeline& b, double busy_a, double busy_b) {
  const Schedule& one = *a.schedule;
  const Schedule& other = *b.schedule;
  if (one.microbatches() != other.microbatches())
    return fmt::format("{} against {}, which are different steps: give both as many",
                       count_text(static_cast<std::size_t>(one.microbatches()), "microbatch"),
                       other.microbatches());
  if (one.stages() != other.stages()) {
    // As much work for a stage, however many there are: op times were given per stage.
    const bool per_stage =
        same_duration(static_cast<Ticks>(busy_a / one.stages()), static_cast<Ticks>(busy_b / other.stages()));
    if (per_stage)
      return fmt::format(
          "{} stages against {} with the same times: set costs.per to \"model\" (or \"rank\"), so "
          "that both cut one model",
          one.stages(), other.stages());
    return fmt::format("{} stages against {}, and other times: different models, or costs of other machines",
                       one.stages(), other.stages());
  }
  if (has_other_ops(one, other)) return "one has kinds of ops that the other lacks, such as recomputation";
  return "the same ops take other times: another model, machine or measurement";
}

}  // namespace

std::string work_difference(const Timeline& a, const Timeline& b) {
  const TickSum busy_a = facts_of(a).busy;
  const TickSum busy_b = facts_of(b).busy;
  if (same_duration(busy_a, busy_b)) return {};
  return fmt::format("total work differs: {} vs {}; {}", time_text(busy_a, a.unit), time_text(busy_b, a.unit),
                     about_work(a, b, static_cast<double>(busy_a), static_cast<double>(busy_b)));
}

std::vector<std::string> remarks(const Run& a, const Run& b, const OpComparison& ops,
                                 const PairNames& names) {
  std::vector<std::string> lines;
  if (!same_clock(a.timeline, b.timeline)) {
    lines.push_back(clock_difference(a.timeline, b.timeline));
  } else {
    const std::string work = work_difference(a.timeline, b.timeline);
    if (!work.empty()) lines.push_back(work);
    if (!a.idle.empty() && !b.idle.empty())
      lines.push_back(explain_idle(cause_totals(a.idle), cause_totals(b.idle), a.timeline.unit));
  }
  if (const std::string why = different_parts(*a.timeline.schedule, *b.timeline.schedule); !why.empty()) {
    lines.push_back("ops are not compared: " + why);
    return lines;
  }
  lines.push_back(fmt::format("{} in both, {} only in {}, {} only in {}", count_text(ops.matched, "op"),
                              count_text(ops.only_a), names.a, count_text(ops.only_b), names.b));
  return lines;
}

}  // namespace pipeloom::study
