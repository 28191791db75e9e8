#include "gui/model/commands/features.hpp"

#include <string>

#include "gui/model/answer/cursor.hpp"
#include "gui/model/answer/explain_model.hpp"
#include "gui/model/answer/sensitivity.hpp"
#include "gui/model/answer/snapshots.hpp"
#include "gui/model/chart/roots.hpp"
#include "gui/model/commands/search_box.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/edit/what_if.hpp"
#include "gui/model/files/export.hpp"
#include "gui/model/files/file_dialog.hpp"
#include "gui/model/files/file_watch.hpp"
#include "gui/model/files/open_file.hpp"
#include "gui/model/find/find_model.hpp"
#include "gui/model/panels/causes.hpp"
#include "gui/model/panels/details.hpp"
#include "gui/model/panels/notes.hpp"
#include "gui/model/panels/ops_table.hpp"
#include "gui/model/panels/problems.hpp"
#include "gui/model/panels/range_stats.hpp"
#include "gui/model/session/preferences.hpp"
#include "gui/model/start/first_minute.hpp"
#include "gui/model/workspace/workspaces.hpp"

namespace pipeloom::gui {

void start_features(Session& session) {
  // A part does its work in update() once it exists.
  (void)session.part<ScheduleEditor>();
  (void)session.part<Problems>();
  (void)session.part<Roots>();
  (void)session.part<Snapshots>();
  (void)session.part<Cursor>();
  (void)session.part<WhatIf>();
  (void)session.part<SensitivityModel>();
  (void)session.part<FindModel>();
  (void)session.part<FirstMinute>();
  // Their panels may be hidden by others.
  (void)session.part<CausesModel>();
  (void)session.part<DetailsPart>();
  (void)session.part<ExplainModel>();
  (void)session.part<OpsTable>();
  (void)session.part<RangeStats>();
  (void)session.part<FileWatch>();
  (void)session.part<Notes>();
  (void)session.part<ExportPart>();
  (void)session.part<FileDialog>();
  (void)session.part<PreferencesStore>();
  (void)session.part<Workspaces>();
  session.part<PaletteModel>().finders = {find_op_entries, find_field_entries};
  session.argument_words["PRESET"] = preset_names();
  session.part<FileOpener>().on_workspace = [](Session& where, const std::string& path,
                                               const std::string& text) {
    where.part<Workspaces>().open_text(where, path, text);
  };
  session.part<FileOpener>().on_opened.emplace_back(
      [](Session& where, const std::string& path) { add_recent(where.preferences, path); });
}

}  // namespace pipeloom::gui
