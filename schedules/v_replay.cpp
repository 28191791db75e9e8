#include "schedules/v_replay.hpp"

#include <algorithm>

namespace pipeloom::schedules {
namespace {

/// How far one rank is.
struct RankCursor {
  std::size_t next = 0;
  Ticks first = 0;
  Ticks now = 0;
  std::array<int, kPassKinds> done = {};
};

class Replay {
 public:
  Replay(const VProblem& problem, const PassOrders& orders, int microbatches)
      : problem_(problem),
        orders_(orders),
        m_(static_cast<std::size_t>(microbatches)),
        ends_(orders.size() * 4 * m_),
        ranks_(orders.size()) {}

  /// Whether every pass runs.
  bool run();
  [[nodiscard]] Replayed result() const;
  [[nodiscard]] LatestStarts latest() const;

 private:
  /// Passes [begin, end) of a rank's order that ran without waiting for another rank's turn.
  struct Stretch {
    int rank;
    std::size_t begin;
    std::size_t end;
  };
  [[nodiscard]] std::size_t index(int rank, Pass pass, int microbatch) const {
    return (static_cast<std::size_t>(rank) * 4 + index_of(pass)) * m_ + static_cast<std::size_t>(microbatch);
  }
  bool advance(int rank);

  const VProblem& problem_;
  const PassOrders& orders_;
  std::size_t m_;
  std::vector<Ticks> ends_;
  std::vector<RankCursor> ranks_;
  std::vector<Stretch> stretches_;
};

bool Replay::run() {
  for (bool moved = true; moved;) {
    moved = false;
    // Down and up again, as passes do.
    for (int rank = 0; rank < problem_.ranks(); ++rank) moved |= advance(rank);
    for (int rank = problem_.ranks() - 1; rank >= 0; --rank) moved |= advance(rank);
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (ranks_[rank].next < orders_[rank].size()) return false;
  return true;
}

bool Replay::advance(int rank) {
  RankCursor& here = ranks_[static_cast<std::size_t>(rank)];
  const auto& order = orders_[static_cast<std::size_t>(rank)];
  const RankTerms& terms = problem_.at(rank);
  const std::size_t began = here.next;
  for (; here.next < order.size(); ++here.next) {
    const Pass pass = order[here.next];
    int& k = here.done[index_of(pass)];
    Ticks start = here.now;
    if (const int before = rank_before(pass, rank, problem_.ranks()); before >= 0) {
      const Pass from = before == rank ? pass_before(pass) : pass;
      if (k >= ranks_[static_cast<std::size_t>(before)].done[index_of(from)]) break;
      start = std::max(start, ends_[index(before, from, k)] + terms.delay[index_of(pass)]);
    }
    if (here.next == 0) here.first = start;
    here.now = start + problem_.duration(rank, pass, k);
    if (!is_weight(pass)) ends_[index(rank, pass, k)] = here.now;
    ++k;
  }
  if (here.next > began) stretches_.push_back({rank, began, here.next});
  return here.next > began;
}

Replayed Replay::result() const {
  Replayed out;
  Ticks earliest = ranks_[0].first;
  for (const RankCursor& rank : ranks_) {
    out.window = std::max(out.window, rank.now - rank.first);
    out.makespan = std::max(out.makespan, rank.now);
    earliest = std::min(earliest, rank.first);
  }
  out.makespan -= earliest;
  const int m = static_cast<int>(m_);
  const int from = (m - 1) / 3;
  const int to = std::min(std::max(from + 1, 2 * m / 3), m - 1);
  if (to > from) {
    const Ticks between = ends_[index(0, Pass::Input0, to)] - ends_[index(0, Pass::Input0, from)];
    out.period = static_cast<double>(between) / (to - from);
  }
  return out;
}

LatestStarts Replay::latest() const {
  LatestStarts starts(ends_.size());
  const Ticks window = result().window;
  std::vector<RankCursor> ranks = ranks_;
  // From here on `now` is when the pass behind must start.
  for (RankCursor& rank : ranks) rank.now = rank.first + window;
  for (auto stretch = stretches_.rbegin(); stretch != stretches_.rend(); ++stretch) {
    const int rank = stretch->rank;
    RankCursor& here = ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = stretch->end; i-- > stretch->begin;) {
      const Pass pass = orders_[static_cast<std::size_t>(rank)][i];
      const int k = --here.done[index_of(pass)];
      Ticks end = here.now;
      if (!is_weight(pass) && (pass != Pass::Input0 || rank > 0)) {
        const Receiver to = receiver(pass, rank, problem_.ranks());
        end =
            std::min(end, starts[index(to.rank, to.pass, k)] - problem_.at(to.rank).delay[index_of(to.pass)]);
      }
      here.now = end - problem_.duration(rank, pass, k);
      if (!is_weight(pass)) starts[index(rank, pass, k)] = here.now;
    }
  }
  return starts;
}

}  // namespace

std::optional<Replayed> replay(const VProblem& problem, const PassOrders& orders, int microbatches,
                               LatestStarts* latest) {
  Replay replay(problem, orders, microbatches);
  if (!replay.run()) return std::nullopt;
  if (latest != nullptr) *latest = replay.latest();
  return replay.result();
}

}  // namespace pipeloom::schedules
