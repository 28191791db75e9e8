// A winner map in letters and words.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/kinds.hpp"
#include "study/document/html.hpp"
#include "study/plots/sweep_map.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::page {
namespace {

using sweep::CellKind;
using sweep::MapCell;
using sweep::WinnerMap;

/// Signs of cells that have no winner. A picture draws the same signs.
struct EmptyCells {
  CellKind kind;
  std::string_view sign;
};
constexpr EmptyCells kEmptyCells[] = {
    {CellKind::NoAnswer, "x"}, {CellKind::NotAsked, "-"}, {CellKind::NoPoint, "."}};

std::size_t count_of(const WinnerMap& map, CellKind kind) {
  return static_cast<std::size_t>(std::count_if(
      map.cells.begin(), map.cells.end(), [kind](const MapCell& cell) { return kind_of(cell) == kind; }));
}

/// Fixed width: letters, "=" after them for a tie, else the sign of kEmptyCells.
std::string cell_letters(const MapCell& cell) {
  for (const EmptyCells& empty : kEmptyCells)
    if (empty.kind == kind_of(cell)) return std::string(empty.sign);
  return letters_of(cell.winners.front()) + (cell.winners.size() > 1 ? "=" : "");
}

}  // namespace

std::string words_of(const WinnerMap& map, CellKind kind) {
  switch (kind) {
    case CellKind::NoAnswer:
      return "no point has an answer";
    case CellKind::NotAsked:
      return "left out by the conditions above";
    case CellKind::NoPoint:
      return map.whole_grid ? "left out by the grid" : "not in this part of the result";
    case CellKind::Won:
      break;
  }
  return "won";
}

std::string letters_of(std::size_t contender) {
  std::string out(1, static_cast<char>('A' + contender % 26));
  return contender < 26 ? out : letters_of(contender / 26 - 1) + out;
}

std::string map_text(const WinnerMap& map) {
  std::size_t label = map.y.key.size();
  std::size_t width = 1;
  for (const std::string& value : map.y.values) label = std::max(label, value.size());
  // Ranges have long names: their numbers are in the list below the map.
  for (const std::string& value : map.x.values) width = std::max(width, map.x.ranges ? 2 : value.size());
  for (const MapCell& cell : map.cells) width = std::max(width, cell_letters(cell).size());
  std::string out = fmt::format("{:>{}}\n", map.y.key, label);
  for (std::size_t y = map.y.values.size(); y-- > 0;) {
    out += fmt::format("{:>{}}", map.y.values[y], label);
    for (std::size_t x = 0; x < map.x.values.size(); ++x)
      out += fmt::format("  {:>{}}", cell_letters(map.at(x, y)), width);
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  out += std::string(label, ' ');
  for (std::size_t x = 0; x < map.x.values.size(); ++x)
    out += fmt::format("  {:>{}}", map.x.ranges ? fmt::format("{}", x + 1) : map.x.values[x], width);
  out += fmt::format("  {}\n", map.x.key);
  for (std::size_t x = 0; x < map.x.values.size() && map.x.ranges; ++x)
    out += fmt::format("{}{}: {}", x == 0 ? "" : ", ", x + 1, map.x.values[x]);
  return map.x.ranges ? out + '\n' : out;
}

PageTable wins_table(const WinnerMap& map) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < map.contenders.size(); ++i)
    if (map.wins[i] > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return map.wins[a] > map.wins[b]; });
  if (order.size() > kMaxContenderRows) order.resize(kMaxContenderRows);
  const auto ties = static_cast<std::size_t>(std::count_if(
      map.cells.begin(), map.cells.end(), [](const MapCell& cell) { return cell.winners.size() > 1; }));
  PageTable out;
  out.caption = fmt::format("Cells won, of {}; {} shared", count_text(map.cells.size()), count_text(ties));
  out.columns = {{map.what, Align::Left}, {"sign", Align::Left}, {"cells", Align::Right}};
  for (const std::size_t i : order)
    out.rows.push_back({{map.contenders[i], Tone::Plain, series_class(static_cast<int>(i % kSeriesColours))},
                        {letters_of(i)},
                        {count_text(map.wins[i])}});
  for (const EmptyCells& empty : kEmptyCells)
    if (const std::size_t count = count_of(map, empty.kind); count > 0)
      out.rows.push_back({{words_of(map, empty.kind)}, {std::string(empty.sign)}, {count_text(count)}});
  return out;
}

std::string map_signs(const WinnerMap& map) {
  std::string out;
  if (std::any_of(map.cells.begin(), map.cells.end(),
                  [](const MapCell& cell) { return cell.winners.size() > 1; }))
    out += " Hatched: shared, +n by so many more.";
  for (const auto& [kind, drawn] : {std::pair(CellKind::NoAnswer, "Crossed out"),
                                    {CellKind::NotAsked, "A dash"},
                                    {CellKind::NoPoint, "A dotted frame"}})
    if (count_of(map, kind) > 0) out += fmt::format(" {}: {}.", drawn, words_of(map, kind));
  return out;
}

}  // namespace pipeloom::study::page
