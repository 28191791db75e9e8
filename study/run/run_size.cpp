#include "study/run/run_size.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include <pipeloom/error.hpp>
#include "sim/base/literals.hpp"
#include "sim/io/formats/timeline_reader.hpp"

namespace pipeloom::study {
namespace {

/// Bytes per op besides its times: what is kept, and what measuring takes more.
struct BytesPerOp {
  double kept;
  double measuring;
};
constexpr std::array<BytesPerOp, 3> kBytesOfWalk = {{
    {8 + 8, 0},     // the op, its tensor's producer, cells
    {8 + 8, 40},    // an order of all entries, with the chains before and after each
    {8 + 32, 128},  // the program, its run, and its graph of waits
}};
constexpr double kBytesPerTime = 16;
// What the engine knows of a stage's ops, its rings of tensors, costs, bytes, metrics.
constexpr double kBytesPerStage = 1536;

double bytes_needed(const RunSize& size, const Limits& limits) {
  const BytesPerOp& walk = kBytesOfWalk[static_cast<std::size_t>(size.walk)];
  const double of_times = (kBytesPerTime + limits.bytes_per_time) * size.steps;
  const double of_measures = limits.with_metrics ? walk.measuring : 0;
  return size.ops * (walk.kept + of_times + of_measures) + size.stages * kBytesPerStage;
}

double text_written(const RunSize& size, double bytes_per_time) {
  return size.ops * size.steps * bytes_per_time;
}

/// "1f1b (6.4e+07 ops, 3 steps)".
std::string described(const std::string& what, const RunSize& size) {
  const std::string steps = size.steps > 1 ? fmt::format(", {} steps", size.steps) : "";
  return fmt::format("{} ({:.3g} ops{})", what, size.ops, steps);
}

/// The machine is asked only where the limits do not say.
double allowed_bytes(const Limits& limits) {
  return limits.max_memory ? *limits.max_memory : default_max_memory();
}

constexpr auto kMostText = static_cast<double>(io::kMaxTimelineBytes);

}  // namespace

double default_max_memory() {
  return 0.75 * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

Walk walk_of(const io::Config& config, bool has_groups_or_copies) {
  if (config.costs.transfer.model != cost::TransferModel::Latency) return Walk::Messages;
  return has_groups_or_copies ? Walk::Order : Walk::Queues;
}

int simulated_steps(const io::Config& config, const Limits& limits) {
  const bool repeats = config.costs.transfer.model == cost::TransferModel::Latency;
  return limits.with_all_steps || !repeats ? config.step.count : 1;
}

RunSize size_of(const Schedule& schedule, const io::Config& config, const Limits& limits) {
  const bool ties = schedule.has_groups() || schedule.has_copies() || config.options.offload.on;
  return {static_cast<double>(schedule.num_ops()), static_cast<double>(schedule.placement().slots()),
          simulated_steps(config, limits), walk_of(config, ties)};
}

bool fits(const RunSize& size, const Limits& limits) {
  return text_written(size, limits.text_per_time) <= kMostText &&
         bytes_needed(size, limits) <= allowed_bytes(limits);
}

void check_text(const RunSize& size, double bytes_per_time, const std::string& what) {
  const double text = text_written(size, bytes_per_time);
  if (text <= kMostText) return;
  throw InputError(
      fmt::format("{} would fill a file of about {}; at most {} are written, as no more is read: "
                  "take fewer steps, microbatches or ranks, or draw a picture",
                  described(what, size), estimated_bytes_text(text), estimated_bytes_text(kMostText)));
}

void check_size(const RunSize& size, const Limits& limits, const std::string& what) {
  if (fits(size, limits)) return;
  check_text(size, limits.text_per_time, what);
  throw InputError::too_large(described(what, size), bytes_needed(size, limits), allowed_bytes(limits));
}

}  // namespace pipeloom::study
