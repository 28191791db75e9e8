#pragma once

// Changes of an op's time. Its edge is dragged, or a slider moved: the configuration changes, the picture follows, and one undo
// restores the earlier state.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/edit/cost_edit.hpp"
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// A duration that was typed: a number in the run's unit, with its name or without, or a share of `before`: "90%", "-10 %". No value for another
/// text.
[[nodiscard]] std::optional<Ticks> typed_duration(std::string_view text, Ticks before, TimeUnit unit);

class WhatIf : public Part {
 public:
  explicit WhatIf(Session&) {}

  /// Takes hold of an op's duration. Returns false, and says why, where it cannot change. A schedule file that runs with costs becomes the
  /// configuration under edit.
  bool begin(Session& session, const OpRef& op);
  /// The op takes `duration` now, and so do the other ops of the scope. REQUIRES: held().
  void change(Session& session, Ticks duration, CostScope scope);
  /// Changes the op so that it ends `ticks` later or earlier than it did, on round numbers of this many ticks or less.
  void stretch(Session& session, double ticks, double ticks_per_pixel, CostScope scope);
  void release(Session& session);
  /// Everything as it was before begin().
  void cancel(Session& session);
  [[nodiscard]] bool held() const { return held_.has_value(); }

  /// The op that is dragged, for the picture and its words. REQUIRES: held().
  struct Shown {
    std::optional<OpRef> op;  ///< as the run on screen has it; nothing while its schedule has none such
    Ticks old_end = 0;        ///< where it ended before
    Ticks old_span_end = 0;   ///< where the run ended before
    Ticks old_duration = 0;
    Ticks duration = 0;
    std::vector<std::string> lines;  ///< "B of stage 3: 24.2 ms -> 26 ms", "step 1212 ms -> 1290 ms (+6.4 %)"
  };
  [[nodiscard]] Shown shown(const Session& session) const;

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "what_if"; }
  /// {"scope", "from", "to", "step_from", "step_to"} in the run's unit, or null.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  struct Held {
    RunPtr before;
    std::size_t position = 0;
    Assignments base;
    Ticks old_duration = 0;
    Ticks duration = 0;
    CostScope scope = CostScope::StageKind;
    std::uint64_t gesture = 0;
    TimeRange range;  ///< of the view: the dragged op keeps its scale
    bool shows_all = false;
    bool changed = false;
  };
  [[nodiscard]] static std::string refusal(Session& session, const OpenRun& open, std::size_t position,
                                           CostScope scope);
  static bool adopt(Session& session, const RunModel& run);

  std::optional<Held> held_;
  std::uint64_t gestures_ = 0;
};

}  // namespace pipeloom::gui
