#include "sim/io/config/run_config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/literals.hpp"
#include "sim/io/config/config_reader.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::io {
namespace {

using cost::OverlapSpec;

Where where_of(const ConfigReader& object, std::string_view name) {
  const Value* value = object.find(name);
  return value ? value->where() : object.where();
}

/// Whether "23.6ms" or the like stands anywhere in it; no other text of a configuration looks like that.
bool has_time_literal(const Value& value) {
  if (value.is(ValueKind::String)) return parse_time_literal(value.text()).has_value();
  return std::any_of(value.items().begin(), value.items().end(), has_time_literal);
}

/// The unit comes before any time is read, wherever it stands in the file. Real times without one set it to ms.
TimeUnit read_unit(const ConfigReader& costs, const Value& root) {
  const auto name = costs.choice("time_unit");
  if (name) return *time_unit_named(*name);
  return has_time_literal(root) ? TimeUnit::Millisecond : TimeUnit::Unit;
}

std::optional<cost::Per> read_per(const ConfigReader& object) {
  const auto name = object.choice("per");
  if (!name) return std::nullopt;
  if (name == "rank") return cost::Per::Rank;
  if (name == "model") return cost::Per::Model;
  return cost::Per::Stage;
}

OverlapSpec overlap_from_word(const Value& value) {
  OverlapSpec out;
  if (value.text() == "sequential")
    out.rule = OverlapRule::Sequential;
  else if (value.text() != "sum")
    throw InputError::unknown_name(value.where(), "costs.overlapped", shortened(value.text(), 64),
                                   {"sequential", "sum"});
  return out;
}

std::optional<OverlapSpec> read_overlap(const ConfigReader& costs) {
  const std::string key = costs.path_of("overlapped");
  const Value* value = costs.find("overlapped");
  if (value == nullptr) return std::nullopt;
  if (value->is(ValueKind::String) && !parse_time_literal(value->text())) return overlap_from_word(*value);
  OverlapSpec out;
  const Value* factor = value->find("factor");
  const Value* saving = value->find("saving");
  if (factor == nullptr && saving == nullptr) {
    out.rule = OverlapRule::Explicit;
    out.duration = costs.numbers_of(*value, key, true);
    return out;
  }
  if (value->keys().size() != 1)
    ConfigReader::fail(
        *value, key, "an object with one key, \"factor\" or \"saving\", or with \"default\" and \"stages\"");
  out.rule = factor ? OverlapRule::Factor : OverlapRule::Saving;
  if (factor) out.factor = costs.scale_of(*factor, key + ".factor");
  if (saving) out.saving = costs.time_of(*saving, key + ".saving");
  return out;
}

/// A link's own numbers. `object` may lack either.
cost::LinkSpec read_link(const ConfigReader& object, TimeUnit unit) {
  cost::LinkSpec out;
  out.latency = object.time("latency");
  out.bits_per_second = object.positive_decimal("bandwidth_gbps");
  if (out.bits_per_second && unit == TimeUnit::Unit)
    throw InputError(
        object.find("bandwidth_gbps")->where(),
        fmt::format("{} needs a real time unit, but costs.time_unit is \"unit\"; set it to s, ms, us or ns",
                    object.path_of("bandwidth_gbps")));
  return out;
}

void require_nodes(const ConfigReader& transfer, const char* name, const cost::TransferSpec& spec) {
  const Value* value = transfer.find(name);
  if (value != nullptr && !value->keys().empty() && !spec.ranks_per_node)
    throw InputError(
        value->where(),
        fmt::format("costs.transfer.{} needs costs.transfer.ranks_per_node, which says who shares a "
                    "node; give it, or leave {} out",
                    name, name));
}

cost::TransferModel read_model(const ConfigReader& transfer) {
  const auto name = transfer.choice("model");
  using cost::TransferModel;
  for (const auto model :
       {TransferModel::Latency, TransferModel::Blocking, TransferModel::Async, TransferModel::Link})
    if (name == name_of(model)) return model;
  return TransferModel::Latency;
}

/// Each plan belongs to some models.
void require_plan_fits(const cost::TransferSpec& spec) {
  using cost::TransferModel;
  const bool separate = spec.model == TransferModel::Async || spec.model == TransferModel::Link;
  const bool fits =
      spec.plan == "auto" ||
      (spec.plan == "entry" || spec.plan == "step" ? spec.model == TransferModel::Blocking : separate);
  if (fits) return;
  const char* allowed = separate ? "auto, overlap, overlap-flush, at-sender, before-use, ahead"
                        : spec.model == TransferModel::Blocking ? "auto, step, entry"
                                                                : "auto";
  throw InputError(
      spec.plan_where,
      fmt::format("costs.transfer.plan \"{}\" does not go with costs.transfer.model \"{}\"; with it: {}",
                  spec.plan, name_of(spec.model), allowed));
}

cost::TransferSpec read_transfer(const ConfigReader& transfer, TimeUnit unit) {
  cost::TransferSpec out;
  out.model = read_model(transfer);
  out.link = read_link(transfer, unit);
  out.bytes = transfer.bytes("bytes").value_or(0);
  if (auto queue = transfer.choice("queue")) out.queue = *queue;
  if (auto plan = transfer.choice("plan")) out.plan = *plan;
  out.plan_where = where_of(transfer, "plan");
  out.ahead = transfer.count("ahead").value_or(out.ahead);
  require_plan_fits(out);
  out.ranks_per_node = transfer.count("ranks_per_node");
  out.intra = read_link(transfer.child("intra"), unit);
  out.inter = read_link(transfer.child("inter"), unit);
  require_nodes(transfer, "intra", out);
  require_nodes(transfer, "inter", out);
  return out;
}

cost::CostSpec read_costs(const ConfigReader& costs, TimeUnit unit) {
  cost::CostSpec out;
  out.where = costs.where();
  out.unit = unit;
  out.per = read_per(costs).value_or(cost::Per::Stage);
  static constexpr std::array<const char*, kOpKinds> kNames = {
      "forward", "backward", "backward_input", "backward_weight", "recompute", "offload", "reload"};
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) out.duration[kind] = costs.stage_numbers(kNames[kind]);
  out.overlap = read_overlap(costs);
  if (costs.find("first_stage") != nullptr && costs.choice("first_stage") == "torch")
    out.first_stage = cost::FirstStage::Torch;
  const auto read_scales = [&costs](const char* name, std::vector<Scale>& array,
                                    std::optional<cost::ScaleTable>& table, Where& where) {
    where = where_of(costs, name);
    auto scales = costs.scales(name);
    if (!scales) return;
    array = std::move(scales->array);
    table = std::move(scales->table);
  };
  read_scales("rank_scale", out.rank_scale, out.rank_scale_table, out.rank_scale_where);
  read_scales("stage_scale", out.stage_scale, out.stage_scale_table, out.stage_scale_where);
  read_scales("microbatch_scale", out.microbatch_scale, out.microbatch_scale_table,
              out.microbatch_scale_where);
  out.transfer = read_transfer(costs.child("transfer"), unit);
  return out;
}

