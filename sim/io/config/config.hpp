#pragma once

// One run, as a configuration file and options describe it: typed, every number checked.

#include <bitset>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/error.hpp>
#include <pipeloom/schedules.hpp>
#include "sim/cost/cost_spec.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

/// The keys that an input gives, and their places. Copies share the places.
class GivenKeys {
 public:
  static constexpr std::size_t kMost = 128;

  [[nodiscard]] bool has(KeyId id) const { return given_[id]; }
  [[nodiscard]] bool has(std::string_view path) const;
  /// The place where the input gives the key; else where it gives the nearest group around it.
  [[nodiscard]] const Where& place_of(std::string_view path) const;

  /// Sets the place of the input itself.
  void add_root(const Where& where);
  void add(KeyId id, const Where& where);
  /// The value follows from others, so that it is neither given nor a default.
  void add_derived(KeyId id) { given_.set(id); }
  /// The key has its default again.
  void drop(KeyId id) { given_.reset(id); }
  /// Another value of a key that is given has taken its place.
  void move(KeyId id, const Where& where);

 private:
  using Places = std::vector<std::pair<KeyId, Where>>;
  [[nodiscard]] const Where* find(KeyId id) const;

  std::bitset<kMost> given_;
  Where root_;
  std::shared_ptr<Places> places_;
  Places moved_;  // the places that differ from places_, which other configurations may share
};

/// The schedule that is a file: options.file names it; ranks and microbatches are the file's.
inline constexpr std::string_view kCustomSchedule = "custom";

struct Config {
  /// The name as typed; schedules::find finds its schedule. Empty when a schedule file takes its place.
  std::string schedule;
  int ranks = 0;         ///< p; 0 when a schedule file takes its place
  int microbatches = 0;  ///< m; likewise
  std::optional<int> chunks;
  ScheduleOptions options;
  cost::CostSpec costs;
  cost::MemorySpec memory;
  Steps step;
  GivenKeys given;
  /// Such as decimals with more digits than a tick holds: "file:line:column: ...", without "warning:".
  std::vector<std::string> warnings;

  [[nodiscard]] const Where& place_of(std::string_view path) const { return given.place_of(path); }
};

/// The keys that the input must have: those of a whole run, or only those that go with a schedule from a file.
enum class Needs : unsigned char { Run, CostsOnly };

/// Reads a configuration. Throws InputError (file:line:column, found, allowed, what to do) at the first fault:
/// unknown keys, wrong types, numbers out of range (p, m, v: 1 .. 2^20), negative times, models that this version does not have.
/// A costs file that "costs" names is read too. Values that depend on the schedule (lengths of arrays, stages of tables) are checked when costs
/// are resolved.
[[nodiscard]] Config read_run_config(const Value& root, Needs needs = Needs::Run);

/// Says that the configuration has a value of its own for the key at `path`, which was stored in its member. REQUIRES: the key exists.
void mark_given(Config& config, std::string_view path);
/// Gives an option, and the keys below it, their defaults. REQUIRES: `path` is a key of "options".
void reset_option(Config& config, std::string_view path);
/// Where costs.global_batch is given: the microbatches that follow from it and costs.micro_batch * costs.dp. Throws InputError where samples do
/// not divide, or where other microbatches are given.
void derive_microbatches(Config& config);

/// Puts the content of a costs file in the place of its name, so that single costs can be set on top of it:
/// "costs": "measured.json" names a file, relative to the configuration's folder, that may hold all keys of "costs". Throws
/// InputError if it cannot be read or holds no object.
void inline_costs_file(Document& document);

/// True if the text is a file's name rather than a preset's: it has a folder, or ends as files of models and hardware do.
[[nodiscard]] bool looks_like_file(std::string_view text);

/// Paths of the other files that a value at `path` names, "" for a whole configuration: a schedule's (options.file), a table's
/// (costs.table), that of noise (costs.noise.file), a model's and a device's (costs.model, costs.hardware). A run's results depend on their
/// contents too. "-" is none.
[[nodiscard]] std::vector<std::string> named_files(const Value& value, std::string_view path);

/// True if the object looks like a schedule file rather than a configuration: it has "orders".
[[nodiscard]] bool is_schedule_file(const Value& root);

}  // namespace pipeloom::io
