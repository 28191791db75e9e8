// Orders as PyTorch and its users print them: a list a rank, as print(schedule.pipeline_order) and its dict give them,
//
//   [0F0, 0F1, None, 0B0]            {0: [0F0, None], 1: [None, 1F0]}
//
// or the grid of _format_pipeline_order(), a column a rank, blanks as None or as nothing. There a column is as wide as "Step 00", or as
// its longest text if that is longer.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/torch_csv.hpp"

namespace pipeloom::io {
namespace {

/// Texts of cells, "" for a blank.
using Cells = std::vector<std::string>;

constexpr std::string_view kStepLabel = "Step ";
constexpr std::string_view kErrorMark = "<-- ERROR HERE";
constexpr std::size_t kMostPrintedRanks = 1U << 16;

std::string cell_of(std::string_view text) {
  text = trimmed(text, " \t\r\n'\"");
  return text == "None" ? std::string() : std::string(text);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(trimmed(text.substr(0, end), "\r"));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Cells cells_of_list(std::string_view list) {
  Cells cells;
  if (trimmed(list).empty()) return cells;
  for (const std::string& one : split(list, ',')) cells.push_back(cell_of(one));
  return cells;
}

/// Rows of lists, in the order of the file, or of the numbers in front of them.
std::vector<Cells> read_lists(std::string_view text, const std::string& name) {
  std::map<std::size_t, Cells> rows;
  for (std::size_t open = text.find('['); open != std::string_view::npos; open = text.find('[', open + 1)) {
    const std::size_t close = text.find(']', open);
    if (close == std::string_view::npos)
      throw InputError(Where{name}, "a list has no ']': copy the rest of what was printed");
    const std::string_view before = trimmed(text.substr(0, open), " \t\r\n{,");
    const std::size_t colon = before.ends_with(':') ? before.size() - 1 : std::string_view::npos;
    std::size_t rank = rows.size();
    if (colon != std::string_view::npos) {
      std::size_t begin = colon;
      while (begin > 0 && before[begin - 1] >= '0' && before[begin - 1] <= '9') --begin;
      const auto number = parse_fixed(before.substr(begin, colon - begin), 1);
      if (number && number->value < static_cast<std::int64_t>(kMostPrintedRanks))
        rank = static_cast<std::size_t>(number->value);
    }
    rows[rank] = cells_of_list(text.substr(open + 1, close - open - 1));
    open = close;
  }
  std::vector<Cells> out;
  for (auto& [rank, cells] : rows) {
    if (rank != out.size())
      throw InputError(Where{name},
                       fmt::format("the list of rank {} is missing; copy all of them", out.size()));
    out.push_back(std::move(cells));
  }
  return out;
}

/// The rest of the lines after the labels of the steps.
struct Grid {
  std::size_t ranks = 0;
  std::size_t label_width = 0;
  std::vector<std::string_view> steps;
};

Grid grid_of(std::string_view text) {
  Grid grid;
  for (std::string_view line : lines_of(text)) {
    if (const std::size_t mark = line.find(kErrorMark); mark != std::string_view::npos)
      line = line.substr(0, mark);
    const std::string_view bare = trimmed(line);
    if (grid.ranks == 0) {
      if (!bare.starts_with("Rank 0")) continue;
      for (std::size_t at = 0; at != std::string_view::npos; at = bare.find("Rank ", at + 1)) ++grid.ranks;
      continue;
    }
    const std::size_t colon = line.find(": ");
    if (!bare.starts_with(kStepLabel) || colon == std::string_view::npos) continue;
    grid.label_width = colon - line.find(kStepLabel);
    grid.steps.push_back(line.substr(colon + 2));
  }
  return grid;
}

/// Blanks are written out: as many words as ranks in every line.
bool split_words(const Grid& grid, std::vector<Cells>& rows) {
  for (const std::string_view line : grid.steps) {
    Cells words;
    for (const std::string& word : split(line, ' '))
      if (!trimmed(word).empty()) words.push_back(cell_of(word));
    if (words.size() != grid.ranks) return false;
    for (std::size_t r = 0; r < words.size(); ++r) rows[r].push_back(std::move(words[r]));
  }
  return true;
}

/// Takes one column off every line.
Cells take_column(std::vector<std::string_view>& lines, std::size_t width) {
  Cells cells;
  for (const std::string_view line : lines) {
    const std::string_view text = line.substr(0, line.find(' '));
    cells.push_back(cell_of(text));
    width = std::max(width, text.size());
  }
  for (std::string_view& line : lines) line.remove_prefix(std::min(width + 1, line.size()));
  return cells;
}

std::vector<Cells> read_grid(std::string_view text, const std::string& name) {
  Grid grid = grid_of(text);
  if (grid.ranks == 0 || grid.steps.empty())
    throw InputError(Where{name},
                     "no line of a step stands below the line of the ranks: copy the whole grid");
  std::vector<Cells> rows(grid.ranks);
  if (split_words(grid, rows)) return rows;
  rows.assign(grid.ranks, {});
  for (Cells& row : rows) row = take_column(grid.steps, grid.label_width);
  for (const std::string_view rest : grid.steps)
    if (!trimmed(rest).empty())
      throw InputError(
          Where{name},
          fmt::format("'{}' stands in no column of the grid; print the blanks as None", shortened(rest, 40)));
  return rows;
}

bool is_grid(std::string_view text) {
  const std::string_view beginning = text.substr(0, 4096);
  return beginning.find("Rank 0") != std::string_view::npos &&
         beginning.find(kStepLabel) != std::string_view::npos;
}

bool looks_printed(std::string_view text) {
  if (is_grid(text)) return true;
  const std::string_view beginning = text.substr(0, 4096);
  const std::size_t first = beginning.find_first_not_of(" \t\r\n{0123456789:[,'");
  const std::size_t open = beginning.find('[');
  if (open == std::string_view::npos || first == std::string_view::npos || open > first) return false;
  std::string_view cell = beginning.substr(open + 1);
  while (cell.starts_with("None") || cell.starts_with(',') || cell.starts_with(' ') || cell.starts_with('\''))
    cell.remove_prefix(cell.starts_with("None") ? 4 : 1);
  return looks_like_torch_csv(cell.substr(0, cell.find_first_of(",]\n")));
}

Imported read_printed(std::string_view text, const std::string& name) {
  const std::vector<Cells> rows = is_grid(text) ? read_grid(text, name) : read_lists(text, name);
  std::string csv;
  for (const Cells& row : rows)
    csv += row.size() == 1 && row[0].empty() ? "\"\"\n" : fmt::format("{}\n", fmt::join(row, ","));
  TorchCsv read = looks_like_torch_comms(csv) ? read_torch_comms(csv, name) : read_torch_csv(csv, name);
  return {std::make_shared<const Schedule>(std::move(read.schedule)),
          std::move(read.warnings),
          std::make_shared<const IdleCells>(std::move(read.idle_cells)),
          {}};
}

}  // namespace

Format torch_printed_format() {
  Format out;
  out.name = "torch-printed";
  out.summary = "an order as PyTorch prints it: a list a rank, or a grid of steps";
  out.read = read_printed;
  out.sniff = looks_printed;
  return out;
}

}  // namespace pipeloom::io
