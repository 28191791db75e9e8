#include "study/report/hang_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/schedule.hpp>
#include "sim/analysis/hang.hpp"
#include "sim/base/table_size.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/torch/dry_run.hpp"
#include "sim/torch/hang.hpp"
#include "sim/torch/homes.hpp"

namespace pipeloom::study {
namespace {

/// Lines of cells, every column as wide as its widest cell, two blanks apart, no blanks at the ends. Op texts are ASCII: a byte is a column.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += row[i] + std::string(widths[i] - row[i].size(), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string grid_text(const HangGrid& grid, int ranks) {
  std::vector<std::vector<std::string>> rows = {{""}};
  for (const Rank rank : grid.ranks) rows.front().push_back(fmt::format("rank {}", rank.value()));
  rows.front().emplace_back();
  for (std::size_t row = 0; row < grid.cells.size(); ++row) {
    const bool failing = row + 1 == grid.cells.size();
    std::vector<std::string> cells = {fmt::format("step {}", grid.first_step + row)};
    for (const std::string& cell : grid.cells[row])
      cells.push_back(failing && !cell.empty() ? cell + "?" : cell);
    cells.emplace_back(failing ? "<-- nothing can start" : "");
    rows.push_back(std::move(cells));
  }
  std::string out = aligned(rows);
  if (grid.ranks.size() < static_cast<std::size_t>(ranks))
    out +=
        fmt::format("({} of {} ranks: those of the cycle first; -v shows all)\n", grid.ranks.size(), ranks);
  return out;
}

std::string moves_text(const Schedule& schedule) {
  const auto moves = find_unblocking_moves(schedule);
  if (!moves) return "no change of up to three entries was found that lets it run\n";
  std::string out = moves->size() == 1 ? "it runs if you: " : "it runs if you do all of this, in order:\n";
  Schedule current = schedule;
  for (const Move& move : *moves) {
    if (moves->size() > 1) out += "  ";
    out += describe(move, current) + "\n";
    current = with_move(current, move);
  }
  return out;
}

void write_waits(io::JsonWriter& out, const Schedule& schedule, const ScheduleHang& hang) {
  out.array();
  for (const WaitNode<Op>& node : hang.nodes) {
    out.line(6).object().member("rank", node.rank.value());
    out.key("stands_at").quoted(schedule.ops()[node.at].with_joined(false));
    out.member("waits_for", to_text(node.needs)).key("of_rank");
    node.missing ? out.null() : out.number(node.on.value());
    out.close();
  }
  out.line(4).close();
}

void write_moves(io::JsonWriter& out, const Schedule& schedule) {
  const auto moves = find_unblocking_moves(schedule);
  if (!moves) {
    out.null();
    return;
  }
  out.array();
  for (const Move& move : *moves)
    out.object().member("rank", move.rank.value()).member("from", move.from).member("to", move.to).close();
  out.close();
}

/// The text of every cell of a row, in order.
std::vector<std::string> cell_texts(std::span<const Action> row) {
  std::vector<std::string> texts;
  for_each_cell(row, [&](std::size_t first, std::size_t last) {
    texts.push_back(cell_text(row.subspan(first, last - first)));
  });
  return texts;
}

/// The last steps of a dry run, and the action at which each rank is blocked in the end.
HangGrid lowered_grid(const ActionLists& lists, const torch::DryRun& run, int ranks, std::size_t steps) {
  HangGrid grid;
  grid.first_step = run.steps > steps ? run.steps - steps : 0;
  grid.cells.resize(run.steps - grid.first_step);
  for (Rank rank{0}; rank < Rank(ranks); ++rank) {
    grid.ranks.push_back(rank);
    auto column = cell_texts(run.grid.row(rank));
    column.resize(run.steps);
    const auto rest = cell_texts(lists.row(rank).subspan(run.stuck->heads[rank.at()]));
    column.back() = rest.empty() ? "" : rest.front();
    for (std::size_t step = grid.first_step; step < run.steps; ++step)
      grid.cells[step - grid.first_step].push_back(column[step]);
  }
  return grid;
}

}  // namespace

