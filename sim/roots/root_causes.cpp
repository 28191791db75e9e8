#include "sim/roots/root_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/dependency.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"

namespace pipeloom {
namespace {

constexpr std::array<std::string_view, kRootKinds> kRootNames = {
    "slow-stage", "long-op", "message", "queueing", "memory", "order", "fill", "drain", "unexplained"};

/// Identity of a cause: its kind, and where.
using Key = std::tuple<RootKind, int, int>;

Key key_of(const RootCause& root) {
  switch (root.kind) {
    case RootKind::SlowStage:
      return {root.kind, root.stage.value(), 0};
    case RootKind::LongOp:
      return {root.kind, root.batch.value(), 0};
    case RootKind::Message:
    case RootKind::Unexplained:
      return {root.kind, root.from.value(), root.to.value()};
    default:
      return {root.kind, 0, 0};
  }
}

KindSet with_kinds(KindSet a, KindSet b) {
  for (const OpKind kind : kAllOpKinds)
    if (b.has(kind)) a.add(kind);
  return a;
}

/// Merges `more` into a cause with the same key.
void merge(RootCause& into, const RootCause& more) {
  const double sum = static_cast<double>(into.amount + more.amount);
  if (into.kind == RootKind::SlowStage && sum > 0)
    into.ratio =
        (into.ratio * static_cast<double>(into.amount) + more.ratio * static_cast<double>(more.amount)) / sum;
  if (into.kind == RootKind::LongOp && into.op != more.op) into.op = RootCause::kNoOp;
  into.kinds = with_kinds(into.kinds, more.kinds);
  into.amount += more.amount;
}

bool larger(const RootCause& a, const RootCause& b) {
  return a.amount != b.amount ? a.amount > b.amount : key_of(a) < key_of(b);
}

Ticks lower_median(std::vector<Ticks>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool is_above(Ticks value, Ticks norm, double share) {
  return static_cast<double>(value) > static_cast<double>(norm) * (1 + share);
}

RootKind rest_of(IdleCause phase) {
  if (phase == IdleCause::Warmup) return RootKind::Fill;
  return phase == IdleCause::Cooldown ? RootKind::Drain : RootKind::Order;
}

/// Two digits of a mean, in whatever order its parts were added up.
std::string ratio_text(const RootCause& root) {
  constexpr double kParts = 1e9;
  return fmt::format("{:.2g}", std::round(root.ratio * kParts) / kParts);
}

std::string kinds_text(KindSet kinds) {
  std::string text;
  for (const OpKind kind : kAllOpKinds)
    if (kinds.has(kind))
      text += (text.empty() ? "" : " and ") + std::string(1, kKinds[index_of(kind)].letter);
  return text;
}

}  // namespace

bool is_same_cause(const RootCause& a, const RootCause& b) {
  return key_of(a) == key_of(b);
}

void sort_causes(std::vector<RootCause>& roots) {
  std::sort(roots.begin(), roots.end(), larger);
}

Op op_of(const RootCause& root, const Schedule& schedule) {
  return root.named ? root.named->op : schedule.ops()[root.op];
}

Rank rank_of(const RootCause& root, const Schedule& schedule) {
  return root.named ? root.named->rank : schedule.rank_of_op(root.op);
}

std::string_view name_of(RootKind kind) {
  return kRootNames[static_cast<std::size_t>(kind)];
}

/// Amounts by which one chain is longer than the other, by cause.
class RootFinder::Ledger {
 public:
  void add(const RootCause& root, Ticks amount, int sign) {
    Entry& entry = entries_.try_emplace(key_of(root), Entry{root, {}, 0}).first->second;
    entry.net += TickSum::times(amount, sign);
    if (sign < 0) return;
    entry.root.kinds = with_kinds(entry.root.kinds, root.kinds);
    if (root.kind == RootKind::LongOp && root.op != entry.root.op) entry.root.op = RootCause::kNoOp;
    // Of several kinds the ratio is that of the one that costs most.
    if (root.kind == RootKind::SlowStage && amount > entry.most) {
      entry.root.ratio = root.ratio;
      entry.root.op = root.op;
    }
    entry.most = std::max(entry.most, amount);
  }
  /// An entry of the longer chain whose rank had other work first, for so long.
  void held_up(std::uint32_t entry, Ticks time) {
    if (time <= held_up_for_) return;
    held_up_ = entry;
    held_up_for_ = time;
  }

