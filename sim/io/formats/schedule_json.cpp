#include "sim/io/formats/schedule_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/text_tools.hpp"
#include "sim/io/formats/queue_reader.hpp"
#include "sim/io/json/text_writer.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"

namespace pipeloom::io {

namespace {

const std::vector<std::string> kScheduleKeys = {"ranks", "stages", "microbatches", "placement", "orders"};

void require_kind(const Value& value, ValueKind kind, const std::string& what) {
  if (!value.is(kind))
    throw InputError(value.where(),
                     fmt::format("{} is {}; it must be {}", what, value.described(), name_of(kind)));
}

std::optional<int> read_count(const Value& root, const char* key) {
  const Value* value = root.find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = value->is(ValueKind::Number) ? parse_fixed(value->text(), 1) : std::nullopt;
  if (!number || number->rounded || number->value < 1 || number->value > kMaxIndex)
    throw InputError(value->where(), fmt::format("\"{}\" is {}; it must be a whole number from 1 to {}", key,
                                                 value->described(), kMaxIndex));
  return static_cast<int>(number->value);
}

/// Counts that the file states must agree with its arrays.
void require_same(const Value& root, const char* key, int shown, const std::string& how) {
  const auto stated = read_count(root, key);
  if (stated && *stated != shown)
    throw InputError(root.find(key)->where(),
                     fmt::format("\"{}\" is {}, but {}; correct one of them", key, *stated, how));
}

void read_queue(const Value& row, QueueReader& queues) {
  require_kind(row, ValueKind::Array, "a rank's order");
  queues.begin_rank();
  for (const Value& item : row.items()) {
    require_kind(item, ValueKind::String, "an entry of an order");
    const auto ops = parse_entry(item.text());
    if (ops.empty())
      throw InputError(
          item.where(),
          fmt::format("'{}' is no op; write <stage><F|B|I|W><microbatch> below {}, such as \"2F0\", or "
                      "a group such as \"(0F1;1B0)OVERLAP_F_B\"",
                      shortened(item.text(), 60), kMaxIndex));
    queues.add(ops, item.where());
  }
}

/// placement[r] as ranks by stage; a stage may have several.
struct StatedPlacement {
  std::vector<std::vector<Rank>> ranks_of_stage;
  bool has_replicas = false;
};

Stage read_stage(const Value& value) {
  const auto number = value.is(ValueKind::Number) ? parse_fixed(value.text(), 1) : std::nullopt;
  if (!number || number->rounded || number->value < 0 || number->value >= kMaxIndex)
    throw InputError(value.where(),
                     fmt::format("a stage of \"placement\" is {}; it must be a whole number from 0 to {}",
                                 value.described(), kMaxIndex - 1));
  return Stage(static_cast<std::int32_t>(number->value));
}

StatedPlacement read_placement(const Value& rows) {
  StatedPlacement out;
  for (std::size_t r = 0; r < rows.items().size(); ++r) {
    require_kind(rows.items()[r], ValueKind::Array, "a rank's list of stages");
    for (const Value& item : rows.items()[r].items()) {
      const Stage stage = read_stage(item);
      if (stage.at() >= out.ranks_of_stage.size()) {
        // Stages have no gaps, so the highest is below the number of values in the file.
        out.ranks_of_stage.resize(stage.at() + 1);
      }
      auto& ranks = out.ranks_of_stage[stage.at()];
      out.has_replicas |= !ranks.empty();
      ranks.emplace_back(static_cast<std::int32_t>(r));
    }
  }
  for (std::size_t s = 0; s < out.ranks_of_stage.size(); ++s)
    if (out.ranks_of_stage[s].empty())
      throw InputError(
          rows.where(),
          fmt::format("\"placement\" puts stage {} on no rank, though it has stage {}; list every stage", s,
                      out.ranks_of_stage.size() - 1));
  if (out.ranks_of_stage.empty())
    throw InputError(rows.where(), "\"placement\" lists no stage; list every stage");
  return out;
}

/// The orders decide which replica a microbatch belongs to; the stated placement must show the same ranks.
void require_same_ranks(const StatedPlacement& stated, const Placement& found, const Where& where) {
  for (Stage stage{0}; stage < Stage(found.stages()); ++stage) {
    std::vector<Rank> ranks;
    for (Replica replica{0}; replica < Replica(found.replicas()); ++replica)
      ranks.push_back(found.rank_of(stage, replica));
    auto wanted =
        stage.at() < stated.ranks_of_stage.size() ? stated.ranks_of_stage[stage.at()] : std::vector<Rank>{};
    std::sort(ranks.begin(), ranks.end());
    std::sort(wanted.begin(), wanted.end());
    if (ranks != wanted)
      throw InputError(
          where,
          fmt::format("\"placement\" and the orders put stage {} on different ranks; correct one of them, or "
                      "leave \"placement\" out",
                      stage.value()));
  }
}

InferredPlacement placement_of(const Value& root, const QueueReader& queues) {
  const Value* rows = root.find("placement");
  if (rows == nullptr) return queues.infer();
  require_kind(*rows, ValueKind::Array, "\"placement\"");
  if (rows->items().size() != static_cast<std::size_t>(queues.ranks()))
    throw InputError(
        rows->where(),
        fmt::format("\"placement\" has {} ranks, but \"orders\" has {}; give each rank one list in both",
                    rows->items().size(), queues.ranks()));
  const StatedPlacement stated = read_placement(*rows);
  if (stated.has_replicas) {
    auto found = queues.infer();
    require_same_ranks(stated, found.placement, rows->where());
    return found;
  }
  std::vector<Rank> rank_of_slot;
  for (const auto& ranks : stated.ranks_of_stage) rank_of_slot.push_back(ranks.front());
  const int stages = static_cast<int>(rank_of_slot.size());
  if (queues.stages() > stages)
    throw InputError(
        rows->where(),
        fmt::format("the orders have ops of stage {}, which \"placement\" puts on no rank; add it",
                    queues.stages() - 1));
  try {
    return {Placement::custom(queues.ranks(), stages, 1, std::move(rank_of_slot)), {}, queues.microbatches()};
  } catch (const InputError& error) {
    throw InputError(rows->where(), error.what());
  }
}

}  // namespace

Schedule read_schedule_json(const Value& root) {
  require_kind(root, ValueKind::Object, "a schedule");
  for (std::size_t i = 0; i < root.keys().size(); ++i)
    if (std::find(kScheduleKeys.begin(), kScheduleKeys.end(), root.keys()[i].name) == kScheduleKeys.end())
      throw InputError::unknown_name(root.where_key(i), "key of a schedule",
                                     shortened(root.keys()[i].name, 64), kScheduleKeys);
  const Value* orders = root.find("orders");
  if (orders == nullptr)
    throw InputError(root.where(), "\"orders\" is missing; give one array of ops per rank");
  require_kind(*orders, ValueKind::Array, "\"orders\"");

  QueueReader queues(orders->where());
  for (const Value& row : orders->items()) read_queue(row, queues);
  require_same(root, "ranks", queues.ranks(), fmt::format("\"orders\" has {}", queues.ranks()));
  const int stated = read_count(root, "microbatches").value_or(queues.microbatches());
  if (stated < queues.microbatches())
    throw InputError(root.find("microbatches")->where(),
                     fmt::format("\"microbatches\" is {}, but the orders have microbatch {}; "
                                 "correct one of them",
                                 stated, queues.microbatches() - 1));
  InferredPlacement found = placement_of(root, queues);
  require_same(root, "stages", found.placement.stages(),
               fmt::format("the file shows {} stages", found.placement.stages()));
  found.microbatches = stated;
  return queues.build(std::move(found));
}

void write_schedule_json(std::ostream& stream, const Schedule& schedule) {
  TextWriter out(stream);
  out << "{\n  \"ranks\": " << schedule.ranks() << ",\n  \"stages\": " << schedule.stages()
      << ",\n  \"microbatches\": " << schedule.microbatches() << ",\n  \"placement\": [";
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    out << (rank == Rank(0) ? "[" : ", [");
    const auto stages = schedule.placement().stages_of(rank);
    for (std::size_t i = 0; i < stages.size(); ++i) (i > 0 ? out << ", " : out) << stages[i].value();
    out << ']';
  }
  out << "],\n  \"orders\": [";
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    out << (rank == Rank(0) ? "\n    [" : ",\n    [");
    const std::size_t begin = schedule.queue_begin(rank);
    for_each_written_entry(schedule, begin, schedule.queue_end(rank),
                           [&](std::size_t first, std::size_t last) {
                             if (first > begin) out << ", ";
                             out << '"';
                             if (last == first + 1)
                               out << schedule.ops()[first];
                             else
                               out << std::string_view(entry_text(schedule, first, last));
                             out << '"';
                           });
    out << ']';
  }
  out << "\n  ]\n}\n";
  out.flush();
}

namespace {

bool looks_like_json(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '/');
}

/// Characters that may surround a CSV cell.
constexpr std::string_view kUnfilled = " \t\r\"";

/// True if the cell is a computation or a group, and no communication: PyTorch's names of those begin with R, S or U.
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
