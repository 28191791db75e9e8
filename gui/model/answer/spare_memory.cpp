#include "gui/model/answer/spare_memory.hpp"

#include <fmt/format.h>

#include <vector>

#include <pipeloom/error.hpp>
#include "gui/model/answer/answer.hpp"
#include "gui/model/panels/schedule_table.hpp"
#include "gui/model/run/build_run.hpp"
#include "gui/model/session/command.hpp"
#include "study/run/workload.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui {
namespace {

constexpr double kLeastSpare = 0.1;

struct Change {
  std::string words;
  Assignments config;
};

int count_at(const Assignments& config, const char* key) {
  const auto found = config.find(key);
  return found == config.end() ? 1 : number_in<int>(found->second).value_or(0);
}

/// A micro batch `times` as large, and as many times fewer microbatches.
std::optional<Change> larger_micro_batch(Assignments config, int times) {
  const int samples = count_at(config, "costs.micro_batch") * times;
  if (!config.contains("costs.global_batch")) {
    const int microbatches = count_at(config, "microbatches");
    if (microbatches % times != 0) return std::nullopt;
    config["microbatches"] = std::to_string(microbatches / times);
  }
  config["costs.micro_batch"] = std::to_string(samples);
  return Change{fmt::format("micro batch {}", samples), std::move(config)};
}

std::optional<Change> no_recomputation(Assignments config) {
  const std::size_t removed =
      std::erase_if(config, [](const auto& entry) { return entry.first.starts_with("options.recompute"); });
  if (removed == 0) return std::nullopt;
  return Change{"no recomputation", std::move(config)};
}

std::optional<Change> more_replicas(Assignments config) {
  const int tensor = count_at(config, "costs.tp");
  if (tensor < 2 || tensor % 2 != 0 || !config.contains("costs.global_batch")) return std::nullopt;
  const int replicas = 2 * count_at(config, "costs.dp");
  config["costs.tp"] = std::to_string(tensor / 2);
  config["costs.dp"] = std::to_string(replicas);
  return Change{fmt::format("TP {}, DP {}", tensor / 2, replicas), std::move(config)};
}

std::vector<Change> changes_of(const Assignments& now) {
  std::vector<Change> out;
  for (std::optional<Change> one :
       {larger_micro_batch(now, 2), larger_micro_batch(now, 4), no_recomputation(now), more_replicas(now)})
    if (one) out.push_back(std::move(*one));
  return out;
}

/// The row of the configuration's own schedule; one with a refusal where it cannot be read or run.
ScheduleRow row_under(const Assignments& config, const Cancelled& cancelled) {
  try {
    return evaluate_row(study::workload_of(config_of(config), window_limits(cancelled)),
                        shown_value(config.at("schedule")), cancelled);
  } catch (const Error& error) {
    ScheduleRow row;
    row.refusal = error.what();
    return row;
  }
}

}  // namespace

std::optional<SpareUse> use_of_spare(const Assignments& now, const Cancelled& cancelled) {
  if (!now.contains("costs.model") || !now.contains("schedule")) return std::nullopt;
  const ScheduleRow row = row_under(now, cancelled);
  if (!row.refusal.empty() || !row.headroom || *row.headroom < kLeastSpare * (row.held + *row.headroom))
    return std::nullopt;
  double best = row.one_step() * (1 - kWorthShowing);
  std::optional<SpareUse> out;
  for (const Change& change : changes_of(now)) {
    const ScheduleRow changed = row_under(change.config, cancelled);
    if (cancelled) return std::nullopt;
    if (!changed.refusal.empty() || !changed.fits() || changed.one_step() >= best) continue;
    best = changed.one_step();
    out = SpareUse{fmt::format("Use the free {}: {} takes {} less time", row.headroom_text, change.words,
                               percent_text(1 - best / row.one_step())),
                   room_text(changed), change.config};
  }
  return out;
}

}  // namespace pipeloom::gui