/// Numbers of a rank's times go with numbers of a rank's bytes.
cost::MemorySpec read_memory(const ConfigReader& memory, cost::Per costs_per) {
  cost::MemorySpec out;
  out.per = read_per(memory).value_or(costs_per == cost::Per::Rank ? cost::Per::Rank : cost::Per::Stage);
  // An activation of one byte is no size: it counts activations, as leaving it out does.
  const Value* activation = memory.find("activation_bytes");
  out.has_sizes = activation != nullptr && !(activation->is(ValueKind::Number) && activation->text() == "1");
  const auto read = [&memory](const char* name, cost::StageNumbers& into) {
    if (auto numbers = memory.stage_numbers(name)) into = std::move(*numbers);
  };
  read("activation_bytes", out.activation);
  read("released_at_input", out.released_at_input);
  read("static_bytes", out.static_bytes);
  read("receive_bytes", out.receive);
  read("stash_bytes", out.stash);
  read("logits_bytes", out.logits);
  out.limit = memory.limit("limit_bytes");
  return out;
}

Steps read_step(const ConfigReader& step) {
  Steps out;
  if (step.choice("rule") == "post-validation") out.rule = StepRule::PostValidation;
  out.optimizer = step.time("optimizer").value_or(0);
  out.count = step.count("count").value_or(1);
  return out;
}

