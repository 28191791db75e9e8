// Every registered schedule, with and without recomputation and copies, through every format that can be read: what was written
// reads back as the same schedule.

#include <fmt/format.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "schedules/generator.hpp"
#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"
#include "sim/io/formats/formats.hpp"
#include "support/catch.hpp"

namespace round_trip_test {

using namespace pipeloom;

namespace {

void for_each_schedule(const std::function<void(const Schedule&)>& fn) {
  for (const auto& generator : schedules::all()) {
    const auto& needs = generator.requirements;
    const auto variants = needs.variants.empty() ? std::vector<std::string>{""} : needs.variants;
    for (int p = 1; p <= 4; ++p)
      for (int m = 1; m <= 8; ++m)
        for (int v = 1; v <= 4; ++v)
          for (const std::string& variant : variants) {
            Params params{.ranks = p, .microbatches = m, .chunks = v};
            params.options.variant = variant;
            params.options.slices = equal_slices(needs.default_slices);
            params.options.updates = needs.default_updates;
            if (needs.takes.has(Option::Waves)) params.options.waves = v / 2;
            if (!schedules::refusal(generator, params).empty()) continue;
            INFO(fmt::format("{} {} p = {}, m = {}, v = {}", generator.name, variant, p, m, v));
            fn(schedules::make(generator, params));
          }
  }
}

/// Nothing if the format has no text for this schedule, which it must say.
std::optional<std::string> written(const io::Format& format, const Schedule& schedule) {
  io::Exported exported;
  exported.schedule = &schedule;
  std::ostringstream out;
  try {
    format.write(out, exported);
  } catch (const InputError&) {
    return std::nullopt;
  }
  return out.str();
}

/// The queues; formats without a placement infer it, so that equal placements may be named differently.
bool same_queues(const Schedule& a, const Schedule& b) {
  if (a.ranks() != b.ranks() || a.num_ops() != b.num_ops() || a.num_entries() != b.num_entries())
    return false;
  for (std::size_t i = 0; i < a.num_ops(); ++i)
    if (a.ops()[i] != b.ops()[i] || a.ops()[i].joined() != b.ops()[i].joined()) return false;
  return a.slices() == b.slices() && a.microbatches() == b.microbatches() && a.stages() == b.stages();
}

}  // namespace

TEST_CASE("every schedule, extras included, reads back from every format that can be read") {
  std::size_t round_trips = 0;
  for_each_schedule([&](const Schedule& plain) {
    const Schedule recomputed = schedules::with_recompute(plain, {.keep = 1});
    for (const Schedule& schedule :
         {plain, recomputed, schedules::with_offload(recomputed, {.chunks = {}, .min_gap = 1})})
      for (const io::Format& format : io::all_formats()) {
        if (!format.read || !format.write) continue;
        const auto text = written(format, schedule);
        // JSON holds everything; PyTorch's files have no words for R, O and L or slices.
        if (format.name == "json") REQUIRE(text);
        if (!text) continue;
        INFO(format.name);
        const io::Imported back = io::read_schedule(*text, "file", format.name);
        REQUIRE(same_queues(*back.schedule, schedule));
        REQUIRE(written(format, *back.schedule) == text);
        ++round_trips;
      }
  });
  CHECK(round_trips > 5'000);
}

TEST_CASE("what options add to a schedule can be taken out of it again") {
  for_each_schedule([&](const Schedule& plain) {
    const Schedule recomputed = schedules::with_recompute(plain);
    const Schedule offloaded = schedules::with_offload(recomputed, {.chunks = {}, .min_gap = 1});
    REQUIRE(recomputed.num_ops() > plain.num_ops());
    REQUIRE(same_queues(schedules::without_added(recomputed), plain));
    REQUIRE(same_queues(schedules::without_added(offloaded), plain));
  });
}

}  // namespace round_trip_test
