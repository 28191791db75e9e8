#pragma once

// Root causes of idle time, which rarely lie in the op that a rank waits for: that op was late for a reason of its own.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/base/tick_sum.hpp"

namespace pipeloom {

enum class RootKind : std::uint8_t {
  SlowStage,  ///< ops of a stage take longer than those of the same kind on other stages
  LongOp,     ///< single ops take longer than the others of their stage
  Message,    ///< messages between two ranks were under way
  Queueing,   ///< a message waited for the link, or after another
  Memory,     ///< copies to or from the host were not done
  Order,      ///< ranks had other work first, or too little in hand to fill the time
  Fill,       ///< the pipeline fills: nothing of the above, before the rank's first backward
  Drain,      ///< it drains: nothing of the above, after its last forward
  Unexplained  ///< a rank was idle though the tensors were there: in measured runs, and where messages wait for each other
};
inline constexpr std::size_t kRootKinds = 9;
/// "slow-stage", "long-op", "message", "queueing", "memory", "order", "fill", "drain", "unexplained".
[[nodiscard]] std::string_view name_of(RootKind kind);

/// A part of idle time, and where it comes from. Fields that a kind does not need keep their defaults.
struct RootCause {
  RootKind kind = RootKind::Fill;
  Stage stage{-1};       ///< SlowStage
  KindSet kinds = {};    ///< SlowStage: of these ops
  Microbatch batch{-1};  ///< LongOp: their microbatch
  TickSum amount = {};
  Rank from{-1};     ///< Message; Unexplained: the rank that was idle
  Rank to{-1};       ///< Message; the same as `from` where it took time of the rank's own
  double ratio = 1;  ///< SlowStage: of their durations to the others'
  /// SlowStage, LongOp and Order: the op with the largest share, by index; LongOp over several stages: kNoOp.
  std::size_t op = kNoOp;
  /// Of root_causes(): the span that holds its largest part, by number in the rank's spans.
  std::size_t span = 0;
  Rank at{-1};
  static constexpr std::size_t kNoOp = ~std::size_t{0};
  /// The op and its rank in a run of which the schedule at hand is a shorter one; else empty, as `op` says it.
  struct Named {
    Op op;
    Rank rank;
  };
  std::optional<Named> named = {};
};

/// True if both are the same cause, whatever their amounts.
[[nodiscard]] bool is_same_cause(const RootCause& a, const RootCause& b);
/// The largest first; of equal ones by cause.
void sort_causes(std::vector<RootCause>& roots);
/// The op of a cause that has one, and its rank. REQUIRES: root.op is not kNoOp.
[[nodiscard]] Op op_of(const RootCause& root, const Schedule& schedule);
[[nodiscard]] Rank rank_of(const RootCause& root, const Schedule& schedule);

/// "stage 3, 1.6 x the others", "microbatch 5", "2B5", "messages 1 to 2", "warmup": a few words; phases have the names of idle causes.
[[nodiscard]] std::string short_text(const RootCause& root, const Schedule& schedule);
/// "B and F of stage 3 take 1.6 x as long as the others'": a sentence.
[[nodiscard]] std::string long_text(const RootCause& root, const Schedule& schedule);

/// Goes back from gaps to their causes.
///
/// A gap ends when the binding tensor of the next op arrives. Every op starts when the last thing it needs is there: that is its link
/// back, and all links make a tree. The gap is the time that the chain to its end takes longer than the chain to its rank's op before it, from the op
/// where the two part: anything before that delays both and lengthens no gap. Of the first chain, what makes it long counts: an op's time above
/// the norm (kSlow, kLong), and the time of messages; amounts on the second chain too, from the same cause, are taken off. The largest
/// come first, until the gap is full. Where no op is long, chains that reach the same two passes
/// of other microbatches, as far apart as before, count as one: the passes between delay both alike, and before them it is the pipeline that fills. The rest is none of these: by its place in the step the pipeline fills, it drains, or (between)
/// the order of the ops leaves nothing to do. Idle spans that are transfer, queueing or memory are that themselves.
///
/// Norms: an entry's kind takes on a stage the lower median of its durations there, and on the others the lower median of the stages'.
class RootFinder {
 public:
  using Visit = std::function<void(std::size_t)>;

