// The program as scripts see it.

#include "gui/app.hpp"
#include "gui/chart_targets.hpp"
#include "gui/model/session/state.hpp"
#include "gui/script_runner.hpp"

namespace pipeloom::gui {

std::string dump_state(App& app) {
  WindowState window;
  const PixelSize size = app.platform().size();
  window.seq = app.frames();
  window.width = size.width;
  window.height = size.height;
  window.scale = static_cast<double>(app.ui().skin.scale);
  window.platform = app.platform().name();
  window.typing = app.ui().typing;
  window.input_waits = !app.input().empty();
  for (const auto& [id, rect] : app.ui().items.all()) window.items[id] = {rect.x0, rect.y0, rect.x1, rect.y1};
  window.frame_count = app.times().count();
  window.cpu_ms_p95 = app.times().p95();
  window.cpu_ms_max = app.times().max();
  return state_dump(app.session(), window);
}

ScriptHost host_of(App& app) {
  app.ui().items.record(true);
  app.set_frame_step(1.0 / 60);
  return {app.session(),
          app.ui().items,
          app.platform(),
          app.input(),
          [&app] { app.frame(); },
          [&app] { return dump_state(app); },
          [&app](std::string_view target) { return resolve_target(app.ui(), target); }};
}

}  // namespace pipeloom::gui
