// Who wins where: the cells of two keys, and in each the value of a third one that reaches the best.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/text_tools.hpp"
#include "study/answers/answers.hpp"
#include "study/answers/select.hpp"

namespace pipeloom::sweep {
namespace {

struct CountedKey {
  std::string name;
  const Column* column = nullptr;
  std::size_t values = 0;
  bool derived = false;
};

std::vector<Row> all_rows(const ResultTable& table) {
  std::vector<Row> rows(table.rows());
  for (Row row = 0; row < rows.size(); ++row) rows[row] = row;
  return rows;
}

std::vector<CountedKey> counted_keys(const ResultTable& table, const std::vector<Row>& rows) {
  std::vector<CountedKey> out;
  for (const auto& key : table.keys())
    out.push_back(
        {key.name, &key.column, levels_of(key.column, rows).example.size(), table.is_derived(key.name)});
  return out;
}

/// True if the question has the key already, or one that the grid moves with it: a map of the two would be a diagonal.
bool taken(const ResultTable& table, const MapQuestion& question, std::string_view name) {
  for (const std::string* key : {&question.x, &question.y, &question.what})
    if (*key == name || table.move_together(*key, name)) return true;
  return false;
}

/// The first of `wanted` that varies and is free, else the free key with most values.
std::string chosen(const ResultTable& table, const std::vector<CountedKey>& keys, const MapQuestion& question,
                   std::string_view wanted, bool texts_first) {
  const CountedKey* best = nullptr;
  for (const CountedKey& key : keys) {
    if (key.values < 2 || key.derived || taken(table, question, key.name)) continue;
    if (texts_first && key.values > kMaxContenders) continue;
    if (key.name == wanted) return key.name;
    const auto rank = [&](const CountedKey& of) {
      return std::pair(texts_first && !of.column->is_number(), of.values);
    };
    if (best == nullptr || rank(key) > rank(*best)) best = &key;
  }
  return best == nullptr ? "" : best->name;
}

/// Fills in the parts of the question that are left open. The competing key is chosen first, so that it does not become an axis.
MapQuestion completed(const ResultTable& table, const std::vector<CountedKey>& keys, MapQuestion question) {
  if (question.what.empty()) question.what = chosen(table, keys, question, "schedule", true);
  if (question.x.empty()) question.x = chosen(table, keys, question, "microbatches", false);
  if (question.y.empty()) question.y = chosen(table, keys, question, "ranks", false);
  if (question.metric.empty()) question.metric = default_metric(table);
  return question;
}

void check(const std::vector<CountedKey>& keys, const MapQuestion& question) {
  for (const std::string* name : {&question.x, &question.y, &question.what}) {
    if (name->empty()) continue;
    if (std::none_of(keys.begin(), keys.end(), [&](const CountedKey& key) { return key.name == *name; })) {
      std::vector<std::string> valid;
      for (const CountedKey& key : keys) valid.push_back(key.name);
      throw InputError::unknown_name({}, "key of this result", shortened(*name, 64), valid);
    }
  }
  const auto twice = [](const std::string& a, const std::string& b) { return !a.empty() && a == b; };
  if (twice(question.x, question.y) || twice(question.x, question.what) || twice(question.y, question.what))
    throw InputError(fmt::format(
        "a map needs three different keys; found {}, {} and {}: name others by --x, --y and --winner",
        question.x, question.y, question.what));
}

/// Positions of rows along an axis.
struct Placed {
  MapAxis axis;
  std::vector<std::uint32_t> place;  ///< [row]; Levels::kNone for nowhere
};

std::string number_text(double value) {
  return fmt::format("{:.6g}", value);
}

Placed in_ranges(const std::string& key, const Column& column, const Levels& levels) {
  const double least = column.number(levels.example.front());
  const double width = (column.number(levels.example.back()) - least) / static_cast<double>(kMapRanges);
  Placed out{{key, {}, true, 0}, {}};
  for (std::size_t i = 0; i < kMapRanges; ++i)
    out.axis.values.push_back(fmt::format("{} to {}", number_text(least + width * static_cast<double>(i)),
                                          number_text(least + width * static_cast<double>(i + 1))));
  for (const std::uint32_t level : levels.level_of) {
    if (level == Levels::kNone) {
      out.place.push_back(level);
      continue;
    }
    const double place = std::floor((column.number(levels.example[level]) - least) / width);
    out.place.push_back(
        static_cast<std::uint32_t>(std::clamp(place, 0.0, static_cast<double>(kMapRanges - 1))));
  }
  return out;
}

Placed placed(const std::string& key, const Column& column, const std::vector<Row>& rows) {
  Levels levels = levels_of(column, rows);
  if (levels.example.size() > kMaxMapValues && column.is_number()) return in_ranges(key, column, levels);
  Placed out{{key, {}, false, 0}, std::move(levels.level_of)};
  for (const Row row : levels.example) {
    if (out.axis.values.size() < kMaxMapValues)
      out.axis.values.push_back(column.text(row));
    else
      ++out.axis.left_out;
  }
  for (std::uint32_t& place : out.place)
    if (place >= kMaxMapValues) place = Levels::kNone;
  return out;
}

/// The only row of a map that has no second key.
Placed one_place(std::size_t rows) {
  return {{"", {""}, false, 0}, std::vector<std::uint32_t>(rows, 0)};
}

void add_winner(MapCell& cell, const Column& metric, bool less, Row row, std::uint32_t contender) {
  ++cell.points;
  const auto order = cell.best ? metric.compare(row, *cell.best) : std::strong_ordering::less;
  if (!cell.best || (order != 0 && (order < 0) == less)) {
    cell.best = row;
    cell.winners = {contender};
  } else if (order == 0) {
    const auto at = std::lower_bound(cell.winners.begin(), cell.winners.end(), contender);
    if (at == cell.winners.end() || *at != contender) cell.winners.insert(at, contender);
  }
}

void count_wins(WinnerMap& map) {
  map.wins.assign(map.contenders.size(), 0);
  for (const MapCell& cell : map.cells)
    for (const std::uint32_t winner : cell.winners) ++map.wins[winner];
}

}  // namespace

CellKind kind_of(const MapCell& cell) {
  if (cell.best) return CellKind::Won;
  if (cell.all == 0) return CellKind::NoPoint;
  return cell.answered == 0 ? CellKind::NoAnswer : CellKind::NotAsked;
}

std::optional<WinnerMap> winner_map(const ResultTable& table, const std::vector<Row>& rows,
                                    const MapQuestion& asked) {
  const std::vector<Row> all = all_rows(table);
  const std::vector<CountedKey> keys = counted_keys(table, all);
  check(keys, asked);
  const MapQuestion question = completed(table, keys, asked);
  if (question.x.empty() || question.what.empty() || question.metric.empty()) return std::nullopt;
  const Column& metric = table.metric(question.metric, {});
  const Column& what = table.column(question.what, {});
  Placed x = placed(question.x, table.column(question.x, {}), all);
  Placed y =
      question.y.empty() ? one_place(table.rows()) : placed(question.y, table.column(question.y, {}), all);
  const Levels contenders = levels_of(what, all);
  if (contenders.example.size() > kMaxContenders)
    throw InputError(
        fmt::format("{} has {} values; at most {} can compete in a map: leave some out by --where",
                    question.what, contenders.example.size(), kMaxContenders));

  WinnerMap map{std::move(x.axis),  std::move(y.axis), question.what, question.metric, {}, {}, {},
                table.is_complete()};
  for (const Row row : contenders.example) map.contenders.push_back(what.text(row));
  map.cells.resize(map.x.values.size() * map.y.values.size());
  const auto cell_of = [&](Row row) {
    return x.place[row] == Levels::kNone || y.place[row] == Levels::kNone
               ? nullptr
               : &map.cells[y.place[row] * map.x.values.size() + x.place[row]];
  };
  for (const Row row : all)
    if (MapCell* cell = cell_of(row)) {
      ++cell->all;
      if (table.status(row) == Status::Ok && metric.has(row)) ++cell->answered;
    }
  const bool less = less_is_better(question.metric);
  for (const Row row : rows)
    if (MapCell* cell = cell_of(row);
        cell != nullptr && metric.has(row) && contenders.level_of[row] != Levels::kNone)
      add_winner(*cell, metric, less, row, contenders.level_of[row]);
  count_wins(map);
  return map;
}

}  // namespace pipeloom::sweep
