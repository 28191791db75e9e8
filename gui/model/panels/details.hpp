#pragma once

// The content of the details pane for the selected op or gap. Made when the selection changes, then only shown.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/chart/roots.hpp"
#include "gui/model/session/session.hpp"
#include "sim/memory.hpp"

namespace pipeloom::gui {

/// "duration", "2.0 ms". A line with an op leads there.
struct DetailLine {
  std::string name;
  std::string value;
  std::optional<OpRef> op = {};
  /// Emphasised: the one that held the op up.
  bool strong = false;
};

/// One of the ops that led to where the selection is.
struct ChainLine {
  OpKind kind = OpKind::Forward;
  std::string name;   ///< "B 0 of stage 1"; "4 more" where ops are left out
  std::string value;  ///< "ends 288.2 ms"
  std::optional<OpRef> op = {};
};

struct Details {
  /// "B 7 of stage 3", "Gap on rank 0 of 1f1b".
  std::string title;
  /// Duration, times and cause in one line: "175 ms, 113.6 ms to 288.6 ms \u00b7 warm-up".
  std::string line;
  /// The op that it waits for, and the change that would help.
  std::string sentence;
  /// Backward in time: the op that it waits for, the op that this one waited for, to where the waiting begins.
  std::vector<ChainLine> chain;
  std::vector<DetailLine> facts;
  std::vector<DetailLine> predecessors;
  std::vector<DetailLine> successors;
};

/// Numbers that take more than a look-up and come later; no value: not known.
struct OpExtras {
  /// Time by which the op could start later with the makespan unchanged.
  std::optional<Ticks> slack;
  /// Bytes of the rank without the op's own, before it starts and once it has freed its memory.
  std::optional<Bytes> before;
  std::optional<Bytes> after;
};

/// The source of an op's duration: "costs.backward = 2.0 (default)", with its scale or overlap. "measured" without costs.
[[nodiscard]] std::string cost_source(const RunModel& run, std::size_t position);
[[nodiscard]] Details details_of_op(const RunModel& run, const OpWalk& walk, std::size_t position,
                                    const OpExtras& extras);
/// `roots` are those of the run, null while they are not known.
[[nodiscard]] Details details_of_gap(const RunModel& run, const OpWalk& walk, const GapRef& gap,
                                     const RunRoots* roots = nullptr);
/// Title, sentence and lines as text for the clipboard: one a line, name and value apart by a tab.
[[nodiscard]] std::string to_text(const Details& details);
/// Bytes held around an op that takes and gives back `effect`, from its rank's memory over time.
[[nodiscard]] OpExtras memory_around(const std::vector<MemoryStep>& curve, const QueueEffect& effect,
                                     Ticks start, Ticks end);

/// Ops of a chain that are listed; of longer ones the middle is left out.
inline constexpr std::size_t kMostInChain = 5;

class DetailsPart : public Part {
 public:
  explicit DetailsPart(Session&) {}
  /// Null while nothing is selected, or the index of a large run is being made.
  [[nodiscard]] const Details* current(Session& session);
  [[nodiscard]] std::string_view state_key() const override { return "details"; }
  /// {"title", "line", "sentence", "chain": ["B 0 of stage 1", ...], "facts": {name: value}, "predecessors": ["2/2B7", ...], "successors": [...]}, or
  /// null.
  void write_state(const Session& session, io::JsonWriter& out) const override;
  bool update(Session& session) override;

 private:
  /// Results of jobs: memory over time of one rank of a run, slack of every op of a run.
  struct Found {
    std::uint64_t run = 0;
    Rank rank;
    int step = 0;
    std::shared_ptr<const std::vector<MemoryStep>> curve;
    std::shared_ptr<const ActivationEffects> effects;  ///< keeps its run
    std::shared_ptr<const std::vector<Ticks>> slack;
  };
  void ask(Session& session, const RunPtr& run, std::size_t position);
  [[nodiscard]] OpExtras extras_of(const RunModel& run, std::size_t position) const;

  std::optional<OpRef> op_;
  std::optional<GapRef> gap_;
  std::optional<Details> details_;
  bool has_roots_ = false;  ///< of a gap: they are in details_
  std::optional<Found> found_;
  bool asked_ = false;
};

}  // namespace pipeloom::gui