  /// O(ops), and 16 bytes of each. Both must outlive it. REQUIRES: no structural errors; the first step ran to its end.
  RootFinder(const Timeline& timeline, const Costs& costs);

  /// Root causes of a span of the rank's idle time, the largest part first; the amounts sum exactly to its length. O(ops between the gap
  /// and where the chains part, at most kLongestWalk). `visit` is called with the first op of each entry that is looked at.
  [[nodiscard]] std::vector<RootCause> of(Rank rank, const IdleSpan& gap, const Visit& visit = {}) const;
  /// First op of the entry that ends the gap; nullopt after the rank's last entry.
  [[nodiscard]] std::optional<std::size_t> entry_after(Rank rank, const IdleSpan& gap) const;
  /// True if entries of the same kinds and stage take the same time, copies aside: norms are then those of any run with these entries, and no op is long.
  [[nodiscard]] bool is_even() const { return is_even_; }

 private:
  static constexpr std::uint32_t kStart = ~std::uint32_t{0};
  struct Norm {
    Ticks own = 0;     ///< on the entry's stage
    Ticks others = 0;  ///< on all
  };
  class Ledger;

  void link_entries(const Costs& costs);
  void find_norms();
  /// Position in the rank's queue_ of the entry that ends the gap.
  [[nodiscard]] std::size_t place_after(Rank rank, const IdleSpan& gap) const;
  [[nodiscard]] std::uint32_t last_of(std::uint32_t entry) const;
  [[nodiscard]] Ticks start_of(std::uint32_t entry) const { return timeline_.start_of(entry); }
  [[nodiscard]] Ticks end_of(std::uint32_t entry) const { return timeline_.end_of(last_of(entry)); }
  [[nodiscard]] Rank rank_of(std::uint32_t entry) const { return schedule_.home_of(schedule_.ops()[entry]); }
  [[nodiscard]] KindSet kinds_of(std::uint32_t entry) const;
  [[nodiscard]] const Norm& norm_of(std::uint32_t entry) const;
  /// The entries at which two chains are on their way back.
  struct Chains {
    std::uint32_t late;
    std::uint32_t early;
  };
  [[nodiscard]] bool as_far_apart(const Chains& a, const Chains& b) const;
  [[nodiscard]] std::vector<Chains> walk_chains(Chains at, const Visit& visit) const;
  void compare_chains(const Chains& from, const Visit& visit, Ledger& ledger) const;
  void book(std::uint32_t entry, int sign, Ledger& ledger) const;
  void book_wait(std::uint32_t from, Rank at, Ticks wait, int sign, Ledger& ledger) const;
  [[nodiscard]] RootCause message_to(Rank rank, std::uint32_t from) const;

  const Timeline& timeline_;
  const Schedule& schedule_;
  bool messages_take_ranks_;
  std::vector<std::uint32_t> before_;  // [first op of an entry]: the entry that it waited for last
  std::vector<Ticks> held_up_;  // [the same]: from its last tensor to its start, where its rank was busy
  std::vector<std::vector<std::uint32_t>> queue_;             // [rank]: its entries, copies left out
  std::vector<std::pair<KindSet, std::vector<Norm>>> norms_;  // [row]: of such entries, [stage]
  std::uint32_t last_ = kStart;                               // the entry that ends the step
  bool is_even_ = true;
};

/// Ops of a stage are slow, and an op is long, from this share above the norm on.
inline constexpr double kSlow = 0.02;
inline constexpr double kLong = 0.10;
/// Entries that are looked at for one gap; beyond them chains count as one.
inline constexpr std::size_t kLongestWalk = std::size_t{1} << 12;

/// The idle time of all ranks by root, largest first: amounts sum exactly to the spans'. Ops of one microbatch, and kinds of one stage, are one
/// cause. O(spans, and the ops that they walk). `goes_on` is called after every rank with the share of them that is done; if it returns false, the
/// result is empty.
[[nodiscard]] std::vector<RootCause> root_causes(const RootFinder& finder,
                                                 std::span<const std::vector<IdleSpan>> idle,
                                                 const std::function<bool(double)>& goes_on = {});

}  // namespace pipeloom
