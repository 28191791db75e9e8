#include "gui/model/edit/param_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/command.hpp"
#include "schedules/generator.hpp"
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/text_writer.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

constexpr std::string_view kAllDefault = "all default";
constexpr ParamGroupRow kGroups[] = {
    {ParamGroup::Shape, "shape", "Shape", "", ""},
    {ParamGroup::Costs, "costs", "Costs", "costs.per", kAllDefault},
    {ParamGroup::Memory, "memory", "Memory", "memory.per", kAllDefault},
    {ParamGroup::Transfers, "transfers", "Transfers", "costs.transfer.model", ""},
    {ParamGroup::Options, "options", "Options", "", kAllDefault},
    {ParamGroup::Step, "step", "End of step", "step.rule", ""},
    {ParamGroup::Stragglers, "stragglers", "Stragglers", "", "all ranks equal"},
    {ParamGroup::Model, "model", "Model", "", "none"}};

/// A row for a key whose path is not its usual name, or that is in another group than its prefix says. `kind` is the letter
/// of the ops without which it means nothing; `always` gives it a row whatever holds.
struct ParamRow {
  std::string_view path;
  std::string_view label;
  bool always = false;
  char kind = ' ';
  std::optional<ParamGroup> group = std::nullopt;
};

constexpr ParamRow kRows[] = {{"ranks", "Ranks p", true},
                              {"microbatches", "Microbatches m", true},
                              {"chunks", "Chunks v", true},
                              {"options.memory_limit.bytes", "Memory limit"},
                              {"options.memory_limit.microbatches", "Live microbatches"},
                              {"options.recompute.keep", "Passes kept"},
                              {"options.recompute.layers", "Layers again"},
                              {"options.recompute.method", "Which layers"},
                              {"options.recompute.modules", "Recomputed"},
                              {"options.recompute.stages", "Stages that do"},
                              {"options.offload", "Copied to host"},
                              {"options.offload.chunks", "Copied chunks"},
                              {"options.offload.stages", "Copied stages"},
                              {"options.offload.prefetch", "Reloaded ahead"},
                              {"options.offload.min_gap", "Least gap"},
                              {"costs.tp", "TP size"},
                              {"costs.dp", "DP size"},
                              {"costs.cp", "CP size"},
                              {"costs.ep", "EP size"},
                              {"costs.zero", "ZeRO stage"},
                              {"costs.trainable", "Trained"},
                              {"costs.adapter_rank", "Adapter rank"},
                              {"costs.shards", "Shards, DP"},
                              {"costs.gradient_bytes", "Gradient bytes"},
                              {"costs.optimizer_bytes", "Optimizer bytes"},
                              {"costs.seq", "Sequence length"},
                              {"costs.micro_batch", "Micro batch"},
                              {"costs.global_batch", "Global batch"},
                              {"costs.sequence_parallel", "Sequence parallel"},
                              {"costs.flash", "Flash attention"},
                              {"costs.fused_experts", "Fused experts"},
                              {"costs.expert_load", "Expert load"},
                              {"costs.compute_scale", "Compute factor"},
                              {"costs.hidden_collectives", "Hidden share"},
                              {"costs.order", "Order of ranks"},
                              {"costs.hidden.tp", "Hidden, TP"},
                              {"costs.hidden.cp", "Hidden, CP"},
                              {"costs.hidden.ep", "Hidden, EP"},
                              {"costs.hidden.dp", "Hidden, DP"},
                              {"costs.overlapped", "F with B"},
                              {"costs.per", "Times are per"},
                              {"costs.rank_scale", "By rank", false, ' ', ParamGroup::Stragglers},
                              {"costs.stage_scale", "By stage"},
                              {"costs.microbatch_scale", "By microbatch"},
                              {"costs.table", "Measured times"},
                              {"costs.entry", "Every op besides"},
                              {"costs.transfer.model", "Behaviour"},
                              {"costs.transfer.plan", "Messages stand"},
                              {"costs.transfer.ahead", "Posted ahead"},
                              {"costs.transfer.latency", "Latency", true, ' ', ParamGroup::Costs},
                              {"costs.transfer.bytes", "Tensor"},
                              {"costs.transfer.bandwidth_gbps", "Bandwidth"},
                              {"costs.transfer.ranks_per_node", "Ranks, node"},
                              {"costs.transfer.rank_time", "Time of a rank"},
                              {"costs.transfer.intra.latency", "Latency, node"},
                              {"costs.transfer.intra.bandwidth_gbps", "Bandw., node"},
                              {"costs.transfer.inter.latency", "Latency, between"},
                              {"costs.transfer.inter.bandwidth_gbps", "Bandw., between"},
                              {"memory.per", "Bytes are per"},
                              {"memory.activation_bytes", "Activations", true},
                              {"memory.released_at_input", "Freed after input grad", false, 'I'},
                              {"memory.static_bytes", "Weights and optimizer", true},
                              {"memory.receive_bytes", "Received"},
                              {"memory.logits_bytes", "Logits"},
                              {"memory.limit_bytes", "Limit", true},
                              {"step.count", "Steps"},
                              {"step.rule", "End of step"}};

