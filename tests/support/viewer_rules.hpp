#pragma once

// What Perfetto makes of a Chrome trace, by the rules that its trace processor v52 was seen to follow (scripts/test_viewers.sh runs it on the same
// files): which events it drops, which it draws inside others, which ops an arrow joins.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pipeloom::viewers {

/// What is wrong with a trace, as text that names the event.
struct Faults {
  std::vector<std::string> dropped;  ///< events that overlap one that began before them on their thread
  std::vector<std::string> nested;   ///< events inside another; those of no length may be in one of no length
  std::vector<std::string> arrows;   ///< arrows that do not join an op and the one that waits for it
  std::vector<std::string> threads;  ///< threads with a process's number or two names
  std::size_t num_ops = 0;           ///< complete events, those that are dropped too
  std::size_t num_arrows = 0;        ///< those that join two events

  [[nodiscard]] bool none() const {
    return dropped.empty() && nested.empty() && arrows.empty() && threads.empty();
  }
  /// The first of each kind.
  [[nodiscard]] std::string text() const;
};

/// Rules: `ts` and `dur` are rounded to nanoseconds each by itself. Events of one thread come in order of their start, longer ones first, then
/// in that of the file; one begins inside the last that has not ended, and is dropped if it ends after that. Arrows come after the events of their
/// instant that have a length and join the last events that began on their threads; their start must come before their end.
/// REQUIRES: `trace` is a JSON object with traceEvents whose complete events are ops.
[[nodiscard]] Faults faults_of(std::string_view trace);

}  // namespace pipeloom::viewers
