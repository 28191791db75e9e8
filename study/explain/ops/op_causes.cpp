#include "study/explain/ops/op_causes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "study/explain/ops/microbatch_causes.hpp"
#include "study/explain/ops/op_candidates.hpp"
#include "study/explain/robust.hpp"

namespace pipeloom::study::explain {
namespace {

constexpr double kLargestLog = 3;
constexpr double kPriceOfWrongCosts = 15;
constexpr double kMostPerCell = 240;
constexpr double kPriceOfSpread =
    3500;  // times the square of the spread of wrong costs, which is rarely large
constexpr std::array kCostSigmas = {0.0, 0.003, 0.006, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.055, 0.08};
constexpr std::size_t kImproved = 3;  // of these spreads

/// Means of cells with the microbatches' causes taken off, and the spread of entries around them.
void take_means(Search& search, std::span<const OpCause> of_cells, std::span<const OpCause> of_microbatches) {
  std::vector<double> deviations;
  std::vector<std::vector<double>> values(search.cells.size());
  for (std::size_t c = 0; c < search.cells.size(); ++c) {
    for (const Sample& sample : search.samples[c])
      values[c].push_back(sample.value -
                          microbatch_log(*search.wiring, sample.entry, of_cells, of_microbatches));
    if (values[c].size() < 2) continue;
    const double middle = median_of(values[c]);
    const double count = static_cast<double>(values[c].size());
    for (const double value : values[c])
      deviations.push_back(std::abs(value - middle) * std::sqrt(count / (count - 1)));
  }
  search.sigma =
      deviations.empty() ? kSmallestSigma : std::max(kSmallestSigma, 1.4826 * median_of(deviations));
  for (std::size_t c = 0; c < search.cells.size(); ++c) {
    if (values[c].empty()) continue;
    const TrimmedMean mean = trimmed_mean(values[c], 3.5 * search.sigma);
    search.cells[c].mean = mean.value;
    search.cells[c].count = mean.count;
  }
}

/// One state of the search on cells.
struct Fit {
  std::vector<OpCause> causes;
  std::vector<double> left;        // [cell]: mean - log of the causes
  double score = 0;                // less is better
  std::vector<OpSet> barred = {};  // may not be added
};

/// Normal equations of the sizes of causes, cells that no cause can explain left out.
struct Equations {
  std::vector<double> matrix;
  std::vector<double> right;
};

struct CellSearch {
  const Search& search;
  std::vector<double> variance;  // [cell]
  double cost_sigma = 0;
  double price_of_spread = 0;  // of the variances