  /// The largest first until `length` is full; the rest is the phase's.
  [[nodiscard]] std::vector<RootCause> fill(TickSum length, IdleCause phase) const {
    std::vector<RootCause> parts;
    for (const auto& [key, entry] : entries_) {
      if (entry.net <= 0) continue;
      parts.push_back(entry.root);
      parts.back().amount = entry.net;
    }
    std::sort(parts.begin(), parts.end(), larger);
    TickSum left = length;
    for (RootCause& part : parts) {
      part.amount = std::min(part.amount, left);
      left -= part.amount;
    }
    std::erase_if(parts, [](const RootCause& part) { return part.amount == 0; });
    if (left > 0) {
      RootCause rest{.kind = rest_of(phase), .amount = left};
      if (rest.kind == RootKind::Order) rest.op = held_up_;
      parts.push_back(rest);
    }
    std::sort(parts.begin(), parts.end(), larger);
    return parts;
  }

 private:
  struct Entry {
    RootCause root;
    TickSum net;
    Ticks most = 0;
  };
  std::map<Key, Entry> entries_;
  std::size_t held_up_ = RootCause::kNoOp;
  Ticks held_up_for_ = 0;
};

RootFinder::RootFinder(const Timeline& timeline, const Costs& costs)
    : timeline_(timeline), schedule_(*timeline.schedule), messages_take_ranks_(costs.rank_time != 0) {
  link_entries(costs);
  find_norms();
}

std::uint32_t RootFinder::last_of(std::uint32_t entry) const {
  while (schedule_.ops()[entry].joined()) ++entry;
  return entry;
}

KindSet RootFinder::kinds_of(std::uint32_t entry) const {
  KindSet kinds;
  const std::uint32_t last = last_of(entry);
  for (std::uint32_t op = entry; op <= last; ++op) kinds.add(schedule_.ops()[op].kind());
  return kinds;
}

void RootFinder::link_entries(const Costs& costs) {
  const DependencyMap dependencies(schedule_);
  const auto first_of = [&](std::uint32_t op) {
    while (op > 0 && schedule_.ops()[op - 1].joined()) --op;
    return op;
  };
  before_.assign(schedule_.num_ops(), kStart);
  held_up_.assign(schedule_.num_ops(), 0);
  queue_.resize(static_cast<std::size_t>(schedule_.ranks()));
  for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank) {
    std::array<std::uint32_t, 2> previous = {kStart, kStart};  // work, copies
    for_each_entry(
        schedule_, schedule_.queue_begin(rank), schedule_.queue_end(rank),
        [&](std::size_t first, std::size_t end) {
          const auto entry = static_cast<std::uint32_t>(first);
          const bool copy = is_copy(schedule_.ops()[first].kind());
          std::uint32_t latest = kStart;
          Ticks ready = -1;
          const auto wait_for = [&](std::uint32_t other, Ticks time) {
            if (time <= ready) return;
            latest = other;
            ready = time;
          };
          // A rank that is free as late as the tensor comes is the reason, as on the critical path.
          for (const bool lane : {false, true})
            if ((!lane || copy) && previous[lane ? 1 : 0] != kStart)
              wait_for(previous[lane ? 1 : 0], end_of(previous[lane ? 1 : 0]));
          const Ticks free = ready;
          Ticks there = -1;
          for (std::size_t op = first; op < end; ++op) {
            const Op one = schedule_.ops()[op];
            const auto tensor = [&](std::uint32_t producer, Ticks delay) {
              const Ticks time = timeline_.end_of(producer) + delay;
              there = std::max(there, time);
              wait_for(first_of(producer), time);
            };
            const Ticks delay = arrival_delay(costs, one, schedule_.slot_of(one));
            dependencies.each_producer(op, [&](std::uint32_t producer) { tensor(producer, delay); });
            if (const std::uint32_t reload = dependencies.reload_of(op); reload != DependencyMap::kNone)
              tensor(reload, 0);
          }
          before_[entry] = latest;
          if (there >= 0 && there < free) held_up_[entry] = free - there;
          previous[copy ? 1 : 0] = entry;
          if (!copy) queue_[rank.at()].push_back(entry);
          if (last_ == kStart || end_of(entry) > end_of(last_)) last_ = entry;
        });
  }
}

void RootFinder::find_norms() {
  const auto stages = static_cast<std::size_t>(schedule_.stages());
  std::vector<std::vector<std::vector<Ticks>>> took;  // [row][stage]
  for (const std::vector<std::uint32_t>& of_rank : queue_)
    for (const std::uint32_t entry : of_rank) {
      const KindSet kinds = kinds_of(entry);
      auto row =
          std::find_if(norms_.begin(), norms_.end(), [&](const auto& one) { return one.first == kinds; });
      if (row == norms_.end()) {
        norms_.emplace_back(kinds, std::vector<Norm>(stages));
        took.emplace_back(stages);
        row = std::prev(norms_.end());
      }
      took[static_cast<std::size_t>(row - norms_.begin())][schedule_.ops()[entry].stage().at()].push_back(
          end_of(entry) - start_of(entry));
    }
  for (std::size_t row = 0; row < norms_.size(); ++row) {
    std::vector<Ticks> of_stages;
    for (std::size_t stage = 0; stage < stages; ++stage) {
      const auto [least, most] = std::minmax_element(took[row][stage].begin(), took[row][stage].end());
      is_even_ = is_even_ && (least == most || *least == *most);
      const Ticks own = lower_median(took[row][stage]);
      norms_[row].second[stage].own = own;
      if (own > 0) of_stages.push_back(own);  // a stage without such work does not count
    }
    const Ticks others = lower_median(of_stages);
    for (Norm& norm : norms_[row].second) norm.others = others;
  }
}

const RootFinder::Norm& RootFinder::norm_of(std::uint32_t entry) const {
  const KindSet kinds = kinds_of(entry);
  const auto row =
      std::find_if(norms_.begin(), norms_.end(), [&](const auto& one) { return one.first == kinds; });
  return row->second[schedule_.ops()[entry].stage().at()];
}

void RootFinder::book(std::uint32_t entry, int sign, Ledger& ledger) const {
  const Op op = schedule_.ops()[entry];
  const Ticks took = end_of(entry) - start_of(entry);
  if (is_copy(op.kind())) {
    ledger.add({.kind = RootKind::Memory}, took, sign);
  } else {
    const Norm& norm = norm_of(entry);
    if (const Ticks slow = std::min(norm.own, took) - norm.others;
        slow > 0 && is_above(norm.own, norm.others, kSlow))
      ledger.add({.kind = RootKind::SlowStage,
                  .stage = op.stage(),
                  .kinds = kinds_of(entry),
                  .ratio = static_cast<double>(norm.own) / static_cast<double>(norm.others),
                  .op = entry},
                 slow, sign);
    if (is_above(took, norm.own, kLong))
      ledger.add({.kind = RootKind::LongOp, .batch = op.microbatch(), .op = entry}, took - norm.own, sign);
  }
  if (const std::uint32_t from = before_[entry]; from != kStart)
    book_wait(from, rank_of(entry), start_of(entry) - end_of(from), sign, ledger);
  if (sign > 0) ledger.held_up(entry, held_up_[entry]);
}

RootCause RootFinder::message_to(Rank rank, std::uint32_t from) const {
  return {.kind = RootKind::Message, .from = from == kStart ? rank : rank_of(from), .to = rank};
}

void RootFinder::book_wait(std::uint32_t from, Rank at, Ticks wait, int sign, Ledger& ledger) const {
  if (wait <= 0) return;
  if (rank_of(from) != at || messages_take_ranks_)
    ledger.add(message_to(at, from), wait, sign);
  else
    ledger.add({.kind = RootKind::Unexplained, .from = at}, wait, sign);
}

/// True if both are the same two passes of other microbatches, as far apart in time: what lies between delays both chains alike.
bool RootFinder::as_far_apart(const Chains& a, const Chains& b) const {
  if (a.early == kStart || a.late == kStart || b.early == kStart || b.late == kStart) return false;
  const auto op = [this](std::uint32_t entry) { return schedule_.ops()[entry]; };
  const auto same = [&](std::uint32_t one, std::uint32_t other) {
    return op(one).kind() == op(other).kind() && op(one).stage() == op(other).stage() &&
           op(one).slice() == op(other).slice() && rank_of(one) == rank_of(other);
  };
  const auto apart = [&](const Chains& chains) {
    return op(chains.late).microbatch().value() - op(chains.early).microbatch().value();
  };
  return same(a.late, b.late) && same(a.early, b.early) && apart(a) == apart(b) &&
         start_of(a.late) - start_of(a.early) == start_of(b.late) - start_of(b.early);
}

/// Both chains step by step, back from the gap, the later one first, until they are one; where no op is long, also until they are as far apart as before. The last step
/// is where they end.
std::vector<RootFinder::Chains> RootFinder::walk_chains(Chains at, const Visit& visit) const {
  constexpr Ticks kNever = -kMaxTicks;
  std::vector<Chains> steps;
  std::size_t anchor = 0;  // Brent's: one less than a power of two
  Ticks anchor_apart = kNever;
  while (at.late != at.early && steps.size() < kLongestWalk) {
    const bool has_both = at.late != kStart && at.early != kStart;
    const Ticks apart = has_both ? start_of(at.late) - start_of(at.early) : kNever;
    if (is_even_ && has_both && apart == anchor_apart && as_far_apart(steps[anchor], at)) {
      std::size_t same = steps.size();
      while (anchor > 0 && as_far_apart(steps[anchor - 1], steps[same - 1])) {
        --anchor;
        --same;
      }
      steps.resize(anchor + 1);
      return steps;
    }
    if (steps.empty() || steps.size() == 2 * anchor + 1) {
      anchor = steps.size();
      anchor_apart = apart;
    }
    steps.push_back(at);
    std::uint32_t& back = at.early == kStart || (has_both && apart >= 0) ? at.late : at.early;
    if (visit) visit(back);
    back = before_[back];
  }
  steps.push_back(at);
  return steps;
}

/// Back along both, the later one first.
void RootFinder::compare_chains(const Chains& from, const Visit& visit, Ledger& ledger) const {
  const std::vector<Chains> steps = walk_chains(from, visit);
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const bool is_late = steps[i].late != steps[i + 1].late;
    book(is_late ? steps[i].late : steps[i].early, is_late ? 1 : -1, ledger);
  }
}

