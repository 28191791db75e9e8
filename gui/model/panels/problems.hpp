#pragma once

// Problems of the active run, for people: diagnostics of its queues, which rank waits for which, the shortest moves that would help,
// PyTorch's verdict, limits and warnings. Made by a job when the run, its edits or a refused configuration change; the panel
// shows the result.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"
#include "sim/analysis/hang.hpp"
#include "sim/io/config/config.hpp"

namespace pipeloom::gui {

/// One line of the panel.
struct Problem {
  enum class Kind : std::uint8_t { Error, Warning, Note };
  Kind kind = Kind::Error;
  /// "hang", "missing-weight", "over-limit", "warning": stable, for scripts.
  std::string code;
  std::string message;
  /// "file.csv:3:7", "" if it is in no file.
  std::string place;
  /// The things that a click selects; no value where there is nothing to select.
  std::optional<Rank> rank;
  std::optional<Op> op;
  /// Entry of the rank's queue that holds `op`, if one does.
  std::optional<std::size_t> slot;
};

/// Moves that let a schedule run, to be done in order, with their words.
struct Repair {
  std::vector<Move> moves;
  std::vector<std::string> words;  ///< "on rank 1, move 1F1 from position 3 to 2, in front of 1B0"
  /// The step that it leads to, simulated; nothing where durations are those of single ops.
  std::optional<Ticks> step;
};

/// All that is wrong, as text that does not change any more.
struct ProblemReport {
  std::vector<Problem> problems;
  /// Which rank waits for which, the cycle first: "rank 2 is blocked at 2B0 and waits for 3B0 of rank 3, which".
  std::vector<std::string> waits;
  /// The ranks of the wait cycle, in its order.
  std::vector<Rank> cycle;
  /// The steps before the ranks stop.
  std::optional<HangGrid> grid;
  /// At most kMostRepairs, the shortest step first. Empty if none was found or nothing hangs.
  std::vector<Repair> repairs;
  TimeUnit unit = TimeUnit::Unit;  ///< of their steps
  /// A setting that would help: "costs.transfer.queue=per-pair".
  std::string setting;
  /// Pages of text: a lowered file's messages, PyTorch's verdict with its grid.
  std::string page;

  [[nodiscard]] std::size_t errors() const;
  /// True if ranks, messages or PyTorch's actions wait for each other.
  [[nodiscard]] bool hangs() const;
};

inline constexpr std::size_t kMostRepairs = 3;
/// "on rank 1, move 1F1 from position 3 to 2, in front of 1B0: step 36.0 units".
[[nodiscard]] std::string repair_text(const Repair& repair, TimeUnit unit);

/// Reports a schedule's diagnostics, and all the rest if it hangs; repairs are priced by `costs`, null for the defaults. `text` and `file` are those of the file that holds it, "" if none holds
/// it as it is. O(ops) and the search for moves: for jobs. Throws nothing.
[[nodiscard]] ProblemReport examine_schedule(const Schedule& schedule, std::string_view text,
                                             const std::string& file, const Costs* costs = nullptr);
/// Reports the problems of a run's schedule, limits and warnings, and PyTorch's verdict on its file, which it reads. For jobs.
[[nodiscard]] ProblemReport examine_run(const RunModel& run);
/// Evaluates a configuration that is refused, or whose messages hang, and reports why. For jobs.
[[nodiscard]] ProblemReport examine_configuration(const io::Config& config, const Cancelled& cancelled = {});
/// Reports the problems of a file, which may be unreadable. For jobs.
[[nodiscard]] ProblemReport examine_file(const std::string& path);

class Problems : public Part {
 public:
  explicit Problems(Session&) {}

  /// The result of the latest look at the active run; there always is one.
  [[nodiscard]] const ProblemReport& report() const { return *report_; }
  /// Changes with the report: for a view's caches.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }
  [[nodiscard]] bool pending() const { return pending_; }
  /// Shows the problems of a file that could not be opened, until another run is active.
  void show_file(Session& session, const std::string& path);
  /// It could be opened after all.
  void forget_file(const std::string& path) {
    if (refused_file_ == path) refused_file_.clear();
  }
  /// Selects the op that a problem speaks of and brings it into view; false if it has none on screen.
  bool select(Session& session, std::size_t problem);

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "problems"; }
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  void take(Session& session, std::shared_ptr<const ProblemReport> report);

  std::shared_ptr<const ProblemReport> report_ = std::make_shared<ProblemReport>();
  std::uint64_t revision_ = 0;
  std::uint64_t run_ = 0;
  std::uint64_t edit_ = 0;
  std::uint64_t config_ = 0;
  std::string refused_file_;
  bool pending_ = false;
};

}  // namespace pipeloom::gui
