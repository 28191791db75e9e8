#include "gui/model/chart/op_look.hpp"

#include <algorithm>

#include <pipeloom/schedule.hpp>

namespace pipeloom::gui {
namespace {

/// The entry of a map by run for this run; null where it has none.
template <class Map>
auto found_in(const Map& map, const RunModel& run) {
  const auto found = map.find(run.id);
  return found == map.end() ? nullptr : found->second.get();
}

/// Null too where nothing is known of slack: there the levels are empty.
const std::vector<std::uint8_t>* known_slack(const ChartPart& part, const RunModel& run) {
  const auto* levels = found_in(part.slack, run);
  return levels == nullptr || levels->empty() ? nullptr : levels;
}

}  // namespace

bool OpLook::is_left_out(std::size_t position) const {
  if (matches != nullptr) return !std::binary_search(matches->begin(), matches->end(), position);
  if (!kind) return false;
  const auto ops = run->schedule->ops();
  return ops[position % ops.size()].kind() != *kind;
}

const OpPaint& OpLook::of(std::size_t position) const {
  if (is_left_out(position)) return colours->dimmed();
  const auto ops = run->schedule->ops();
  const std::size_t index = position % ops.size();
  if (colours->is_hidden(ops[index].kind())) return colours->dimmed();
  if (tint != nullptr && position < tint->size()) return colours->of_tint((*tint)[position]);
  if (slack != nullptr && index < slack->size()) return colours->of_slack((*slack)[index]);
  return colours->of(ops[index]);
}

OpLook op_look(const Session& session, const ChartPart& part, const RunModel& run,
               const ChartColours& colours) {
  OpLook look;
  look.run = &run;
  look.colours = &colours;
  look.tint = found_in(part.tints, run);
  look.matches = found_in(part.bright(), run);
  if (session.view.colour == GanttColour::Slack) look.slack = known_slack(part, run);
  look.kind = session.selection.kind;
  return look;
}

}  // namespace pipeloom::gui
