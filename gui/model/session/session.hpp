#pragma once

// Everything that the window knows and the user can change, without a window: views draw it, commands change it, scripts and
// tests drive it. Used from the frame thread only; jobs pass their results on through Jobs::poll().
//
// State of one feature only is a Part with its own file; state that features share is here.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "gui/model/run/jobs.hpp"
#include "gui/model/run/run_model.hpp"
#include "gui/model/run/view_state.hpp"
#include "gui/model/session/part.hpp"

namespace pipeloom::gui {

struct ShownRun;

enum class MessageKind : std::uint8_t { Note, Problem };

/// The text of the status line.
struct Message {
  std::string text;
  MessageKind kind = MessageKind::Note;
};

/// One of the runs that are stacked on screen.
struct OpenRun {
  RunPtr run;
  /// The configuration panel and the schedule editor change this one; at most one has it.
  bool live = false;
  /// Ticked in the table of schedules, or opened for comparison.
  bool compared = false;
  /// The name of the run in the stack, where that is not its own title.
  std::string name = {};

  [[nodiscard]] const std::string& title() const { return name.empty() ? run->title : name; }
};

/// The user's settings for the program as a whole; kept between sessions.
struct Preferences {
  bool dark = true;
  std::string palette = "default";  ///< "default", "colour-blind", "greyscale"
  bool hatching = false;
  double scale = 0;                         ///< 0: the display's own
  bool wheel_zooms = false;                 ///< plain wheel zooms instead of scrolling
  std::map<std::string, bool> panels;       ///< panel id -> open; absent: its default
  std::map<std::string, double> splits;     ///< splitter id -> share or pixels
  std::map<std::string, std::string> tabs;  ///< where panels share a place -> id of the one in front
  std::vector<std::string> recent;
};

struct Session {
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Called by anything that changes the picture while no input comes, such as jobs.
  std::function<void()> wake = [] {};

  std::vector<OpenRun> runs;
  std::size_t active = 0;  ///< the run that panels speak of; an index of `runs`
  /// RunModel::id of the run that others are compared with; the first one while there is no such run.
  std::uint64_t baseline = 0;

  ViewState view;
  Selection selection;
  std::optional<MeasuredRange> range;
  std::vector<Mark> marks;
  Preferences preferences;
  Message message;

  /// Seconds that the frame in progress takes; held keys move by them.
  double frame_seconds = 1.0 / 60;
  bool quit = false;
  /// A text for the clipboard; the next frame hands it over.
  std::optional<std::string> clipboard;
  /// A panel that wants the keyboard next frame: "search", "palette"; taken by the view of that name.
  std::string focus_request;
  /// An open panel that is wanted in front of those that share its place; the keyboard stays where it is.
  std::string front_request;

  /// The part of this type; made as T(Session&) when it is first asked for.
  template <class T>
  [[nodiscard]] T& part() {
    for (const auto& [type, part] : parts_)
      if (type == typeid(T)) return static_cast<T&>(*part);
    parts_.emplace_back(typeid(T), std::make_unique<T>(*this));
    return static_cast<T&>(*parts_.back().second);
  }
  [[nodiscard]] const std::vector<std::pair<std::type_index, std::unique_ptr<Part>>>& parts() const {
    return parts_;
  }

  /// Null if nothing is open.
  [[nodiscard]] const RunModel* active_run() const;
  [[nodiscard]] const OpenRun* find_run(std::uint64_t id) const;
  /// Null if nothing is open.
  [[nodiscard]] const OpenRun* baseline_run() const;
  /// Puts `run` in the place of the live run, or below the others if there is none; the view stays unless the new run
  /// has another span and everything was visible.
  void show_live(RunPtr run);
  /// Finds the bound and critical path of a run that is shown, in a job: then the analysed run replaces it, with the same role.
  void analyse(ShownRun shown);
  /// Adds a run below the others.
  void add_run(RunPtr run, bool compared);
  /// Puts a run at this place of the stack, or below all others if there are fewer; it becomes the active one, and the view stays.
  void insert_run(OpenRun run, std::size_t index);
  void close_run(std::size_t index);
  void say(std::string text, MessageKind kind = MessageKind::Note);
  [[nodiscard]] bool panel_open(const std::string& id) const;
  /// Opens it, and brings it before the panels that share its place.
  void show_panel(const std::string& id);

  /// Once per frame, before drawing: takes the results of jobs and lets every part do its work. True if anything changed.
  bool update();
  /// Gives up the simulations and files that are under way; the picture on screen stays.
  void stop();
  /// True if nothing is under way; `wait idle` of scripts waits for it.
  [[nodiscard]] bool idle() const;
  /// A part is about to bring the first run.
  [[nodiscard]] bool run_comes() const;

  /// Ids and default states of the panels; the window fills it from views.def.
  std::map<std::string, bool> panel_defaults;
  /// The words that arguments of commands may be, where these are known: "PRESET" -> names of ready configurations.
  std::map<std::string, std::vector<std::string>> argument_words;

 private:
  /// Jobs may have put other runs in the place of those that the selection points into.
  void forget_closed_runs();

  std::vector<std::pair<std::type_index, std::unique_ptr<Part>>> parts_;
  int shown_percent_ = -1;  // of Jobs::progress(), as the last update found it

 public:
  Jobs jobs;  ///< last: it stops before anything that its results would change goes away
};

}  // namespace pipeloom::gui
