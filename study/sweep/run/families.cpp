#include "study/sweep/run/families.hpp"

#include <utility>

#include "study/run/make_schedule.hpp"
#include "study/run/training.hpp"

namespace pipeloom::sweep {
namespace {

/// Ops from which on two short runs take less time than one that reuses the last point's schedule.
constexpr double kLongPoint = 65536;
/// Ops from which on two short runs are worth it that others of the family use too.
constexpr double kSharedPoint = 2048;
/// Families that are kept: those of the axes that vary faster than the microbatches.
constexpr std::size_t kMostFamilies = 64;
/// Short runs of a family that are kept.
constexpr std::size_t kMostRuns = 8;
/// Ops of all short runs that are kept: some 50 MB.
constexpr std::size_t kMostHeldOps = std::size_t{1} << 21;

/// Ops of the point; 0 of a schedule from a file.
double ops_of(const io::Config& config, const Limits& limits) {
  const study::SchedulePlan plan = study::name_schedule(config);
  return plan.found.generator == nullptr ? 0 : study::size_of(plan, config, limits).ops;
}

}  // namespace

Families::Family& Families::family_of(std::string_view name) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    families_.splice(families_.begin(), families_, found->second);
    return families_.front();
  }
  if (families_.size() == kMostFamilies) drop_last_family();
  families_.push_front({std::string(name), 0, 0, {}});
  by_name_.emplace(families_.front().name, families_.begin());
  return families_.front();
}

void Families::drop_last_family() {
  const Family& last = families_.back();
  for (const study::ShortRuns& runs : last.runs) held_ops_ -= runs.held_ops();
  by_name_.erase(last.name);
  families_.pop_back();
}

/// For short runs of the first family with as many ops. Those of others go first, the longest unasked for before others.
void Families::make_room(std::size_t ops) {
  while (families_.size() > 1 && held_ops_ + ops > kMostHeldOps) drop_last_family();
  if (held_ops_ + ops <= kMostHeldOps) return;
  families_.front().runs.clear();
  held_ops_ = 0;
}

/// Looks for short runs that tell this point. A family that is asked for the first time may have no other point.
bool Families::take_runs(const io::Config& config, Family& family) {
  if (family.runs.size() == kMostRuns || config.microbatches < 2 * family.tried) return false;
  const double ops = ops_of(config, limits_);
  const bool is_shared = family.visits > 1 && ops > kSharedPoint;
  if (!is_shared && ops <= kLongPoint) return false;
  auto runs = study::ShortRuns::find(config, limits_, depth_, is_shared ? 1 : study::ShortRuns::kWorthwhile);
  if (!runs) {
    family.tried = config.microbatches;
    return false;
  }
  runs->drop_times();
  if (&family != &single_) {
    make_room(runs->held_ops());
    held_ops_ += runs->held_ops();
  }
  family.runs.push_back(*std::move(runs));
  return true;
}

const FamilyRun* Families::tell(const io::Config& config, const study::ShortRuns& runs) {
  const auto times = runs.times(config.microbatches);
  if (!times) return nullptr;
  runs.require_fits(*times);
  runs.extend_metrics(*times, run_.metrics);
  run_.over_limit = runs.over_limit(*times);
  run_.shorter = &runs.shorter();
  run_.training.reset();
  if (const auto& model = run_.shorter->model)
    run_.training = study::training_terms(model->costs, *run_.shorter->schedule, runs.microbatches(*times));
  return &run_;
}

const FamilyRun* Families::find(const io::Config& config, std::string_view name) {
  single_ = {};
  Family& family = name.empty() ? single_ : family_of(name);
  ++family.visits;
  for (const study::ShortRuns& runs : family.runs)
    if (const FamilyRun* told = tell(config, runs)) return told;
  return take_runs(config, family) ? tell(config, family.runs.back()) : nullptr;
}

}  // namespace pipeloom::sweep
