// Any bytes as a search over a small run: understood or refused with a place, and what it finds are ops of the run.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "gui/model/search.hpp"
#include "sim/error.hpp"
#include "sim/text.hpp"

namespace {

using namespace pipeloom;

/// Two ranks, a group, slices of none, times in the given unit: what terms look at.
gui::RunModel make_run(TimeUnit unit) {
  gui::RunModel run;
  run.schedule = std::make_shared<const Schedule>(
      parse_schedule("0F0 0F1 (0F2;0B0)OVERLAP_F_B 0B1 0B2 | 1F0 1B0 1F1 1B1 1F2 1I2 1W2"));
  run.timeline.schedule = run.schedule;
  run.timeline.unit = unit;
  for (std::size_t i = 0; i < run.schedule->num_ops(); ++i) {
    run.timeline.start.push_back(static_cast<Ticks>(i) * 1'000'000'000);
    run.timeline.end.push_back(static_cast<Ticks>(i + 1 + i % 3) * 1'000'000'000);
  }
  run.critical = {0, 3};
  return run;
}

void check(std::string_view text, TimeUnit unit) {
  static const gui::RunModel abstract = make_run(TimeUnit::Unit);
  static const gui::RunModel timed = make_run(TimeUnit::Millisecond);
  const gui::RunModel& run = unit == TimeUnit::Unit ? abstract : timed;
  try {
    const gui::SearchQuery query = gui::SearchQuery::parse(text, unit);
    std::size_t next = 0;
    for (const std::size_t position : query.find(run, {}, gui::Cancelled())) {
      if (position < next || position >= run.timeline.start.size()) std::abort();
      next = position + 1;
    }
  } catch (const InputError& error) {
    const int column = error.where().column;
    if (column < 1 || static_cast<std::size_t>(column) > text.size() + 1) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text, pipeloom::TimeUnit::Unit);
  check(text, pipeloom::TimeUnit::Millisecond);
  return 0;
}
