#pragma once

// Editing the queues of the run that is active: the picture, the metrics and the problems follow every edit.
//
//   edit -> job "edit": validate, simulate with the run's own costs -> "1f1b p=4 m=8 (edited)" in the place of the run
//
// Edits that leave no schedule (an op missing, or before its inputs) keep the last picture and report the problem; those that
// make ranks wait for each other show the ops that run, with the wait cycle. The run from before the edits is kept: undoing all of them,
// or discarding, shows it again. Edits of several runs are kept (edited_orders.hpp).

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "gui/model/edit/edit_history.hpp"
#include "gui/model/edit/edited_orders.hpp"
#include "gui/model/edit/queue_edits.hpp"
#include "gui/model/run/build_run.hpp"
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"
#include "sim/analysis/hang.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::gui {

/// The place to which a dragged op would go.
inline constexpr std::size_t kUnreached = std::numeric_limits<std::size_t>::max();
struct DragPreview {
  std::uint64_t run = 0;
  /// Position of the dragged op in the run's timeline; kUnreached for one that the run does not reach.
  std::size_t op = 0;
  Rank rank;
  /// The place where it would be inserted: a line in the rank's row at this time.
  Ticks time = 0;
};

/// An edited order that is in no file.
struct UnsavedOrder {
  std::uint64_t run = 0;
  RunPtr origin;
  QueueSnapshot queues;
  std::uint64_t revision = 0;  ///< of note_saved()
};

/// An edited run that others have taken the place of, and the parameters that it had.
struct SetAside {
  RunPtr run;
  Assignments parameters;
};

class ScheduleEditor : public Part, public Undoable {
 public:
  explicit ScheduleEditor(Session&) {}

  [[nodiscard]] bool editing() const { return edits_ != nullptr; }
  /// Starts to edit the active run, unless it is being edited already. Throws InputError if nothing is open, or the run was measured.
  void begin(Session& session);
  /// Stops editing; the edited run stays on screen.
  void end();
  /// Shows the run from before the edits again, and stops editing.
  void discard(Session& session);
  /// The selected op of the active run and its rank, even an op that a run which hangs does not reach; no value without one.
  [[nodiscard]] static std::optional<std::pair<Rank, Op>> find_selected(const Session& session);
  /// The rank and op that edits without an argument work on: those of find_selected(). Throws InputError without them.
  [[nodiscard]] std::pair<Rank, Op> selected(const Session& session) const;

  /// The runs that were edited, whether editing goes on or not; the one under edit comes last.
  [[nodiscard]] std::vector<EditedOrder> edited() const;
  /// The orders on screen that are in no file that was saved here; that of the run under edit first.
  [[nodiscard]] std::vector<UnsavedOrder> unsaved(const Session& session) const;
  [[nodiscard]] bool is_unsaved(const Session& session, std::uint64_t run) const;
  /// The order of that revision was saved in a file.
  void note_saved(std::uint64_t revision, const std::string& path);
  /// The revision of the edits of a run; 0 if it has none.
  [[nodiscard]] std::uint64_t revision_of(std::uint64_t run);
  /// True if the file of that name was saved here.
  [[nodiscard]] bool saved_to(const std::string& path) const { return saved_files_.contains(path); }
  /// Forgets all edits, and shows the run from before those of the run under edit.
  void discard_all(Session& session);

  /// The run under edit is about to be replaced by one of other parameters: its edits are kept beside these.
  void set_aside(Session& session, const Assignments& parameters);
  /// Those that were set aside since this was asked last.
  [[nodiscard]] std::vector<SetAside> take_set_aside();
  [[nodiscard]] bool is_set_aside(std::uint64_t run) const;
  /// Puts the edited run of these parameters back, with the steps of its undo. False if none was set aside.
  bool take_back(Session& session, const Assignments& parameters);
  /// Edits the active run so that it has these queues again. Throws InputError where they do not fit.
  void restore(Session& session, const std::map<int, std::vector<Op>>& queues);

  // Edits. Each begins editing if need be, and throws as QueueEdits does.
  void move(Session& session, Rank rank, Op op, std::size_t position);
  /// By `by` entries later (negative: earlier); stays within the queue.
  void shift(Session& session, Rank rank, Op op, int by);
  void remove_weight(Session& session, Rank rank, Op op);
  void insert_weight(Session& session, Rank rank, Op op, std::size_t position);
  void split(Session& session, Rank rank, Op op);
  void join_next(Session& session, Rank rank, Op op);
  /// Finds the shortest moves that let the run run (a job), and does them.
  void apply_remedy(Session& session);
  /// Does these moves, one after another, each a step of its own. REQUIRES: they are of the queues as they are.
  void apply_moves(Session& session, const std::vector<Move>& moves);

