#pragma once

// A rank's ops of a trace, step by step: where the recorder marked no steps, one ends before an op comes for a second time.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/io/traces/trace.hpp"

namespace pipeloom::io {

/// Which op it is, before stages are known.
using OpName = std::tuple<OpKind, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
[[nodiscard]] OpName name_of_op(const TraceOp& op);

/// The op of the rank that began last: "B of stage 0, microbatch 3"; "" if it has none.
[[nodiscard]] std::string text_of_last(const RankTrace& rank);

/// A step as all ranks name it: its mark, and its number below the mark.
using StepName = std::pair<std::int32_t, std::int32_t>;

using Ops = std::vector<TraceOp>;

/// One rank's ops by step.
class RankSteps {
 public:
  /// Sorts the rank's ops by step and start.
  explicit RankSteps(RankTrace& rank);
  RankSteps(RankSteps&&) = default;
  RankSteps& operator=(RankSteps&&) = default;

  [[nodiscard]] std::int32_t rank() const { return rank_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::size_t num_unmarked() const { return num_unmarked_; }
  [[nodiscard]] const std::map<StepName, Ops>& steps() const { return steps_; }
  /// What a whole step runs: the names of the step with most ops, sorted.
  [[nodiscard]] const std::vector<OpName>& names() const { return names_; }
  [[nodiscard]] bool is_whole(StepName name) const;
  [[nodiscard]] std::size_t count_in(StepName name) const;
  [[nodiscard]] bool knows_stages() const {
    return !names_.empty() && std::get<1>(names_.front()) != kUnknown;
  }

 private:
  static std::vector<OpName> names_of(const Ops& ops);
  void split(Ops ops);

  std::int32_t rank_;
  std::string file_;
  std::size_t num_unmarked_ = 0;
  std::map<StepName, Ops> steps_;
  const Ops* whole_ = nullptr;
  std::vector<OpName> names_;
};

}  // namespace pipeloom::io