  [[nodiscard]] double price(const OpCause& cause) const { return price_of(cause, search.of_cells.size()); }
  [[nodiscard]] double loss(double left, std::size_t c) const {
    return std::min(left * left / variance[c], kMostPerCell);
  }
  /// Whether no more of the entries that the i-th cause covers speak against it than for it: single long ops among few do not make a cause.
  [[nodiscard]] bool is_supported(const Fit& fit, std::size_t i) const;
  void rate(Fit& fit) const {
    fit.score = 0;
    fit.left.resize(search.cells.size());
    for (std::size_t c = 0; c < search.cells.size(); ++c) {
      if (search.cells[c].count == 0) continue;
      fit.left[c] = search.cells[c].mean - log_factor_of(*search.wiring, search.cells[c].first, fit.causes);
      fit.score += loss(fit.left[c], c) / 2;
    }
    for (const OpCause& cause : fit.causes) fit.score += price(cause);
  }
  void refit(Fit& fit) const;
  /// How the mean of cell `c` changes with each size. The cell's weight.
  double slopes_at(const Fit& fit, std::size_t c, std::vector<double>& slopes) const;
  [[nodiscard]] Equations equations_of(const Fit& fit) const;
  void take_errors(Fit& fit) const;
  [[nodiscard]] std::optional<OpCause> best_addition(const Fit& fit) const;
  /// The candidate as a factor on what `fit` leaves, and what it gains; as a time on top of each op.
  [[nodiscard]] double gain_of_factor(const Fit& fit, const Candidate& candidate, OpCause& cause) const;
  [[nodiscard]] double gain_of_added(const Fit& fit, const Candidate& candidate, OpCause& cause) const;
  void add_while_it_pays(Fit& fit) const;
  void improve(Fit& fit) const;
  bool exchange(Fit& fit) const;
  bool leave_out(Fit& fit) const;
};

/// Whether another cause than the i-th is of these ops, or that one is in this form.
bool has_in_place_of(const Fit& fit, std::size_t i, const OpSet& ops, bool is_added) {
  for (std::size_t k = 0; k < fit.causes.size(); ++k)
    if (fit.causes[k].ops == ops && (k != i || fit.causes[k].is_added == is_added)) return true;
  return false;
}

/// The weighted median, moved to the mean of what agrees with it.
double agreed(const std::vector<Weighted>& values) {
  const double middle = weighted_median(values);
  double sum = 0;
  double weights = 0;
  for (const Weighted& value : values) {
    const double z2 = (value.value - middle) * (value.value - middle) * value.weight;
    const double weight = value.weight / (1 + z2 / 12);
    sum += weight * value.value;
    weights += weight;
  }
  return sum / weights;
}

double CellSearch::slopes_at(const Fit& fit, std::size_t c, std::vector<double>& slopes) const {
  slopes.clear();
  for (const OpCause& cause : fit.causes)
    slopes.push_back(slope_of(*search.wiring, search.cells[c].first, fit.causes, cause));
  const double z2 = fit.left[c] * fit.left[c] / variance[c];
  return 1 / variance[c] / (1 + z2 / 12);
}

Equations CellSearch::equations_of(const Fit& fit) const {
  const std::size_t n = fit.causes.size();
  Equations equations{std::vector<double>(n * n, 0), std::vector<double>(n, 0)};
  std::vector<double> slopes;
  for (std::size_t c = 0; c < search.cells.size(); ++c) {
    if (search.cells[c].count == 0) continue;
    const double weight = slopes_at(fit, c, slopes);
    for (std::size_t i = 0; i < n; ++i) {
      equations.right[i] += weight * slopes[i] * fit.left[c];
      for (std::size_t j = 0; j < n; ++j) equations.matrix[i * n + j] += weight * slopes[i] * slopes[j];
    }
  }
  return equations;
}

/// What chance in each cell does to the sizes: the solution of the equations for that cell's error alone.
void CellSearch::take_errors(Fit& fit) const {
  const std::vector<double> matrix = equations_of(fit).matrix;
  // The spread that was found is of what the causes left, less than there was.
  const auto cells = static_cast<double>(std::count_if(search.cells.begin(), search.cells.end(),
                                                       [](const Cell& cell) { return cell.count > 0; }));
  const double left = std::max(cells - static_cast<double>(fit.causes.size()), 1.0);
  const double more = cost_sigma > 0 ? std::sqrt(cells / left) : 1;
  for (OpCause& cause : fit.causes) cause.errors.assign(search.cells.size(), 0);
  std::vector<double> slopes;
  for (std::size_t c = 0; c < search.cells.size(); ++c) {
    if (search.cells[c].count == 0) continue;
    const double weight = slopes_at(fit, c, slopes);
    for (double& slope : slopes) slope *= weight * more * std::sqrt(variance[c]);
    const std::vector<double> errors = solve(matrix, slopes);
    for (std::size_t i = 0; i < errors.size(); ++i) fit.causes[i].errors[c] = errors[i];
  }
}

/// Least squares for all factors at once.
void CellSearch::refit(Fit& fit) const {
  const std::size_t n = fit.causes.size();
  for (int round = 0; round < 5; ++round) {
    rate(fit);
    const Equations equations = equations_of(fit);
    const std::vector<double> step = solve(equations.matrix, equations.right);
    double most = 0;
    for (std::size_t i = 0; i < n; ++i) {
      fit.causes[i].set_size(fit.causes[i].size() + std::clamp(step[i], -1.5, 1.5));
      most = std::max(most, std::abs(step[i]));
    }
    if (most < 1e-6) break;
  }
  rate(fit);
}

double CellSearch::gain_of_factor(const Fit& fit, const Candidate& candidate, OpCause& cause) const {
  std::vector<Weighted> ratios;
  std::vector<double> parts;
  for (const Cover& cover : candidate.covers) {
    const double part =
        part_now(*search.wiring, search.cells[cover.index].first, fit.causes, cover, candidate.ops);
    parts.push_back(part);
    ratios.push_back({of_part(fit.left[cover.index], part), part * part / variance[cover.index]});
  }
  cause.log_factor = agreed(ratios);
  if (std::abs(cause.log_factor) > kLargestLog) return -1;
  double gain = -price(cause);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint32_t c = candidate.covers[i].index;
    gain += (loss(fit.left[c], c) - loss(fit.left[c] - of_whole(cause.log_factor, parts[i]), c)) / 2;
  }
  return gain;
}

double CellSearch::gain_of_added(const Fit& fit, const Candidate& candidate, OpCause& cause) const {
  std::vector<Weighted> sizes;
  std::vector<double> slopes;
  for (const Cover& cover : candidate.covers) {
    const double slope = slope_of(*search.wiring, search.cells[cover.index].first, fit.causes, cause);
    slopes.push_back(slope);
    // Measured = fitted * (1 + slope * size); what chance does to the log it does to size * slope / (1 + slope * size).
    const double ratio = std::exp(fit.left[cover.index]);
    sizes.push_back({(ratio - 1) / slope, slope * slope / (ratio * ratio * variance[cover.index])});
  }
  cause.set_size(agreed(sizes));
  double gain = -price(cause);
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const std::uint32_t c = candidate.covers[i].index;
    const double whole = std::log(std::max(1 + slopes[i] * cause.size(), kLeastLeft));
    gain += (loss(fit.left[c], c) - loss(fit.left[c] - whole, c)) / 2;
  }
  return gain;
}

