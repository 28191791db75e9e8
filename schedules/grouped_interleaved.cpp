// Grouped interleaving, GIS and GIS-H: interleaved 1F1B whose warm-up is cut to what the order needs, so that it holds
// no more than 1F1B (GIS, groups of p microbatches) or (v + 1)/(2v) of that (GIS-H, groups of ceil(p/2)).
//
// Source: Wan et al., "PipeOffload" (2025, arXiv 2503.01328), grouped interleaving. The order is a building block of
// one group, repeated (interleaved_order.hpp has its rows); after the warm-up a rank runs I and W of one row, then the
// forward g(v - 1) + p - r rows on. A last group that is short leaves its missing rows out of a full group's order.
//
// p = 4, m = 8, v = 2, g = 4 (GIS); F takes one column (two characters), I and W too; small letters are chunk 1:
//
//   rank 0  F0F1F2F3f0f1f2f3      i0w0F4i1w1F5i2w2F6i3w3F7I0W0f4I1W1f5I2W2f6I3W3f7i4w4  i5w5  i6w6  i7w7I4W4I5W5I6W6I7W7
//   rank 1    F0F1F2F3f0f1f2    i0w0f3i1w1F4i2w2F5i3w3F6I0W0F7I1W1f4I2W2f5I3W3f6i4w4f7i5w5  i6w6  i7w7I4W4I5W5I6W6I7W7
//   rank 2      F0F1F2F3f0f1  i0w0f2i1w1f3i2w2F4i3w3F5I0W0F6I1W1F7I2W2f4I3W3f5i4w4f6i5w5f7i6w6  i7w7I4W4I5W5I6W6I7W7
//   rank 3        F0F1F2F3f0i0w0f1i1w1f2i2w2f3i3w3F4I0W0F5I1W1F6I2W2F7I3W3f4i4w4f5i5w5f6i6w6f7i7w7I4W4I5W5I6W6I7W7
//
// The same with g = 2 (GIS-H):
//
//   rank 0  F0F1    f0f1F2F3      i0w0  f2i1w1f3I0W0F4I1W1F5i2w2f4i3w3f5I2W2F6I3W3F7i4w4f6i5w5f7I4W4I5W5  i6w6  i7w7I6W6I7W7
//   rank 1    F0F1    f0f1F2    i0w0F3i1w1f2I0W0f3I1W1F4i2w2F5i3w3f4I2W2f5I3W3F6i4w4F7i5w5f6I4W4f7I5W5  i6w6  i7w7I6W6I7W7
//   rank 2      F0F1    f0f1  i0w0F2i1w1F3I0W0f2I1W1f3i2w2F4i3w3F5I2W2f4I3W3f5i4w4F6i5w5F7I4W4f6I5W5f7i6w6  i7w7I6W6I7W7
//   rank 3        F0F1    f0i0w0f1i1w1F2I0W0F3I1W1f2i2w2f3i3w3F4I2W2F5I3W3f4i4w4f5i5w5F6I4W4F7I5W5f6i6w6f7i7w7I6W6I7W7
//
// Requires: any p, m, v; ceil(p/2) <= g <= p. A smaller group does not last until its forwards have reached the last
// rank and the next chunk can start.
//
// Closed forms, equal stages, no transfers, F, I and W per chunk pass, g divides m: makespan (= max_window)
// m v(F + I + W) + (p - 1)(F + I) + (v - 1)(p - g)(F + I - W) if g = p, or F = I = W, or 2g = p, F = I and W <= F.
// peak_live min(m v, g(v - 1) + p - r) chunk passes if g divides m or m >= 2g.

#include <fmt/format.h>

#include <algorithm>

#include "schedules/closed_form.hpp"
#include "schedules/interleaved_order.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

/// ceil(p / 2)
int half_group(const Params& params) {
  return params.ranks - params.ranks / 2;
}

/// g: the given value, else p for GIS and ceil(p/2) for GIS-H.
int group_of(const Params& params) {
  if (params.options.group_size) return params.options.group_size->largest();
  return params.options.variant == "gis-h" ? half_group(params) : params.ranks;
}

/// Rows of the building block by the rows that exist: a last group that is short has gaps where microbatches are
/// missing.
class BlockRows {
 public:
  BlockRows(const Params& params, int group)
      : group_(group),
        short_group_(params.microbatches % group),
        full_rows_(static_cast<std::int64_t>(params.microbatches - short_group_) * params.chunks) {}

  /// The row of the building block that the t-th existing one is.
  [[nodiscard]] std::int64_t row(std::size_t t) const {
    const auto at = static_cast<std::int64_t>(t);
    if (at < full_rows_) return at;
    const std::int64_t in_last = at - full_rows_;
    return full_rows_ + in_last / short_group_ * group_ + in_last % short_group_;
  }