std::string hang_page(const Schedule& schedule, bool everything) {
  const auto hang = find_hang(schedule);
  if (!hang) return "";
  const std::size_t steps = everything ? 24 : 6;
  const auto ranks = static_cast<std::size_t>(everything ? schedule.ranks() : 12);
  std::string out = "\n" + grid_text(hang_grid(schedule, *hang, steps, ranks), schedule.ranks()) + "\n";
  const auto lines = wait_lines(*hang, schedule);
  const std::size_t shown = everything ? lines.size() : std::min<std::size_t>(lines.size(), 16);
  for (std::size_t i = 0; i < shown; ++i) out += lines[i] + "\n";
  if (shown < lines.size())
    out += fmt::format("... and {} more ranks (-v shows all)\n", lines.size() - shown);
  return out + "\n" + moves_text(schedule) + "\n";
}

std::string lowered_hang_page(const ActionLists& lists, const std::vector<Rank>& rank_of_stage,
                              bool everything) {
  int microbatches = 0;
  for (const Action action : lists.actions())
    if (action.has_microbatch()) microbatches = std::max(microbatches, action.microbatch().value() + 1);
  if (count_of_cells(rank_of_stage.size(), microbatches) > count_of_cells(16, lists.num_actions())) return "";
  const torch::Homes homes(rank_of_stage, microbatches);
  if (!torch::fits(lists, homes)) return "";
  const torch::DryRun run = torch::dry_run(lists, homes);
  if (!run.stuck) return "";
  const int shown = everything ? lists.ranks() : std::min(lists.ranks(), 12);
  std::string out =
      "\n" + grid_text(lowered_grid(lists, run, shown, everything ? 24 : 6), lists.ranks()) + "\n";
  for (const std::string& line :
       torch::wait_lines(torch::explain_hang(lists, homes, *run.stuck), lists, homes))
    out += line + "\n";
  const auto edit = torch::find_edit(lists, homes, *run.stuck);
  return out + (edit ? "\nit runs if you: " + torch::describe(*edit, lists) + "\n\n"
                     : "\nno change of one action was found that lets it run\n\n");
}

void write_hang(io::JsonWriter& out, const Schedule& schedule) {
  const auto hang = find_hang(schedule);
  if (!hang) return;
  out.line(2).key("hang").object().line(4).member("entries_done", hang->done);
  write_waits(out.line(4).key("waits"), schedule, *hang);
  out.line(4).key("cycle").array();
  for (const std::size_t i : hang->cycle) out.number(hang->nodes[i].rank.value());
  out.close();
  write_moves(out.line(4).key("moves"), schedule);
  out.close(2);
}

std::string message_hang_page(const MessageProblem& hang, bool everything) {
  constexpr std::size_t kRanksShown = 12;
  const auto lines_of = [&](const std::vector<std::string>& lines) {
    const std::size_t shown = everything ? lines.size() : std::min(lines.size(), kRanksShown);
    std::string out;
    for (std::size_t i = 0; i < shown; ++i) out += lines[i] + "\n";
    if (shown < lines.size())
      out += fmt::format("... and {} more ranks (-v shows all)\n", lines.size() - shown);
    return out + "\n";
  };
  if (hang.waits().empty()) return hang.line() + "\n";
  std::string out = hang.line() + " [message-hang]\n\n" + lines_of(hang.lists()) + lines_of(hang.waits());
  return hang.remedy().empty() ? out : out + "it runs with --set " + hang.remedy() + "\n\n";
}

void write_message_hang(io::JsonWriter& out, const MessageProblem& hang) {
  const std::string what = hang.what();
  out.line(2).key("message_hang").object().member("message", what).member("waits", hang.waits());
  out.key("remedy");
  hang.remedy().empty() ? out.null() : out.text(hang.remedy());
  out.close();
}

}  // namespace pipeloom::study