[[noreturn]] void fail_missing(const ConfigReader& root, const char* key, const char* option) {
  throw InputError(root.where(),
                   fmt::format("\"{}\" is missing; add it to the configuration or give {}", key, option));
}

void read_shape(const ConfigReader& root, Needs needs, RunConfig& out) {
  const auto schedule = root.text("schedule");
  const auto ranks = root.count("ranks");
  const auto microbatches = root.count("microbatches");
  if (needs == Needs::Run) {
    if (!schedule) fail_missing(root, "schedule", "--schedule NAME");
  }
  if (needs == Needs::Run && schedule != kCustomSchedule) {
    if (!ranks) fail_missing(root, "ranks", "--ranks P");
    if (!microbatches) fail_missing(root, "microbatches", "--microbatches M");
  }
  out.schedule = schedule.value_or("");
  out.ranks = ranks.value_or(0);
  out.microbatches = microbatches.value_or(0);
  out.chunks = root.count("chunks");
  out.schedule_where = where_of(root, "schedule");
  out.ranks_where = where_of(root, "ranks");
  out.microbatches_where = where_of(root, "microbatches");
  out.chunks_where = where_of(root, "chunks");
}

constexpr std::string_view kSlicesAllowed =
    "a number of equal slices from 1 to 65535, or an array of one positive whole weight per slice";

/// A number of slices, or their weights.
std::vector<std::int64_t> read_slices(const ConfigReader& options) {
  const Value* value = options.find("slices");
  if (value == nullptr) return {};
  const std::string key = options.path_of("slices");
  if (!value->is(ValueKind::Array)) {
    const int count = options.count("slices").value_or(1);
    return std::vector<std::int64_t>(static_cast<std::size_t>(count), 1);
  }
  std::vector<std::int64_t> weights;
  for (const Value& item : value->items()) {
    const auto weight = parse_fixed(item.is(ValueKind::Number) ? item.text() : "", 1);
    if (!weight || weight->rounded || weight->value < 1 || weight->value > kMaxIndex)
      ConfigReader::fail(item, key, kSlicesAllowed);
    weights.push_back(weight->value);
  }
  if (weights.empty() || weights.size() > kMaxSlices) ConfigReader::fail(*value, key, kSlicesAllowed);
  return weights;
}

/// "none", "full", or {"keep": K}.
RecomputeOption read_recompute(const ConfigReader& options) {
  const Value* value = options.find("recompute");
  if (value == nullptr) return {};
  if (value->is(ValueKind::Object)) return {true, options.child("recompute").count("keep").value_or(0)};
  if (value->is(ValueKind::String) && value->text() == "full") return {true, 0};
  if (value->is(ValueKind::String) && value->text() == "none") return {};
  ConfigReader::fail(*value, options.path_of("recompute"), "\"none\", \"full\", or {\"keep\": passes}");
}

