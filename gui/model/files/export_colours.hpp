#pragma once

// The window's colours for a picture that is exported: the colours of the runs on screen, in the theme of the picture.

#include <memory>

#include "gui/model/session/session.hpp"
#include "sim/draw/scene.hpp"

namespace pipeloom::gui {

/// Returns null where the picture has the same colours by itself: by kind, stage or microbatch, with nothing dimmed. Else the result keeps the
/// run and its present look, so that a job may use it.
[[nodiscard]] std::shared_ptr<const draw::OwnColours> export_colours(Session& session, const RunPtr& run,
                                                                     draw::Theme theme);

}  // namespace pipeloom::gui
