#include "sim/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include <pipeloom/error.hpp>
#include "sim/base/table_size.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/kinds.hpp"

namespace pipeloom {
namespace {

bool is_forward_backward_pair(std::span<const Op> ops) {
  return ops.size() == 2 && ops[0].kind() == OpKind::Forward && ops[1].kind() == OpKind::Backward;
}

using Queues = std::vector<std::vector<Op>>;

/// m and S as the ops name them. Throws if there are no ops.
std::pair<int, int> extent_of(const Queues& queues) {
  int microbatches = 0;
  int stages = 0;
  for (const auto& queue : queues)
    for (const Op op : queue) {
      microbatches = std::max(microbatches, op.microbatch().value() + 1);
      stages = std::max(stages, op.stage().value() + 1);
    }
  if (stages == 0) throw InputError("the schedule has no ops; give at least one per rank");
  return {microbatches, stages};
}

/// n as the ops name it. Throws if only some name a slice, or if there would be more units than an index can number.
int slices_of(const Queues& queues, int microbatches) {
  int slices = 0;
  bool whole = false;
  for (const auto& queue : queues)
    for (const Op op : queue) {
      slices = std::max(slices, op.is_sliced() ? op.slice() + 1 : 0);
      whole = whole || !op.is_sliced();
    }
  if (slices > 0 && whole)
    throw InputError(
        "some ops name a sequence slice (0F0.1) and others do not (0F0); name it everywhere or nowhere");
  if (static_cast<std::int64_t>(microbatches) * slices > kMaxIndex)
    throw InputError(
        fmt::format("{} microbatches of {} slices are more than the {} units allowed; take fewer",
                    microbatches, slices, kMaxIndex));
  return std::max(slices, 1);
}

/// Ranks that have some op of each stage, in rank order, [stage].
std::vector<std::vector<Rank>> ranks_by_stage(const Queues& queues, int stages) {
  std::vector<std::vector<Rank>> ranks(static_cast<std::size_t>(stages));
  for (std::size_t r = 0; r < queues.size(); ++r)
    for (const Op op : queues[r]) {
      auto& list = ranks[op.stage().at()];
      const Rank rank(static_cast<std::int32_t>(r));
      if (list.empty() || list.back() != rank) list.push_back(rank);
    }
  for (std::size_t s = 0; s < ranks.size(); ++s)
    if (ranks[s].empty())
      throw InputError(
          fmt::format("stage {} appears on no rank, though stage {} does; number stages from 0 without gaps",
                      s, stages - 1));
  return ranks;
}

/// Microbatches with the same ranks along the pipeline share a replica.
InferredPlacement infer_replicas(const Queues& queues, int ranks, int stages, int microbatches,
                                 const std::vector<std::vector<Rank>>& candidates) {
  const std::int64_t cells = count_of_cells(stages, microbatches);
  std::size_t num_ops = 0;
  for (const auto& queue : queues) num_ops += queue.size();
  // A complete schedule has an op for every cell; a few ops with large numbers must not make a large table.
  if (cells > std::max(std::int64_t{1} << 16, count_of_cells(4, num_ops)))
    throw InputError(
        fmt::format("{} stages and {} microbatches need an op for each of {} pairs, but there are only {} "
                    "ops; the schedule "
                    "is incomplete or a number in it is wrong",
                    stages, microbatches, cells, num_ops));
  std::vector<Rank> path(table_size(stages, microbatches), Rank(-1));
  const auto place = [&](Op op) -> Rank& {
    return path[op.microbatch().at() * static_cast<std::size_t>(stages) + op.stage().at()];
  };
  // The rank of a microbatch's forward has its stage; an op elsewhere is misplaced, as validate() will find.
  for (const bool forwards : {true, false})
    for (std::size_t r = 0; r < queues.size(); ++r)
      for (const Op op : queues[r])
        if ((op.kind() == OpKind::Forward) == forwards && place(op) == Rank(-1))
          place(op) = Rank(static_cast<std::int32_t>(r));
  std::map<std::vector<Rank>, std::uint8_t> replica_of_path;
  std::vector<Rank> rank_of_slot;
  std::vector<std::uint8_t> replica_of_microbatch;
  for (int k = 0; k < microbatches; ++k) {
    std::vector<Rank> own(path.begin() + static_cast<std::ptrdiff_t>(k) * stages,
                          path.begin() + static_cast<std::ptrdiff_t>(k + 1) * stages);
    for (std::size_t s = 0; s < own.size(); ++s)
      if (own[s] == Rank(-1)) own[s] = candidates[s].front();
    if (replica_of_path.size() == 255 && !replica_of_path.contains(own))
      throw InputError(
          "stages move between ranks from microbatch to microbatch; at most 255 "
          "different placements (replicas) are allowed: correct the orders");
    const auto [found, added] =
        replica_of_path.emplace(own, static_cast<std::uint8_t>(replica_of_path.size()));
    if (added) rank_of_slot.insert(rank_of_slot.end(), own.begin(), own.end());
    replica_of_microbatch.push_back(found->second);
  }
  const int replicas = static_cast<int>(replica_of_path.size());
  return {Placement::custom(ranks, stages, replicas, std::move(rank_of_slot)),
          std::move(replica_of_microbatch), microbatches, 1};
}

}  // namespace

std::optional<std::int32_t> take_index(std::string_view& text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || text[0] == '-' || value >= kMaxIndex) return std::nullopt;
  const auto length = static_cast<std::size_t>(end - text.data());
  if (length > 1 && text[0] == '0') return std::nullopt;
  text.remove_prefix(length);
  return value;
}

