#include "sim/io/config/config_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/io/json/json_text.hpp"
#include "sim/op.hpp"

namespace pipeloom::io {
namespace {

using T = KeyType;
using C = KeyClass;

constexpr std::string_view kChunksDefault = "2 where the schedule needs or wants it, else 1";
constexpr std::string_view kDerived = "derived from the others, or 1 if no op costs are given";

// path, type, group, unit, default, help, choices, minimum, maximum
constexpr ConfigKey kKeys[] = {
    {"schedule", T::Text, C::Shape, "", "", "name of the schedule, or an alias (see `pipeloom schedules`)"},
    {"ranks", T::Count, C::Shape, "", "", "p, pipeline devices", {}, 1, kMaxIndex},
    {"microbatches",
     T::Count,
     C::Shape,
     "",
     "",
     "m, all microbatches of a step, both directions together",
     {},
     1,
     kMaxIndex},
    {"chunks",
     T::Count,
     C::Shape,
     "",
     kChunksDefault,
     "v, stages per rank and model replica",
     {},
     1,
     kMaxIndex},
    {"options", T::Object, C::Option, "", "{}", "what only some schedules take"},
    {"options.group_size",
     T::Count,
     C::Option,
     "",
     "ranks, or the alias's rule",
     "interleaved schedules: microbatches per round",
     {},
     1,
     kMaxIndex},
    {"options.slices",
     T::Slices,
     C::Option,
     "",
     "2",
     "seq-1f1b: pieces of a sequence, equal or by weight",
     {},
     1,
     kMaxSlices},
    {"options.waves",
     T::Count,
     C::Option,
     "",
     "1",
     "hanayo: how often the stages run down and up",
     {},
     1,
     kMaxIndex / 2},
    {"options.updates",
     T::Count,
     C::Option,
     "",
     "4",
     "pipedream-2bw: optimizer updates in one run",
     {},
     1,
     kMaxIndex},
    {"options.variant", T::Text, C::Option, "", "the schedule's first", "which of the schedule's variants"},
    {"options.memory_limit", T::Object, C::Option, "", "memory.limit_bytes, else ranks microbatches",
     "automatic schedules: the activations that a rank may hold; one of the two"},
    {"options.memory_limit.bytes", T::Bytes, C::Option, "bytes", "none", "the same on every rank"},
    {"options.memory_limit.microbatches", T::Decimal, C::Option, "", "none",
     "in microbatches of what one of the first two ranks holds; may be fractional"},
    {"options.file", T::Text, C::Option, "", "none",
     "custom: the schedule file, relative to the configuration"},
    {"options.recompute", T::Recompute, C::Option, "", "none",
     "run forwards again before their backward instead of keeping activations"},
    {"options.recompute.keep",
     T::Count,
     C::Option,
     "",
     "0",
     "of a rank's outstanding passes, so many keep their activations",
     {},
     0,
     kMaxIndex},
    {"options.offload", T::Offload, C::Option, "", "none", "copy activations to the host and back"},
    {"options.offload.chunks",
     T::Count,
     C::Option,
     "",
     "all",
     "chunks of each rank that go, the longest-lived first",
     {},
     0,
     kMaxIndex},
    {"options.offload.prefetch",
     T::Count,
     C::Option,
     "",
     "1",
     "entries between the issue of a reload and its use",
     {},
     0,
     kMaxIndex},
    {"options.offload.min_gap",
     T::Count,
     C::Option,
     "",
     "3",
     "passes with fewer entries between forward and backward stay",
     {},
     0,
     kMaxIndex},
    {"options.forward_only", T::Flag, C::Option, "", "false", "drop everything but the forwards"},
    {"costs", T::Object, C::Cost, "", "{}",
     "how long ops and transfers take; or the name of a file that holds this object"},
    {"costs.time_unit", T::Choice, C::Cost, "", "unit", "unit of every time in the file", "unit|s|ms|us|ns"},
    {"costs.per", T::Choice, C::Cost, "", "stage",
     "what op times are for: one stage pass, all stages of a rank, the whole model", "stage|rank|model"},
    {"costs.forward", T::TimeTable, C::Cost, "time_unit", "1 if no op costs are given",
     "F, the forward of one stage"},
    {"costs.backward", T::TimeTable, C::Cost, "time_unit",
     "backward_input + backward_weight, or 2 if no op costs are given", "B, the whole backward of one stage"},
    {"costs.backward_input", T::TimeTable, C::Cost, "time_unit", kDerived,
     "I, the gradient of the stage's input"},
    {"costs.backward_weight", T::TimeTable, C::Cost, "time_unit", kDerived,
     "W, the gradient of the stage's weights"},
    {"costs.recompute", T::TimeTable, C::Cost, "time_unit", "forward", "R, a forward run again"},
    {"costs.offload", T::TimeTable, C::Cost, "time_unit", "1 if no op costs are given",
     "O, the copy of a stage pass to the host"},
    {"costs.reload", T::TimeTable, C::Cost, "time_unit", "offload", "L, the copy back"},
    {"costs.overlapped", T::Overlapped, C::Cost, "time_unit", "sum",
     "an overlapped pair of F and B: a time by the forward's stage, a factor of F + B, a saving, "
     "\"sequential\" or \"sum\""},
    {"costs.first_stage", T::Choice, C::Cost, "", "full",
     "stage 0 of a split backward: as every stage, or nothing in I and I + W in W as PyTorch has it",
     "full|torch"},
    {"costs.rank_scale", T::Scales, C::Cost, "", "1 for every rank",
     "one factor per rank for all its op times: unequal devices"},
    {"costs.stage_scale", T::Scales, C::Cost, "", "1 for every stage",
     "one factor per stage for all its op times"},
    {"costs.microbatch_scale", T::Scales, C::Cost, "", "1 for every microbatch",
     "one factor per microbatch: packed sequences"},
    {"costs.transfer", T::Object, C::Transfer, "", "{}", "tensors that cross ranks"},
    {"costs.transfer.model", T::Choice, C::Transfer, "", "latency",
     "how transfers behave: hidden, groups that block, issue and wait apart, shared links",
     "latency|blocking|async|link"},
    {"costs.transfer.plan", T::Choice, C::Transfer, "", "auto",
     "where sends, receives and waits stand: auto takes the schedule's own framework's, else step "
     "(blocking) or at-sender",
     "auto|step|entry|overlap|overlap-flush|at-sender|before-use|ahead"},
    {"costs.transfer.ahead",
     T::Count,
     C::Transfer,
     "",
     "1",
     "plan ahead: entries by which a receive is posted before its use",
     {},
     0,
     kMaxIndex},
    {"costs.transfer.latency", T::Time, C::Transfer, "time_unit", "0",
     "from the end of a tensor's producer to its arrival, without the bytes"},
    {"costs.transfer.bytes", T::Bytes, C::Transfer, "bytes", "0", "size of a tensor between two stages"},
    {"costs.transfer.bandwidth_gbps", T::Decimal, C::Transfer, "1e9 bit/s", "none: bytes take no time",
     "bandwidth of a link; not with the abstract time unit"},
    {"costs.transfer.queue", T::Choice, C::Transfer, "", "per-pair",
     "which messages of a rank share a queue; read by async and link", "per-rank|per-direction|per-pair"},
    {"costs.transfer.ranks_per_node",
     T::Count,
     C::Transfer,
     "",
     "none: all hops are alike",
     "rank r is on node r / ranks_per_node",
     {},
     1,
     kMaxIndex},
    {"costs.transfer.intra", T::Object, C::Transfer, "", "as costs.transfer", "hops within a node"},
    {"costs.transfer.intra.latency", T::Time, C::Transfer, "time_unit", "costs.transfer.latency",
     "latency within a node"},
    {"costs.transfer.intra.bandwidth_gbps", T::Decimal, C::Transfer, "1e9 bit/s",
     "costs.transfer.bandwidth_gbps", "bandwidth within a node"},
    {"costs.transfer.inter", T::Object, C::Transfer, "", "as costs.transfer", "hops between nodes"},
    {"costs.transfer.inter.latency", T::Time, C::Transfer, "time_unit", "costs.transfer.latency",
     "latency between nodes"},
    {"costs.transfer.inter.bandwidth_gbps", T::Decimal, C::Transfer, "1e9 bit/s",
     "costs.transfer.bandwidth_gbps", "bandwidth between nodes"},
    {"memory", T::Object, C::Memory, "", "{}", "what a rank holds"},
    {"memory.per", T::Choice, C::Memory, "", "rank if costs.per is rank, else stage",
     "what activation, static and stash bytes are for: one stage, all stages of a rank, the whole model",
     "stage|rank|model"},
    {"memory.activation_bytes", T::BytesTable, C::Memory, "bytes", "1",
     "held from F of a (stage, microbatch) until B or W ends"},
    {"memory.released_at_input", T::BytesTable, C::Memory, "bytes", "0",
     "the part of activation_bytes that the end of I frees"},
    {"memory.static_bytes", T::BytesTable, C::Memory, "bytes", "0",
     "weights, gradients and optimizer state of a stage: always held"},
    {"memory.receive_bytes", T::BytesTable, C::Memory, "bytes", "0",
     "a tensor under way to a stage, until it is consumed"},
    {"memory.stash_bytes", T::BytesTable, C::Memory, "bytes", "0",
     "what a recomputed forward keeps of activation_bytes"},
    {"memory.logits_bytes", T::BytesTable, C::Memory, "bytes", "0",
     "output of the last stage, from F until its B or I ends"},
    {"memory.limit_bytes", T::Limit, C::Memory, "bytes", "null",
     "most bytes that a rank may hold, for all or one per rank; null for no limit"},
    {"step", T::Object, C::Step, "", "{}", "how one training step follows the other"},
    {"step.rule", T::Choice, C::Step, "", "barrier", "whether ranks wait for all before the next step",
     "barrier|post-validation"},
    {"step.optimizer", T::Time, C::Step, "time_unit", "0", "time of the optimizer at the end of a step"},
    {"step.count",
     T::Count,
     C::Step,
     "",
     "1",
     "steps to simulate; metrics are of the first",
     {},
     1,
     kMaxIndex},
};

bool is_child(std::string_view path, std::string_view parent) {
  if (!parent.empty()) {
    if (path.size() <= parent.size() || path.substr(0, parent.size()) != parent || path[parent.size()] != '.')
      return false;
    path.remove_prefix(parent.size() + 1);
  }
  return path.find('.') == std::string_view::npos;
}

std::string_view last_part(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

/// What programs write for people and other programs, and nobody reads here.
bool is_remark(std::string_view parent, std::string_view name) {
  return (parent.empty() && name == "origin") || (parent == "costs" && name == "measured");
}

std::string_view type_help(KeyType type) {
  switch (type) {
    case T::Object:
      return "an object";
    case T::Text:
      return "a string";
    case T::Choice:
      return "one of";
    case T::Flag:
      return "true or false";
    case T::Count:
      return "a whole number";
    case T::Decimal:
      return "a number, or a text such as \"400Gbit/s\"";
    case T::Time:
      return "a time: a number, or a text such as \"23.6ms\"";
    case T::TimeTable:
      return "a time (a number, or a text such as \"23.6ms\"), an array of one per stage, or {\"default\": "
             "t, \"stages\": {\"3\": t}}";
    case T::Overlapped:
      return "a time or table, {\"factor\": x}, {\"saving\": t}, \"sequential\" or \"sum\"";
    case T::Bytes:
      return "a whole number of bytes, or a text such as \"80GB\" or \"75GiB\"";
    case T::BytesTable:
      return "bytes (a whole number, or a text such as \"80GB\"), an array of one per stage, or "
             "{\"default\": n, \"stages\": {\"3\": n}}";
    case T::Limit:
      return "bytes (a whole number, or a text such as \"80GB\"), an array of one per rank, or null";
    case T::Scales:
      return "an array of factors, or a table: {\"default\": 1, \"ranks\": {\"2\": 1.1}} (\"stages\", "
             "\"microbatches\")";
    case T::Slices:
      return "a whole number, or an array of whole weights";
    case T::Recompute:
      return R"("none", "full", or an object)";
    case T::Offload:
      return R"("none", "all", or an object)";
  }
  return "";
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  return kKeys;
}

const ConfigKey* find_config_key(std::string_view path) {
  const auto* found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [path](const ConfigKey& key) { return key.path == path; });
  return found == std::end(kKeys) ? nullptr : found;
}

std::vector<std::string> child_keys(std::string_view parent) {
  std::vector<std::string> names;
  for (const ConfigKey& key : kKeys)
    if (is_child(key.path, parent)) names.emplace_back(last_part(key.path));
  return names;
}

void require_known_keys(const Value& object, std::string_view parent) {
  const auto valid = child_keys(parent);
  for (std::size_t i = 0; i < object.keys().size(); ++i) {
    const std::string& name = object.keys()[i].name;
    if (std::find(valid.begin(), valid.end(), name) != valid.end() || is_remark(parent, name)) continue;
    const std::string what = parent.empty() ? "configuration key" : fmt::format("key of {}", parent);
    throw InputError::unknown_name(object.where_key(i), what, shortened(name, 64), valid);
  }
}

std::string config_keys_help() {
  std::string out;
  for (const ConfigKey& key : kKeys) {
    out += fmt::format("{}\n    {}\n    {}", key.path, key.help, type_help(key.type));
    if (!key.choices.empty()) out += fmt::format(" {}", key.choices);
    if (key.type == T::Count) out += fmt::format(", {} to {}", key.minimum, key.maximum);
    if (!key.unit.empty()) out += fmt::format("; in {}", key.unit);
    out += key.default_text.empty() ? "; required\n" : fmt::format("; default {}\n", key.default_text);
  }
  return out;
}

std::string config_keys_json() {
  std::string out = "{\n  \"schema_version\": 1,\n  \"keys\": [";
  for (const ConfigKey& key : kKeys) {
    const auto add = [&out](std::string_view name, std::string_view text) {
      out += fmt::format(", \"{}\": ", name);
      append_json_string(out, text);
    };
    out += fmt::format("{}\n    {{\"key\": \"{}\"", &key == kKeys ? "" : ",", key.path);
    add("takes", type_help(key.type));
    if (!key.choices.empty()) add("choices", key.choices);
    if (key.type == T::Count)
      out += fmt::format(", \"minimum\": {}, \"maximum\": {}", key.minimum, key.maximum);
    if (!key.unit.empty()) add("unit", key.unit);
    if (!key.default_text.empty()) add("default", key.default_text);
    add("help", key.help);
    out += '}';
  }
  return out + "\n  ]\n}\n";
}

}  // namespace pipeloom::io
