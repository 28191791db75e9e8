#pragma once

// Runs that the user keeps as they are, so that later runs are compared with them. A snapshot is a run and the configuration that made
// it. It is on the chart once the run under edit is another; changing a parameter never moves it. A run that was edited by hand becomes one
// where other parameters would take its place.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

struct Snapshot {
  std::string name;
  RunPtr run;
  Assignments config;
  bool shown = true;              ///< on the chart, where it differs from the run under edit
  std::uint64_t edited_from = 0;  ///< RunModel::id from before edits by hand; 0 if it was not edited
  bool set_aside = false;         ///< it was the run under edit, until the parameters changed
};

/// Titles of several configurations that tell them apart: the schedule, and the keys in which they differ.
/// {"1f1b", "1f1b \u00b7 transfer blocking"}; equal configurations have equal titles.
[[nodiscard]] std::vector<std::string> distinct_titles(const std::vector<Assignments>& configs);

class Snapshots : public Part {
 public:
  explicit Snapshots(Session&) {}

  [[nodiscard]] const std::vector<Snapshot>& all() const { return all_; }
  /// Keeps the run under edit and makes it the baseline. "" names it after its configuration. Throws InputError where there is none, where
  /// it is still being computed, and where a snapshot has this name.
  void take(Session& session, std::string_view name);
  /// Adds one that was kept before. REQUIRES: no other has its name.
  void put(Snapshot snapshot);
  /// "OLD=NEW". Throws InputError where no snapshot is called so, or one is called as it would be, or "" is left.
  void rename(std::string_view names);
  /// Its configuration is under edit again, as one step of undo. Throws InputError for a name that no snapshot has.
  void restore(Session& session, std::string_view name);
  /// On the chart or not.
  void show(Session& session, std::string_view name, bool on);
  void remove(Session& session, std::string_view name);

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "snapshots"; }
  /// [{"name", "step_time", "bubble_ratio", "peak_bytes", "shown"}], oldest first; times in the run's unit.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  [[nodiscard]] Snapshot& find(std::string_view name);
  [[nodiscard]] std::string fresh_name(const Assignments& config, std::string_view after = {}) const;
  void keep_edited(Session& session);
  void follow_edits(Session& session);
  void stack(Session& session);
  void name_runs(Session& session);

  std::vector<Snapshot> all_;
  std::vector<std::uint64_t> stacked_;  // RunModel::id of those that stood on the chart in the frame before
  std::string live_title_;
  // Inputs of the title: the revision of the configuration, and the number of times that snapshots changed.
  std::uint64_t titled_revision_ = 0;
  std::uint64_t titled_changes_ = 0;
  std::uint64_t changes_ = 1;
};

}  // namespace pipeloom::gui
