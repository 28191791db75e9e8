// Formats that show a timeline: traces and pictures.

#include "sim/draw/scene.hpp"
#include "sim/io/formats/chrome_trace.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/pictures/pictures.hpp"

namespace pipeloom::io {
namespace {

Format picture(std::string name, std::string summary,
               std::function<void(std::ostream&, const draw::Scene&)> write) {
  Format out;
  out.extensions = {"." + name};
  out.name = std::move(name);
  out.summary = std::move(summary);
  out.needs_times = true;
  out.write = [write](std::ostream& stream, const Exported& run) {
    draw::SceneOptions options = run.picture == nullptr ? draw::SceneOptions{} : *run.picture;
    options.costs = run.costs;
    options.memory = run.memory;
    write(stream, draw::build_scene(*run.timeline, options));
  };
  out.picture = std::move(write);
  return out;
}

}  // namespace

Format chrome_format() {
  Format out;
  out.name = "chrome";
  out.extensions = {".trace.json"};
  out.summary = "Chrome trace, for Perfetto and chrome://tracing";
  out.needs_times = true;
  out.bytes_per_op = 190;
  out.write = [](std::ostream& stream, const Exported& run) {
    ChromeTraceOptions options;
    if (run.full_trace) options.flows = options.counters = true;
    write_chrome_trace(stream, *run.timeline, *run.memory, options);
  };
  return out;
}

Format svg_format() {
  return picture("svg", "the timeline as a vector picture", write_svg);
}

Format png_format() {
  Format out = picture("png", "the timeline as a pixel picture",
                       [](std::ostream& stream, const draw::Scene& scene) { write_png(stream, scene); });
  out.binary = true;
  return out;
}

Format pdf_format() {
  Format out = picture("pdf", "the timeline as a page for print", write_pdf);
  out.binary = true;
  return out;
}

}  // namespace pipeloom::io
