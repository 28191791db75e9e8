#pragma once

// Features that work without a panel of their own, from the first frame on.

#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// Watches open files, keeps notes next to them, looks for problems of the active run, and remembers opened files. Called once, when the
/// program starts. Reads and writes no settings: that is PreferencesStore::load().
void start_features(Session& session);

}  // namespace pipeloom::gui
