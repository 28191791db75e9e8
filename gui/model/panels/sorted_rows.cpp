// The order of a table's rows. See ops_table.hpp.

#include <algorithm>
#include <array>
#include <bit>

#include "gui/model/panels/ops_table.hpp"

namespace pipeloom::gui {
namespace {

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

/// Least digit first, each pass stable: passes in which all keys have the same digit are left out. Random access to keys is what it costs, so
/// that keys are not copied: ten million of them would be 80 MB twice.
template <class Key>
std::vector<std::uint32_t> radix_order(std::size_t n, const Cancelled& cancelled, Key&& key) {
  std::vector<std::uint32_t> order(n);
  std::uint64_t all_or = 0;
  std::uint64_t all_and = ~std::uint64_t{0};
  for (std::size_t i = 0; i < n; ++i) {
    order[i] = static_cast<std::uint32_t>(i);
    all_or |= key(i);
    all_and &= key(i);
  }
  const std::uint64_t varying = all_or & ~all_and;
  std::vector<std::uint32_t> next(varying == 0 ? 0 : n);
  for (unsigned shift = 0; shift < 64 && (varying >> shift) != 0 && !cancelled; shift += kDigitBits) {
    if ((varying >> shift) % kDigits == 0) continue;
    std::array<std::size_t, kDigits + 1> begin{};
    const auto digit = [&](std::uint32_t i) { return static_cast<std::size_t>(key(i) >> shift) % kDigits; };
    for (std::uint32_t i = 0; i < n; ++i) ++begin[digit(i) + 1];
    for (std::size_t d = 1; d <= kDigits; ++d) begin[d] += begin[d - 1];
    for (const std::uint32_t i : order) next[begin[digit(i)]++] = i;
    order.swap(next);
  }
  return order;
}

/// As texts of ops are read: stage, kind, microbatch, slice.
std::uint64_t text_key(Op op) {
  return static_cast<std::uint64_t>(op.stage().at()) << 40U | static_cast<std::uint64_t>(op.kind()) << 36U |
         static_cast<std::uint64_t>(op.microbatch().at()) << 16U | static_cast<std::uint64_t>(op.slice());
}

std::uint64_t time_key(Ticks ticks) {
  // Times of ops that did not run are negative: they come first.
  return static_cast<std::uint64_t>(ticks) ^ (std::uint64_t{1} << 63U);
}

}  // namespace

std::vector<std::uint32_t> sorted_rows(const RunModel& run, const Found& rows, OpColumn column,
                                       const std::vector<Ticks>& slack, const Cancelled& cancelled) {
  const Timeline& timeline = run.timeline;
  const Schedule& schedule = *run.schedule;
  const auto ops = schedule.ops();
  const std::size_t num_ops = std::max<std::size_t>(ops.size(), 1);
  const std::size_t n = rows ? rows->size() : timeline.start.size();
  const auto position = [&](std::size_t i) { return rows ? (*rows)[i] : i; };
  const auto op = [&](std::size_t i) { return ops[position(i) % num_ops]; };
  const auto by = [&](auto&& key) { return radix_order(n, cancelled, key); };
  switch (column) {
    case OpColumn::Op:
      return by([&](std::size_t i) { return text_key(op(i)); });
    case OpColumn::Kind:
      return by([&](std::size_t i) { return static_cast<std::uint64_t>(op(i).kind()); });
    case OpColumn::Stage:
      return by([&](std::size_t i) { return static_cast<std::uint64_t>(op(i).stage().at()); });
    case OpColumn::Microbatch:
      return by([&](std::size_t i) { return static_cast<std::uint64_t>(op(i).microbatch().at()); });
    case OpColumn::Start:
      return by([&](std::size_t i) { return time_key(timeline.start[position(i)]); });
    case OpColumn::Duration:
      return by(
          [&](std::size_t i) { return time_key(timeline.end[position(i)] - timeline.start[position(i)]); });
    case OpColumn::Slack:
      return by([&](std::size_t i) {
        // Unknown slack comes last.
        const std::size_t p = position(i);
        return p < slack.size() ? time_key(slack[p]) : ~std::uint64_t{0};
      });
    case OpColumn::Rank:
      break;
  }
  return by([&](std::size_t i) {
    return static_cast<std::uint64_t>(schedule.rank_of_op(position(i) % num_ops).at());
  });
}

}  // namespace pipeloom::gui
