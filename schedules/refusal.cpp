// Why a schedule refuses its parameters: max_ops, min_microbatches and refusal of generator.hpp.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "schedules/generator.hpp"
#include "schedules/nearest.hpp"

namespace pipeloom::schedules {
namespace {

enum class Field { Ranks, Chunks, GroupSize, Microbatches };

/// The first rule that is broken: the parameter to change and what is wrong with it.
struct Violation {
  Field field = Field::Ranks;
  std::string text;
};
using Check = std::optional<Violation>;

Check check_ranks(const Generator& generator, const Params& params) {
  const Requirements& needs = generator.requirements;
  const int p = params.ranks;
  const auto broken = [&](const std::string& what) {
    return Violation{Field::Ranks, fmt::format("{} needs {}, not {}", generator.name, what, p)};
  };
  if (p < needs.min_ranks || p > kMaxIndex)
    return broken(fmt::format("ranks from {} to {}", needs.min_ranks, kMaxIndex));
  if (needs.even_ranks && p % 2 != 0) return broken("an even number of ranks");
  return std::nullopt;
}

Check check_chunks(const Generator& generator, const Params& params) {
  const Requirements& needs = generator.requirements;
  const int v = params.chunks;
  const auto broken = [&](const std::string& what) {
    return Violation{Field::Chunks, fmt::format("{} needs {}, not {}", generator.name, what, v)};
  };
  if (needs.min_chunks == needs.max_chunks && v != needs.min_chunks)
    return broken(fmt::format("chunks = {}", needs.min_chunks));
  if (v < needs.min_chunks) return broken(fmt::format("at least {} chunks", needs.min_chunks));
  if (v > needs.max_chunks) return broken(fmt::format("at most {} chunks", needs.max_chunks));
  if (std::int64_t{params.ranks} * v > kMaxIndex)
    return broken(fmt::format("ranks * chunks of at most {} with ranks = {}", kMaxIndex, params.ranks));
  return std::nullopt;
}

Check check_group_size(const Generator& generator, const Params& params) {
  if (!params.group_size) return std::nullopt;
  const int n = *params.group_size;
  if (!generator.requirements.takes_group_size)
    return Violation{Field::GroupSize, fmt::format("{} has no groups: remove group_size", generator.name)};
  if (n >= 1 && n <= kMaxIndex) return std::nullopt;
  return Violation{Field::GroupSize,
                   fmt::format("{} needs a group_size from 1 to {}, not {}", generator.name, kMaxIndex, n)};
}

Check check_microbatches(const Generator& generator, const Params& params) {
  const Requirements& needs = generator.requirements;
  const int m = params.microbatches;
  const std::int64_t least = min_microbatches(needs, params.ranks);
  const auto broken = [&](const std::string& what) {
    return Violation{Field::Microbatches, fmt::format("{} needs {}, not {}", generator.name, what, m)};
  };
  if (m < 1 || m > kMaxIndex)
    return broken(
        fmt::format("microbatches from {} to {}", std::min<std::int64_t>(least, kMaxIndex), kMaxIndex));
  if (m < least) return broken(fmt::format("at least {} microbatches with ranks = {}", least, params.ranks));
  if (needs.even_microbatches && m % 2 != 0) return broken("an even number of microbatches");
  return std::nullopt;
}

/// What the predicate says, in a sentence with the parameters it looked at.
Violation predicate_violation(const Generator& generator, const Params& params) {
  std::string given = fmt::format("ranks = {}", params.ranks);
  if (generator.requirements.max_chunks > 1) given += fmt::format(", chunks = {}", params.chunks);
  if (params.group_size) given += fmt::format(", group_size = {}", *params.group_size);
  return {Field::Microbatches, fmt::format("{} with {}, microbatches = {} {}", generator.name, given,
                                           params.microbatches, generator.predicate(params))};
}

/// Everything that can be said without the predicate.
Check check_requirements(const Generator& generator, const Params& params) {
  for (const auto check : {check_ranks, check_chunks, check_group_size, check_microbatches})
    if (auto violation = check(generator, params)) return violation;
  return std::nullopt;
}

bool is_legal(const Generator& generator, const Params& params) {
  return !check_requirements(generator, params) && (!generator.accepts || generator.accepts(params));
}

int& field_of(Params& params, Field field) {
  switch (field) {
    case Field::Ranks:
      return params.ranks;
    case Field::Chunks:
      return params.chunks;
    case Field::GroupSize:
      return params.group_size.emplace(params.group_size.value_or(params.ranks));
    case Field::Microbatches:
      break;
  }
  return params.microbatches;
}

/// The nearest legal values of the field below and above, and for schedules with groups the next whole number of groups.
std::vector<int> suggestions(const Generator& generator, Params params, Field field) {
  if (field == Field::GroupSize && !generator.requirements.takes_group_size) return {};
  int& tried = field_of(params, field);
  const int refused = tried;
  const auto legal = [&](int value) {
    tried = value;
    return is_legal(generator, params);
  };
  const std::int64_t least =
      field == Field::Microbatches ? min_microbatches(generator.requirements, params.ranks) : 1;
  const int low = static_cast<int>(std::clamp<std::int64_t>(least, 1, kMaxIndex));
  auto values = nearest(refused, {low, kMaxIndex}, legal);
  if (field != Field::Microbatches || !generator.requirements.takes_group_size || refused < 1) return values;
  const int group = params.group_size.value_or(params.ranks);
  const std::int64_t whole_groups = (std::int64_t{refused} / group + 1) * group;
  if (whole_groups > (values.empty() ? refused : values.back()) && whole_groups <= kMaxIndex &&
      legal(static_cast<int>(whole_groups)))
    values.push_back(static_cast<int>(whole_groups));
  return values;
}

/// "; try 4, 6 or 8", or what the schedule needs where no value of this field alone would do.
std::string advice(const Generator& generator, const Params& params, Field field) {
  const auto values = suggestions(generator, params, field);
  std::string text = try_text(values);
  if (field == Field::GroupSize && !generator.requirements.takes_group_size) return text;
  // Groups that follow each other too soon may be made larger instead.
  const auto sizes = field == Field::Microbatches && params.group_size
                         ? suggestions(generator, params, Field::GroupSize)
                         : std::vector<int>{};
  if (!sizes.empty())
    text += fmt::format("{} group_size = {}", text.empty() ? "; try" : ", or", sizes.back());
  return text.empty() ? fmt::format("; it needs {}", generator.requirements.text) : text;
}

}  // namespace

std::int64_t min_microbatches(const Requirements& requirements, int ranks) {
  const std::int64_t by_ranks = std::int64_t{requirements.min_microbatches_per_rank} * ranks;
  return std::max<std::int64_t>(1, by_ranks + requirements.min_microbatches_offset);
}

std::int64_t max_ops(const Generator& generator, const Params& params) {
  const int kinds = generator.requirements.splits_backward ? 3 : 2;
  std::int64_t ops = kinds;
  for (const int factor : {params.ranks, params.chunks, params.microbatches})
    if (__builtin_mul_overflow(ops, std::int64_t{std::max(factor, 0)}, &ops))
      return std::numeric_limits<std::int64_t>::max();
  return ops;
}

std::string refusal(const Generator& generator, const Params& params) {
  auto violation = check_requirements(generator, params);
  if (!violation && (!generator.accepts || generator.accepts(params))) return "";
  if (!violation) violation = predicate_violation(generator, params);
  return violation->text + advice(generator, params, violation->field);
}

}  // namespace pipeloom::schedules
