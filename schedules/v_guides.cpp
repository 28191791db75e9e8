#include "schedules/v_guides.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

/// With fewer blocks than this at the period of six slots, longer periods are tried.
constexpr std::size_t kFewBlocks = 24;

PassOrders stamped(const VGuide& guide, int ranks, int microbatches) {
  const BuildingBlock block = slots_of(guide.block, ranks);
  PassOrders orders;
  std::vector<Placed> line;
  for (const auto& slots : block.slots) {
    line.clear();
    for (int k = 0; k < microbatches; ++k)
      for (std::size_t pass = 0; pass < slots.size(); ++pass)
        line.push_back({slots[pass] + guide.period * k, k, static_cast<Pass>(pass)});
    std::stable_sort(line.begin(), line.end(),
                     [](const Placed& a, const Placed& b) { return a.slot < b.slot; });
    auto& order = orders.emplace_back();
    for (const Placed& placed : line) {
      order.push_back(placed.pass);
      if (!takes_memory(placed.pass)) order.push_back(weight_of(placed.pass));
    }
  }
  return orders;
}

PassOrders serial(int ranks, int microbatches) {
  std::vector<Pass> order;
  for (int k = 0; k < microbatches; ++k)
    for (const Pass pass :
         {Pass::Forward0, Pass::Forward1, Pass::Input1, Pass::Weight1, Pass::Input0, Pass::Weight0})
      order.push_back(pass);
  return PassOrders(static_cast<std::size_t>(ranks), order);
}

}  // namespace

PassOrders make_guide(const VGuide& guide, int ranks, int microbatches) {
  switch (guide.kind) {
    case VGuide::Kind::Stamped:
      return stamped(guide, ranks, microbatches);
    case VGuide::Kind::Moved:
      return orders_of(emit_block(slots_of(guide.block, ranks), microbatches));
    case VGuide::Kind::Named:
      return orders_of(make(guide.schedule(), {.ranks = ranks, .microbatches = microbatches, .chunks = 2}));
    default:
      return serial(ranks, microbatches);
  }
}

std::string text_of(const VGuide& guide, int ranks) {
  if (guide.kind == VGuide::Kind::Named) return guide.schedule().name;
  if (guide.kind == VGuide::Kind::Serial) return "one microbatch after another";
  const std::string block = "block " + text_of(guide.block, ranks);
  return guide.period == kBlockPeriod ? block : fmt::format("{}, every {} slots", block, guide.period);
}

std::vector<VGuide> fixed_guides() {
  std::vector<VGuide> guides = {{.kind = VGuide::Kind::Serial}};
  for (Generator (*const schedule)() : {v_min, v_half, v_zb, zbv})
    guides.push_back({.kind = VGuide::Kind::Named, .schedule = schedule});
  return guides;
}

std::vector<VGuide> stamped_guides(const VProblem& problem, int microbatches) {
  const auto blocks = v_blocks(problem.ranks());
  const auto guides_at = [&](int period) {
    std::vector<VGuide> guides;
    for (const VBlock& block : blocks) {
      const VGuide guide{.kind = VGuide::Kind::Stamped, .block = block, .period = period};
      if (fits(problem, make_guide(guide, problem.ranks(), microbatches), true)) guides.push_back(guide);
    }
    return guides;
  };
  std::vector<VGuide> guides = guides_at(kBlockPeriod);
  const int longest = 4 * kBlockPeriod * problem.ranks();
  for (int period = kBlockPeriod + 1; guides.size() < kFewBlocks && period < longest;
       period += 1 + period / 8) {
    const auto more = guides_at(period);
    guides.insert(guides.end(), more.begin(), more.end());
  }
  return guides;
}

}  // namespace pipeloom::schedules
