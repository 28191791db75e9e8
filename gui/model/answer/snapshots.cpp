#include "gui/model/answer/snapshots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include <pipeloom/error.hpp>
#include "gui/model/edit/schedule_editor.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/memory.hpp"
#include "study/run/assignments.hpp"

namespace pipeloom::gui {
namespace {

constexpr std::string_view kSchedule = "schedule";
/// More differences than these are counted.
constexpr std::size_t kMostNamed = 3;

std::string value_of(const Assignments& config, const std::string& key) {
  const auto found = config.find(key);
  return found == config.end() ? std::string() : found->second;
}

/// "costs.transfer.model" -> "transfer", "costs.forward" -> "forward": its last word, or the one before where that has no meaning by itself.
std::string word_of(const std::string& key) {
  std::string path = key;
  if (path.ends_with(".model") && path != "costs.model")
    path.erase(path.size() - std::string_view(".model").size());
  std::string word = path.substr(path.rfind('.') + 1);
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

/// Keys with more than one value among the configurations, in order; without the schedule, which comes first in every title.
std::set<std::string> differing_keys(const std::vector<Assignments>& configs) {
  std::set<std::string> keys;
  for (const Assignments& config : configs)
    for (const auto& entry : config) {
      const auto differs = [&](const Assignments& other) {
        return value_of(other, entry.first) != entry.second;
      };
      if (entry.first != kSchedule && std::ranges::any_of(configs, differs)) keys.insert(entry.first);
    }
  return keys;
}

std::string title_beside(const Assignments& config, const std::set<std::string>& keys) {
  const std::string schedule = value_of(config, std::string(kSchedule));
  std::string title = schedule.empty() ? "1f1b" : shown_value(schedule);
  std::size_t named = 0;
  std::size_t more = 0;
  for (const std::string& key : keys) {
    const std::string value = value_of(config, key);
    if (value.empty()) continue;
    if (named == kMostNamed) {
      ++more;
      continue;
    }
    ++named;
    title += fmt::format(" \u00b7 {} {}", word_of(key), shown_value(value));
  }
  return more == 0 ? title : fmt::format("{} \u00b7 {} more", title, more);
}

const OpenRun* live_run(const Session& session) {
  const auto found = std::ranges::find_if(session.runs, [](const OpenRun& open) { return open.live; });
  return found == session.runs.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> distinct_titles(const std::vector<Assignments>& configs) {
  const std::set<std::string> keys = differing_keys(configs);
  std::vector<std::string> titles;
  titles.reserve(configs.size());
  for (const Assignments& config : configs) titles.push_back(title_beside(config, keys));
  return titles;
}

Snapshot& Snapshots::find(std::string_view name) {
  const auto found = std::ranges::find_if(all_, [&](const Snapshot& each) { return each.name == name; });
  if (found != all_.end()) return *found;
  std::vector<std::string> names;
  for (const Snapshot& each : all_) names.push_back(each.name);
  throw InputError::unknown_name(Where{"snapshot"}, "snapshot", std::string(name), names);
}

/// A title that tells it from earlier snapshots; a number follows where another one has the same title.
std::string Snapshots::fresh_name(const Assignments& config, std::string_view after) const {
  std::vector<Assignments> configs;
  for (const Snapshot& each : all_) configs.push_back(each.config);
  configs.push_back(config);
  const std::string title = distinct_titles(configs).back().append(after);
  const auto taken = [this](const std::string& name) {
    return std::ranges::any_of(all_, [&](const Snapshot& each) { return each.name == name; });
  };
  std::string name = title;
  for (int number = 2; taken(name); ++number) name = fmt::format("{} ({})", title, number);
  return name;
}

void Snapshots::take(Session& session, std::string_view name) {
  const auto& config = session.part<ConfigModel>();
  const OpenRun* live = live_run(session);
  if (live == nullptr) throw InputError(Where{"snapshot"}, "there is no run under edit to keep");
  if (config.pending())
    throw InputError(Where{"snapshot"}, "the run is still being computed; try again in a moment");
  if (std::ranges::any_of(all_, [&](const Snapshot& each) { return each.name == name; }))
    throw InputError(Where{"snapshot"},
                     fmt::format("there is a snapshot '{}'; take another name", shortened(name, 80)));
  all_.push_back({name.empty() ? fresh_name(config.assignments()) : std::string(name), live->run,
                  config.assignments(), true});
  session.baseline = live->run->id;
  ++changes_;
  session.say(
      fmt::format("kept as '{}'; what you change now is compared with it", shortened(all_.back().name, 80)));
}

void Snapshots::put(Snapshot snapshot) {
  all_.push_back(std::move(snapshot));
  ++changes_;
}

/// Names may have "=" in them: the first cut with a name before it counts.
void Snapshots::rename(std::string_view names) {
  const auto is_called = [](std::string_view name) {
    return [name](const Snapshot& each) { return each.name == name; };
  };
  for (std::size_t at = names.find('='); at != std::string_view::npos; at = names.find('=', at + 1)) {
    const auto found = std::ranges::find_if(all_, is_called(names.substr(0, at)));
    if (found == all_.end()) continue;
    const std::string_view name = names.substr(at + 1);
    if (name.empty() || std::ranges::any_of(all_, is_called(name)))
      throw InputError(Where{"rename-snapshot"},
                       fmt::format("'{}' is no name that is free; give another one", shortened(name, 80)));
    found->name = std::string(name);
    ++changes_;
    return;
  }
  (void)find(names.substr(0, names.find('=')));
  throw InputError(Where{"rename-snapshot"}, "name the snapshot and what it is to be called: OLD=NEW");
}

void Snapshots::restore(Session& session, std::string_view name) {
  session.part<ConfigModel>().replace(session, find(name).config);
}

void Snapshots::show(Session& session, std::string_view name, bool on) {
  Snapshot& snapshot = find(name);
  snapshot.shown = on;
  if (on) return;
  std::erase(stacked_, snapshot.run->id);
  for (std::size_t i = 0; i < session.runs.size(); ++i)
    if (session.runs[i].run->id == snapshot.run->id && !session.runs[i].live) return session.close_run(i);
}

void Snapshots::remove(Session& session, std::string_view name) {
  show(session, name, false);
  const std::string gone(name);
  std::erase_if(all_, [&](const Snapshot& each) { return each.name == gone; });
  ++changes_;
}

/// Keeps the edited runs that other parameters have taken the place of, as long as no undo has brought them back.
void Snapshots::keep_edited(Session& session) {
  auto& editor = session.part<ScheduleEditor>();
  const std::size_t before = all_.size();
  std::erase_if(all_, [&](const Snapshot& each) {
    const OpenRun* open = session.find_run(each.run->id);
    return each.set_aside && open != nullptr && open->live && !editor.is_set_aside(each.run->id);
  });
  if (all_.size() != before) ++changes_;
  for (SetAside& each : editor.take_set_aside()) {
    const std::string name = fresh_name(each.parameters, " (edited)");
    put({name, each.run, std::move(each.parameters), true, 0, true});
    session.say(
        fmt::format("the edited order is kept below as '{}'; Ctrl+Z brings it back", shortened(name, 80)));
  }
}

/// A snapshot whose run is edited by hand is that run from then on.
void Snapshots::follow_edits(Session& session) {
  const std::vector<EditedOrder> edited = session.part<ScheduleEditor>().edited();
  for (Snapshot& snapshot : all_) {
    if (session.find_run(snapshot.run->id) != nullptr) continue;
    const std::uint64_t from = snapshot.edited_from == 0 ? snapshot.run->id : snapshot.edited_from;
    const auto order =
        std::ranges::find_if(edited, [&](const EditedOrder& each) { return each.origin->id == from; });
    const OpenRun* open = session.find_run(order == edited.end() ? from : order->run);
    if (open == nullptr || open->live) continue;
    snapshot.run = open->run;
    snapshot.edited_from = order == edited.end() ? 0 : from;
  }
}

/// A run that was closed on the chart is not shown any more; one that the run under edit no longer is comes below it.
void Snapshots::stack(Session& session) {
  for (Snapshot& snapshot : all_) {
    const bool there = session.find_run(snapshot.run->id) != nullptr;
    const bool was_there = std::ranges::find(stacked_, snapshot.run->id) != stacked_.end();
    if (there || !snapshot.shown) continue;
    if (was_there)
      snapshot.shown = false;
    else
      session.add_run(snapshot.run, true);
  }
  stacked_.clear();
  for (const Snapshot& snapshot : all_) {
    const OpenRun* open = session.find_run(snapshot.run->id);
    if (open != nullptr && !open->live) stacked_.push_back(snapshot.run->id);
  }
}

/// Snapshots have their own names, and the name of the run under edit tells its differences.
void Snapshots::name_runs(Session& session) {
  const auto& config = session.part<ConfigModel>();
  if (titled_revision_ != config.revision() || titled_changes_ != changes_) {
    titled_revision_ = config.revision();
    titled_changes_ = changes_;
    std::vector<Assignments> configs;
    for (const Snapshot& snapshot : all_) configs.push_back(snapshot.config);
    configs.push_back(config.assignments());
    live_title_ = all_.empty() ? "" : distinct_titles(configs).back();
  }
  for (OpenRun& open : session.runs) {
    if (open.live && open.name != live_title_) open.name = live_title_;
    for (const Snapshot& snapshot : all_)
      if (!open.live && snapshot.run->id == open.run->id && open.name != snapshot.name)
        open.name = snapshot.name;
  }
}

bool Snapshots::update(Session& session) {
  keep_edited(session);
  if (all_.empty() && titled_changes_ == 0) return false;
  const std::size_t before = session.runs.size();
  follow_edits(session);
  stack(session);
  name_runs(session);
  return session.runs.size() != before;
}

void Snapshots::write_state(const Session&, io::JsonWriter& out) const {
  out.array();
  for (const Snapshot& snapshot : all_) {
    const RunModel& run = *snapshot.run;
    out.object().member("name", snapshot.name);
    if (run.metrics) {
      const Metrics& metrics = *run.metrics;
      out.member("step_time", to_double(metrics.step_time, run.timeline.unit))
          .member("bubble_ratio", metrics.bubble_ratio)
          .member("peak_bytes",
                  run.memory->in_bytes(metrics.ranks[metrics.peak_rank.at()].memory.peak_bytes));
    }
    out.member("shown", snapshot.shown).close();
  }
  out.close();
}

}  // namespace pipeloom::gui
