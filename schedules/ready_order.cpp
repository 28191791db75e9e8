#include "schedules/ready_order.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <utility>

namespace pipeloom::schedules {
namespace {

/// Memory of a rank's ops: F takes `held`, I frees all of it but `kept`, and W frees that.
struct StageMemory {
  Bytes held = 0;
  Bytes kept = 0;

  /// Bytes that an I takes beyond those that it frees.
  [[nodiscard]] Bytes growth() const { return std::max<Bytes>(0, kept - held); }
};

StageMemory memory_of(const MemoryModel& memory, std::size_t rank) {
  const Bytes held = memory.activation[rank];
  return {held, held - memory.released_at_input[rank]};
}

/// A rank while its queue grows.
struct ReadyRank {
  StageMemory stage;
  Bytes limit = std::numeric_limits<Bytes>::max();
  Bytes memory = 0;
  Ticks free_at = 0;
  int warmup = 0;
  int forwards = 0;
  int inputs = 0;
  int weights = 0;

  /// True if an I of any microbatch on the rank still fits after this forward: without that, ranks could wait for each other.
  [[nodiscard]] bool fits_forward() const { return memory + stage.held + stage.growth() <= limit; }
  [[nodiscard]] bool fits_input() const { return memory + stage.kept - stage.held <= limit; }
};

class ReadyPlayer {
 public:
  ReadyPlayer(const Terms& terms, int microbatches, const ReadyRule& rule);
  std::vector<OpKind> play();

 private:
  using Wake = std::pair<Ticks, std::size_t>;

  [[nodiscard]] std::size_t cell(std::size_t rank, int microbatch) const {
    return rank * static_cast<std::size_t>(microbatches_) + static_cast<std::size_t>(microbatch);
  }
  [[nodiscard]] bool has_come(const std::vector<Ticks>& arrival, std::size_t rank, int next,
                              Ticks now) const {
    return next < microbatches_ && arrival[cell(rank, next)] <= now;
  }
  [[nodiscard]] std::optional<OpKind> pick(std::size_t rank, Ticks now) const;
  void run(std::size_t rank, OpKind kind, Ticks now);
  void arrive(std::vector<Ticks>& arrival, std::size_t rank, int microbatch, Ticks when);

  const Costs& costs_;
  int microbatches_;
  std::vector<ReadyRank> ranks_;
  std::vector<Ticks> input_arrival_;     // of F, by cell()
  std::vector<Ticks> gradient_arrival_;  // of I, by cell()
  std::vector<OpKind> queues_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
};

ReadyPlayer::ReadyPlayer(const Terms& terms, int microbatches, const ReadyRule& rule)
    : costs_(terms.costs), microbatches_(microbatches) {
  const std::size_t ranks = terms.memory.activation.size();
  for (std::size_t r = 0; r < ranks; ++r) {
    ReadyRank& rank = ranks_.emplace_back();
    rank.stage = memory_of(terms.memory, r);
    if (!rule.limit.empty()) rank.limit = rule.limit[r];
    if (!rule.warmup.empty()) rank.warmup = rule.warmup[r];
  }
  const std::size_t cells = cell(ranks, 0);
  input_arrival_.assign(cells, std::numeric_limits<Ticks>::max());
  gradient_arrival_ = input_arrival_;
  std::fill_n(input_arrival_.begin(), microbatches, 0);
  queues_.resize(3 * cells);
}

std::vector<OpKind> ReadyPlayer::play() {
  wakes_.emplace(0, 0);
  while (!wakes_.empty()) {
    const auto [now, rank] = wakes_.top();
    wakes_.pop();
    if (ranks_[rank].free_at > now) continue;
    if (const auto kind = pick(rank, now)) run(rank, *kind, now);
  }
  return std::move(queues_);
}

/// Kind of the op that the rank runs now; nullopt if it runs none.
std::optional<OpKind> ReadyPlayer::pick(std::size_t rank, Ticks now) const {
  const ReadyRank& own = ranks_[rank];
  const bool forward = has_come(input_arrival_, rank, own.forwards, now) && own.fits_forward();
  if (own.forwards < own.warmup) return forward ? std::optional(OpKind::Forward) : std::nullopt;
  if (has_come(gradient_arrival_, rank, own.inputs, now) && own.fits_input()) return OpKind::BackwardInput;
  const bool steady = own.warmup == 0 || own.inputs > 0;
  if (forward && steady) return OpKind::Forward;
  return own.weights < own.inputs ? std::optional(OpKind::BackwardWeight) : std::nullopt;
}

void ReadyPlayer::run(std::size_t rank, OpKind kind, Ticks now) {
  ReadyRank& own = ranks_[rank];
  queues_[3 * cell(rank, 0) + static_cast<std::size_t>(own.forwards + own.inputs + own.weights)] = kind;
  int& next = kind == OpKind::Forward         ? own.forwards
              : kind == OpKind::BackwardInput ? own.inputs
                                              : own.weights;
  const int k = next++;
  own.free_at = now + costs_.table_duration({kind, Stage(static_cast<int>(rank)), Microbatch(k)},
                                            Slot(static_cast<int>(rank)));
  wakes_.emplace(own.free_at, rank);
  if (kind == OpKind::Forward) {
    own.memory += own.stage.held;
    if (rank + 1 == ranks_.size())
      arrive(gradient_arrival_, rank, k, own.free_at);
    else
      arrive(input_arrival_, rank + 1, k, own.free_at + costs_.forward_delay[rank + 1]);
  } else if (kind == OpKind::BackwardInput) {
    own.memory += own.stage.kept - own.stage.held;
    if (rank > 0) arrive(gradient_arrival_, rank - 1, k, own.free_at + costs_.backward_delay[rank - 1]);
  } else {
    own.memory -= own.stage.kept;
  }
}

void ReadyPlayer::arrive(std::vector<Ticks>& arrival, std::size_t rank, int microbatch, Ticks when) {
  arrival[cell(rank, microbatch)] = when;
  wakes_.emplace(when, rank);
}

}  // namespace

int room_for(const MemoryModel& memory, Rank rank, Bytes limit, int microbatches) {
  const StageMemory stage = memory_of(memory, rank.at());
  const Bytes left = limit - stage.growth();
  if (left < stage.held) return 0;
  return stage.held == 0 ? microbatches : static_cast<int>(std::min<Bytes>(left / stage.held, microbatches));
}

std::vector<OpKind> ready_order(const Terms& terms, int microbatches, const ReadyRule& rule) {
  return ReadyPlayer(terms, microbatches, rule).play();
}

}  // namespace pipeloom::schedules
