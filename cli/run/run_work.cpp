#include "cli/run/run_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <thread>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "executor/layers/gradient_check.hpp"
#include "executor/layers/layer_memory.hpp"
#include "executor/run/busy_work.hpp"
#include "sim/memory.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace pipeloom::cli {
namespace {

constexpr double kMostBytes = 1 << 30;
constexpr int kMostWidth = 1 << 14;

/// From now on memory that this process frees stays its own. A tensor of some hundred KiB is otherwise given back to the system by the op that
/// frees it, and the next one that takes it pays for every page anew, in some steps and not in others: op times then vary for
/// no reason of theirs. Does something with the GNU C library only.
void keep_freed_memory() {
#ifdef __GLIBC__
  // The most that is allowed: half of what one arena's heap may hold. Larger tensors are still mapped one by one.
  constexpr int kMapFrom = 32 * 1024 * 1024;
  static_cast<void>(mallopt(M_MMAP_THRESHOLD, kMapFrom));
  static_cast<void>(mallopt(M_TRIM_THRESHOLD, INT_MAX));
#endif
}

}  // namespace

std::size_t busy_elements(const WorkArguments& arguments) {
  if (!arguments.message_size) return 1;
  const double bytes = parse_size(*arguments.message_size, "--message-size");
  if (bytes > kMostBytes)
    throw InputError(Where{"--message-size"},
                     fmt::format("found {}; at most {} are sent: give less", estimated_bytes_text(bytes),
                                 estimated_bytes_text(kMostBytes)));
  return std::max<std::size_t>(1, static_cast<std::size_t>(bytes) / sizeof(float));
}

executor::LayersConfig layers_config(const WorkArguments& arguments) {
  executor::LayersConfig config;
  const auto read = [](std::string_view option, const std::optional<std::string>& text, int& number, int most,
                       int least = 1) {
    if (text) number = parse_count(option, *text, least, most);
  };
  read("--width", arguments.width, config.width, kMostWidth);
  read("--rows", arguments.rows, config.rows, kMaxIndex);
  read("--blocks", arguments.blocks, config.blocks, kMaxIndex);
  read("--heads", arguments.heads, config.heads, kMostWidth, 0);
  int seed = static_cast<int>(config.seed);
  read("--seed", arguments.seed, seed, 1 << 30);
  config.seed = static_cast<std::uint64_t>(seed);
  config.hidden = 4 * config.width;
  if (arguments.integers) config.arithmetic = executor::Arithmetic::Integer;
  return config;
}

void add_work_options(OptionList& list, WorkArguments& arguments) {
  list.option("--work", arguments.work, "busy|layers",
              "What ops do: last as long as their costs, or compute real layers");
  list.option("--message-size", arguments.message_size, "SIZE",
              "Busy work: bytes of each message; default 4");
  list.option("--width", arguments.width, "N", "Layers: numbers in a row; default 64");
  list.option("--rows", arguments.rows, "N", "Layers: rows of a microbatch; default 16");
  list.option("--blocks", arguments.blocks, "N", "Layers: blocks of a stage; default 1");
  list.option("--heads", arguments.heads, "N",
              "Layers: heads of the attention in front of each block, a divisor of --width; default 0, no "
              "attention");
  list.option("--seed", arguments.seed, "N", "Layers: what all numbers follow from; default 1");
  list.flag("--integers", arguments.integers, "Layers: arithmetic in which gradients must agree exactly");
  list.option("--precision", arguments.precision, "fp32|bf16",
              "Layers on GPUs: type of weights and activations; default fp32");
}

void require_consistent(const WorkArguments& arguments) {
  require_choice("--work", arguments.work, {"busy", "layers"});
  const std::pair<const char*, bool> of_layers[] = {
      {"--width", arguments.width.has_value()},        {"--rows", arguments.rows.has_value()},
      {"--blocks", arguments.blocks.has_value()},      {"--heads", arguments.heads.has_value()},
      {"--seed", arguments.seed.has_value()},          {"--integers", arguments.integers},
      {"--precision", arguments.precision.has_value()}};
  for (const auto& [option, given] : of_layers)
    if (given && !arguments.is_layers())
      throw InputError(Where{option}, "busy work has no layers; add --work layers, or leave it out");
  if (arguments.message_size && arguments.is_layers())
    throw InputError(Where{"--message-size"}, "layers say themselves how large messages are; leave it out");
  if (arguments.precision) require_choice("--precision", *arguments.precision, {"fp32", "bf16"});
}

std::unique_ptr<executor::Work> make_work(const WorkArguments& arguments, const Schedule& schedule,
                                          const Costs& costs) {
  if (arguments.is_layers()) {
    keep_freed_memory();
    return std::make_unique<executor::Layers>(layers_config(arguments));
  }
  const bool spin = static_cast<unsigned>(schedule.ranks()) <= std::thread::hardware_concurrency();
  return std::make_unique<executor::BusyWork>(
      costs, executor::BusyOptions{.message_elements = busy_elements(arguments), .spin = spin});
}

std::optional<MemoryModel> memory_of_work(const WorkArguments& arguments, const Schedule& schedule) {
  // Of fp32.
  if (!arguments.is_layers() || arguments.precision == "bf16") return std::nullopt;
  return executor::layer_memory(layers_config(arguments), schedule);
}

void require_room(const WorkArguments& arguments, const pipeloom::Run& run, std::optional<Rank> only,
                  double limit) {
  if (!arguments.is_layers()) return;
  const executor::LayersConfig config = layers_config(arguments);
  executor::require_possible(config, executor::sizes_of(*run.schedule));
  const Placement& placement = run.schedule->placement();
  const double stage =
      static_cast<double>(sizeof(float)) * config.blocks * static_cast<double>(config.block().parameters());
  const auto memory = memory_of_work(arguments, *run.schedule);
  const auto peaks = memory ? measure_memory(run.timeline, *memory) : std::vector<RankMemory>{};
  double need = 0;
  for (Rank rank{0}; rank < Rank(run.schedule->ranks()); ++rank) {
    if (only && rank != *only) continue;
    // Weights and gradients; once more the gradients, which are compared when the run is over.
    need += 3 * stage * static_cast<double>(placement.slots_of(rank).size());
    if (memory) need += static_cast<double>(peaks[rank.at()].peak_activation_bytes);
  }
  if (need > limit)
    throw InputError::too_large(fmt::format("layers of width {} and {} rows", config.width, config.rows),
                                need, limit);
}

std::string text_of(const WorkArguments& arguments) {
  if (!arguments.is_layers()) return fmt::format("busy, {} numbers a message", busy_elements(arguments));
  const executor::LayersConfig config = layers_config(arguments);
  return fmt::format("layers of width {}, {} rows, {} blocks, {} heads, seed {}, {}{}", config.width,
                     config.rows, config.blocks, config.heads, config.seed,
                     arguments.precision.value_or("fp32"), arguments.integers ? ", integers" : "");
}

std::string gradients_page(const WorkArguments& arguments, const Schedule& schedule,
                           const executor::RunResult& result) {
  if (!arguments.is_layers() || schedule.is_forward_only()) return "";
  const executor::Reference reference =
      executor::reference_gradients(layers_config(arguments), executor::sizes_of(schedule));
  const std::string wrong =
      executor::first_mismatch(reference, executor::collect_gradients(schedule, result.gradients));
  if (!wrong.empty()) throw SystemError(wrong);
  return fmt::format("gradients  those of the same layers without a pipeline{}\n",
                     arguments.integers ? ", exactly" : ", within rounding");
}

}  // namespace pipeloom::cli
