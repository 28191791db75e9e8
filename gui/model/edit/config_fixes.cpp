// Changes that would make a refused configuration legal.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/edit/shown_costs.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/model_costs.hpp"

namespace pipeloom::gui {
namespace {

using SchedulePtr = std::shared_ptr<const Schedule>;

constexpr int kFar = 16;            // how far from the given number values are tried
constexpr double kMaxPasses = 2e5;  // a try makes the schedule
constexpr std::size_t kPerKey = 2;
constexpr std::size_t kFixes = 4;

/// Null if it is refused.
SchedulePtr schedule_of(const Assignments& assignments) {
  try {
    const io::Config config = config_of(assignments);
    const double passes = static_cast<double>(config.ranks) * config.microbatches * config.chunks.value_or(2);
    if (passes > kMaxPasses) return nullptr;
    io::EffectiveConfig effective;
    return study::make_schedule(config, Limits(), effective);
  } catch (const Error&) {
    return nullptr;
  }
}

/// True if the costs fit the schedule.
bool fits(const Assignments& assignments, const Schedule& schedule) {
  try {
    const io::Config given = config_of(assignments);
    const std::optional<study::ModelCosts> estimated = study::model_costs(given, schedule);
    const io::Config& config = estimated ? estimated->config : given;
    (void)cost::resolve(config.costs, schedule);
    (void)cost::resolve_memory(config.memory, schedule.placement());
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Numbers of entries that the arrays of a key may have, the usual first; empty for keys whose arrays are of another kind.
std::vector<std::size_t> lengths_of(const io::Key& key, const Schedule& schedule) {
  const auto count = [](int n) { return static_cast<std::size_t>(n); };
  if (key.path == "costs.rank_scale") return {count(schedule.ranks())};
  if (key.path == "costs.stage_scale") return {count(schedule.placement().stages())};
  if (key.path == "costs.microbatch_scale") return {count(schedule.microbatches())};
  const bool by_stage = key.type == io::KeyType::TimeTable || key.type == io::KeyType::BytesTable ||
                        key.type == io::KeyType::Overlapped;
  if (!by_stage) return {};
  return {count(schedule.placement().stages()), count(schedule.ranks())};
}

/// The array of `key` with as many entries as the shape wants, the last one repeated; a factor more is 1.
void fit_table(const io::Key& key, const Schedule& schedule, std::string& value) {
  const auto lengths = lengths_of(key, schedule);
  const std::optional<io::Value> table = io::read_json(value);
  if (lengths.empty() || !table || !table->is(io::ValueKind::Array) || table->items().empty()) return;
  const std::vector<io::Value>& entries = table->items();
  if (std::find(lengths.begin(), lengths.end(), entries.size()) != lengths.end()) return;
  const std::string more = key.type == io::KeyType::Scales ? "1" : entries.back().canonical_text();
  value = io::written_json(io::kPackedStyle, [&](io::JsonWriter& out) {
    out.array();
    for (std::size_t i = 0; i < lengths.front(); ++i)
      out.raw(i < entries.size() ? entries[i].canonical_text() : more);
    out.close();
  });
}

class Search {
 public:
  Search(const Assignments& assignments, const Cancelled& cancelled)
      : given_(assignments), cancelled_(cancelled) {}

  /// Adds the fix if it makes the configuration legal, tables being fitted to the shape on the way.
  bool attempt(const std::string& label, const Assignments& tried) {
    if (cancelled_ || full()) return false;
    const SchedulePtr schedule = schedule_of(tried);
    if (!schedule) return false;
    Assignments fitted = tried;
    for (auto& [path, value] : fitted)
      if (const io::Key* key = io::find_config_key(path)) fit_table(*key, *schedule, value);
    if (!fits(fitted, *schedule)) return false;
    fixes_.push_back(difference(label, fitted));
    return true;
  }

  void try_count(const std::string& path, int from, int far);
  void try_shapes(int ranks, int microbatches);
  void try_leaving_out();

  [[nodiscard]] bool full() const { return fixes_.size() >= kFixes; }
  [[nodiscard]] bool empty() const { return fixes_.empty(); }
  [[nodiscard]] std::vector<Fix> take() { return std::move(fixes_); }

 private:
  [[nodiscard]] Fix difference(const std::string& label, const Assignments& after) const {
    Fix fix{label, {}};
    std::string tables;
    for (const auto& [path, value] : after) {
      const auto before = given_.find(path);
      if (before != given_.end() && before->second == value) continue;
      fix.changes[path] = value;
      if (value.starts_with('[')) tables += (tables.empty() ? "" : ", ") + path;
    }
    for (const auto& [path, value] : given_)
      if (!after.contains(path)) fix.changes[path] = std::nullopt;
    if (!tables.empty()) fix.label += (label.empty() ? "fit " : ", fit ") + tables;
    return fix;
  }

  const Assignments& given_;
  const Cancelled& cancelled_;
  std::vector<Fix> fixes_;
};

/// 1, -1, 2, -2, ... away from `from`, nearest first: of two equally near the larger.
std::vector<int> around(int from, int far) {
  std::vector<int> values;
  for (int away = 1; away <= far; ++away)
    for (const int value : {from + away, from - away})
      if (value >= 1) values.push_back(value);
  return values;
}

void Search::try_count(const std::string& path, int from, int far) {
  std::size_t found = 0;
  for (const int value : around(from, far)) {
    if (found == kPerKey || full()) return;
    Assignments tried = given_;
    tried[path] = std::to_string(value);
    if (attempt(fmt::format("{} {}", path, value), tried)) ++found;
  }
}

/// Both at once: the nearest microbatches that the nearest ranks take.
void Search::try_shapes(int ranks, int microbatches) {
  constexpr int kFarRanks = 3;
  std::size_t found = 0;
  for (const int p : around(ranks, kFarRanks)) {
    if (found == kPerKey) return;
    Assignments tried = given_;
    tried["ranks"] = std::to_string(p);
    for (const int m : around(microbatches, std::max(kFar, 2 * p))) {
      tried["microbatches"] = std::to_string(m);
      if (!attempt(fmt::format("ranks {}, microbatches {}", p, m), tried)) continue;
      ++found;
      break;
    }
  }
}

void Search::try_leaving_out() {
  Assignments bare = given_;
  std::string names;
  for (const auto& [path, value] : given_) {
    if (path == "schedule" || path == "ranks" || path == "microbatches") continue;
    (void)attempt("leave out " + path, without_key(given_, path));
    if (!path.starts_with("options.")) continue;
    bare.erase(path);
    names += (names.empty() ? "" : ", ") + path;
  }
  if (empty() && !names.empty()) (void)attempt("leave out " + names, bare);
}

/// True if the configuration's schedule takes its shape; other faults are reported elsewhere.
bool takes_shape(const Assignments& assignments) {
  try {
    const io::Config config = config_of(assignments);
    const schedules::Found found = schedules::find(config.schedule);
    return found.generator == nullptr || schedules::takes(*found.generator, study::params_of(config, found));
  } catch (const Error&) {
    return false;
  }
}

/// True if the configuration gives the key one whole number.
bool is_count(const io::Key& key, const io::Config& config) {
  if (key.type == io::KeyType::Count) return key.has(config);
  return key.type == io::KeyType::GroupSize && key.has(config) && !config.options.group_size->is_list();
}

/// The shape, which has no defaults, in place of one that is refused.
const Assignments kUsualShape = {{"schedule", "\"1f1b\""}, {"ranks", "4"}, {"microbatches", "8"}};

}  // namespace

std::vector<Refusal> find_refusals(Assignments assignments) {
  std::vector<Refusal> found;
  while (found.size() <= assignments.size()) {
    try {
      (void)config_of(assignments);
      return found;
    } catch (const Error& error) {
      // The reader names the key as the place.
      const io::Key* key = io::find_config_key(error.where().file);
      if (key == nullptr || !assignments.contains(std::string(key->path))) return found;
      found.push_back({key, error.what()});
      // The next ones are read without it.
      const std::string path(key->path);
      assignments = without_key(std::move(assignments), path);
      if (const auto usual = kUsualShape.find(path); usual != kUsualShape.end()) assignments.insert(*usual);
    }
  }
  return found;
}

int next_taken(const Assignments& assignments, const std::string& path, int from, int by, int least,
               int most) {
  const int next = std::clamp(from + by, least, most);
  const auto ranks = assignments.find("ranks");
  const int far = kFar + (ranks == assignments.end() ? 0 : 2 * std::atoi(ranks->second.c_str()));
  for (int i = 1; i <= far; ++i) {
    const int value = from + i * by;
    if (value < least || value > most) break;
    Assignments tried = assignments;
    tried[path] = std::to_string(value);
    if (takes_shape(tried)) return value;
  }
  return next;
}

Assignments with_fix(Assignments assignments, const Fix& fix) {
  for (const auto& [path, value] : fix.changes) {
    if (value)
      assignments[path] = *value;
    else
      assignments.erase(path);
  }
  return assignments;
}

std::vector<Fix> find_fixes(const Assignments& assignments, const Cancelled& cancelled) {
  Search search(assignments, cancelled);
  try {
    const io::Config config = config_of(assignments);
    if (static_cast<double>(config.ranks) * config.microbatches > kMaxPasses) return {};
    const SchedulePtr schedule = schedule_of(assignments);
    if (schedule && fits(assignments, *schedule)) return {};  // no other shape would remove the refusal
    if (search.attempt("", assignments)) return search.take();
    search.try_count("microbatches", config.microbatches, std::max(kFar, 2 * config.ranks));
    search.try_count("ranks", config.ranks, kFar);
    if (config.chunks) search.try_count("chunks", *config.chunks, 4);
    for (const io::Key& key : io::config_keys())
      if (key.option && is_count(key, config))
        search.try_count(std::string(key.path), std::atoi(assignments.at(std::string(key.path)).c_str()),
                         kFar);
    if (search.empty()) search.try_shapes(config.ranks, config.microbatches);
  } catch (const Error&) {
    // A text that is no value has no neighbours, but it may be left out.
  }
  if (search.empty()) search.try_leaving_out();
  return search.take();
}

}  // namespace pipeloom::gui
