// Why a schedule refuses its parameters: max_ops, min_microbatches and refusal of generator.hpp.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "schedules/generator.hpp"
#include "schedules/nearest.hpp"
#include "sim/options.hpp"

namespace pipeloom::schedules {
namespace {

enum class Field { Ranks, Chunks, GroupSize, Microbatches };

bool ranks_fit(const Requirements& needs, const Params& params) {
  const int p = params.ranks;
  return p >= needs.min_ranks && p <= kMaxIndex && !(needs.even_ranks && p % 2 != 0);
}

bool chunks_fit(const Requirements& needs, const Params& params) {
  const int v = params.chunks;
  return v >= needs.min_chunks && v <= needs.max_chunks && std::int64_t{params.ranks} * v <= kMaxIndex;
}

std::int64_t sum_of(const GroupSize& size) {
  return std::accumulate(size.sizes().begin(), size.sizes().end(), std::int64_t{0});
}

bool group_size_fits(const Requirements& needs, const Params& params) {
  if (!params.options.group_size) return true;
  const GroupSize& size = *params.options.group_size;
  if (!needs.takes.has(Option::GroupSize) || size.largest() < 1 || size.largest() > kMaxIndex) return false;
  return !size.is_list() ||
         (!needs.equal_groups && std::ranges::min(size.sizes()) >= 1 && sum_of(size) == params.microbatches);
}

/// So many that all their slices in all updates can be numbered. REQUIRES: slices and updates of at least 1.
int most_microbatches(const Params& params) {
  return static_cast<int>(kMaxIndex / (std::int64_t{params.slices()} * params.updates()));
}

bool microbatches_fit(const Requirements& needs, const Params& params) {
  const int m = params.microbatches;
  return m >= min_microbatches(needs, params.ranks) && m <= most_microbatches(params) &&
         !(needs.even_microbatches && m % 2 != 0);
}

bool variant_fits(const Requirements& needs, const Params& params) {
  const auto& known = needs.variants;
  return params.options.variant.empty() ||
         std::find(known.begin(), known.end(), params.options.variant) != known.end();
}

/// The first parameter that breaks a rule of the requirements.
std::optional<Field> misfit(const Requirements& needs, const Params& params) {
  if (!ranks_fit(needs, params)) return Field::Ranks;
  if (!chunks_fit(needs, params)) return Field::Chunks;
  if (!group_size_fits(needs, params)) return Field::GroupSize;
  if (!microbatches_fit(needs, params)) return Field::Microbatches;
  return std::nullopt;
}

bool is_legal(const Generator& generator, const Params& params) {
  return !misfit(generator.requirements, params) && (!generator.accepts || generator.accepts(params));
}

std::string ranks_need(const Requirements& needs, const Params& params) {
  if (params.ranks < needs.min_ranks || params.ranks > kMaxIndex)
    return fmt::format("ranks from {} to {}", needs.min_ranks, kMaxIndex);
  return "an even number of ranks";
}

std::string chunks_need(const Requirements& needs, const Params& params) {
  if (needs.min_chunks == needs.max_chunks) return fmt::format("chunks = {}", needs.min_chunks);
  if (params.chunks < needs.min_chunks) return fmt::format("at least {} chunks", needs.min_chunks);
  if (params.chunks > needs.max_chunks) return fmt::format("at most {} chunks", needs.max_chunks);
  return fmt::format("ranks * chunks of at most {} with ranks = {}", kMaxIndex, params.ranks);
}

std::string microbatches_need(const Requirements& needs, const Params& params) {
  const int m = params.microbatches;
  const int most = most_microbatches(params);
  if (m < 1 || m > most) return fmt::format("microbatches from 1 to {}", most);
  const std::int64_t least = min_microbatches(needs, params.ranks);
  if (m < least) return fmt::format("at least {} microbatches with ranks = {}", least, params.ranks);
  return "an even number of microbatches";
}

/// "interleaved-1f1b needs groups with a sum of microbatches = 13, not [5, 4, 3] with 12"
std::string group_size_text(const Generator& generator, const GroupSize& size, int microbatches) {
  const auto text = [&](const std::string& need, const std::string& found) {
    return fmt::format("{} needs {}, not {}", generator.name, need, found);
  };
  if (generator.requirements.equal_groups && size.is_list())
    return text("one number as group_size", size.text());
  if (!size.is_list() || size.largest() > kMaxIndex || std::ranges::min(size.sizes()) < 1)
    return text(fmt::format("a group_size from 1 to {}", kMaxIndex), size.text());
  return text(fmt::format("groups with a sum of microbatches = {}", microbatches),
              fmt::format("{} with {}", size.text(), sum_of(size)));
}

/// "dualpipe needs an even number of ranks, not 5"
std::string misfit_text(const Generator& generator, const Params& params, Field field) {
  const Requirements& needs = generator.requirements;
  const auto text = [&](const std::string& need, int found) {
    return fmt::format("{} needs {}, not {}", generator.name, need, found);
  };
  switch (field) {
    case Field::Ranks:
      return text(ranks_need(needs, params), params.ranks);
    case Field::Chunks:
      return text(chunks_need(needs, params), params.chunks);
    case Field::GroupSize:
      if (!needs.takes.has(Option::GroupSize))
        return fmt::format("{} has no groups: remove group_size", generator.name);
      return group_size_text(generator, *params.options.group_size, params.microbatches);
    case Field::Microbatches:
      break;
  }
  return text(microbatches_need(needs, params), params.microbatches);
}

/// "chimera has the variants direct, doubling, not x"
std::string variant_text(const Generator& generator, const Params& params) {
  const auto& known = generator.requirements.variants;
  if (known.empty()) return fmt::format("{} has no variants: remove variant", generator.name);
  return fmt::format("{} has the variants {}, not {}", generator.name, fmt::join(known, ", "),
                     params.options.variant);
}

/// Slices and other numbers: "gpipe has no slices: remove slices"; "" if they are fine.
std::string counts_text(const Generator& generator, const Params& params) {
  const Requirements& needs = generator.requirements;
  if (params.options.memory_limit.given() && !needs.takes.has(Option::MemoryLimit))
    return fmt::format("{} has no memory_limit: remove memory_limit", generator.name);
  const auto text = [&](std::string_view name, Option option, int value, int most) -> std::string {
    const bool taken = needs.takes.has(option);
    if (taken && (value < 1 || value > most))
      return fmt::format("{} needs {} from 1 to {}, not {}", generator.name, name, most, value);
    return taken || value == 1 ? "" : fmt::format("{} has no {}: remove {}", generator.name, name, name);
  };
  std::string found = text("slices", Option::Slices, params.slices(), kMaxSlices);
  for (const OptionCount& count : kOptionCounts)
    if (found.empty())
      found = text(count.name, count.option, (params.options.*count.member).value_or(1), count.most);
  return found;
}

/// The predicate's text as a sentence with the parameters that it looked at.
std::string predicate_text(const Generator& generator, const Params& params) {
  std::string given = fmt::format("ranks = {}", params.ranks);
  if (generator.requirements.max_chunks > 1) given += fmt::format(", chunks = {}", params.chunks);
  if (params.options.group_size) given += fmt::format(", group_size = {}", params.options.group_size->text());
  return fmt::format("{} with {}, microbatches = {} {}", generator.name, given, params.microbatches,
                     generator.predicate(params));
}

int field_of(const Params& params, Field field) {
  switch (field) {
    case Field::Ranks:
      return params.ranks;
    case Field::Chunks:
      return params.chunks;
    case Field::GroupSize:
      return params.options.group_size ? params.options.group_size->largest() : params.ranks;
    case Field::Microbatches:
      break;
  }
  return params.microbatches;
}

void set_field(Params& params, Field field, int value) {
  switch (field) {
    case Field::Ranks:
      params.ranks = value;
      return;
    case Field::Chunks:
      params.chunks = value;
      return;
    case Field::GroupSize:
      params.options.group_size = value;
      return;
    case Field::Microbatches:
      break;
  }
  params.microbatches = value;
}

/// The nearest legal values of the field below and above, and for schedules with groups the next whole number
/// of groups.
std::vector<int> suggestions(const Generator& generator, Params params, Field field) {
  if (field == Field::GroupSize && !generator.requirements.takes.has(Option::GroupSize)) return {};
  const int refused = field_of(params, field);
  const auto legal = [&](int value) {
    set_field(params, field, value);
    return is_legal(generator, params);
  };
  const std::int64_t least =
      field == Field::Microbatches ? min_microbatches(generator.requirements, params.ranks) : 1;
  const int low = static_cast<int>(std::clamp<std::int64_t>(least, 1, kMaxIndex));
  auto values = nearest(refused, {low, kMaxIndex}, legal);
  if (field != Field::Microbatches || !generator.requirements.takes.has(Option::GroupSize) || refused < 1)
    return values;
  const int group = field_of(params, Field::GroupSize);
  const std::int64_t whole_groups = (std::int64_t{refused} / group + 1) * group;
  if (whole_groups > (values.empty() ? refused : values.back()) && whole_groups <= kMaxIndex &&
      legal(static_cast<int>(whole_groups)))
    values.push_back(static_cast<int>(whole_groups));
  return values;
}

/// "; try [5, 4, 4]": a list of group sizes whose last one makes the sum right, or "".
std::string list_advice(const Generator& generator, Params params) {
  std::vector<int> sizes = params.options.group_size->sizes();
  const std::int64_t last = sizes.back() + params.microbatches - sum_of(*params.options.group_size);
  if (last < 1 || last > kMaxIndex) return "";
  sizes.back() = static_cast<int>(last);
  params.options.group_size = std::move(sizes);
  return is_legal(generator, params) ? fmt::format("; try {}", params.options.group_size->text()) : "";
}

/// "; try 4, 6 or 8", or the schedule's requirement if no value of this field alone is legal.
std::string advice(const Generator& generator, const Params& params, Field field) {
  std::string text;
  if (field == Field::GroupSize && params.options.group_size && params.options.group_size->is_list())
    text = list_advice(generator, params);
  if (text.empty()) text = try_text(suggestions(generator, params, field));
  if (field == Field::GroupSize && !generator.requirements.takes.has(Option::GroupSize)) return text;
  // Groups that follow each other too soon may be made larger instead.
  const auto sizes = field == Field::Microbatches && params.options.group_size
                         ? suggestions(generator, params, Field::GroupSize)
                         : std::vector<int>{};
  if (!sizes.empty())
    text += fmt::format("{} group_size = {}", text.empty() ? "; try" : ", or", sizes.back());
  return text.empty() ? fmt::format("; it needs {}", generator.requirements.text) : text;
}

}  // namespace

bool takes_option(const Requirements& requirements, Option option) {
  return option == Option::Variant ? !requirements.variants.empty() : requirements.takes.has(option);
}

void complete(const Generator& generator, Params& params, std::optional<int> chunks) {
  const Requirements& requirements = generator.requirements;
  params.chunks = chunks.value_or(default_chunks(requirements, params.options.variant));
  if (params.options.slices.empty()) params.options.slices = equal_slices(requirements.default_slices);
  if (!params.options.updates) params.options.updates = requirements.default_updates;
  if (generator.complete) generator.complete(params, chunks);
}

ScheduleOptions options_in_force(const Generator& generator, const Params& params) {
  const Requirements& requirements = generator.requirements;
  ScheduleOptions out = params.options;
  if (!requirements.takes.has(Option::GroupSize)) {
    out.group_size.reset();
  } else if (!out.group_size) {
    out.group_size = generator.default_group_size ? generator.default_group_size(params) : params.ranks;
  }
  if (!requirements.takes.has(Option::Slices)) out.slices.clear();
  for (const OptionCount& count : kOptionCounts)
    if (!requirements.takes.has(count.option)) (out.*count.member).reset();
  if (out.variant.empty() && !requirements.variants.empty()) out.variant = requirements.variants.front();
  return out;
}

int default_chunks(const Requirements& requirements, std::string_view variant) {
  const auto& known = requirements.variants;
  const auto index = static_cast<std::size_t>(std::find(known.begin(), known.end(), variant) - known.begin());
  return index < requirements.variant_chunks.size() ? requirements.variant_chunks[index]
                                                    : requirements.default_chunks;
}

std::int64_t min_microbatches(const Requirements& requirements, int ranks) {
  const std::int64_t by_ranks = std::int64_t{requirements.min_microbatches_per_rank} * ranks;
  return std::max<std::int64_t>(1, by_ranks + requirements.min_microbatches_offset);
}

std::int64_t max_ops(const Generator& generator, const Params& params) {
  const int kinds =
      (generator.requirements.splits_backward ? 3 : 2) + (generator.requirements.shares_output ? 2 : 0);
  std::int64_t ops = kinds;
  for (const int factor :
       {params.ranks, params.chunks, params.microbatches, params.slices(), params.updates()})
    if (__builtin_mul_overflow(ops, std::int64_t{std::max(factor, 0)}, &ops))
      return std::numeric_limits<std::int64_t>::max();
  return ops;
}

bool may_take(const Generator& generator, const Params& params) {
  return variant_fits(generator.requirements, params) && counts_text(generator, params).empty() &&
         !misfit(generator.requirements, params);
}

bool takes(const Generator& generator, const Params& params) {
  return may_take(generator, params) && (!generator.accepts || generator.accepts(params));
}

std::string refusal(const Generator& generator, const Params& params) {
  if (!variant_fits(generator.requirements, params)) return variant_text(generator, params);
  if (std::string reason = counts_text(generator, params); !reason.empty()) return reason;
  if (is_legal(generator, params)) return "";
  if (const auto field = misfit(generator.requirements, params))
    return misfit_text(generator, params, *field) + advice(generator, params, *field);
  return predicate_text(generator, params) + advice(generator, params, Field::Microbatches);
}

}  // namespace pipeloom::schedules
