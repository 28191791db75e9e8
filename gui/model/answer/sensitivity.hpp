#pragma once

// The gain of the step if something were 1 % faster: simulated, so that other chains that become the longest count, with
// the costs of one stage, kind, rank or link changed. Where messages are more than latencies, the share of the critical path is taken.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/op.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// The things that are made faster: all of these that are set, together. A link is that between two ranks, both ways.
struct Faster {
  std::optional<OpKind> kind;
  std::optional<Stage> stage;
  std::optional<Rank> rank;
  std::optional<Rank> to;  ///< with `rank`: their link instead of the rank's ops
  friend bool operator==(const Faster&, const Faster&) = default;
};
/// "stage 3", "rank 3", "every B", "the link of ranks 2 and 3".
[[nodiscard]] std::string name_of(const Faster& faster);

struct Sensitivity {
  Faster what;
  double gain = 0;  ///< share by which the step is shorter
};
/// The share, of a step whose `what` is 1 % faster; nothing where that is not known. REQUIRES: run.analysed. O(ops).
[[nodiscard]] std::optional<double> gain_of(const RunModel& run, const Faster& what);
/// The time of `what` on the critical path over the makespan: the same to first order, where no other chain is as long.
[[nodiscard]] std::optional<double> path_share(const RunModel& run, const Faster& what);

/// Suggestions from the selected op, or from the one that the selected gap waits for: its stage, its rank, its kind, the link to it.
class SensitivityModel : public Part {
 public:
  explicit SensitivityModel(Session&) {}
  /// Largest gain first; empty until a job has found them.
  [[nodiscard]] const std::vector<Sensitivity>& found() const { return found_; }
  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "sensitivity"; }
  /// {"stage 3": 0.42, ...}: percent for each percent.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  struct Asked {
    std::uint64_t edition = 0;
    std::vector<Faster> of;
    friend bool operator==(const Asked&, const Asked&) = default;
  };
  Asked asked_;
  std::vector<Sensitivity> found_;
};

/// Larger runs are not simulated for it.
inline constexpr std::size_t kMostSensitive = 2'000'000;

}  // namespace pipeloom::gui