/// "none", "all", or an object with chunks, prefetch and min_gap.
OffloadOption read_offload(const ConfigReader& options) {
  const Value* value = options.find("offload");
  if (value == nullptr) return {};
  OffloadOption out;
  out.on = true;
  if (value->is(ValueKind::Object)) {
    const ConfigReader object = options.child("offload");
    out.chunks = object.count("chunks");
    out.prefetch = object.count("prefetch").value_or(out.prefetch);
    out.min_gap = object.count("min_gap").value_or(out.min_gap);
    return out;
  }
  if (value->is(ValueKind::String) && value->text() == "all") return out;
  if (value->is(ValueKind::String) && value->text() == "none") return {};
  ConfigReader::fail(*value, options.path_of("offload"),
                     "\"none\", \"all\", or {\"chunks\": c, \"prefetch\": n, \"min_gap\": n}");
}

/// {"bytes": n} or {"microbatches": x}.
MemoryLimitOption read_memory_limit(const ConfigReader& options) {
  const Value* value = options.find("memory_limit");
  if (value == nullptr) return {};
  const ConfigReader object = options.child("memory_limit");
  MemoryLimitOption out{object.bytes("bytes"), object.positive_decimal("microbatches")};
  if (out.bytes.has_value() == out.microbatches.has_value())
    ConfigReader::fail(*value, options.path_of("memory_limit"),
                       "{\"bytes\": n} or {\"microbatches\": x}, one of the two");
  return out;
}

RunOptions read_options(const ConfigReader& options) {
  RunOptions out;
  out.group_size = options.count("group_size");
  out.slices = read_slices(options);
  out.waves = options.count("waves");
  out.updates = options.count("updates");
  out.variant = options.text("variant").value_or("");
  out.memory_limit = read_memory_limit(options);
  out.file = options.text("file").value_or("");
  out.recompute = read_recompute(options);
  out.offload = read_offload(options);
  out.forward_only = options.flag("forward_only").value_or(false);
  for (const auto& name : child_keys("options"))
    if (const Value* value = options.find(name)) out.given.push_back({name, value->where()});
  return out;
}

}  // namespace

const Where* RunOptions::place_of(std::string_view name) const {
  for (const Given& option : given)
    if (option.name == name) return &option.where;
  return nullptr;
}

void inline_costs_file(Document& document) {
  const Value& root = document.root();
  const Value* costs = root.is(ValueKind::Object) ? root.find("costs") : nullptr;
  if (costs == nullptr || !costs->is(ValueKind::String)) return;
  const std::string path = relative_to(costs->where().file, costs->text());
  std::string text;
  try {
    text = read_file(path);
  } catch (const InputError& error) {
    throw InputError(costs->where(),
                     fmt::format("costs names the file '{}': {}", shortened(path, 64), error.what()));
  }
  const Document file = Document::parse(text, path);
  if (!file.root().is(ValueKind::Object))
    throw InputError(file.root().where(),
                     "a costs file holds an object, such as {\"forward\": 1, \"backward\": 2}");
  document.set("costs", file.root(), path);
}

RunConfig read_run_config(const Value& root, Needs needs) {
  if (const Value* costs = root.is(ValueKind::Object) ? root.find("costs") : nullptr;
      costs != nullptr && costs->is(ValueKind::String)) {
    Document document{Value(root)};
    inline_costs_file(document);
    return read_run_config(document.root(), needs);
  }
  ConfigReader::Shared shared;
  const ConfigReader top(&root, "", shared);
  RunConfig out;
  read_shape(top, needs, out);
  out.options = read_options(top.child("options"));
  const ConfigReader costs = top.child("costs");
  shared.unit = read_unit(costs, root);
  out.costs = read_costs(costs, shared.unit);
  out.memory = read_memory(top.child("memory"), out.costs.per);
  out.step = read_step(top.child("step"));
  out.defaulted = std::move(shared.defaulted);
  // A unit that follows from times which say theirs is no default.
  if (shared.unit != TimeUnit::Unit) std::erase(out.defaulted, "costs.time_unit");
  out.warnings = std::move(shared.warnings);
  return out;
}

bool is_schedule_file(const Value& root) {
  return root.is(ValueKind::Object) && root.find("orders") != nullptr;
}

}  // namespace pipeloom::io