std::size_t RootFinder::place_after(Rank rank, const IdleSpan& gap) const {
  const std::vector<std::uint32_t>& queue = queue_[rank.at()];
  const auto next = std::partition_point(queue.begin(), queue.end(),
                                         [&](std::uint32_t entry) { return start_of(entry) < gap.end; });
  return static_cast<std::size_t>(next - queue.begin());
}

std::optional<std::size_t> RootFinder::entry_after(Rank rank, const IdleSpan& gap) const {
  const std::size_t place = place_after(rank, gap);
  return place == queue_[rank.at()].size() ? std::nullopt
                                           : std::optional<std::size_t>(queue_[rank.at()][place]);
}

std::vector<RootCause> RootFinder::of(Rank rank, const IdleSpan& gap, const Visit& visit) const {
  const std::vector<std::uint32_t>& queue = queue_[rank.at()];
  const std::size_t place = place_after(rank, gap);
  const bool ends = place == queue.size();  // after the rank's last entry
  const std::uint32_t late = ends ? last_ : before_[queue[place]];
  const std::uint32_t early = place == 0 ? kStart : queue[place - 1];
  const Ticks length = gap.end - gap.start;
  const auto whole = [&](RootCause root) {
    root.amount = length;
    return std::vector<RootCause>{root};
  };
  if (gap.cause == IdleCause::Transfer) return whole(message_to(rank, ends ? kStart : late));
  if (gap.cause == IdleCause::Queueing) return whole({.kind = RootKind::Queueing});
  if (gap.cause == IdleCause::Memory) return whole({.kind = RootKind::Memory});
  Ledger ledger;
  if (late == kStart) return ledger.fill(length, gap.cause);
  compare_chains({late, early}, visit, ledger);
  if (!ends) book_wait(late, rank, gap.end - std::max(gap.start, end_of(late)), 1, ledger);
  return ledger.fill(length, gap.cause);
}