constexpr Dialects kDialects[] = {
    {"ranks", "parallelism.pipeline_parallel_degree", "--pipeline-model-parallel-size"},
    {"microbatches", "n_microbatches of a schedule",
     "--global-batch-size / (--micro-batch-size x data-parallel size)"},
    {"chunks", "stages of a rank", "virtual pipeline size"},
    {"costs.forward", "F, forward_one_chunk", "forward step"},
    {"costs.backward", "B, full backward", "backward step"},
    {"costs.backward_input", "I, backward of the input", "dgrad"},
    {"costs.backward_weight", "W, backward of the weights", "wgrad"},
    {"costs.tp", "parallelism.tensor_parallel_degree", "--tensor-model-parallel-size"},
    {"costs.cp", "parallelism.context_parallel_degree", "--context-parallel-size"},
    {"costs.ep", "parallelism.expert_parallel_degree", "--expert-model-parallel-size"},
    {"costs.dp", "parallelism.data_parallel_replicate_degree x data_parallel_shard_degree",
     "data-parallel size: all ranks / (TP x PP x CP)"},
    {"costs.seq", "training.seq_len", "--seq-length"},
    {"costs.micro_batch", "parallelism.pipeline_parallel_microbatch_size", "--micro-batch-size"},
    {"costs.global_batch", "training.global_batch_size", "--global-batch-size"},
    {"costs.sequence_parallel", "on with tensor_parallel_degree", "--sequence-parallel"}};

const ParamRow* row_of(const io::Key& key) {
  for (const ParamRow& row : kRows)
    if (row.path == key.path) return &row;
  return nullptr;
}

bool has_letter(KindSet kinds, char letter) {
  const auto kind = kind_of_letter(letter);
  return kind && kinds.has(*kind);
}

/// The kind of ops whose time the key is; null for other keys.
const KindRow* timed_by(const io::Key& key) {
  for (const KindRow& kind : kKinds)
    if (kind.cost_key == key.path) return &kind;
  return nullptr;
}

/// "costs.first_stage" -> "First stage".
std::string spoken(std::string_view path) {
  std::string label(path.substr(path.rfind('.') + 1));
  std::replace(label.begin(), label.end(), '_', ' ');
  if (!label.empty() && label[0] >= 'a' && label[0] <= 'z')
    label[0] = static_cast<char>(label[0] - 'a' + 'A');
  return label;
}

/// "Forward (F)", "Input grad (I)"; the letter alone where the words are long.
std::string label_of_kind(const KindRow& kind) {
  constexpr std::size_t kLongest = 18;
  constexpr std::string_view kGradient = "gradient";
  std::string words(kind.words);
  if (words.ends_with(kGradient)) words.resize(words.size() - 4);
  words.front() = static_cast<char>(words.front() - 'a' + 'A');
  words += fmt::format(" ({})", kind.letter);
  return words.size() <= kLongest ? words : std::string(1, kind.letter);
}

bool is_of_stages(const io::Key& key) {
  return key.type == io::KeyType::TimeTable || key.type == io::KeyType::BytesTable;
}
bool holds_bytes(const io::Key& key) {
  return key.type == io::KeyType::Bytes || key.type == io::KeyType::BytesTable ||
         key.type == io::KeyType::Limit;
}

/// "[2,2,2]" -> "2": nothing where entries differ.
std::optional<std::string> common_entry(std::string_view text) {
  text.remove_prefix(1);
  if (text.ends_with(']')) text.remove_suffix(1);
  const std::vector<std::string> entries = split(text, ',');
  const std::string_view first = trimmed(entries.front());
  for (const std::string& entry : entries)
    if (trimmed(entry) != first) return std::nullopt;
  return std::string(first);
}

constexpr std::string_view kTo = " to ";

/// "[2.5,2,3]" -> "2 to 3": "" where an entry is no number.
std::string range_of(std::string_view text) {
  text.remove_prefix(1);
  if (text.ends_with(']')) text.remove_suffix(1);
  std::optional<double> least;
  std::optional<double> most;
  for (const std::string& entry : split(text, ',')) {
    const auto number = number_in<double>(trimmed(entry));
    if (!number) return "";
    least = std::min(least.value_or(*number), *number);
    most = std::max(most.value_or(*number), *number);
  }
  return least ? fmt::format("{}{}{}", *least, kTo, *most) : "";
}