  [[nodiscard]] bool can_undo() const override { return editing() && edits_->can_undo(); }
  [[nodiscard]] bool can_redo() const override { return editing() && edits_->can_redo(); }
  void undo(Session& session) override;
  void redo(Session& session) override;

  // A drag of an op within its row, in the picture as it is.
  /// False if this is no op of the edited run.
  bool begin_drag(Session& session, const OpRef& op);
  /// Likewise of an op that the edited run does not reach.
  bool begin_drag(Session& session, std::uint64_t run, Rank rank, Op op);
  /// `time` in ticks. Another rank than the op's own, and its own place, preview nothing.
  void drag_to(Session& session, Rank rank, double time);
  /// Moves the op to where the preview is, if there is one.
  void drop(Session& session);
  [[nodiscard]] bool dragging() const { return drag_.has_value(); }
  [[nodiscard]] std::optional<DragPreview> drag_preview() const;

  /// The queues as they are now. REQUIRES: editing().
  [[nodiscard]] const QueueEdits& queues() const { return *edits_; }
  /// Changes with every edit and undo.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }
  /// The run from before the edits. REQUIRES: editing().
  [[nodiscard]] const RunModel& before() const { return *before_; }
  /// RunModel::id of the run that edits change; 0 if none.
  [[nodiscard]] std::uint64_t shown() const { return shown_; }
  /// The result of the latest finished job. While another job is under way it is of older queues.
  [[nodiscard]] const EditOutcome& outcome() const { return outcome_; }
  [[nodiscard]] bool pending() const { return editing() && outcome_.revision != revision_; }

  /// Says why the present queues are no schedule, and the way back; "" where they are one, or one that hangs, which shows how far it gets.
  [[nodiscard]] std::string refusal() const;
  /// The ops that it is about, in the picture that stays; some of many.
  [[nodiscard]] const std::vector<OpRef>& refused_ops() const { return refused_ops_; }

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "edit"; }
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  struct Drag {
    std::uint64_t run = 0;
    std::size_t op = 0;
    Rank rank;
    Op name;
    /// The op before which, or after which if `behind`, it goes.
    std::optional<Op> anchor;
    bool after = false;
    Ticks time = 0;
  };
  /// The entry before which, or after which, the pointer is, and its time.
  struct Anchor {
    Op op;
    bool after = false;
    Ticks time = 0;
  };
  [[nodiscard]] std::optional<Anchor> anchor_at(const RunModel& run, Rank rank, double time) const;
  void resume(Session& session, EditWork work);
  void edited(Session& session);
  /// Follows every change of the queues, undone ones too.
  void changed(Session& session);
  void evaluate(Session& session);
  void take(Session& session, EditOutcome outcome);
  void show(Session& session, const RunPtr& run);
  void find_refused(const Session& session);

  std::shared_ptr<QueueEdits> edits_;
  RunPtr before_;
  io::Config config_;
  EditedOrders kept_;
  std::uint64_t shown_ = 0;
  std::uint64_t revision_ = 0;
  std::uint64_t begun_ = 0;  // the revision at which editing began
  std::uint64_t saved_revision_ = 0;
  std::set<std::string> saved_files_;
  EditOutcome outcome_;
  std::vector<OpRef> refused_ops_;
  std::optional<Drag> drag_;
};

/// The configuration that a simulated run's costs, memory and step came from; the defaults for a run that has none. What changes queues
/// (recomputation, offload, forward_only) is left out: the run's schedule has it already.
[[nodiscard]] io::Config config_of(const RunModel& run);

/// The whole schedule of a run: of one that hangs, all of it and not only the part that ran.
[[nodiscard]] const std::shared_ptr<const Schedule>& whole_schedule(const RunModel& run);

/// Validates and simulates: the job after every edit. `title` is that of the run. Throws nothing.
[[nodiscard]] EditOutcome evaluate_edit(const QueueSnapshot& queues, const io::Config& config,
                                        const std::string& title, const RunModel& before);

}  // namespace pipeloom::gui
