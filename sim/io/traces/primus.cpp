// What AMD Primus writes with dump_pp_data: pp_rank_N.json, {"1": {"total", "memory", "fwd_start": [...], "fwd_end", "fwd_minibatch", "fwd_chunk",
// the same with "bwd" and "wgrad"}, "2": ...} by step, milliseconds from that rank's call of the schedule in that step; and config.json with
// "pp_size" and "vp_size" beside them.
//
// Lists of microbatches and chunks are empty where Megatron's own schedules ran: ops stand in the order in which they ran, and with chunks that
// order is Megatron's, pp_size microbatches of each chunk in turn, chunks falling in backwards.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/io/traces/json_scanner.hpp"
#include "sim/io/traces/trace_readers.hpp"

namespace pipeloom::io {
namespace {

constexpr std::size_t kPrimusConfigBytes = std::size_t{1} << 20;

/// Whole numbers of config.json; 1 where it is missing.
struct PrimusShape {
  std::int32_t ranks = kUnknown;
  std::int32_t chunks = 1;
};

std::optional<std::int32_t> primus_number(const Value* value) {
  const auto number =
      value != nullptr && value->is(ValueKind::Number) ? parse_fixed(value->text(), 1) : std::nullopt;
  if (!number || number->value < 0 || number->value >= kMaxIndex) return std::nullopt;
  return static_cast<std::int32_t>(number->value);
}

PrimusShape shape_beside(const std::string& path) {
  PrimusShape shape;
  const auto config = std::filesystem::path(path).replace_filename("config.json");
  std::error_code error;
  if (!std::filesystem::is_regular_file(config, error)) return shape;
  const auto root = read_json(read_file(config.string(), kPrimusConfigBytes));
  if (!root) return shape;
  shape.ranks = primus_number(root->find("pp_size")).value_or(kUnknown);
  shape.chunks = std::max(primus_number(root->find("vp_size")).value_or(1), 1);
  return shape;
}

/// One step of one rank.
class PrimusStep {
 public:
  PrimusStep(const std::string& path, PrimusShape shape, std::int32_t step, const Value& value)
      : path_(&path), shape_(shape), step_(step), value_(&value) {}

  [[nodiscard]] std::vector<TraceOp> ops() {
    add("fwd", OpKind::Forward);
    add("wgrad", OpKind::BackwardWeight);
    for (const TraceOp& op : ops_)
      if (op.kind == OpKind::BackwardWeight) split_.emplace(op.chunk, op.microbatch);
    add("bwd", OpKind::Backward);
    for (TraceOp& op : ops_)
      if (op.kind == OpKind::Backward && split_.contains({op.chunk, op.microbatch}))
        op.kind = OpKind::BackwardInput;
    return std::move(ops_);
  }

 private:
  [[nodiscard]] const std::vector<Value>& list(const std::string& key) const {
    static const std::vector<Value> kNone;
    const Value* found = value_->find(key);
    return found != nullptr ? found->items() : kNone;
  }

  void add(const std::string& name, OpKind kind) {
    const auto& starts = list(name + "_start");
    const auto& ends = list(name + "_end");
    const auto& microbatches = list(name + "_minibatch");
    const auto& chunks = list(name + "_chunk");
    if (starts.size() != ends.size())
      throw InputError(Where{*path_},
                       fmt::format("step {} has {} times in {}_start, but {} in {}_end; the file is damaged",
                                   step_, starts.size(), name, ends.size(), name));
    for (std::size_t i = 0; i < starts.size(); ++i) {
      TraceOp op = in_order(kind, static_cast<std::int32_t>(i));
      if (i < microbatches.size()) op.microbatch = index_at(microbatches[i]);
      if (i < chunks.size()) op.chunk = index_at(chunks[i]);
      op.start = trace_time(starts[i].text(), TimeUnit::Millisecond, *path_);
      op.end = trace_time(ends[i].text(), TimeUnit::Millisecond, *path_);
      if (op.end < op.start)
        throw InputError(Where{*path_},
                         fmt::format("an op of step {} ends before it starts; the file is damaged", step_));
      ops_.push_back(op);
    }
  }

  /// Op i of its kind on this rank.
  [[nodiscard]] TraceOp in_order(OpKind kind, std::int32_t i) const {
    TraceOp op{.kind = kind, .chunk = 0, .microbatch = i, .step = step_};
    const std::int32_t p = shape_.ranks;
    const std::int32_t v = shape_.chunks;
    if (v == 1 || p < 1) return op;
    op.chunk = i / p % v;
    if (kind != OpKind::Forward) op.chunk = v - 1 - op.chunk;
    op.microbatch = i / p / v * p + i % p;
    return op;
  }

  [[nodiscard]] std::int32_t index_at(const Value& value) const {
    const auto index = primus_number(&value);
    if (!index)
      throw InputError(Where{*path_},
                       fmt::format("{} is no number of a microbatch or chunk; the file is damaged",
                                   shortened(value.described(), 60)));
    return *index;
  }

  const std::string* path_;
  PrimusShape shape_;
  std::int32_t step_;
  const Value* value_;
  std::vector<TraceOp> ops_;
  std::set<std::pair<std::int32_t, std::int32_t>> split_;
};

void read_primus(const std::string& path, const RangeNames&, Trace& trace) {
  const auto rank = number_in_name(path, "rank");
  if (!rank)
    throw InputError(Where{path},
                     "the name does not say which rank this is; name it pp_rank_0.json and so on");
  const PrimusShape shape = shape_beside(path);
  ByteSource source(path);
  JsonScanner json(source);
  if (!json.enter('{')) throw InputError(Where{path}, "no object of steps; Primus writes one");
  std::vector<TraceOp> ops;
  std::string key;
  while (json.next_key(key)) {
    const auto step = parse_fixed(key, 1);
    const std::string_view text = json.take_value();
    if (text.empty()) break;
    const auto value = read_json(text);
    if (!value || !step || step->value < 0 || step->value >= kMaxIndex)
      throw InputError(Where{path}, fmt::format("'{}' is no step with its times; the file is damaged",
                                                shortened(key, 40)));
    const auto more = PrimusStep(path, shape, static_cast<std::int32_t>(step->value), *value).ops();
    ops.insert(ops.end(), more.begin(), more.end());
  }
  RankTrace& out = add_rank(trace, *rank, path);
  out.ops = std::move(ops);
  out.is_truncated = json.is_truncated();
  trace.expected_ranks = std::max(trace.expected_ranks, shape.ranks);
  trace.has_step_clocks = true;
}

}  // namespace

TraceFormat primus_format() {
  return {.name = "primus",
          .summary = "AMD Primus' pp_rank_N.json, a file per rank",
          .sniff =
              [](std::string_view text, std::string_view) {
                return text.find("\"fwd_start\"") != std::string_view::npos &&
                       text.find("\"total\"") != std::string_view::npos;
              },
          .read = read_primus,
          .holds = FileHolds::Rank};
}

}  // namespace pipeloom::io
