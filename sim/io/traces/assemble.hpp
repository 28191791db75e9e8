#pragma once

// A Trace to a timeline: steps told apart, what is partial left out, stages and microbatches numbered.

#include <cstdint>
#include <string>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/traces/trace.hpp"
#include "sim/io/traces/trace_messages.hpp"

namespace pipeloom::io {

/// A window this much longer than the median step's makes a step an outlier, in percent.
inline constexpr int kOutlyingPercent = 3;

/// What a trace says of one of its ranks, and how it was taken.
struct RankVerdict {
  std::int32_t rank = 0;  ///< as the trace counts
  std::string file;
  TimesOf times_of = TimesOf::Device;
  std::size_t num_ops = 0;
  std::size_t num_waits_off = 0;  ///< RankTrace::num_waits_off
  std::size_t num_held = 0;       ///< ops of a step that are TraceRun::held
  std::size_t num_left_out = 0;   ///< steps that are not whole
  std::string last;               ///< where it ends: "B of stage 0, microbatch 3"
  bool is_truncated = false;
  Ticks ahead = 0;  ///< of the first rank's clock, taken off
};

struct TraceRun {
  /// By rank of the timeline.
  std::vector<RankVerdict> verdicts;
  /// By how much messages allow another RankVerdict::ahead.
  Ticks clocks_uncertain = 0;
  /// Of the steps that all ranks ran in full; its schedule is the order of the first of them.
  Timeline timeline;
  /// Which rank of the trace each rank of the timeline was.
  std::vector<std::int32_t> ranks;
  /// What the trace calls each step of the timeline: the number of its mark, or counted from 0.
  std::vector<std::int32_t> steps;
  /// Of the timeline's steps those that are outliers: longer than the median by more than kOutlyingPercent. Medians leave them out.
  std::vector<int> outliers;
  /// Those whose both sides the trace has.
  std::vector<TracedMessage> messages;
  /// [op]: in some step it began before its message left, or the next op of its pair did, and the trace does not show when the wait ended: its time may
  /// hold that. Empty where no op does.
  std::vector<bool> held = {};
  /// As the trace says (Trace::is_of_torch).
  bool is_of_torch = false;
  /// Steps that some rank did not run in full were left out, or a file ended before its text did.
  bool is_partial = false;
  /// Which ranks' files ended before their text did, as the trace counts ranks.
  std::vector<std::int32_t> truncated;
  /// No step is whole: the timeline is one as far as it was recorded (Partial::LastStep).
  bool is_cut = false;
  /// In each step every rank's clock begins anew (Trace::has_step_clocks).
  bool has_step_clocks = false;
  /// Lines for stderr, those of the trace first.
  std::vector<std::string> warnings;
};

/// A step begins where a mark says so; else where an op comes for a second time. Ranks that run the same ops on the same stages are replicas, of
/// which the first stands for all. Ops whose microbatch is unknown count up by chunk and kind in order of their starts. Where only chunks
/// are known, stages follow from the ranks (ChunkOrder). Ops of a rank that overlap without being a group start when the one before ends; a warning
/// counts them. Where messages arrive before they leave, clocks are set by them (align_by_messages). Throws InputError where a rank or stage is missing, where stages have different numbers of microbatches, and where no step is
/// whole. With Partial::LastStep, where a file ended early before any step was whole, the step of which most is there is taken as it is. O(n log n).
[[nodiscard]] TraceRun assemble(Trace trace, Partial partial = Partial::Refuse);

/// The timeline without its outliers: at least one step, as no median is one.
[[nodiscard]] Timeline usual_steps(const TraceRun& run);

}  // namespace pipeloom::io
