// Times and factors of single ops that the input gives, as a table or as exceptions.

#include "sim/cost/exceptions.hpp"

#include <fmt/format.h>

#include "sim/cost/source.hpp"

namespace pipeloom::cost {
namespace {

/// Passes that a time is divided among.
int passes_of(Per per, const Placement& placement) {
  return per == Per::Stage ? 1 : per == Per::Rank ? placement.chunks() : placement.stages();
}

void require_within(const CostRow& row, const std::optional<std::int32_t>& index, int count,
                    const char* what) {
  if (!index || *index < count) return;
  throw InputError(row.where,
                   fmt::format("the cost names {} {}, but the schedule's are 0 to {}; change it, or "
                               "leave it out to name all",
                               what, *index, count - 1));
}

void require_times_of_groups(const CostRow& row, const CostSpec& spec) {
  if (!row.of_group || (spec.overlap && spec.overlap->rule == OverlapRule::Explicit)) return;
  throw InputError(
      row.where,
      "\"overlapped\" is the time of single overlapped pairs, but costs.overlapped gives no times "
      "of the others; give it a number, an array or \"pairs\", or leave the row out");
}

void require_fits(const CostRow& row, const Shape& shape) {
  require_within(row, row.rank, shape.placement->ranks(), "rank");
  require_within(row, row.stage, shape.placement->stages(), "stage");
  require_within(row, row.microbatch, shape.microbatches, "microbatch");
  if (shape.slices > 0) require_within(row, row.slice, shape.slices, "slice");
}

OpCost op_cost(const CostRow& row) {
  OpCost out;
  for (const OpKind kind : kAllOpKinds)
    if (!row.kind || *row.kind == kind) out.kinds.add(kind);
  if (row.rank) out.rank = Rank(*row.rank);
  if (row.stage) out.stage = Stage(*row.stage);
  if (row.microbatch) out.microbatch = Microbatch(*row.microbatch);
  out.slice = row.slice;
  out.of_group = row.of_group;
  if (row.is_factor)
    out.factor = row.number;
  else
    out.duration = row.number;
  return out;
}

}  // namespace

CostRows rows_per_pass(const CostRows& rows, Per per, const Placement& placement) {
  const int passes = passes_of(per, placement);
  if (rows == nullptr || passes == 1) return rows;
  auto out = std::make_shared<std::vector<CostRow>>(*rows);
  for (CostRow& row : *out)
    if (!row.is_factor) row.number = multiply_divide(row.number, 1, passes);
  return out;
}

std::optional<Stated> exceptions(const CostSpec& spec, const Shape& shape, const Stated& /*known*/) {
  Stated out;
  for (const CostRows& rows : {spec.table, spec.exceptions}) {
    const CostRows per_pass = rows_per_pass(rows, spec.per, *shape.placement);
    if (per_pass == nullptr) continue;
    for (const CostRow& row : *per_pass) {
      require_fits(row, shape);
      require_times_of_groups(row, spec);
      out.ops.push_back(op_cost(row));
    }
  }
  if (out.ops.empty()) return std::nullopt;
  return out;
}

}  // namespace pipeloom::cost
