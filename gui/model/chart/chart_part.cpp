#include "gui/model/chart/chart_part.hpp"

#include <algorithm>
#include <cmath>

#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/chart/pressed_rank.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/run/build_run.hpp"

namespace pipeloom::gui {
namespace {

template <class Value>
void forget_gone(const Session& session, std::map<std::uint64_t, Value>& by_run) {
  std::erase_if(by_run, [&](const auto& entry) { return session.find_run(entry.first) == nullptr; });
}

}  // namespace

std::vector<std::uint8_t> slack_levels(const RunModel& run) {
  std::vector<std::uint8_t> levels;
  const std::vector<Ticks> all = run_slack(run);
  Ticks longest = 1;
  for (std::size_t op = 0; op < all.size(); ++op)
    longest = std::max(longest, run.timeline.end_of(op) - run.timeline.start_of(op));
  // The whole scale is ten of the longest ops; small slacks matter most, so it is not linear.
  const double full = std::log1p(10.0);
  levels.reserve(all.size());
  for (const Ticks ticks : all) {
    const double share = std::log1p(static_cast<double>(ticks) / static_cast<double>(longest)) / full;
    const long level = std::lround(255 * std::clamp(share, 0.0, 1.0));
    levels.push_back(static_cast<std::uint8_t>(ticks == 0 ? 0 : std::max(1L, level)));
  }
  return levels;
}

const ChartColours& ChartPart::colours_of(const Session& session, const RunModel& run) {
  const ChartColours::Key key{run.id,
                              session.view.colour,
                              session.preferences.dark,
                              session.preferences.palette,
                              session.view.hidden_kinds,
                              tints.contains(run.id)};
  for (auto& colours : colours_) {
    if (colours->key().run != run.id) continue;
    if (!(colours->key() == key)) colours = std::make_shared<const ChartColours>(run, key);
    return *colours;
  }
  return *colours_.emplace_back(std::make_shared<const ChartColours>(run, key));
}

std::optional<Rank> ChartPart::memory_rank(const Session& session, const RunModel& run) {
  if (!run.memory_track) return std::nullopt;
  const std::optional<Rank> selected = selected_rank(session);
  if (selected && selected->value() < run.ranks()) return selected;
  const auto [kept, is_new] = pressed_.try_emplace(run.id);
  if (is_new) kept->second = pressed_rank(run);
  return kept->second;
}

void ChartPart::ask_for_slack(Session& session, const RunPtr& run) {
  slack_asked_ = run->id;
  session.jobs.submit("slack", [this, run](const Cancelled&) -> Jobs::Finish {
    auto levels = std::make_shared<const std::vector<std::uint8_t>>(slack_levels(*run));
    return [this, levels, id = run->id] {
      slack[id] = levels;
      slack_asked_ = 0;
    };
  });
}

bool ChartPart::update(Session& session) {
  forget_gone(session, tints);
  forget_gone(session, matches);
  forget_gone(session, highlights);
  forget_gone(session, slack);
  forget_gone(session, pressed_);
  std::erase_if(colours_, [&](const auto& one) { return session.find_run(one->key().run) == nullptr; });
  if (session.view.colour != GanttColour::Slack || slack_asked_ != 0) return false;
  for (const OpenRun& open : session.runs) {
    if (slack.contains(open.run->id)) continue;
    ask_for_slack(session, open.run);
    return true;
  }
  return false;
}

}  // namespace pipeloom::gui