/// Splits a number from the unit after it: "23.6ms", "80 GiB".
ShownValue split_unit(std::string_view value) {
  const std::size_t digits = value.find_first_not_of("0123456789.+-eE");
  if (digits == std::string_view::npos || digits == 0) return {std::string(value), ""};
  const std::string_view number = trimmed(value.substr(0, digits));
  const std::string_view unit = trimmed(value.substr(digits));
  const bool is_word = std::all_of(unit.begin(), unit.end(),
                                   [](char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || c == '/'; });
  if (!is_word || !number_in<double>(number)) return {std::string(value), ""};
  return {std::string(number), std::string(unit)};
}

/// Entries of stages are shown as long as they may be: a frame must not wait for them.
constexpr int kMostStages = 1024;

bool is_short(const io::Key& key) {
  using enum io::KeyType;
  switch (key.type) {
    case Choice:
    case Flag:
    case Count:
    case Decimal:
    case Time:
    case TimeTable:
    case Bytes:
    case BytesTable:
    case Limit:
      return true;
    default:
      return false;
  }
}

std::string held_text(const io::Key& key, const io::EffectiveConfig& config) {
  if (!is_short(key) || key.has == nullptr || key.write == nullptr || !key.has(config)) return {};
  std::ostringstream out;
  {
    io::TextWriter writer(out);
    key.write(key, writer, config);
    writer.flush();
  }
  std::string text = std::move(out).str();
  if (is_of_stages(key) && text.starts_with('[')) text = summary_of_table(text);
  if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

}  // namespace

std::span<const ParamGroupRow> param_groups() {
  return kGroups;
}

ParamGroup group_of(const io::Key& key) {
  if (const ParamRow* row = row_of(key); row != nullptr && row->group) return *row->group;
  if (key.path == "costs.model" || key.needs == "costs.model") return ParamGroup::Model;
  switch (key.group) {
    case io::KeyClass::Shape:
      return ParamGroup::Shape;
    case io::KeyClass::Option:
      return ParamGroup::Options;
    case io::KeyClass::Transfer:
      return ParamGroup::Transfers;
    case io::KeyClass::Memory:
      return ParamGroup::Memory;
    case io::KeyClass::Step:
      return ParamGroup::Step;
    default:
      return ParamGroup::Costs;
  }
}

std::string label_of(const io::Key& key) {
  if (const KindRow* kind = timed_by(key)) return label_of_kind(*kind);
  const ParamRow* row = row_of(key);
  return row == nullptr ? spoken(key.path) : std::string(row->label);
}

bool is_main(const io::Key& key, KindSet kinds) {
  if (const KindRow* kind = timed_by(key)) return kinds.has(kind->kind);
  const ParamRow* row = row_of(key);
  return row != nullptr && (row->always || has_letter(kinds, row->kind));
}

const schedules::Generator* generator_of(const std::string& schedule) {
  for (const schedules::Generator& generator : schedules::all())
    if (generator.name == schedule) return &generator;
  try {
    return schedules::find(schedule).generator;
  } catch (const Error&) {
    return nullptr;
  }
}

namespace {

/// True if the schedule takes this key.
bool applies(const io::Key& key, const std::string& schedule) {
  const auto* generator = generator_of(schedule);
  if (key.option == Option::File) return schedule == io::kCustomSchedule;
  if (generator == nullptr) return true;
  const Requirements& takes = generator->requirements;
  if (key.option) return schedules::takes_option(takes, *key.option);
  if (key.path == "costs.overlapped") return takes.overlaps;
  return true;
}

}  // namespace

bool has_field(const ConfigModel& config, const io::Key& key) {
  if (key.type == io::KeyType::Object) return false;
  const bool possible = key.needs.empty() || config.is_set(std::string(key.needs));
  return config.is_set(std::string(key.path)) || (possible && applies(key, config.value("schedule")));
}

bool is_told_elsewhere(const io::Key& key) {
  const auto tells = [&](const ParamGroupRow& row) {
    return row.told == key.path && row.at_rest == kAllDefault;
  };
  return key.path == "costs.time_unit" || std::any_of(std::begin(kGroups), std::end(kGroups), tells);
}

