#include "study/explain/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "study/explain/robust.hpp"

namespace pipeloom::study::explain {
namespace {

constexpr double kSlowestPart = 0.03;  // of the ranks
constexpr double kWorthNaming = 0.003;

/// [entry]
using Chosen = std::vector<bool>;

/// Replays of all steps in which each entry takes its own time or the mean of its kind.
class Replays {
 public:
  Replays(const Wiring& wiring, const std::vector<MeasuredStep>& steps, const WaitFindings& waits);

  /// Sum of the step times with ideal ops and links but for the chosen entries: a, and i with none.
  [[nodiscard]] double only_uneven(const Chosen& chosen) const { return replay(chosen, true, even_); }
  /// The same as measured but for the chosen entries, which are ideal: r, and o with none.
  [[nodiscard]] double only_even(const Chosen& chosen) const { return replay(chosen, false, added_); }

 private:
  /// The chosen take their measured time if `measured`, else all others do.
  [[nodiscard]] double replay(const Chosen& chosen, bool measured, const std::vector<Ticks>& added) const;

  const Wiring& wiring_;
  const std::vector<MeasuredStep>& steps_;
  Ticks rank_time_;
  std::vector<Ticks> added_;  // [link]
  std::vector<Ticks> even_;   // [link]: the median of these
  std::vector<Ticks> mean_;   // [entry]: of its kind
  Residuals none_;
};

/// Which kinds run together.
std::vector<OpKind> kinds_of(const Wiring& wiring, std::size_t e) {
  std::vector<OpKind> kinds;
  for (const Part& part : wiring.parts_of(e)) kinds.push_back(part.op.kind());
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

Replays::Replays(const Wiring& wiring, const std::vector<MeasuredStep>& steps, const WaitFindings& waits)
    : wiring_(wiring),
      steps_(steps),
      rank_time_(waits.rank_time),
      added_(added_of(wiring, waits.links, ~std::uint64_t{0})),
      none_{std::vector<Ticks>(wiring.entries(), 0), std::vector<Ticks>(wiring.entries(), 0),
            std::vector<Ticks>(wiring.messages.size(), 0)} {
  const double middle = median_of(std::vector<double>(added_.begin(), added_.end()));
  even_.assign(added_.size(), std::llround(middle));
  struct Mean {
    double sum = 0;
    double count = 0;
  };
  std::map<std::vector<OpKind>, Mean> means;
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    Mean& mean = means[kinds_of(wiring, e)];
    for (const MeasuredStep& step : steps) {
      mean.sum += static_cast<double>(step.times.end[e] - step.times.start[e]);
      mean.count += 1;
    }
  }
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    const Mean& mean = means[kinds_of(wiring, e)];
    mean_.push_back(std::llround(mean.sum / mean.count));
  }
}

double Replays::replay(const Chosen& chosen, bool measured, const std::vector<Ticks>& added) const {
  double sum = 0;
  std::vector<Ticks> duration(wiring_.entries());
  std::vector<Ticks> ends;
  std::vector<Ticks> lanes;
  for (const MeasuredStep& step : steps_) {
    for (std::size_t e = 0; e < duration.size(); ++e)
      duration[e] = chosen[e] == measured ? step.times.end[e] - step.times.start[e] : mean_[e];
    sum += static_cast<double>(
        step_time(wiring_, {&step.order, duration, added, rank_time_, &none_}, ends, lanes));
  }
  return sum;
}

Chosen chosen_of(const Wiring& wiring, const std::vector<Rank>& ranks) {
  Chosen chosen;
  for (std::size_t e = 0; e < wiring.entries(); ++e)
    chosen.push_back(std::find(ranks.begin(), ranks.end(), wiring.rank[e]) != ranks.end());
  return chosen;
}

/// Entries of the last stage, and the ranks that hold it.
Chosen last_stage_of(const Wiring& wiring, std::vector<Rank>& ranks) {
  Stage last{0};
  for (const Part& part : wiring.parts) last = std::max(last, part.op.stage());
  Chosen chosen;
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    const auto parts = wiring.parts_of(e);
    chosen.push_back(
        std::any_of(parts.begin(), parts.end(), [&](const Part& part) { return part.op.stage() == last; }));
    if (chosen.back() && (ranks.empty() || ranks.back() != wiring.rank[e])) ranks.push_back(wiring.rank[e]);
  }
  return chosen;
}

/// The ranks whose own times alone make the ideal step longest.
std::vector<Rank> slowest_ranks(const Wiring& wiring, const Replays& replays) {
  std::vector<std::pair<double, Rank>> all;
  for (Rank rank{0}; rank < Rank(wiring.ranks); ++rank)
    all.emplace_back(replays.only_uneven(chosen_of(wiring, {rank})), rank);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto count = static_cast<std::size_t>(std::ceil(kSlowestPart * static_cast<double>(all.size())));
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < count; ++i) ranks.push_back(all[i].second);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

std::optional<Stragglers> find_stragglers(const Wiring& wiring, const std::vector<MeasuredStep>& steps,
                                          const WaitFindings& waits) {
  const Replays replays(wiring, steps, waits);
  const Chosen none(wiring.entries(), false);
  const double measured = replays.only_even(none);
  const double ideal = replays.only_uneven(none);
  if (ideal <= 0 || measured - ideal < kWorthNaming * ideal) return std::nullopt;
  const auto share_of = [&](std::vector<Rank> ranks, const Chosen& chosen) {
    return StragglerShare{.ranks = std::move(ranks),
                          .removed = (measured - replays.only_even(chosen)) / (measured - ideal),
                          .added = (replays.only_uneven(chosen) - ideal) / (measured - ideal)};
  };
  Stragglers found{.slowdown = measured / ideal};
  std::vector<Rank> slowest = slowest_ranks(wiring, replays);
  const Chosen theirs = chosen_of(wiring, slowest);
  found.workers = share_of(std::move(slowest), theirs);
  std::vector<Rank> holders;
  const Chosen last = last_stage_of(wiring, holders);
  found.last_stage = share_of(std::move(holders), last);
  return found;
}

}  // namespace pipeloom::study::explain
