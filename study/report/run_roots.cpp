#include "study/report/run_roots.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/costs.hpp>
#include "sim/base/number_text.hpp"
#include "sim/base/tick_sum.hpp"
#include "sim/text.hpp"
#include "study/run/input.hpp"

namespace pipeloom::study {
namespace {

TickSum sum_of(std::span<const RootCause> roots) {
  TickSum sum;
  for (const RootCause& root : roots) sum += root.amount;
  return sum;
}

}  // namespace

std::vector<RootCause> roots_of(const Run& run) {
  if (run.repeated) return run.repeated->roots;
  const std::size_t ops = run.timeline.schedule->num_ops();
  const bool has_idle = !run.idle.empty() || run.costs != nullptr;
  if (run.hang || !has_idle || ops == 0 || ops > kMostReportedRootOps) return {};
  const Costs costs = run.costs ? *run.costs : default_costs(run.timeline.schedule->placement());
  const RootFinder finder(run.timeline, costs);
  return root_causes(finder, run.idle.empty() ? idle_spans_of(run) : run.idle);
}

std::string roots_text(const Schedule& schedule, std::span<const RootCause> roots) {
  const TickSum idle = sum_of(roots);
  std::string text;
  for (std::size_t i = 0; i < std::min(roots.size(), kMostRootsListed); ++i) {
    const double share = share_of(roots[i].amount, idle);
    if (i > 0 && share < kSmallRoot) break;
    text += fmt::format("{}{} ({}{})", i == 0 ? "" : "; ", long_text(roots[i], schedule), percent_text(share),
                        i == 0 ? " of the bubble" : "");
  }
  return text;
}

void write_roots(io::JsonWriter& out, const Schedule& schedule, std::span<const RootCause> roots,
                 TimeUnit unit) {
  const TickSum idle = sum_of(roots);
  out.array();
  for (const RootCause& root : roots) {
    const bool has_op = root.op != RootCause::kNoOp;
    out.object().member("kind", name_of(root.kind)).member("what", long_text(root, schedule));
    out.key("amount").raw(format_ticks(root.amount, unit)).member("share", share_of(root.amount, idle));
    out.member("rank", (has_op ? rank_of(root, schedule) : root.at).value()).key("op");
    has_op ? out.text(to_text(op_of(root, schedule))) : out.null();
    out.close();
  }
  out.close();
}

}  // namespace pipeloom::study
