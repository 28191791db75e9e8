#include "sim/io/config/effective_config.hpp"

#include <algorithm>
#include <sstream>

#include "sim/io/json/text_writer.hpp"

namespace pipeloom::io {
namespace {

/// Decimal numbers in units of 1e-9 are written like times of the abstract unit.
constexpr TimeUnit kNano = TimeUnit::Unit;

/// One number if all are alike, else an array. `put` writes one of them.
template <class Numbers, class Put>
void write_numbers(TextWriter& out, const Numbers& numbers, const Put& put) {
  const bool uniform =
      std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) == numbers.end();
  if (uniform && !numbers.empty()) return put(numbers.front());
  out << '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out << ", ";
    put(numbers[i]);
  }
  out << ']';
}

void write_overlap(TextWriter& out, const EffectiveConfig& config) {
  const Overlap& overlap = config.resolved.costs.overlap;
  const TimeUnit unit = config.spec.unit;
  const auto ticks = [&](Ticks t) { out.ticks(t, unit); };
  out << ", \"overlapped\": ";
  switch (overlap.rule) {
    case OverlapRule::Sum:
      out << "\"sum\"";
      return;
    case OverlapRule::Sequential:
      out << "\"sequential\"";
      return;
    case OverlapRule::Factor:
      (out << "{\"factor\": ").ticks(overlap.factor, kNano) << '}';
      return;
    case OverlapRule::Saving:
      (out << "{\"saving\": ").ticks(overlap.saving, unit) << '}';
      return;
    case OverlapRule::Explicit:
      write_numbers(out, config.resolved.stage_overlap, ticks);
      return;
  }
}

void write_scales(TextWriter& out, const char* key, const std::vector<Scale>& scales) {
  if (scales.empty()) return;
  out << ", \"" << key << "\": [";
  for (std::size_t i = 0; i < scales.size(); ++i) (i > 0 ? out << ", " : out).ticks(scales[i], kNano);
  out << ']';
}

void write_link(TextWriter& out, const cost::LinkSpec& link, const cost::LinkSpec& otherwise, TimeUnit unit) {
  (out << "\"latency\": ").ticks(link.latency.value_or(otherwise.latency.value_or(0)), unit);
  const auto speed = link.bits_per_second ? link.bits_per_second : otherwise.bits_per_second;
  if (speed) (out << ", \"bandwidth_gbps\": ").ticks(*speed, kNano);
}

void write_transfer(TextWriter& out, const cost::TransferSpec& transfer, TimeUnit unit) {
  out << ", \"transfer\": {\"model\": \"" << name_of(transfer.model) << "\", ";
  write_link(out, transfer.link, {}, unit);
  out << ", \"bytes\": " << transfer.bytes << ", \"queue\": ";
  out.quoted(transfer.queue);
  if (transfer.model != cost::TransferModel::Latency) (out << ", \"plan\": ").quoted(transfer.plan);
  if (transfer.plan == "ahead") out << ", \"ahead\": " << transfer.ahead;
  if (transfer.ranks_per_node) {
    out << ", \"ranks_per_node\": " << *transfer.ranks_per_node << ", \"intra\": {";
    write_link(out, transfer.intra, transfer.link, unit);
    out << "}, \"inter\": {";
    write_link(out, transfer.inter, transfer.link, unit);
    out << '}';
  }
  out << '}';
}

void write_costs(TextWriter& out, const EffectiveConfig& config) {
  static constexpr std::array<const char*, kOpKinds> kNames = {
      "forward", "backward", "backward_input", "backward_weight", "recompute", "offload", "reload"};
  const TimeUnit unit = config.spec.unit;
  out << "\"costs\": {\"time_unit\": \"" << name_of(unit) << "\", \"per\": \"stage\"";
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    const bool extra = kAllOpKinds[kind] == OpKind::Recompute || is_copy(kAllOpKinds[kind]);
    if (extra && !config.runs(kAllOpKinds[kind])) continue;
    out << ", \"" << kNames[kind] << "\": ";
    write_numbers(out, config.resolved.stage_duration[kind], [&](Ticks t) { out.ticks(t, unit); });
  }
  write_overlap(out, config);
  if (config.spec.first_stage == cost::FirstStage::Torch) out << ", \"first_stage\": \"torch\"";
  write_scales(out, "rank_scale", config.resolved.rank_scale);
  write_scales(out, "stage_scale", config.resolved.stage_scale);
  write_scales(out, "microbatch_scale", config.resolved.costs.microbatch_scale);
  write_transfer(out, config.spec.transfer, unit);
  out << '}';
}

