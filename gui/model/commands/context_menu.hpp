#pragma once

// Commands for the thing under the pointer: for each kind of thing a list of commands (context.def), with the thing as their argument.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/chart/chart_layout.hpp"
#include "gui/model/session/command.hpp"
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

enum class ContextTarget : std::uint8_t { Op, Gap, Rank, Run, Schedule, Memory, Mark, Link, Place };
/// "op", as the state spells it.
[[nodiscard]] std::string_view name_of(ContextTarget target);

struct ContextEntry {
  const Command* command = nullptr;
  std::string argument;
  /// Its argument is still to be typed: the palette asks for it.
  bool asks = false;
};

class ContextMenu : public Part {
 public:
  explicit ContextMenu(Session&) {}

  /// Opens the menu for the thing at a point of the chart, and selects it where it can be selected. Does nothing for a thing without a menu.
  void open_at(Session& session, const ChartLayout& layout, const Hit& hit);
  /// Opens the menu for an op anywhere, and selects it.
  void open_op(Session& session, const OpRef& op);
  /// Opens the menu for a row of the table of schedules.
  void open_schedule(const std::string& name);
  void close() { target_.reset(); }
  /// Runs entry `index` and closes. REQUIRES: it is open and has such an entry.
  void run(Session& session, std::size_t index);

  [[nodiscard]] const std::optional<ContextTarget>& target() const { return target_; }
  /// "op 2/0F7", "rank 3": the thing that the menu is for.
  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::vector<ContextEntry>& entries() const { return entries_; }
  /// Changes whenever it opens.
  [[nodiscard]] std::uint64_t opened() const { return opened_; }

  [[nodiscard]] std::string_view state_key() const override { return "context"; }
  /// {"target", "title", "entries": [ids of commands]}, null while it is closed.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  /// Values of {op} and the other names.
  struct Thing {
    std::string op = {};
    std::string rank = {};
    std::string run = {};
    std::string schedule = {};
    std::string time = {};
    std::string kind = {};
  };
  void open(ContextTarget target, std::string title, const Thing& thing);
  [[nodiscard]] static std::string filled(std::string_view argument, const Thing& thing);

  std::optional<ContextTarget> target_;
  std::string title_;
  std::vector<ContextEntry> entries_;
  std::uint64_t opened_ = 0;
};

}  // namespace pipeloom::gui
