// Commands that read and write files.

#include <string>

#include <pipeloom/error.hpp>
#include "gui/model/files/export.hpp"
#include "gui/model/files/file_dialog.hpp"
#include "gui/model/files/file_watch.hpp"
#include "gui/model/files/may_replace.hpp"
#include "gui/model/files/open_file.hpp"
#include "gui/model/panels/closed_runs.hpp"
#include "gui/model/session/preferences.hpp"
#include "gui/model/session/session.hpp"
#include "gui/model/workspace/workspaces.hpp"

namespace pipeloom::gui::commands {
namespace {

const OpenRun& require_active(const Session& session, const char* command) {
  if (session.active_run() == nullptr) throw InputError(Where{command}, "nothing is open");
  return session.runs[session.active];
}

}  // namespace

void open(Session& session, std::string_view text) {
  if (text.empty()) throw InputError(Where{"open"}, "name a file");
  open_path(session, std::string(text), false);
}

void open_below(Session& session, std::string_view text) {
  if (text.empty()) throw InputError(Where{"open-below"}, "name a file");
  open_path(session, std::string(text), true);
}

void open_workspace(Session& session, std::string_view text) {
  if (text.empty()) throw InputError(Where{"open-workspace"}, "name a file");
  session.part<Workspaces>().open(session, std::string(text));
}

void save_workspace(Session& session, std::string_view text) {
  const io::Overwrite overwrite = take_force(text);
  session.part<Workspaces>().save(session, std::string(text), overwrite);
}

void reload(Session& session, std::string_view) {
  const RunModel* run = session.active_run();
  if (run == nullptr || run->file.empty())
    throw InputError(Where{"reload"}, "the active run comes from no file");
  open_path(session, run->file, session.runs[session.active].compared);
}

void watch_files(Session& session, std::string_view) {
  auto& watch = session.part<FileWatch>();
  watch.on = !watch.on;
  session.say(watch.on ? "changed files are read again" : "changed files are left alone");
}

void close_run(Session& session, std::string_view) {
  (void)require_active(session, "close-run");
  session.part<ClosedRuns>().close(session, session.active);
}

// "export" alone is a word of the language; the id of the command drops the tail.
// NOLINTNEXTLINE(readability-identifier-naming)
void export_(Session& session, std::string_view text) {
  ExportOptions options = session.part<ExportPart>().options;
  const io::Overwrite overwrite = take_force(text);
  const auto takes = [&text](std::string_view word) {
    const bool found = text.ends_with(word);
    if (found) text.remove_suffix(word.size());
    return found;
  };
  options.active_only = takes(" active");
  options.view_only = takes(" view");
  if (!options.view_only) (void)takes(" all");
  if (text.empty())
    throw InputError(Where{"export"}, "no file is named; end its name in .svg, .png, .pdf or .csv");
  session.part<ExportPart>().start(session, std::string(text), options, overwrite);
}

void export_dialog(Session& session, std::string_view) {
  (void)require_active(session, "export-dialog");
  session.part<ExportPart>().show(session);
}

void copy_rows(Session& session, std::string_view) {
  session.clipboard = visible_rows(session);
  session.say("copied the rows in view");
}

void reset_preferences(Session& session, std::string_view) {
  PreferencesStore::reset(session);
  session.say("layout, colours and scale are as at first start");
}

}  // namespace pipeloom::gui::commands