namespace {

/// A range by its ends, each with three digits.
ShownValue shown_range(const io::Key& key, std::string_view from, std::string_view to,
                       std::string_view time_unit) {
  const ShownValue least = shown_of(key, from, time_unit);
  const ShownValue most = shown_of(key, to, time_unit);
  const auto digits = [](const std::string& text) {
    const auto number = number_in<double>(text);
    return number ? fmt::format("{:.3g}", *number) : text;
  };
  const bool same = least.unit == most.unit || key.unit == "time_unit";
  const std::string unit = same ? "" : " " + least.unit;
  return {digits(least.text) + unit + "-" + digits(most.text), most.unit};
}

}  // namespace

ShownValue shown_of(const io::Key& key, std::string_view value, std::string_view time_unit) {
  if (const std::size_t to = value.find(kTo);
      to != std::string_view::npos && (key.unit == "time_unit" || holds_bytes(key)))
    return shown_range(key, value.substr(0, to), value.substr(to + kTo.size()), time_unit);
  if (key.path == "costs.transfer.model" && value == "latency") return {"overlapped", ""};
  if (key.path == "step.rule" && value == "barrier") return {"all ranks wait", ""};
  if (holds_bytes(key) && value == "null") return {"none", ""};
  ShownValue shown = split_unit(value);
  if (!shown.unit.empty()) return shown;
  const auto number = number_in<double>(shown.text);
  if (!number) return shown;
  if (key.unit == "1e9 bit/s") return {shown.text, "Gbit/s"};
  if (key.unit == "time_unit")
    return {shown.text, time_unit == "unit" ? (*number == 1 ? "unit" : "units") : std::string(time_unit)};
  // A few are counted activations, whose size is not stated.
  constexpr double kFew = 1000;
  if (!holds_bytes(key) || *number < kFew || *number > 9e18) return shown;
  const auto bytes = static_cast<Bytes>(*number);
  return split_unit(short_bytes_text(bytes));
}

const Dialects* dialects_of(const io::Key& key) {
  const auto* const found = std::ranges::find(kDialects, key.path, &Dialects::path);
  return found == std::end(kDialects) ? nullptr : found;
}

std::string summary_of_table(std::string_view text) {
  return common_entry(text).value_or(range_of(text));
}

std::string subject_of(const io::Key& key) {
  const std::string label = label_of(key);
  if (label.ends_with(')')) return label.substr(0, label.rfind(" ("));
  const std::size_t blank = label.rfind(' ');
  const bool has_symbol = blank != std::string::npos && blank + 2 == label.size();
  return has_symbol ? label.substr(0, blank) : label;
}

std::string refusal_line(const io::Key& key, std::string_view refusal) {
  constexpr std::string_view kAllowed = "; it must be ";
  if (refusal.starts_with(std::string(key.path) + ": ")) refusal.remove_prefix(key.path.size() + 2);
  const std::size_t allowed = refusal.find(kAllowed);
  if (allowed != std::string_view::npos)
    return subject_of(key) + ": " + std::string(refusal.substr(allowed + kAllowed.size()));
  if (refusal.starts_with(std::string(key.path) + " ")) {
    refusal.remove_prefix(key.path.size());
    return subject_of(key) + std::string(refusal);
  }
  return subject_of(key) + ": " + std::string(refusal);
}

std::string plain_count(const io::Key& key, std::string_view text) {
  const bool is_count = key.type == io::KeyType::Count || key.type == io::KeyType::GroupSize;
  const auto number = is_count ? number_in<double>(trimmed(text)) : std::nullopt;
  if (!number || *number != std::floor(*number) || std::abs(*number) > std::numeric_limits<int>::max())
    return std::string(text);
  return std::to_string(static_cast<int>(*number));
}

/// The origin of values that an estimate of the model gives begins so.
constexpr std::string_view kEstimated = "estimate:";

void HeldValues::read(const RunModel& run) {
  run_ = run.id;
  texts_.clear();
  from_model_.assign(io::config_keys().size(), false);
  for (const io::Key& each : io::config_keys()) texts_.push_back(held_text(each, *run.effective));
  for (const auto& [path, origin] : run.effective->origins)
    if (const io::Key* key = origin.starts_with(kEstimated) ? io::find_config_key(path) : nullptr)
      from_model_[io::id_of(*key)] = true;
}

bool HeldValues::from_model(const io::Key& key, const RunModel* run) {
  return !of(key, run).empty() && from_model_[io::id_of(key)];
}

const std::string& HeldValues::of(const io::Key& key, const RunModel* run) {
  static const std::string kUnknown;
  if (run == nullptr || run->schedule->stages() > kMostStages) return kUnknown;
  // An edit that hangs has no configuration of its own: the values before it still hold.
  if (!run->effective) return run->hang && !texts_.empty() ? texts_[io::id_of(key)] : kUnknown;
  if (run->id != run_) read(*run);
  return texts_[io::id_of(key)];
}

}  // namespace pipeloom::gui
