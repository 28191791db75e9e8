#include "sim/cost/cost_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

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
        fmt::format("{} has {} entries, but the schedule has {} stages; give one entry per stage{}",
                    numbers.key, numbers.array.size(), stages,
                    numbers.key.starts_with("costs.")
                        ? ", or in costs.layers the layers of each of these (`calibrate --layers`)"
                        : ""));
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

bool same_numbers(const StageNumbers& a, const StageNumbers& b) {
  if (a.form != b.form) return false;
  switch (a.form) {
    case StageNumbers::Form::Scalar:
      return a.scalar == b.scalar;
    case StageNumbers::Form::Array:
      return a.array == b.array;
    case StageNumbers::Form::Table:
      return a.fallback == b.fallback &&
             std::equal(
                 a.exceptions.begin(), a.exceptions.end(), b.exceptions.begin(), b.exceptions.end(),
                 [](const auto& x, const auto& y) { return x.stage == y.stage && x.number == y.number; });
  }
  return false;
}

bool same_memory(const MemorySpec& a, const MemorySpec& b) {
  return a.per == b.per && a.has_sizes() == b.has_sizes() && same_numbers(a.activation, b.activation) &&
         same_numbers(a.released_at_input, b.released_at_input) &&
         same_numbers(a.static_bytes, b.static_bytes) && same_numbers(a.receive, b.receive) &&
         same_numbers(a.stash, b.stash) && same_numbers(a.logits, b.logits);
}

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
