#include "study/plan/balanced_rows.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <pipeloom/error.hpp>
#include "study/estimate/balance.hpp"
#include "study/plan/workers.hpp"

namespace pipeloom::study {
namespace {

/// Of what balance_layers() would look at for a single schedule.
constexpr double kEffort = 0.1;

bool fits(const Row& row) {
  return over_limit_text(row.first.run).empty();
}

/// Whether `one` is the better row to balance for: it fits, and is faster; where neither fits it holds less.
bool is_before(const Row& one, const Row& other) {
  if (fits(one) != fits(other)) return fits(one);
  return fits(one) ? one.first.step_time < other.first.step_time : one.first.peak < other.first.peak;
}

/// A row that other layers are tried for.
struct Balancing {
  const Row* row = nullptr;
  double share = 1;        ///< Budget::take()
  bool is_search = false;  ///< each evaluation searches for its order
};

/// The row with other layers; nothing where that is no better.
std::optional<Row> with_split(const Balancing& of, const std::vector<int>& layers, const Limits& limits) {
  const Row& row = *of.row;
  const PlanCandidate& from = row.first;
  const Variant other{from.name, with_layers(from.config, from.run.schedule->placement(), layers),
                      row.second};
  Made made = made_within(other, of.share, limits);
  Row out{candidate_of(made.variant, std::move(made.run)), row.second};
  if (!fits(out)) return std::nullopt;
  if (fits(row) && out.first.step_time >= from.step_time) return std::nullopt;
  return out;
}

/// The split for the best of these rows, of those that are no search where there are any; nothing where that is what it has.
std::optional<std::vector<int>> split_for(const std::vector<Balancing>& rows, const Limits& limits) {
  const Row& best = *std::ranges::min_element(rows, [](const Balancing& one, const Balancing& other) {
                       if (one.is_search != other.is_search) return other.is_search;
                       return is_before(*one.row, *other.row);
                     })->row;
  Balanced found = balance_layers(best.first.config, limits, Balance::Time, kEffort);
  if (found.best.layers == best.first.layers) return std::nullopt;
  return std::move(found.best.layers);
}

}  // namespace

std::vector<Row> balanced_rows(const std::vector<const Row*>& rows, const PlanOptions& options,
                               const Limits& limits, Budget& budget) {
  using Shape = std::tuple<std::string, int, std::string>;
  std::map<Shape, std::vector<const Row*>> by_family;
  for (const Row* row : rows)
    by_family[{row->first.placement, row->first.chunks, row->second}].push_back(row);
  std::vector<std::vector<Balancing>> families;
  for (const auto& [family, members] : by_family) {
    std::vector<Balancing> tried;
    for (const Row* row : members) {
      const Promise promise = promise_of({row->first.name, row->first.config, ""}, nullptr);
      if (const double share = budget.take(promise); share > 0)
        tried.push_back({row, share, promise.is_search});
    }
    if (!tried.empty()) families.push_back(std::move(tried));
  }
  std::vector<std::vector<Row>> found(families.size());
  on_threads(options.threads, families.size(), [&](std::size_t i, bool is_caller) {
    if (is_caller && !options.progress("layers of " + families[i].front().row->first.name, "")) return;
    try {
      const auto layers = split_for(families[i], limits);
      if (!layers) return;
      for (const Balancing& one : families[i])
        if (auto better = with_split(one, *layers, limits)) found[i].push_back(std::move(*better));
    } catch (const Error&) {
      return;  // of such stages there are no others: rows stay as they are
    } catch (const Stopped&) {
      return;
    }
  });
  std::vector<Row> out;
  for (std::vector<Row>& some : found) std::ranges::move(some, std::back_inserter(out));
  return out;
}

}  // namespace pipeloom::study
