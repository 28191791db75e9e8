#pragma once

// Features that work without a panel of their own, from the first frame on.

#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// Watches open files, keeps notes beside them, looks for what is wrong with the active run, and remembers what was opened. Once, when the
/// program starts. Reads and writes no settings: that is PreferencesStore::load().
void start_features(Session& session);

}  // namespace pipeloom::gui