void write_memory(TextWriter& out, const EffectiveConfig& config) {
  const MemoryModel& memory = config.memory;
  const auto stages = static_cast<std::size_t>(config.stages);
  const auto whole = [&](Bytes units) { out << units / memory.parts; };
  const auto field = [&](const char* name, const std::vector<Bytes>& by_slot) {
    out << '"' << name << "\": ";
    write_numbers(out, std::span<const Bytes>(by_slot).first(stages), [&](Bytes bytes) { out << bytes; });
    out << ", ";
  };
  // Where v passes make an activation without a size, numbers in 1/v of a byte are those of a rank.
  out << "\"memory\": {\"per\": \"" << (memory.parts > 1 ? "rank" : "stage") << "\", ";
  field("activation_bytes", memory.activation);
  field("released_at_input", memory.released_at_input);
  field("static_bytes", memory.static_bytes);
  out << "\"receive_bytes\": ";
  write_numbers(out, std::span<const Bytes>(memory.receive).first(stages), whole);
  out << ", ";
  if (config.runs(OpKind::Recompute)) field("stash_bytes", memory.stash);
  out << "\"logits_bytes\": " << memory.logits[stages - 1] / memory.parts << ", \"limit_bytes\": ";
  if (memory.limit.empty())
    out << "null";
  else
    write_numbers(out, memory.limit, whole);
  out << '}';
}

void write_options(TextWriter& out, const RunOptions& options) {
  out << "\"options\": {";
  if (options.group_size) out << "\"group_size\": " << *options.group_size << ", ";
  if (!options.slices.empty()) {
    out << "\"slices\": [";
    for (std::size_t j = 0; j < options.slices.size(); ++j) out << (j > 0 ? ", " : "") << options.slices[j];
    out << "], ";
  }
  if (options.waves) out << "\"waves\": " << *options.waves << ", ";
  if (options.updates) out << "\"updates\": " << *options.updates << ", ";
  if (!options.variant.empty()) (out << "\"variant\": ").quoted(options.variant) << ", ";
  if (options.memory_limit.bytes)
    out << "\"memory_limit\": {\"bytes\": " << *options.memory_limit.bytes << "}, ";
  if (options.memory_limit.microbatches)
    (out << "\"memory_limit\": {\"microbatches\": ").ticks(*options.memory_limit.microbatches, kNano)
        << "}, ";
  if (!options.file.empty()) (out << "\"file\": ").quoted(options.file) << ", ";
  if (options.recompute.on) out << "\"recompute\": {\"keep\": " << options.recompute.keep << "}, ";
  if (options.offload.on) {
    out << "\"offload\": {";
    if (options.offload.chunks) out << "\"chunks\": " << *options.offload.chunks << ", ";
    out << "\"prefetch\": " << options.offload.prefetch << ", \"min_gap\": " << options.offload.min_gap
        << "}, ";
  }
  out << "\"forward_only\": " << (options.forward_only ? "true" : "false") << '}';
}

}  // namespace

std::string effective_config_text(const EffectiveConfig& config) {
  std::ostringstream stream;
  TextWriter out(stream);
  (out << "{\"schedule\": ").quoted(config.schedule);
  out << ", \"ranks\": " << config.ranks << ", \"microbatches\": " << config.microbatches
      << ", \"chunks\": " << config.chunks << ", ";
  write_options(out, config.options);
  out << ", ";
  write_costs(out, config);
  out << ", ";
  write_memory(out, config);
  out << ", \"step\": {\"rule\": \""
      << (config.step.rule == StepRule::Barrier ? "barrier" : "post-validation") << "\", \"optimizer\": ";
  out.ticks(config.step.optimizer, config.spec.unit)
      << ", \"count\": " << config.step.count << "}, \"origin\": {";
  for (std::size_t i = 0; i < config.origins.size(); ++i) {
    if (i > 0) out << ", ";
    out.quoted(config.origins[i].first) << ": ";
    out.quoted(config.origins[i].second);
  }
  out << "}}";
  out.flush();
  return stream.str();
}

}  // namespace pipeloom::io
