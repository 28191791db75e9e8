// Dragging an op within its row, in the picture as it is.

#include <algorithm>
#include <optional>
#include <utility>

#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/run/waiting_ops.hpp"

namespace pipeloom::gui {

bool ScheduleEditor::begin_drag(Session& session, const OpRef& op) {
  drag_.reset();
  const RunModel* run = session.active_run();
  if (run == nullptr || run->id != op.run || run->source == RunSource::TimelineFile) return false;
  begin(session);
  if (op.run != shown_) return false;
  const std::size_t index = op.op % run->schedule->num_ops();
  drag_ = Drag{op.run,
               op.op,
               run->schedule->rank_of_op(index),
               run->schedule->ops()[index].with_joined(false),
               std::nullopt,
               false,
               0};
  return true;
}

bool ScheduleEditor::begin_drag(Session& session, std::uint64_t run, Rank rank, Op op) {
  drag_.reset();
  const RunModel* active = session.active_run();
  if (active == nullptr || active->id != run || !active->whole) return false;
  begin(session);
  if (run != shown_) return false;
  drag_ = Drag{run, kUnreached, rank, op.with_joined(false), std::nullopt, false, 0};
  return true;
}

std::optional<ScheduleEditor::Anchor> ScheduleEditor::anchor_at(const RunModel& run, Rank rank,
                                                                double time) const {
  const Schedule& schedule = *run.schedule;
  const std::size_t step = drag_->op == kUnreached ? 0 : drag_->op / schedule.num_ops() * schedule.num_ops();
  const auto begin = schedule.queue_begin(rank);
  const auto end = schedule.queue_end(rank);
  // The first entry whose middle is right of the pointer. Starts rise along a queue, and all ops of a group share theirs.
  std::size_t low = begin;
  for (std::size_t high = end; low < high;) {
    const std::size_t middle = low + (high - low) / 2;
    const double centre = 0.5 * (static_cast<double>(run.timeline.start[step + middle]) +
                                 static_cast<double>(run.timeline.end[step + middle]));
    if (centre < time)
      low = middle + 1;
    else
      high = middle;
  }
  while (low > begin && low < end && schedule.ops()[low - 1].joined()) --low;
  if (low < end) return Anchor{schedule.ops()[low].with_joined(false), false, run.timeline.start[step + low]};
  // Right of all that ran: among the ops that the rank does not reach.
  std::optional<Anchor> found;
  if (end > begin)
    found = Anchor{schedule.ops()[end - 1].with_joined(false), true, run.timeline.end[step + end - 1]};
  bool passed = false;
  each_waiting(run, rank, standstill(run, rank), [&](Op op, Ticks from, Ticks to) {
    const bool right = 0.5 * (static_cast<double>(from) + static_cast<double>(to)) >= time;
    if (!passed) found = Anchor{op.with_joined(false), !right, right ? from : to};
    passed = passed || right;
  });
  return found;
}

void ScheduleEditor::drag_to(Session& session, Rank rank, double time) {
  const RunModel* run = session.active_run();
  if (!drag_ || run == nullptr || run->id != drag_->run) return;
  drag_->anchor.reset();
  if (rank != drag_->rank) return;
  const std::optional<Anchor> anchor = anchor_at(*run, rank, time);
  if (!anchor) return;
  const auto from = edits_->find(rank, drag_->name);
  const auto to = edits_->find(rank, anchor->op);
  if (!from || !to || from->position == to->position ||
      (!anchor->after && from->position + 1 == to->position))
    return;
  drag_->anchor = anchor->op;
  drag_->after = anchor->after;
  drag_->time = anchor->time;
}

void ScheduleEditor::drop(Session& session) {
  const std::optional<Drag> drag = std::exchange(drag_, std::nullopt);
  if (!drag || !drag->anchor || !editing()) return;
  const auto from = edits_->find(drag->rank, drag->name);
  const auto anchor = edits_->find(drag->rank, *drag->anchor);
  if (!from || !anchor) return;
  // The place before the anchor is one less where the op comes from the left of it, as the op leaves its own place empty.
  std::size_t to = anchor->position;
  if (!drag->after && from->position < anchor->position) --to;
  move(session, drag->rank, drag->name, to);
}

std::optional<DragPreview> ScheduleEditor::drag_preview() const {
  if (!drag_ || !drag_->anchor) return std::nullopt;
  return DragPreview{drag_->run, drag_->op, drag_->rank, drag_->time};
}

}  // namespace pipeloom::gui
