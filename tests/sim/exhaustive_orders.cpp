#include "tests/sim/exhaustive_orders.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace pipeloom::test {
namespace {

using orders::Problem;
using orders::StageWork;

using Counts = std::vector<std::uint8_t>;  // [3 * stage + kind]: ops that ran
/// Clocks of the ranks, then the ends of all ops that ran: the same places wherever the counts are the same.
using Ends = std::vector<Ticks>;

class Exhaustive {
 public:
  explicit Exhaustive(const Problem& problem) : problem_(problem), m_(problem.microbatches) {}

  std::optional<Ticks> best() {
    const std::size_t rows = 3 * problem_.stages.size();
    std::map<Counts, std::vector<Ends>> layer = {{Counts(rows), {Ends(problem_.ranks() + rows * m_)}}};
    for (std::size_t op = 0; op < problem_.num_ops(); ++op) {
      std::map<Counts, std::vector<Ends>> next;
      for (const auto& [counts, front] : layer)
        for (std::size_t row = 0; row < rows; ++row)
          if (may_run(counts, row)) run(counts, front, row, next);
      layer = std::move(next);
    }
    std::optional<Ticks> best;
    for (const auto& [counts, front] : layer)
      for (const Ends& ends : front) best = std::min(best.value_or(kMaxTicks), value(ends));
    return best;
  }

 private:
  [[nodiscard]] Ticks value(const Ends& ends) const {
    Ticks worst = 0;
    for (std::size_t r = 0; r < problem_.ranks(); ++r) worst = std::max(worst, ends[r] - problem_.origin[r]);
    return worst;
  }
  /// The row before, whose op of the same microbatch must have run; the row itself for the first F.
  [[nodiscard]] std::size_t before(std::size_t row) const {
    if (row % 3 == 0) return row == 0 ? row : row - 3;
    if (row % 3 == 2) return row - 1;
    return row / 3 + 1 == problem_.stages.size() ? row - 1 : row + 3;
  }
  [[nodiscard]] Bytes held_by(const Counts& counts, std::size_t rank) const {
    Bytes sum = 0;
    for (const std::size_t s : problem_.stages_of[rank]) {
      const StageWork& work = problem_.stages[s];
      sum += (counts[3 * s] - counts[3 * s + 1]) * work.held +
             (counts[3 * s + 1] - counts[3 * s + 2]) * work.kept;
    }
    return sum;
  }
  [[nodiscard]] bool may_run(const Counts& counts, std::size_t row) const {
    if (counts[row] == m_ || (row > 0 && counts[before(row)] <= counts[row])) return false;
    Counts after = counts;
    ++after[row];
    const std::size_t rank = problem_.stages[row / 3].rank;
    return held_by(after, rank) <= problem_.limit[rank];
  }
  void run(const Counts& counts, const std::vector<Ends>& front, std::size_t row,
           std::map<Counts, std::vector<Ends>>& next) const {
    const StageWork& work = problem_.stages[row / 3];
    const Ticks duration = row % 3 == 0 ? work.forward : row % 3 == 1 ? work.input : work.weight;
    const Ticks delay = row % 3 == 0 ? work.forward_delay : row % 3 == 1 ? work.gradient_delay : 0;
    Counts after = counts;
    const std::size_t k = after[row]++;
    for (const Ends& ends : front) {
      Ends grown = ends;
      const Ticks ready = row == 0 ? 0 : ends[problem_.ranks() + before(row) * m_ + k] + delay;
      grown[work.rank] = std::max(grown[work.rank], ready) + duration;
      grown[problem_.ranks() + row * m_ + k] = grown[work.rank];
      forget_used(after, grown);
      keep(std::move(grown), next[after]);
    }
  }
  /// Ends that nobody waits for any more no longer tell beginnings apart. W runs where its I did, so the clock says as much.
  void forget_used(const Counts& counts, Ends& ends) const {
    const auto forget = [&](std::size_t row, std::size_t up_to) {
      for (std::size_t k = 0; k < up_to; ++k) ends[problem_.ranks() + row * m_ + k] = 0;
    };
    for (std::size_t row = 1; row < counts.size(); ++row)
      if (row % 3 == 2)
        forget(row, counts[row]);
      else
        forget(before(row), counts[row]);
    forget(1, counts[1]);
  }
  static void keep(Ends ends, std::vector<Ends>& front) {
    const auto late_nowhere = [](const Ends& a, const Ends& b) {
      return std::ranges::equal(a, b, [](Ticks x, Ticks y) { return x <= y; });
    };
    for (const Ends& other : front)
      if (late_nowhere(other, ends)) return;
    std::erase_if(front, [&](const Ends& other) { return late_nowhere(ends, other); });
    front.push_back(std::move(ends));
  }

  const Problem& problem_;
  std::size_t m_;
};

}  // namespace

std::optional<Ticks> exhaustive_value(const Problem& problem) {
  return Exhaustive(problem).best();
}

}  // namespace pipeloom::test