bool CellSearch::is_supported(const Fit& fit, std::size_t i) const {
  std::vector<OpCause> others = fit.causes;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
  double support = 0;
  for (std::size_t c = 0; c < search.cells.size(); ++c) {
    if (search.cells[c].count == 0) continue;
    const double without =
        search.cells[c].mean - log_factor_of(*search.wiring, search.cells[c].first, others);
    const double less = loss(without, c) - loss(fit.left[c], c);
    if (std::abs(less) > kSpeaks) support += less > 0 ? search.cells[c].count : -search.cells[c].count;
  }
  return support >= 0;
}

std::optional<OpCause> CellSearch::best_addition(const Fit& fit) const {
  std::optional<OpCause> best;
  double best_gain = 0;
  for (const Candidate& candidate : search.of_cells) {
    const auto taken = [&](const OpCause& cause) { return cause.ops == candidate.ops; };
    if (std::any_of(fit.causes.begin(), fit.causes.end(), taken)) continue;
    if (std::find(fit.barred.begin(), fit.barred.end(), candidate.ops) != fit.barred.end()) continue;
    for (const bool is_added : {false, true}) {
      if (is_added && candidate.alike) continue;
      OpCause cause = candidate.cause(is_added);
      const double gain =
          is_added ? gain_of_added(fit, candidate, cause) : gain_of_factor(fit, candidate, cause);
      if (gain <= best_gain) continue;
      best_gain = gain;
      best = std::move(cause);
    }
  }
  return best;
}

void CellSearch::add_while_it_pays(Fit& fit) const {
  const std::vector<OpSet> barred = fit.barred;
  while (fit.causes.size() < kMostCauses) {
    const auto cause = best_addition(fit);
    if (!cause) break;
    Fit more = fit;
    more.causes.push_back(*cause);
    refit(more);
    if (more.score >= fit.score) break;
    if (is_supported(more, more.causes.size() - 1))
      fit = std::move(more);
    else
      fit.barred.push_back(cause->ops);
  }
  fit.barred = barred;
}

/// Takes one or two causes out and looks what fits instead, also where the first of them may not come back: what is faster by as much as what holds it is
/// slower is only the rest of that. True if that is better.
bool CellSearch::leave_out(Fit& fit) const {
  const std::size_t n = fit.causes.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      Fit less;
      for (std::size_t k = 0; k < n; ++k)
        if (k != i && k != j) less.causes.push_back(fit.causes[k]);
      const bool is_rest = fit.causes[i].size() * fit.causes[j].size() < 0;
      if (is_rest)
        less.barred.push_back(fit.causes[i].ops);
      else if (j < i)
        continue;
      refit(less);
      add_while_it_pays(less);
      less.barred.clear();
      if (less.score >= fit.score - 1e-6) continue;
      fit = std::move(less);
      return true;
    }
  return false;
}

/// Puts a set that shares cells with a cause in its place, or the cause's own in the other form, all sizes fitted anew. True if that is
/// better.
bool CellSearch::exchange(Fit& fit) const {
  for (std::size_t i = 0; i < fit.causes.size(); ++i)
    for (const Candidate& candidate : search.of_cells) {
      const auto shared = [&](const Cover& cover) {
        return part_covered(*search.wiring, search.cells[cover.index].first, fit.causes[i].ops) > 0.02;
      };
      if (std::none_of(candidate.covers.begin(), candidate.covers.end(), shared)) continue;
      for (const bool is_added : {false, true}) {
        if (is_added && candidate.alike) continue;
        if (has_in_place_of(fit, i, candidate.ops, is_added)) continue;
        Fit other = fit;
        other.causes[i] = candidate.cause(is_added);
        other.causes[i].set_size(fit.causes[i].size());
        refit(other);
        if (other.score >= fit.score - 1e-6 || !is_supported(other, i)) continue;
        fit = std::move(other);
        return true;
      }
    }
  return false;
}

