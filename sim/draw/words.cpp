#include "sim/draw/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/number_text.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"

namespace pipeloom::draw {

std::string kind_label(OpKind kind) {
  std::string text = fmt::format("{} ({})", words_of(kind), letter_of(kind));
  text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

std::string idle_label(IdleCause cause) {
  return fmt::format("Idle: {}", name_of(cause));
}

std::string rank_label(Rank rank) {
  return fmt::format("rank {}", rank.value());
}

std::string op_number(Op op) {
  std::array<char, kMaxOpText> text;
  return {text.data(), write_op_number(text.data(), op)};
}

std::string widest_op_number(const Schedule& schedule) {
  std::string number(std::to_string(std::max(0, schedule.microbatches() - 1)).size(), '0');
  if (schedule.slices() > 1) number += fmt::format(".{}", schedule.slices() - 1);
  return number;
}

std::string limit_text(const std::vector<Bytes>& limit) {
  const auto [least, most] = std::minmax_element(limit.begin(), limit.end());
  return *least == *most ? bytes_text(*most) : fmt::format("{} to {}", bytes_text(*least), bytes_text(*most));
}

std::string_view unit_words(TimeUnit unit) {
  return unit == TimeUnit::Unit ? "units" : name_of(unit);
}

std::string axis_title(TimeUnit unit) {
  return fmt::format("Time ({})", unit_words(unit));
}

}  // namespace pipeloom::draw
