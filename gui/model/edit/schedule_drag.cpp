// Dragging an op of the chart to another place of its rank's queue.

#include <optional>
#include <utility>

#include "gui/model/edit/schedule_editor.hpp"

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

void ScheduleEditor::drag_to(Session& session, Rank rank, double time) {
  const RunModel* run = session.active_run();
  if (!drag_ || run == nullptr || run->id != drag_->run) return;
  drag_->anchor.reset();
  if (rank != drag_->rank) return;
  const Schedule& schedule = *run->schedule;
  const std::size_t step = drag_->op / schedule.num_ops() * schedule.num_ops();
  const auto begin = schedule.queue_begin(rank);
  const auto end = schedule.queue_end(rank);
  // The first entry whose middle is behind the pointer. Starts rise along a queue, and all ops of a group share theirs.
  std::size_t low = begin;
  for (std::size_t high = end; low < high;) {
    const std::size_t middle = low + (high - low) / 2;
    const double centre = 0.5 * (static_cast<double>(run->timeline.start[step + middle]) +
                                 static_cast<double>(run->timeline.end[step + middle]));
    if (centre < time)
      low = middle + 1;
    else
      high = middle;
  }
  while (low > begin && low < end && schedule.ops()[low - 1].joined()) --low;
  const bool behind = low == end;
  const std::size_t anchor = behind ? end - 1 : low;
  const Op name = schedule.ops()[anchor].with_joined(false);
  const auto from = edits_->find(rank, drag_->name);
  const auto to = edits_->find(rank, name);
  if (!from || !to || from->position == to->position || (!behind && from->position + 1 == to->position))
    return;
  drag_->anchor = name;
  drag_->behind = behind;
  drag_->time = behind ? run->timeline.end[step + anchor] : run->timeline.start[step + anchor];
}

void ScheduleEditor::drop(Session& session) {
  const std::optional<Drag> drag = std::exchange(drag_, std::nullopt);
  if (!drag || !drag->anchor || !editing()) return;
  const auto from = edits_->find(drag->rank, drag->name);
  const auto anchor = edits_->find(drag->rank, *drag->anchor);
  if (!from || !anchor) return;
  // In front of the anchor is one less where the op comes from the left of it: it leaves a place behind.
  std::size_t to = anchor->position;
  if (!drag->behind && from->position < anchor->position) --to;
  move(session, drag->rank, drag->name, to);
}

std::optional<DragPreview> ScheduleEditor::drag_preview() const {
  if (!drag_ || !drag_->anchor) return std::nullopt;
  return DragPreview{drag_->run, drag_->op, drag_->rank, drag_->time};
}

}  // namespace pipeloom::gui
