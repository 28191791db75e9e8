#include "study/explain/ops/microbatch_causes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "study/explain/ops/op_candidates.hpp"
#include "study/explain/robust.hpp"

namespace pipeloom::study::explain {
namespace {

constexpr double kMostPerEntry = 16;  // of a loss

/// Searches on the rest of entries within their cells.
struct EntrySearch {
  const Search& search;
  std::span<const OpCause> of_cells;      // for how parts of groups share their time
  std::vector<OpCause> causes;            // found so far
  std::vector<std::vector<double>> left;  // [entry][repeat], logs

  [[nodiscard]] double loss(double log_left) const {
    return std::min(log_left * log_left / (search.sigma * search.sigma), kMostPerEntry);
  }
  void take_left();
  [[nodiscard]] double gain(const Candidate& candidate, OpCause& cause) const;
};

void EntrySearch::take_left() {
  left.assign(search.wiring->entries(), {});
  for (std::size_t c = 0; c < search.cells.size(); ++c) {
    if (search.samples[c].size() < 3) continue;
    for (const Sample& sample : search.samples[c])
      left[sample.entry].push_back(sample.value - search.cells[c].mean -
                                   microbatch_log(*search.wiring, sample.entry, of_cells, causes));
  }
}

double EntrySearch::gain(const Candidate& candidate, OpCause& cause) const {
  std::vector<Weighted> ratios;
  std::vector<double> parts;
  std::vector<OpCause> all(of_cells.begin(), of_cells.end());
  all.insert(all.end(), causes.begin(), causes.end());
  for (const Cover& cover : candidate.covers) {
    parts.push_back(part_now(*search.wiring, cover.index, all, cover, candidate.ops));
    for (const double log_left : left[cover.index])
      ratios.push_back({of_part(log_left, parts.back()), parts.back() * parts.back()});
  }
  if (ratios.empty()) return -1;
  const double middle = weighted_median(ratios);
  double sum = 0;
  double weights = 0;
  for (const Weighted& ratio : ratios) {
    if (std::abs(ratio.value - middle) * std::sqrt(ratio.weight) > 3.5 * search.sigma) continue;
    sum += ratio.weight * ratio.value;
    weights += ratio.weight;
  }
  cause.log_factor = weights > 0 ? sum / weights : middle;
  cause.sd = weights > 0 ? search.sigma / std::sqrt(weights) : search.sigma;
  double gain = -price_of(cause, search.of_entries.size());
  int support = 0;
  int entries = 0;  // that speak for it: a single one lost some time
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int before = support;
    for (const double log_left : left[candidate.covers[i].index]) {
      const double less = loss(log_left) - loss(log_left - of_whole(cause.log_factor, parts[i]));
      gain += less / 2;
      if (std::abs(less) > kSpeaks) support += less > 0 ? 1 : -1;
    }
    entries += support > before ? 1 : 0;
  }
  return support < 0 || entries < 2 ? -1 : gain;
}

}  // namespace

std::vector<OpCause> microbatch_causes(const Search& search, std::span<const OpCause> of_cells) {
  EntrySearch entries{search, of_cells, {}, {}};
  while (entries.causes.size() < kMostCauses) {
    entries.take_left();
    OpCause best;
    double best_gain = 0;
    for (const Candidate& candidate : search.of_entries) {
      OpCause cause{.ops = candidate.ops, .equivalent = candidate.equivalent};
      const double gain = entries.gain(candidate, cause);
      if (gain <= best_gain) continue;
      best_gain = gain;
      best = cause;
    }
    if (best_gain <= 0) break;
    entries.causes.push_back(best);
  }
  return std::move(entries.causes);
}

}  // namespace pipeloom::study::explain
