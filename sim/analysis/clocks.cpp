#include "sim/analysis/clocks.hpp"

#include <algorithm>

namespace pipeloom {
namespace {

/// Ticks by which the worst message arrives before it leaves once these offsets are taken off.
Ticks worst(std::span<const ClockGap> gaps, const std::vector<Ticks>& offset) {
  Ticks early = 0;
  for (const ClockGap& gap : gaps)
    early = std::max(early, offset[gap.to.at()] - offset[gap.from.at()] - gap.least);
  return early;
}

/// Ticks that the clock of the receiver of `there` is ahead of the sender's.
Ticks ahead_of(const ClockGap& there, const ClockGap& back) {
  constexpr int kSure = 2;
  const bool waited_there = there.waited >= kSure;
  const bool waited_back = back.waited >= kSure;
  if (waited_there == waited_back || there.least + back.least < 0) return (there.least - back.least) / 2;
  return waited_there ? there.least : -back.least;
}

/// The shortest ways from the first rank, or to it, over what gaps leave; kMaxTicks to ranks without one.
std::vector<Ticks> room_of(int ranks, std::span<const ClockGap> gaps, std::span<const Ticks> offset,
                           bool towards_first) {
  std::vector<Ticks> room(static_cast<std::size_t>(ranks), kMaxTicks);
  room.front() = 0;
  bool any = true;
  for (int round = 0; any && round < ranks; ++round) {
    any = false;
    for (const ClockGap& gap : gaps) {
      const std::size_t near = (towards_first ? gap.to : gap.from).at();
      const std::size_t far = (towards_first ? gap.from : gap.to).at();
      if (room[near] == kMaxTicks) continue;
      const Ticks left = std::max<Ticks>(0, gap.least - offset[gap.to.at()] + offset[gap.from.at()]);
      if (room[near] + left >= room[far]) continue;
      room[far] = room[near] + left;
      any = true;
    }
  }
  return room;
}

}  // namespace

std::vector<ClockPair> pairs_of(std::span<const ClockGap> gaps) {
  std::vector<ClockPair> pairs;
  for (const ClockGap& there : gaps) {
    if (there.to < there.from) continue;
    const auto back = std::find_if(gaps.begin(), gaps.end(), [&there](const ClockGap& gap) {
      return gap.from == there.to && gap.to == there.from;
    });
    if (back == gaps.end()) continue;
    pairs.push_back({there.from, there.to, ahead_of(there, *back), there.least + back->least});
  }
  return pairs;
}

ClockOffsets follow_pairs(int ranks, std::vector<ClockPair> pairs) {
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const ClockPair& x, const ClockPair& y) { return x.slack < y.slack; });
  ClockOffsets clocks;
  clocks.offset.assign(static_cast<std::size_t>(ranks), 0);
  std::vector<std::size_t> group(clocks.offset.size());
  for (std::size_t r = 0; r < group.size(); ++r) group[r] = r;
  for (const ClockPair& pair : pairs) {
    const std::size_t kept = group[pair.a.at()];
    const std::size_t moved = group[pair.b.at()];
    if (kept == moved) continue;
    const Ticks by = clocks.offset[pair.a.at()] + pair.ahead - clocks.offset[pair.b.at()];
    for (std::size_t r = 0; r < group.size(); ++r) {
      if (group[r] != moved) continue;
      group[r] = kept;
      clocks.offset[r] += by;
    }
    clocks.slack = std::max(clocks.slack, pair.slack);
  }
  const Ticks first = clocks.offset[0];
  for (std::size_t r = 0; r < group.size(); ++r) {
    clocks.offset[r] -= first;
    if (group[r] != group[0]) clocks.loose.emplace_back(static_cast<std::int32_t>(r));
  }
  return clocks;
}

AlignedClocks align_clocks(int ranks, std::span<const ClockGap> gaps) {
  AlignedClocks out;
  out.early = worst(gaps, std::vector<Ticks>(static_cast<std::size_t>(ranks), 0));
  out.clocks = follow_pairs(ranks, pairs_of(gaps));
  out.left = worst(gaps, out.clocks.offset);
  // Bellman-Ford from there: a round more than ranks changes nothing if offsets exist.
  std::vector<Ticks> offset = out.clocks.offset;
  for (int round = 0; round < ranks && worst(gaps, offset) > 0; ++round)
    for (const ClockGap& gap : gaps)
      offset[gap.to.at()] = std::min(offset[gap.to.at()], offset[gap.from.at()] + gap.least);
  if (out.left == 0 || worst(gaps, offset) > 0) return out;
  out.left = 0;
  for (std::size_t r = offset.size(); r-- > 0;) out.clocks.offset[r] = offset[r] - offset[0];
  return out;
}

Ticks spread_of_offsets(int ranks, std::span<const ClockGap> gaps, std::span<const Ticks> offset) {
  const std::vector<Ticks> more = room_of(ranks, gaps, offset, false);
  const std::vector<Ticks> less = room_of(ranks, gaps, offset, true);
  Ticks spread = 0;
  for (std::size_t r = 0; r < more.size(); ++r)
    if (more[r] != kMaxTicks && less[r] != kMaxTicks) spread = std::max({spread, more[r], less[r]});
  return spread;
}

SettledClocks settle_clocks(int ranks, std::span<const ClockGap> gaps, Ticks bearable) {
  const AlignedClocks aligned = align_clocks(ranks, gaps);
  SettledClocks out;
  out.early = out.left = aligned.early;
  const std::vector<Ticks>& offset = aligned.clocks.offset;
  const bool is_large = std::any_of(offset.begin(), offset.end(),
                                    [bearable](Ticks one) { return one > bearable || one < -bearable; });
  out.moved = is_large && aligned.early > bearable && aligned.left < aligned.early / 2;
  out.offset.assign(static_cast<std::size_t>(ranks), 0);
  if (!out.moved) return out;
  out.offset = offset;
  out.left = aligned.left;
  out.uncertain = spread_of_offsets(ranks, gaps, offset);
  return out;
}

}  // namespace pipeloom
