// Writing an edited schedule, and reading it back to be sure.

#include <algorithm>
#include <ostream>

#include <pipeloom/error.hpp>
#include "gui/model/edit/schedule_editor.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::gui {
namespace {

/// The same queues, groups included. Placements may differ in what no queue shows, such as a rank without stages.
bool same_queues(const Schedule& a, const Schedule& b) {
  const auto same = [](Op x, Op y) { return x == y && x.joined() == y.joined(); };
  if (a.ranks() != b.ranks()) return false;
  for (Rank rank{0}; rank < Rank(a.ranks()); ++rank)
    if (!std::ranges::equal(a.queue(rank), b.queue(rank), same)) return false;
  return true;
}

}  // namespace

void save_schedule(const Schedule& schedule, const std::string& path, io::Overwrite overwrite) {
  const io::Format* format = io::format_by_extension(path);
  if (format == nullptr || !format->read || !format->write || format->needs_times)
    throw InputError(
        Where{path},
        "the name does not tell how to write a schedule; end it in .json (ours) or .csv (PyTorch's)");
  io::Exported exported;
  exported.schedule = &schedule;
  io::write_file(path, overwrite, [&](std::ostream& out) { format->write(out, exported); });
  const io::Imported back = format->read(io::read_file(path), path);
  if (!same_queues(schedule, *back.schedule))
    throw InputError(Where{path}, "was written, but reads back as another schedule; save it as .json");
}

}  // namespace pipeloom::gui
