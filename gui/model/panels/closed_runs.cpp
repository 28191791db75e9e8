#include "gui/model/panels/closed_runs.hpp"

#include <algorithm>
#include <utility>

#include "gui/model/panels/schedule_table.hpp"

namespace pipeloom::gui {
namespace {

/// Limit for all closed runs together: some 500 MB.
constexpr std::size_t kMostOps = 4'000'000;

bool has_live(const Session& session) {
  return std::any_of(session.runs.begin(), session.runs.end(), [](const OpenRun& open) { return open.live; });
}

}  // namespace

void ClosedRuns::push(Session& session, std::size_t index) {
  OpenRun& open = session.runs[index];
  closed_.push_back({open, index, session.part<ScheduleTable>().schedule_of(open.run->id)});
  session.close_run(index);
  std::size_t ops = 0;
  for (const Closed& closed : closed_) ops += closed.open.run->timeline.start.size();
  while (closed_.size() > 1 && ops > kMostOps) {
    ops -= closed_.front().open.run->timeline.start.size();
    closed_.pop_front();
  }
}

void ClosedRuns::close(Session& session, std::size_t index) {
  push(session, index);
  back_.clear();
  session.part<EditHistory>().note(*this);
  session.say("closed " + closed_.back().open.run->title + "; Ctrl+Z brings it back");
}

void ClosedRuns::undo(Session& session) {
  if (closed_.empty()) return;
  Closed closed = std::move(closed_.back());
  closed_.pop_back();
  const RunPtr run = closed.open.run;
  if (closed.open.live && has_live(session))
    return session.say(run->title + " stays closed: the parameters have another run by now");
  back_.push_back(run->id);
  session.insert_run(std::move(closed.open), closed.index);
  if (!closed.ticked.empty()) session.part<ScheduleTable>().adopt(closed.ticked, run->id);
  session.say("brought back " + run->title);
}

void ClosedRuns::redo(Session& session) {
  if (back_.empty()) return;
  const std::uint64_t id = back_.back();
  back_.pop_back();
  const OpenRun* open = session.find_run(id);
  // Another one may have taken its place meanwhile.
  if (open != nullptr) push(session, static_cast<std::size_t>(open - session.runs.data()));
}

}  // namespace pipeloom::gui