void CellSearch::improve(Fit& fit) const {
  for (int round = 0; round < 20; ++round)
    if (!leave_out(fit) && !exchange(fit)) return;
}

/// The search under one spread of wrong costs.
CellSearch search_under(const Search& search, double cost_sigma) {
  CellSearch cells{search, {}, cost_sigma};
  for (const Cell& cell : search.cells) {
    const double of_mean = search.sigma * search.sigma / std::max(cell.count, 1.0);
    cells.variance.push_back(cost_sigma * cost_sigma + of_mean);
    if (cell.count > 0) cells.price_of_spread += std::log(cells.variance.back()) / 2;
  }
  if (cost_sigma > 0) cells.price_of_spread += kPriceOfWrongCosts + kPriceOfSpread * cost_sigma * cost_sigma;
  return cells;
}

struct CostFit {
  Fit fit;
  double cost_sigma = 0;
  double score = 0;
};

CostFit find_under(const Search& search, double cost_sigma) {
  const CellSearch cells = search_under(search, cost_sigma);
  CostFit found{{}, cost_sigma, 0};
  cells.rate(found.fit);
  cells.add_while_it_pays(found.fit);
  found.score = found.fit.score + cells.price_of_spread;
  return found;
}

/// The likeliest spread and its causes: greedily under all spreads, then thoroughly under the best few.
CostFit find_on_cells(const Search& search) {
  std::vector<CostFit> fits;
  for (const double cost_sigma : kCostSigmas) fits.push_back(find_under(search, cost_sigma));
  const auto better = [](const CostFit& a, const CostFit& b) { return a.score < b.score; };
  std::stable_sort(fits.begin(), fits.end(), better);
  fits.resize(std::min(fits.size(), kImproved));
  for (CostFit& found : fits) {
    const CellSearch cells = search_under(search, found.cost_sigma);
    cells.improve(found.fit);
    found.score = found.fit.score + cells.price_of_spread;
  }
  CostFit best = std::move(*std::min_element(fits.begin(), fits.end(), better));
  search_under(search, best.cost_sigma).take_errors(best.fit);
  return best;
}

}  // namespace

OpFindings find_op_causes(const Wiring& wiring, std::span<const Ticks> predicted,
                          const std::vector<std::vector<Ticks>>& measured) {
  Search search;
  search.wiring = &wiring;
  number_cells(search);
  for (const std::vector<Ticks>& step : measured)
    for (std::uint32_t e = 0; e < wiring.entries(); ++e)
      if (predicted[e] > 0 && step[e] > 0)
        search.samples[search.cell_of[e]].push_back(
            {e, std::log(static_cast<double>(step[e]) / static_cast<double>(predicted[e]))});
  take_means(search, {}, {});
  list_candidates(search);
  std::vector<OpCause> microbatches = microbatch_causes(search, {});
  for (int round = 0; round < 3 && !microbatches.empty(); ++round) {
    take_means(search, {}, microbatches);
    const std::vector<OpCause> of_cells = find_under(search, 0).fit.causes;
    take_means(search, of_cells, microbatches);
    std::vector<OpCause> found = microbatch_causes(search, of_cells);
    const bool same = found.size() == microbatches.size();
    microbatches = std::move(found);
    take_means(search, of_cells, microbatches);
    if (same) break;
  }
  CostFit found = find_on_cells(search);
  const Fit& best = found.fit;
  OpFindings findings;
  findings.cost_sigma = found.cost_sigma;
  findings.causes = best.causes;
  findings.causes.insert(findings.causes.end(), microbatches.begin(), microbatches.end());
  findings.sigma = search.sigma;
  findings.cell = search.cell_of;
  findings.shift.assign(search.cells.size(), 0);
  if (findings.cost_sigma > 0)
    for (std::size_t c = 0; c < search.cells.size(); ++c)
      if (search.cells[c].count > 0) {
        const double wrong = findings.cost_sigma * findings.cost_sigma;
        const double of_mean = search.sigma * search.sigma / search.cells[c].count;
        findings.shift[c] = best.left[c] * wrong / (wrong + of_mean);
      }
  return findings;
}

}  // namespace pipeloom::study::explain
