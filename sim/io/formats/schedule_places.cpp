#include "sim/io/formats/schedule_places.hpp"

#include <algorithm>

namespace pipeloom::io {
namespace {

bool looks_like_json(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '/');
}

/// What a CSV cell may be surrounded with.
constexpr std::string_view kUnfilled = " \t\r\"";

/// Whether the cell is a computation or a group, and no communication: PyTorch's names of those begin with R, S or U.
bool is_entry(std::string_view cell) {
  const auto kind = cell.find_first_not_of("0123456789");
  return kind == std::string_view::npos || std::string_view("RSU").find(cell[kind]) == std::string_view::npos;
}

}  // namespace

SchedulePlaces::SchedulePlaces(std::string_view text, std::string name)
    : name_(std::move(name)), is_json_(looks_like_json(text)) {
  if (is_json_) {
    document_ = Document::parse(std::string(text), name_);
    return;
  }
  while (!text.empty()) {
    const auto end = text.find('\n');
    rows_.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

Where SchedulePlaces::of(Rank rank, std::size_t slot) const {
  return is_json_ ? of_json(rank, slot) : of_csv(rank, slot);
}

Where SchedulePlaces::of_json(Rank rank, std::size_t slot) const {
  const Value* orders = document_.root().find("orders");
  if (orders == nullptr || rank.at() >= orders->items().size()) return {name_};
  const Value& order = orders->items()[rank.at()];
  return slot < order.items().size() ? order.items()[slot].where() : order.where();
}

/// Cells are entries, except blank ones and communication.
Where SchedulePlaces::of_csv(Rank rank, std::size_t slot) const {
  if (rank.at() >= rows_.size()) return {name_};
  const std::string_view row = rows_[rank.at()];
  const int line = rank.value() + 1;
  for (std::size_t begin = 0; begin <= row.size();) {
    const std::size_t end = std::min(row.find(',', begin), row.size());
    const std::size_t filled = row.find_first_not_of(kUnfilled, begin);
    if (filled < end && is_entry(row.substr(filled, end - filled)) && slot-- == 0)
      return {name_, line, static_cast<int>(filled) + 1};
    begin = end + 1;
  }
  return {name_, line, 1};
}

Where SchedulePlaces::of_cell(Rank rank, std::size_t cell) const {
  if (rank.at() >= rows_.size()) return {name_};
  const std::string_view row = rows_[rank.at()];
  std::size_t begin = 0;
  for (; cell > 0 && begin <= row.size(); --cell) begin = std::min(row.find(',', begin), row.size()) + 1;
  const std::size_t end = std::min(row.find(',', begin), row.size());
  const std::size_t filled = row.find_first_not_of(kUnfilled, std::min(begin, row.size()));
  return {name_, rank.value() + 1, static_cast<int>(filled < end ? filled : std::min(begin, row.size())) + 1};
}

}  // namespace pipeloom::io
