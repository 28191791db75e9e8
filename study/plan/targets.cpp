#include "study/plan/targets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedules/generator.hpp"
#include "sim/io/config/config.hpp"

namespace pipeloom::study {
namespace {

const OwnOrder* own_order(const Target& target, std::string_view schedule) {
  const auto found = std::ranges::find_if(target.orders, [&](const OwnOrder& own) {
    return schedules::find(own.alias).generator->name == schedule;
  });
  return found == target.orders.end() ? nullptr : &*found;
}

}  // namespace

std::string target_word(const Target& target, std::string_view schedule) {
  const OwnOrder* const own = own_order(target, schedule);
  return own == nullptr ? "" : std::string(own->word);
}

std::string target_refusal(const Target& target, std::string_view schedule) {
  if (own_order(target, schedule) != nullptr) return "";
  if (target.files == FilePlacements::None)
    return fmt::format("{} has no order like this, and takes none from a file", target.title);
  if (schedule == io::kCustomSchedule) return "";
  const Requirements& needs = schedules::find(schedule).generator->requirements;
  if (needs.bidirectional) return "PyTorch's files have one copy of the model, not two";
  return needs.shares_output ? "PyTorch's files have no ops but F, B, I and W and pairs of them" : "";
}

}  // namespace pipeloom::study
