#include "gui/model/files/export_preview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include <pipeloom/error.hpp>

namespace pipeloom::gui {
namespace {

/// All that the picture depends on, as a text.
std::string key_of(Session& session, const ExportOptions& options, int width, int height) {
  const ViewState& view = session.view;
  const Preferences& look = session.preferences;
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {}|{}|", width, height, options.view_only,
                                options.active_only, options.with_marks, options.size.width,
                                options.size.height, static_cast<int>(options.size.unit),
                                options.dark.value_or(look.dark), session.active, options.caption);
  key += fmt::format("{} {} {} {} {} {} {} {}|", look.palette, look.hatching, static_cast<int>(view.colour),
                     view.show_memory, view.show_idle, view.show_critical, view.hidden_kinds,
                     session.marks.size());
  if (options.view_only) key += fmt::format("{} {}|", view.range.start, view.range.end);
  for (const OpenRun& open : session.runs) key += fmt::format("{} {},", open.run->id, open.title());
  return key;
}

struct Drawn {
  std::shared_ptr<const io::DrawnPixels> pixels;
  std::string size;
  std::string problem;
};

std::string size_text(const ExportSize& size, const draw::Scene& scene) {
  if (size.unit == ExportSize::Unit::Pixels)
    return fmt::format("{:.0f} x {:.0f} pixels", scene.width, scene.height);
  return fmt::format("{:.0f} x {:.0f} mm", millimetres(scene.width), millimetres(scene.height));
}

Drawn drawn(const ExportJob& job, int width, int height) {
  Drawn out;
  try {
    const draw::Scene scene = export_scene(job);
    const double scale = std::min({width / scene.width, height / scene.height, 1.0});
    out.pixels = std::make_shared<const io::DrawnPixels>(io::draw_pixels(scene, scale));
    out.size = size_text(job.options.size, scene);
  } catch (const Error& error) {
    out.problem = error.what();
  } catch (const std::bad_alloc&) {
    out.problem = "There is no memory for it";
  }
  return out;
}

}  // namespace

void ExportPreview::want(Session& session, const ExportOptions& options, int width, int height) {
  std::string key = key_of(session, options, width, height);
  if (key == key_) return;
  key_ = std::move(key);
  std::shared_ptr<const ExportJob> job;
  try {
    job = std::make_shared<const ExportJob>(export_job(session, options));
  } catch (const Error& error) {
    problem_ = error.what();
    pixels_.reset();
    return;
  }
  session.jobs.submit("export preview", [this, job, width, height](const Cancelled&) -> Jobs::Finish {
    auto result = std::make_shared<Drawn>(drawn(*job, width, height));
    return [this, result] {
      pixels_ = result->pixels;
      size_ = result->size;
      problem_ = result->problem;
      ++revision_;
    };
  });
}

void ExportPreview::write_state(const Session&, io::JsonWriter& out) const {
  out.object()
      .member("size", size_)
      .member("problem", problem_)
      .member("width", pixels_ ? pixels_->width : 0)
      .member("height", pixels_ ? pixels_->height : 0)
      .close();
}

}  // namespace pipeloom::gui
