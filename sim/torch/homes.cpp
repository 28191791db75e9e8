#include "sim/torch/homes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace pipeloom::torch {

Homes::Homes(const Schedule& schedule)
    : stages_(static_cast<std::size_t>(schedule.stages())),
      slices_(static_cast<std::size_t>(schedule.slices())),
      units_(static_cast<std::size_t>(schedule.units())) {
  const Placement& placement = schedule.placement();
  rank_of_slot_.reserve(static_cast<std::size_t>(placement.slots()));
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) rank_of_slot_.push_back(placement.rank_of(slot));
  if (placement.replicas() == 1) return;
  replicas_.reserve(static_cast<std::size_t>(schedule.microbatches()));
  for (Microbatch k{0}; k < Microbatch(schedule.microbatches()); ++k)
    replicas_.push_back(static_cast<std::uint8_t>(schedule.replica_of(k).value()));
}

Homes::Homes(std::vector<Rank> rank_of_stage, int microbatches)
    : stages_(rank_of_stage.size()),
      units_(static_cast<std::size_t>(microbatches)),
      rank_of_slot_(std::move(rank_of_stage)) {}

namespace {

constexpr std::string_view kStep = "Step ";

/// The texts of a row's cells.
std::vector<std::string> cell_texts(std::span<const Action> row) {
  std::vector<std::string> cells;
  for_each_cell(row, [&](std::size_t first, std::size_t last) {
    cells.push_back(cell_text(row.subspan(first, last - first)));
  });
  return cells;
}

}  // namespace

std::string grid_text(const ActionLists& lists, const GridOptions& options) {
  std::vector<std::vector<std::string>> columns;
  std::size_t steps = 0;
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    columns.push_back(cell_texts(lists.row(rank)));
    steps = std::max(steps, columns.back().size());
  }
  const std::size_t digits = std::to_string(steps == 0 ? 0 : steps - 1).size();
  const std::size_t label = kStep.size() + digits;
  std::vector<std::size_t> widths;
  for (const auto& column : columns) {
    std::size_t width = label;
    for (const auto& cell : column) width = std::max(width, cell.size());
    widths.push_back(width);
  }
  std::string out(label + 2, ' ');
  for (std::size_t r = 0; r < columns.size(); ++r)
    out += fmt::format("{}{:<{}}", r == 0 ? "" : " ", fmt::format("Rank {}", r), widths[r]);
  out += '\n';
  for (std::size_t step = options.first; step < std::min(options.last, steps); ++step) {
    out += fmt::format("{}{:0{}}: ", kStep, step, digits);
    for (std::size_t r = 0; r < columns.size(); ++r)
      out += fmt::format("{}{:<{}}", r == 0 ? "" : " ", step < columns[r].size() ? columns[r][step] : "",
                         widths[r]);
    if (options.error_step == step) out += " <-- ERROR HERE";
    out += '\n';
  }
  return out;
}

}  // namespace pipeloom::torch