char* write_op(char* out, Op op) {
  out = std::to_chars(out, out + 8, op.stage().value()).ptr;
  *out++ = letter_of(op.kind());
  return write_op_number(out, op);
}

char* write_op_number(char* out, Op op) {
  out = std::to_chars(out, out + 8, op.microbatch().value()).ptr;
  if (!op.is_sliced()) return out;
  *out++ = '.';
  return std::to_chars(out, out + 8, op.slice()).ptr;
}

std::string to_text(Op op) {
  std::array<char, kMaxOpText> buffer;
  return {buffer.data(), write_op(buffer.data(), op)};
}

std::string entry_text(const Schedule& schedule, std::size_t first, std::size_t last) {
  return entry_text(schedule.ops().subspan(first, last - first));
}

std::string entry_text(std::span<const Op> ops) {
  if (ops.size() == 1) return to_text(ops[0]);
  std::string text = "(";
  for (const Op op : ops) {
    if (text.size() > 1) text += ';';
    text += to_text(op);
  }
  return text + (is_forward_backward_pair(ops) ? ")OVERLAP_F_B" : ")OVERLAP");
}

std::string queue_text(const Schedule& schedule, Rank rank) {
  std::string text;
  for_each_written_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                         [&](std::size_t first, std::size_t last) {
                           if (!text.empty()) text += ' ';
                           text += entry_text(schedule, first, last);
                         });
  return text;
}

std::optional<Op> parse_op(std::string_view text) {
  const auto stage = take_index(text);
  if (!stage || text.empty()) return std::nullopt;
  const auto kind = kind_of_letter(text[0]);
  text.remove_prefix(1);
  return kind ? parse_op_number(*kind, Stage(*stage), text) : std::nullopt;
}

std::optional<Op> parse_op_number(OpKind kind, Stage stage, std::string_view text) {
  const auto microbatch = take_index(text);
  if (!microbatch) return std::nullopt;
  const Op op(kind, stage, Microbatch(*microbatch));
  if (text.empty()) return op;
  if (text[0] != '.' || text.size() == 1) return std::nullopt;
  text.remove_prefix(1);
  const auto slice = take_index(text);
  if (!slice || !text.empty() || *slice >= kMaxSlices) return std::nullopt;
  return op.with_slice(*slice);
}

std::vector<Op> parse_entry(std::string_view text) {
  if (text.empty() || text[0] != '(') {
    const auto op = parse_op(text);
    return op ? std::vector<Op>{*op} : std::vector<Op>{};
  }
  const auto close = text.find(')');
  if (close == std::string_view::npos) return {};
  const auto suffix = text.substr(close + 1);
  if (suffix != "OVERLAP_F_B" && suffix != "OVERLAP") return {};
  std::vector<Op> ops;
  for (const std::string& part : split(text.substr(1, close - 1), ';')) {
    const auto op = parse_op(part);
    if (!op) return {};
    ops.push_back(*op);
  }
  return ops;
}

InferredPlacement infer_placement(const std::vector<std::vector<Op>>& queues) {
  const auto ranks = static_cast<int>(queues.size());
  const auto [microbatches, stages] = extent_of(queues);
  const auto candidates = ranks_by_stage(queues, stages);
  const bool single =
      std::all_of(candidates.begin(), candidates.end(), [](const auto& list) { return list.size() == 1; });
  const int slices = slices_of(queues, microbatches);
  if (!single) {
    auto inferred = infer_replicas(queues, ranks, stages, microbatches, candidates);
    inferred.slices = slices;
    return inferred;
  }
  std::vector<Rank> rank_of_slot;
  for (const auto& list : candidates) rank_of_slot.push_back(list.front());
  return {Placement::custom(ranks, stages, 1, std::move(rank_of_slot)), {}, microbatches, slices};
}

Schedule build_schedule(const Queues& queues) {
  InferredPlacement inferred = infer_placement(queues);
  ScheduleBuilder out(std::move(inferred.placement), inferred.microbatches,
                      std::move(inferred.replica_of_microbatch), inferred.slices);
  for (std::size_t r = 0; r < queues.size(); ++r) {
    out.begin_rank(Rank(static_cast<std::int32_t>(r)));
    const std::span<const Op> queue(queues[r]);
    for (std::size_t first = 0; first < queue.size();) {
      std::size_t last = first + 1;
      while (queue[last - 1].joined()) ++last;
      out.add_group(queue.subspan(first, last - first));
      first = last;
    }
  }
  return std::move(out).build();
}

Schedule parse_schedule(std::string_view text) {
  Queues queues;
  for (const std::string& row : split(text, '|')) {
    auto& queue = queues.emplace_back();
    for (const std::string& word : split(row, ' ')) {
      if (word.empty()) continue;
      const auto ops = parse_entry(word);
      if (ops.empty())
        throw InputError(fmt::format(
            "'{}' on rank {} is no op; write <stage><F|B|I|W><microbatch>, such as 2F0, or a group "
            "such as (0F1;1B0)OVERLAP_F_B",
            shortened(word, 64), queues.size() - 1));
      for (const Op& op : ops) queue.push_back(op.with_joined(&op != &ops.back()));
    }
  }
  return build_schedule(queues);
}

}  // namespace pipeloom
