#pragma once

// The window's colours for a picture that is exported: what the runs look like on screen, in the theme of the picture.

#include <memory>

#include "gui/model/session/session.hpp"
#include "sim/draw/scene.hpp"

namespace pipeloom::gui {

/// Null where the picture has the same colours by itself: by kind, stage or microbatch, with nothing dimmed. Else it keeps the run and what
/// it looks like now, so that a job may use it.
[[nodiscard]] std::shared_ptr<const draw::OwnColours> export_colours(Session& session, const RunPtr& run,
                                                                     draw::Theme theme);

}  // namespace pipeloom::gui