std::vector<RootCause> root_causes(const RootFinder& finder, std::span<const std::vector<IdleSpan>> idle,
                                   const std::function<bool(double)>& goes_on) {
  struct Sum {
    RootCause root;
    TickSum largest;  ///< of its parts
  };
  std::map<Key, Sum> sums;
  const auto add = [&](RootCause part, Rank rank, std::size_t span) {
    part.at = rank;
    part.span = span;
    const auto [found, is_new] = sums.try_emplace(key_of(part), Sum{part, part.amount});
    if (is_new) return;
    Sum& sum = found->second;
    merge(sum.root, part);
    if (part.amount <= sum.largest) return;
    sum.largest = part.amount;
    sum.root.at = rank;
    sum.root.span = span;
    if (part.kind != RootKind::LongOp) sum.root.op = part.op;
  };
  for (std::size_t rank = 0; rank < idle.size(); ++rank) {
    const Rank at(static_cast<std::int32_t>(rank));
    for (std::size_t span = 0; span < idle[rank].size(); ++span)
      for (const RootCause& part : finder.of(at, idle[rank][span])) add(part, at, span);
    if (goes_on && !goes_on(static_cast<double>(rank + 1) / static_cast<double>(idle.size()))) return {};
  }
  std::vector<RootCause> roots;
  for (auto& [key, sum] : sums) roots.push_back(sum.root);
  sort_causes(roots);
  return roots;
}

