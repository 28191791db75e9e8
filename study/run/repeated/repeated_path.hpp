#pragma once

// The critical path of a run with more repetitions than a short one has.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <pipeloom/op.hpp>
#include "study/run/repeated/short_runs.hpp"

namespace pipeloom::study {

/// The numbers of microbatches in two sizes of a schedule, replica by replica. They shift alike, but where the last microbatches are too few for all replicas
/// to have as many: those of the shorter one then have other numbers in the whole run.
class MicrobatchShifts {
 public:
  /// `runs` must outlive it.
  explicit MicrobatchShifts(const ShortRuns& runs);

  /// True if the entry at op `first` of the shorter run, which comes before a cut, has the numbers that all of its replicas' have; `repeats` asks for those one
  /// repetition later too.
  [[nodiscard]] bool is_regular(std::size_t first, bool repeats) const;

 private:
  const ShortRuns& runs_;
  std::array<std::int32_t, 2> of_size_ = {};        // [replica]
  std::array<std::int32_t, 2> of_repetition_ = {};  // [replica]
};

/// The critical path of ShortRuns::shorter(), of which longer runs go through a part again and again.
struct RepeatedChain {
  std::vector<std::size_t> entries;  ///< index of the first op of each entry, in time order
  std::size_t from = 0;              ///< entries [from, to) are those of a repetition
  std::size_t to = 0;

  [[nodiscard]] std::int64_t count(std::int64_t times) const {
    return static_cast<std::int64_t>(entries.size()) + times * static_cast<std::int64_t>(to - from);
  }
};

/// The chain goes back from the end, and from where it crosses a cut as it crossed the one before, it goes the same way in every repetition. Nullopt if
/// it does not cross two cuts alike. REQUIRES: `runs` has the times of its ops.
[[nodiscard]] std::optional<RepeatedChain> repeated_chain(const ShortRuns& runs);

/// Ops, and the position in them of the first op of each entry.
struct NamedEntries {
  std::vector<Op> ops;
  std::vector<std::size_t> entries;
};
/// The chain of the run with `times` repetitions more. REQUIRES: ops have numbers for all of its microbatches. O(chain.count(times)).
[[nodiscard]] NamedEntries entries_of(const RepeatedChain& chain, const ShortRuns& runs, std::int64_t times);

/// Op `index` of the shorter run as it is in the run with `times` repetitions more, `time` of which come before it, where it comes before the last cut; after it
/// all of them do. REQUIRES: as entries_of() does.
[[nodiscard]] Op op_of(const ShortRuns& runs, std::size_t index, std::int64_t time, std::int64_t times);

}  // namespace pipeloom::study
