#include "sim/cost/cost_spec.hpp"

#include <fmt/format.h>

namespace pipeloom::cost {

std::string_view name_of(Per per) {
  switch (per) {
    case Per::Stage:
      return "stage";
    case Per::Rank:
      return "rank";
    case Per::Model:
      return "model";
  }
  return "";
}

std::string_view name_of(TransferModel model) {
  static constexpr std::string_view kNames[] = {"latency", "blocking", "async", "link"};
  return kNames[static_cast<std::size_t>(model)];
}

namespace {

std::vector<std::int64_t> expand_array(const StageNumbers& numbers, int stages) {
  if (numbers.array.size() != static_cast<std::size_t>(stages))
    throw InputError(
        numbers.where,
        fmt::format("{} has {} entries, but the schedule has {} stages; give one entry per stage",
                    numbers.key, numbers.array.size(), stages));
  return numbers.array;
}

std::vector<std::int64_t> expand_table(const StageNumbers& numbers, int stages) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(stages), numbers.fallback.value_or(0));
  std::vector<bool> given(all.size(), numbers.fallback.has_value());
  for (const auto& exception : numbers.exceptions) {
    if (exception.stage >= stages)
      throw InputError(exception.where,
                       fmt::format("{} names stage {}, but the schedule's stages are 0 to {}", numbers.key,
                                   exception.stage, stages - 1));
    all[static_cast<std::size_t>(exception.stage)] = exception.number;
    given[static_cast<std::size_t>(exception.stage)] = true;
  }
  for (std::size_t s = 0; s < given.size(); ++s)
    if (!given[s])
      throw InputError(
          numbers.where,
          fmt::format("{} says nothing about stage {}; add it to \"stages\" or give a \"default\"",
                      numbers.key, s));
  return all;
}

}  // namespace

std::vector<std::int64_t> expand(const StageNumbers& numbers, int stages) {
  switch (numbers.form) {
    case StageNumbers::Form::Scalar:
      return std::vector<std::int64_t>(static_cast<std::size_t>(stages), numbers.scalar);
    case StageNumbers::Form::Array:
      return expand_array(numbers, stages);
    case StageNumbers::Form::Table:
      return expand_table(numbers, stages);
  }
  return {};
}

}  // namespace pipeloom::cost