std::string short_text(const RootCause& root, const Schedule& schedule) {
  switch (root.kind) {
    case RootKind::SlowStage:
      return fmt::format("stage {}, {} x the others", root.stage.value(), ratio_text(root));
    case RootKind::LongOp:
      return root.op == RootCause::kNoOp ? fmt::format("microbatch {}", root.batch.value())
                                         : "long " + to_text(op_of(root, schedule));
    case RootKind::Message:
      return root.from == root.to ? fmt::format("messages of rank {}", root.to.value())
                                  : fmt::format("messages {} to {}", root.from.value(), root.to.value());
    case RootKind::Queueing:
      return "messages that queue";
    case RootKind::Memory:
      return "copies to the host";
    case RootKind::Order:
      return "order of ops";
    case RootKind::Fill:
      return "warmup";
    case RootKind::Drain:
      return "cooldown";
    case RootKind::Unexplained:
      return fmt::format("standstill of rank {}", root.from.value());
  }
  return "";
}

std::string long_text(const RootCause& root, const Schedule& schedule) {
  switch (root.kind) {
    case RootKind::SlowStage:
      return fmt::format("{} of stage {} take {} x as long as the others'", kinds_text(root.kinds),
                         root.stage.value(), ratio_text(root));
    case RootKind::LongOp:
      return root.op == RootCause::kNoOp
                 ? fmt::format("ops of microbatch {} take longer than others of their stages",
                               root.batch.value())
                 : fmt::format("{} takes longer than others of its stage", to_text(op_of(root, schedule)));
    case RootKind::Message:
      return root.from == root.to ? fmt::format("messages take time of rank {}", root.to.value())
                                  : fmt::format("messages are under way from rank {} to {}",
                                                root.from.value(), root.to.value());
    case RootKind::Queueing:
      return "messages wait for a link, or behind others";
    case RootKind::Memory:
      return "copies to and from the host are not done";
    case RootKind::Order:
      return root.op == RootCause::kNoOp
                 ? "the order of the ops leaves nothing to do"
                 : fmt::format("the order: {} waits while rank {} does other work",
                               to_text(op_of(root, schedule)), rank_of(root, schedule).value());
    case RootKind::Fill:
      return "the pipeline fills";
    case RootKind::Drain:
      return "the pipeline drains";
    case RootKind::Unexplained:
      return fmt::format("rank {} stands still though its tensors are there", root.from.value());
  }
  return "";
}

}  // namespace pipeloom
