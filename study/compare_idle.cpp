// Idle time of two runs by cause, and sentences about what differs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/compare.hpp"

namespace pipeloom::study {
CauseTotals cause_totals(const std::vector<std::vector<IdleSpan>>& idle) {
  CauseTotals out;
  for (const auto& spans : idle) {
    IdleCauses& rank = out.of_rank.emplace_back();
    for (const IdleSpan& span : spans) {
      rank.of(span.cause) += span.end - span.start;
      out.total.of(span.cause) += span.end - span.start;
    }
  }
  return out;
}

namespace {

constexpr IdleCause kCauses[] = {IdleCause::Warmup,   IdleCause::Cooldown, IdleCause::Imbalance,
                                 IdleCause::Transfer, IdleCause::Queueing, IdleCause::Memory};

std::string more_or_less(Ticks change, TimeUnit unit) {
  return fmt::format("{} {}{}", format_ticks(std::abs(change), unit),
                     unit == TimeUnit::Unit ? "" : fmt::format("{} ", name_of(unit)),
                     change < 0 ? "less" : "more");
}

/// The cause whose change goes the way of the whole and is the largest.
IdleCause leading_cause(const IdleCauses& a, const IdleCauses& b, bool less) {
  IdleCause leading = kCauses[0];
  Ticks most = 0;
  for (const IdleCause cause : kCauses) {
    const Ticks change = (b.of(cause) - a.of(cause)) * (less ? -1 : 1);
    if (change > most) {
      most = change;
      leading = cause;
    }
  }
  return leading;
}

}  // namespace

std::string explain_idle(const CauseTotals& a, const CauseTotals& b, TimeUnit unit) {
  const Ticks change = b.total.total() - a.total.total();
  if (change == 0) {
    const IdleCause moved = leading_cause(a.total, b.total, false);
    const Ticks more = b.total.of(moved) - a.total.of(moved);
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

std::string work_difference(const Timeline& a, const Timeline& b) {
  const Ticks busy_a = facts_of(a).busy;
  const Ticks busy_b = facts_of(b).busy;
  if (same_duration(busy_a, busy_b)) return {};
  return fmt::format("total work differs: {} vs {}; set costs.per", format_ticks(busy_a, a.unit),
                     format_ticks(busy_b, a.unit));
}

}  // namespace pipeloom::study
