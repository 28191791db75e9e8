#include "study/explain/ops/cause_times.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace pipeloom::study::explain {
namespace {

/// A part's time under causes, over the predicted time of its entry: what factors make of it, and what comes on top.
struct PartTime {
  double scaled = 0;
  double added = 0;
};
PartTime part_time(const Wiring& wiring, std::size_t e, const Part& part, std::span<const OpCause> causes) {
  PartTime time;
  double log_factor = 0;
  for (const OpCause& cause : causes) {
    if (!cause.ops.has(wiring.rank[e], part.op)) continue;
    log_factor += cause.log_factor;
    time.added += cause.added;
  }
  time.scaled = part.share * std::exp(log_factor);
  time.added = wiring.predicted[e] > 0 ? time.added / static_cast<double>(wiring.predicted[e]) : 0;
  return time;
}

}  // namespace

double log_factor_of(const Wiring& wiring, std::size_t e, std::span<const OpCause> causes) {
  if (causes.empty()) return 0;
  double sum = 0;
  for (const Part& part : wiring.parts_of(e)) {
    const PartTime time = part_time(wiring, e, part, causes);
    sum += time.scaled + time.added;
  }
  return std::log(std::max(sum, kLeastLeft));
}

double slope_of(const Wiring& wiring, std::size_t e, std::span<const OpCause> causes, const OpCause& of) {
  double sum = 0;
  double covered = 0;
  for (const Part& part : wiring.parts_of(e)) {
    const PartTime time = part_time(wiring, e, part, causes);
    sum += time.scaled + time.added;
    if (of.ops.has(wiring.rank[e], part.op))
      covered += of.is_added ? of.usual / static_cast<double>(wiring.predicted[e]) : time.scaled;
  }
  return covered / std::max(sum, kLeastLeft);
}

double part_now(const Wiring& wiring, std::size_t e, std::span<const OpCause> causes, const Cover& cover,
                const OpSet& ops) {
  const auto adds = [](const OpCause& cause) { return cause.is_added; };
  if (causes.empty() || (wiring.parts_of(e).size() == 1 && std::none_of(causes.begin(), causes.end(), adds)))
    return cover.part;
  return slope_of(wiring, e, causes, {.ops = ops});
}

double microbatch_log(const Wiring& wiring, std::size_t e, std::span<const OpCause> of_cells,
                      std::span<const OpCause> of_microbatches) {
  if (of_microbatches.empty()) return 0;
  if (wiring.parts_of(e).size() == 1) return log_factor_of(wiring, e, of_microbatches);
  std::vector<OpCause> all(of_cells.begin(), of_cells.end());
  all.insert(all.end(), of_microbatches.begin(), of_microbatches.end());
  return log_factor_of(wiring, e, all) - log_factor_of(wiring, e, of_cells);
}

double of_part(double log_whole, double part) {
  if (part > 0.999) return log_whole;
  return std::log(std::max(1 + std::expm1(log_whole) / part, kLeastLeft));
}
double of_whole(double log_factor, double part) {
  if (part > 0.999) return log_factor;
  return std::log1p(part * std::expm1(log_factor));
}

}  // namespace pipeloom::study::explain
