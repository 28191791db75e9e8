#include "sim/actions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"

namespace pipeloom {
namespace {

constexpr std::string_view kGroupSuffix = "OVERLAP_F_B";
/// Text of a blank cell where cells are separated by spaces.
constexpr std::string_view kIdleWord = "-";

constexpr std::array<std::string_view, kActionKinds> kNames = [] {
  std::array<std::string_view, kActionKinds> names;
  for (const KindRow& row : kKinds) names[index_of(row.kind)] = {&row.letter, 1};
  for (const auto& [kind, name] : kTorchActions) names[static_cast<std::size_t>(kind)] = name;
  return names;
}();

/// The kind whose name is the whole of `text` up to its digits, taken off.
std::optional<ActionKind> take_kind(std::string_view& text) {
  const auto name = text.substr(0, text.find_first_of("0123456789"));
  for (std::size_t k = 0; k < kActionKinds; ++k)
    if (!name.empty() && kNames[k] == name) {
      text.remove_prefix(name.size());
      return static_cast<ActionKind>(k);
    }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(ActionKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

void ActionLists::add_cell(std::span<const Action> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    actions_.push_back(parts[i].with_joined(i + 1 < parts.size()));
  row_begin_.back() = actions_.size();
}

void ActionLists::replace_row(Rank rank, std::span<const Action> row) {
  if (row.size() != row_end(rank) - row_begin(rank))
    throw InternalError("action lists: a row must keep its size");
  std::copy(row.begin(), row.end(), actions_.begin() + static_cast<std::ptrdiff_t>(row_begin(rank)));
}

bool operator==(const ActionLists& a, const ActionLists& b) {
  const auto same = [](Action x, Action y) { return x == y && x.joined() == y.joined(); };
  return a.row_begin_ == b.row_begin_ &&
         std::equal(a.actions_.begin(), a.actions_.end(), b.actions_.begin(), b.actions_.end(), same);
}

char* write_action(char* out, Action action) {
  if (action.is_idle()) return out;
  out = std::to_chars(out, out + 8, action.stage().value()).ptr;
  const std::string_view name = name_of(action.kind());
  out = std::copy(name.begin(), name.end(), out);
  return action.has_microbatch() ? write_op_number(out, action.as(ActionKind::Forward, action.stage()).op())
                                 : out;
}

std::string to_text(Action action) {
  std::array<char, kMaxActionText> buffer;
  return {buffer.data(), write_action(buffer.data(), action)};
}

std::string cell_text(std::span<const Action> parts) {
  if (parts.size() == 1) return to_text(parts[0]);
  std::string text = "(";
  for (const Action part : parts) {
    if (text.size() > 1) text += ';';
    text += to_text(part);
  }
  return (text += ')') += kGroupSuffix;
}

std::string row_text(std::span<const Action> row) {
  std::string text;
  for_each_cell(row, [&](std::size_t first, std::size_t last) {
    if (!text.empty()) text += ' ';
    text += row[first].is_idle() ? std::string(kIdleWord) : cell_text(row.subspan(first, last - first));
  });
  return text;
}

std::optional<Action> parse_action(std::string_view text) {
  const auto stage = take_index(text);
  if (!stage) return std::nullopt;
  const auto kind = take_kind(text);
  if (!kind || is_of_stage(*kind) != text.empty()) return std::nullopt;
  if (text.empty()) return Action(*kind, Stage(*stage));
  const auto op = parse_op_number(OpKind::Forward, Stage(*stage), text);
  return op ? std::optional(Action(*op).as(*kind, Stage(*stage))) : std::nullopt;
}

std::vector<Action> parse_cell(std::string_view text) {
  if (text == kIdleWord) return {Action()};
  if (text.empty() || text[0] != '(') {
    const auto action = parse_action(text);
    return action ? std::vector<Action>{*action} : std::vector<Action>{};
  }
  const auto close = text.find(')');
  if (close == std::string_view::npos || text.substr(close + 1) != kGroupSuffix) return {};
  std::vector<Action> parts;
  for (const std::string& inner : split(text.substr(1, close - 1), ';')) {
    const auto part = parse_action(inner);
    if (!part) return {};
    parts.push_back(part->with_joined(true));
  }
  parts.back() = parts.back().with_joined(false);
  return parts;
}

ActionLists parse_action_lists(std::string_view text) {
  ActionLists lists;
  lists.begin_rank();
  for (;;) {
    const auto begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) return lists;
    text.remove_prefix(begin);
    const auto word = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(word.size());
    if (word == "|") {
      lists.begin_rank();
      continue;
    }
    const auto cell = parse_cell(word);
    if (cell.empty())
      throw InputError(
          fmt::format("'{}' is no action; write 2F0, 3SEND_F1, 1UNSHARD, "
                      "(0F1;1B0)OVERLAP_F_B or - for a blank",
                      shortened(word, 60)));
    lists.add_cell(cell);
  }
}

ActionLists to_actions(const Schedule& schedule, const IdleCells* blanks) {
  ActionLists lists;
  lists.reserve(schedule.num_ops());
  std::vector<Action> cell;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    lists.begin_rank();
    std::size_t entry = 0;
    const auto add_blanks = [&] {
      if (blanks == nullptr) return;
      for (std::int32_t i = 0; i < (*blanks)[rank.at()][entry]; ++i) lists.add(Action());
      ++entry;
    };
    for_each_written_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                           [&](std::size_t first, std::size_t last) {
                             add_blanks();
                             cell.clear();
                             for (std::size_t i = first; i < last; ++i) cell.emplace_back(schedule.ops()[i]);
                             lists.add_cell(cell);
                           });
    add_blanks();
  }
  return lists;
}

Schedule to_schedule(const ActionLists& lists) {
  std::vector<std::vector<Op>> queues(static_cast<std::size_t>(lists.ranks()));
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    const auto row = lists.row(rank);
    auto& queue = queues[rank.at()];
    for_each_cell(row, [&](std::size_t first, std::size_t last) {
      const std::size_t begin = queue.size();
      for (const Action action : row.subspan(first, last - first)) {
        if (!is_op(action.kind())) continue;
        if (!action.has_microbatch())
          throw InputError(
              fmt::format("'{}' has no microbatch; write its number behind it, as in 2F0", to_text(action)));
        queue.push_back(action.op().with_joined(true));
      }
      if (queue.size() > begin) queue.back() = queue.back().with_joined(false);
    });
  }
  return build_schedule(queues);
}

IdleCells idle_cells(const ActionLists& lists) {
  IdleCells cells(static_cast<std::size_t>(lists.ranks()));
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    auto& counts = cells[rank.at()];
    counts.push_back(0);
    const auto row = lists.row(rank);
    for_each_cell(row, [&](std::size_t first, std::size_t last) {
      if (row[first].is_idle())
        ++counts.back();
      else if (std::any_of(row.begin() + static_cast<std::ptrdiff_t>(first),
                           row.begin() + static_cast<std::ptrdiff_t>(last),
                           [](Action action) { return is_op(action.kind()); }))
        counts.push_back(0);
    });
  }
  return cells;
}

ActionLists without_idle(const ActionLists& lists) {
  ActionLists out;
  out.reserve(lists.num_actions());
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    out.begin_rank();
    const auto row = lists.row(rank);
    for_each_cell(row, [&](std::size_t first, std::size_t last) {
      if (!row[first].is_idle()) out.add_cell(row.subspan(first, last - first));
    });
  }
  return out;
}

}  // namespace pipeloom
