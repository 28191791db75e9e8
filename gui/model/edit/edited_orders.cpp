#include "gui/model/edit/edited_orders.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/io/formats/formats.hpp"

namespace pipeloom::gui {
namespace {

/// As many as Ctrl+Z may bring back; one has the queues of a whole schedule.
constexpr std::size_t kMostKept = 32;

}  // namespace

std::optional<EditedOrder> edited_order(std::uint64_t run, const RunPtr& origin, const QueueSnapshot& now) {
  EditedOrder out{run, origin, {}};
  const Schedule& base = origin->whole ? *origin->whole : *origin->schedule;
  const auto same = [](Op x, Op y) {
    return x == y && x.joined() == y.joined() && x.in_turn() == y.in_turn();
  };
  for (Rank rank{0}; rank < Rank(base.ranks()); ++rank)
    if (const auto queue = now.queue(rank); !std::ranges::equal(queue, base.queue(rank), same))
      out.queues[rank.value()] = {queue.begin(), queue.end()};
  return out.queues.empty() ? std::nullopt : std::optional(std::move(out));
}

void EditedOrders::keep(EditWork work) {
  std::erase_if(all_, [&](const EditWork& each) { return each.run == work.run; });
  all_.push_back(std::move(work));
  if (all_.size() > kMostKept) all_.erase(all_.begin());
}

EditWork* EditedOrders::find(std::uint64_t run) {
  const auto found = std::ranges::find(all_, run, &EditWork::run);
  return found == all_.end() ? nullptr : &*found;
}

std::optional<EditWork> EditedOrders::take(std::uint64_t run) {
  const auto found = std::ranges::find(all_, run, &EditWork::run);
  if (found == all_.end()) return std::nullopt;
  EditWork out = std::move(*found);
  all_.erase(found);
  return out;
}

EditWork* EditedOrders::find_set_aside(const Assignments& parameters) {
  const auto found = std::ranges::find_if(
      all_, [&](const EditWork& each) { return each.set_aside && each.parameters == parameters; });
  return found == all_.end() ? nullptr : &*found;
}

// Writing an edited schedule, and reading it back to be sure.

namespace {

/// The same queues, groups included. Placements may differ where no queue shows it, as for a rank without stages.
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