 private:
  int group_;
  int short_group_;         ///< microbatches of the last group, 0 if it is full
  std::int64_t full_rows_;  ///< rows of the full groups
};

Schedule emit(const Params& given) {
  Params params = given;
  params.options.group_size = group_of(given);
  const int p = params.ranks;
  const int m = params.microbatches;
  const int v = params.chunks;
  const int g = group_of(given);

  const InterleavedOrder order(params);
  const BlockRows rows(params, g);
  ScheduleBuilder out(loop_placement(params), m);
  out.reserve(op_count(p * v, m, 3));
  for (Rank rank{0}; rank < Rank(p); ++rank) {
    out.begin_rank(rank);
    const std::int64_t lead = std::int64_t{g} * (v - 1) + p - rank.value();
    std::size_t next = 0;
    for (std::size_t t = 0; t < order.length(); ++t) {
      // 1. F of all rows before row t + lead               g(v - 1) + p - r in front, then one
      const std::int64_t until = rows.row(t) + lead;
      for (; next < order.length() && rows.row(next) < until; ++next) out.add(order.forward(next, rank));
      // 2. I and W of row t                                m v times
      out.add(order.backward_input(t, rank));
      out.add(order.backward_weight(t, rank));
    }
  }
  return std::move(out).build();
}

bool accepts(const Params& params) {
  const int g = group_of(params);
  return g >= half_group(params) && g <= params.ranks;
}

std::string reason(const Params& params) {
  if (accepts(params)) return "";
  return fmt::format(
      "breaks the rule of groups: at least half of the ranks, {}, so that a group's forwards reach the "
      "last rank before its next chunk starts, and at most {}, which is all that helps",
      half_group(params), params.ranks);
}

/// m v(F + I + W) + (p - 1)(F + I) + (v - 1)(p - g)(F + I - W)
Value makespan(const Params& params, const UniformCosts& costs, Rank) {
  const std::int64_t p = params.ranks;
  const std::int64_t v = params.chunks;
  const std::int64_t g = group_of(params);
  const Ticks f = costs.forward;
  const Ticks i = costs.backward_input;
  const Ticks w = costs.backward_weight;
  const bool holds = g == p || (f == i && (i == w || (2 * g == p && w <= f)));
  if (!holds || params.microbatches % g != 0) return std::nullopt;
  return params.microbatches * v * (f + i + w) + (p - 1) * (f + i) + (v - 1) * (p - g) * (f + i - w);
}

Value peak_live(const Params& params, Rank rank) {
  const std::int64_t m = params.microbatches;
  const std::int64_t v = params.chunks;
  const std::int64_t g = group_of(params);
  if (m % g != 0 && m < 2 * g) return std::nullopt;
  return std::min(m * v, g * (v - 1) + params.ranks - rank.value());
}

std::vector<ClosedForm> closed_forms() {
  const std::string formula =
      "m v(F + I + W) + (p - 1)(F + I) + (v - 1)(p - g)(F + I - W), F, I and W per chunk";
  const std::string condition =
      "equal stages, no transfers, m a multiple of g; g = p, or F = I = W, or 2g = p, F = I and W <= F";
  return {
      time_form("makespan", formula, condition, makespan),
      time_form("max_window", formula, condition, makespan),
      order_form("peak_live", "min(m v, g (v - 1) + p - r)", "m a multiple of g, or m >= 2g", peak_live),
  };
}

}  // namespace

Generator grouped_interleaved() {
  return {
      .name = "grouped-interleaved",
      .aliases = {{.name = "gis", .dialect = "PipeOffload"},
                  {.name = "gis-h",
                   .dialect = "PipeOffload",
                   .defaults =
                       [](Params& params) {
                         if (params.options.variant.empty()) params.options.variant = "gis-h";
                       }}},
      .summary = "interleaved-1f1b with 1f1b's memory (gis), or (v + 1)/(2v) of it (gis-h)",
      .source = "Wan et al. 2025, PipeOffload, arXiv 2503.01328",
      .when_to_use =
          "Interleaving where interleaved-1f1b runs out of memory. options.group_size = g, from ceil(p/2) "
          "to p, trades idle time for memory: rank 0 holds g(v - 1) + p chunk passes.",
      .requirements = {.max_chunks = kMaxIndex,
                       .default_chunks = 2,
                       .splits_backward = true,
                       .takes = {Option::GroupSize},
                       .equal_groups = true,
                       .variants = {"gis", "gis-h"},
                       .text = "group_size from half of the ranks, rounded up, to all of them"},
      .closed_forms = closed_forms(),
      .placement = loop_placement,
      .emit = whatever_the_costs(emit),
      .predicate = reason,
      .accepts = accepts,
      .default_group_size = group_of,
      .period = [](const Params& params) { return params.chunks == 1 ? 1 : group_of(params); },
  };
}

}  // namespace pipeloom::schedules
