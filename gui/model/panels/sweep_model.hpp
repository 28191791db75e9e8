#pragma once

// The result of a sweep that is open in the window: read and laid out by jobs, asked by commands, its points opened as runs.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gui/model/panels/sweep_scene.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

class SweepModel : public Part {
 public:
  explicit SweepModel(Session&) {}

  /// A result that was read takes the place of the one before; the panel opens.
  void show(Session& session, const std::string& path, SweepScene::Table table);
  void close(Session& session);
  /// Lays the result out anew, in a job; the old layout stays on screen until then, and for good if the question cannot be answered, which
  /// the message says.
  void ask(Session& session, const SweepQuestion& question);
  /// Asks the same question with one part changed.
  void change(Session& session, std::string SweepQuestion::*part, std::string_view text);
  /// The question about the result that is open; empty names are chosen.
  [[nodiscard]] const SweepQuestion& asked() const { return asked_; }

  /// Null while nothing is open, and until a result is laid out.
  [[nodiscard]] const SweepScene* scene() const { return scene_.get(); }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] bool shows_map() const { return shows_map_; }
  void show_map(bool on) { shows_map_ = on; }

  /// The point under the pointer.
  void hover(std::optional<sweep::Row> row) { hovered_ = row; }
  [[nodiscard]] std::optional<sweep::Row> hovered() const { return hovered_; }
  /// The point opened last.
  [[nodiscard]] std::optional<sweep::Row> opened() const { return opened_; }
  /// The point's configuration takes the place of the one under edit, as one step that can be undone.
  void open_row(Session& session, sweep::Row row);
  /// Opens a point by its number. Throws InputError if the result does not have it.
  void open_point(Session& session, std::uint64_t point);

  [[nodiscard]] std::string_view state_key() const override { return "sweep"; }
  /// {"file", "points", "ok", "shown", "x", "y", "colour", "where", "metric", "winner", "front": [{"point", "title", "x", "y"}], "cells",
  /// "map": {"x", "y", "what", "wins": {NAME: CELLS}} or null, "shows_map", "hovered", "opened"}; null while nothing is open. x and y of the
  /// front are shares of the plot, hovered and opened numbers of points.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  std::string file_;
  SweepScene::Table table_;
  SweepQuestion asked_;
  std::shared_ptr<const SweepScene> scene_;
  std::optional<sweep::Row> hovered_;
  std::optional<sweep::Row> opened_;
  bool shows_map_ = false;
};

}  // namespace pipeloom::gui
