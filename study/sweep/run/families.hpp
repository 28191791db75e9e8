#pragma once

// Points of a sweep that differ in their microbatches alone. Not for users; see study/sweep/run/evaluator.hpp.

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/run.hpp>
#include "sim/io/config/config.hpp"
#include "study/report/metric.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/repeated/short_runs.hpp"

namespace pipeloom::sweep {

/// Numbers of a point that two short runs tell.
struct FamilyRun {
  Metrics metrics;
  std::optional<OverLimit> over_limit;
  std::optional<study::TrainingTerms> training;
  const Run* shorter = nullptr;

  [[nodiscard]] study::RunNumbers numbers() const {
    study::RunNumbers out{&metrics, &shorter->timeline, shorter->memory.get(), &shorter->effective->step};
    if (training) out.training = &*training;
    return out;
  }
};

/// Short runs of the families that were asked for last. One per thread.
class Families {
 public:
  Families(Limits limits, study::Depth depth) : limits_(std::move(limits)), depth_(depth) {
    limits_.critical_path_entries = 0;
  }

  /// The numbers that study::evaluate() would give, until the next call; null where short runs do not tell them, or take longer. Throws as
  /// study::evaluate() does. `family`: the same for points that differ in their microbatches alone, "" for a point without others.
  const FamilyRun* find(const io::Config& config, std::string_view family);

  /// Ops of the short runs that are kept.
  [[nodiscard]] std::size_t held_ops() const { return held_ops_; }

 private:
  struct Family {
    std::string name;
    int visits = 0;
    int tried = 0;                       ///< most microbatches for which there were no short runs
    std::vector<study::ShortRuns> runs;  ///< of microbatches that differ by no whole repetition
  };
  Family& family_of(std::string_view name);
  void drop_last_family();
  void make_room(std::size_t ops);
  bool take_runs(const io::Config& config, Family& family);
  const FamilyRun* tell(const io::Config& config, const study::ShortRuns& runs);

  Limits limits_;
  study::Depth depth_;
  std::list<Family> families_;  // the last asked for first
  std::unordered_map<std::string_view, std::list<Family>::iterator> by_name_;
  Family single_;             // of points without others
  std::size_t held_ops_ = 0;  // of the short runs of `families_`
  FamilyRun run_;
};

}  // namespace pipeloom::sweep
