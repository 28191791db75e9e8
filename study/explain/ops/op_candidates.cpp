#include "study/explain/ops/op_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace pipeloom::study::explain {
namespace {

constexpr double kAlike = 0.01;
constexpr double kPrice = 8;
constexpr double kPriceOfKind = 2;
constexpr double kPriceOfSize = 6;
constexpr double kPriceOfFaster = 4;
constexpr double kPriceOfAdded = 4;  // of two that fit alike the factor is taken

/// Adds the set unless it covers nothing, or what another does.
void add_candidate(std::vector<Candidate>& all, const OpSet& ops, std::vector<Cover> covers) {
  if (covers.empty()) return;
  const auto same = [&](const Candidate& other) {
    return std::equal(other.covers.begin(), other.covers.end(), covers.begin(), covers.end(),
                      [](const Cover& a, const Cover& b) { return a.index == b.index && a.part == b.part; });
  };
  const auto found = std::find_if(all.begin(), all.end(), same);
  if (found != all.end())
    found->equivalent.push_back(ops);
  else
    all.push_back({.ops = ops, .covers = std::move(covers), .equivalent = {}});
}

/// Whether the ops of a candidate on cells differ in their predicted times, and the mean of these.
void take_usual_time(const Search& search, Candidate& candidate) {
  double sum = 0;
  double count = 0;
  double least = 1e300;
  double most = 0;
  for (const Cover& cover : candidate.covers) {
    const std::uint32_t e = search.cells[cover.index].first;
    const double repeats = search.cells[cover.index].count;
    for (const Part& part : search.wiring->parts_of(e)) {
      if (!candidate.ops.has(search.wiring->rank[e], part.op)) continue;
      const double time = part.share * static_cast<double>(search.wiring->predicted[e]);
      sum += repeats * time;
      count += repeats;
      least = std::min(least, time);
      most = std::max(most, time);
    }
  }
  if (sum <= 0) return;
  candidate.usual = sum / count;
  candidate.alike = most - least <= kAlike * most;
}

struct Names {
  std::vector<OpKind> kinds;
  std::vector<Stage> stages;
  std::vector<Microbatch> microbatches;
};

Names names_of(const Wiring& wiring) {
  Names names;
  for (const Part& part : wiring.parts) {
    names.kinds.push_back(part.op.kind());
    names.stages.push_back(part.op.stage());
    names.microbatches.push_back(part.op.microbatch());
  }
  const auto once = [](auto& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  once(names.kinds);
  once(names.stages);
  once(names.microbatches);
  return names;
}

std::vector<Cover> covers_of_cells(const Search& search, const OpSet& ops) {
  std::vector<Cover> covers;
  for (std::uint32_t c = 0; c < search.cells.size(); ++c) {
    const double part = part_covered(*search.wiring, search.cells[c].first, ops);
    if (part > 0.02 && search.cells[c].count > 0) covers.push_back({c, part});
  }
  return covers;
}

std::vector<Cover> covers_of_entries(const Search& search, const OpSet& ops) {
  std::vector<Cover> covers;
  for (std::uint32_t e = 0; e < search.wiring->entries(); ++e) {
    const double part = part_covered(*search.wiring, e, ops);
    if (part > 0.02) covers.push_back({e, part});
  }
  return covers;
}

}  // namespace

double part_covered(const Wiring& wiring, std::size_t e, const OpSet& ops) {
  double sum = 0;
  for (const Part& part : wiring.parts_of(e))
    if (ops.has(wiring.rank[e], part.op)) sum += part.share;
  return sum;
}

void number_cells(Search& search) {
  const Wiring& wiring = *search.wiring;
  std::map<std::vector<int>, std::uint32_t> numbers;
  for (std::uint32_t e = 0; e < wiring.entries(); ++e) {
    std::vector<int> key = {wiring.rank[e].value()};
    for (const Part& part : wiring.parts_of(e)) {
      key.push_back(static_cast<int>(part.op.kind()));
      key.push_back(part.op.stage().value());
      key.push_back(part.op.slice());
    }
    const auto [found, is_new] = numbers.try_emplace(key, static_cast<std::uint32_t>(numbers.size()));
    if (is_new) search.cells.push_back({.first = e});
    search.cell_of.push_back(found->second);
  }
  search.samples.resize(search.cells.size());
}

void list_candidates(Search& search) {
  const Names names = names_of(*search.wiring);
  const auto add = [&](const OpSet& ops) {
    add_candidate(search.of_cells, ops, covers_of_cells(search, ops));
  };
  const auto add_kinds = [&](OpSet ops) {
    add(ops);
    for (const OpKind kind : names.kinds) {
      ops.kind = kind;
      add(ops);
    }
  };
  add_kinds({});
  for (Rank rank{0}; rank < Rank(search.wiring->ranks); ++rank) add_kinds({.rank = rank});
  for (const Stage stage : names.stages) add_kinds({.stage = stage});
  // An op that never repeats does not tell a slow kind from one pause.
  std::erase_if(search.of_cells, [&](const Candidate& of) {
    return of.covers.size() == 1 && search.cells[of.covers.front().index].count < 2;
  });
  for (Candidate& candidate : search.of_cells) take_usual_time(search, candidate);
  for (const Microbatch microbatch : names.microbatches) {
    OpSet ops{.microbatch = microbatch};
    add_candidate(search.of_entries, ops, covers_of_entries(search, ops));
    for (const OpKind kind : names.kinds) {
      ops.kind = kind;
      add_candidate(search.of_entries, ops, covers_of_entries(search, ops));
    }
  }
}

double price_of(const OpCause& cause, std::size_t candidates) {
  const double log_factor =
      cause.is_added ? std::log(std::max(1 + cause.size(), kLeastLeft)) : cause.log_factor;
  return kPrice + std::log(static_cast<double>(candidates)) + (cause.ops.kind ? kPriceOfKind : 0) +
         kPriceOfSize * std::abs(log_factor) + (log_factor < 0 ? kPriceOfFaster : 0) +
         (cause.is_added ? kPriceOfAdded : 0);
}

namespace {

/// A part's time under causes, over the predicted time of its entry: what factors make of it, and what comes on top.
struct PartTime {
  double scaled = 0;
  double added = 0;
};
PartTime part_time(const Wiring& wiring, std::size_t e, const Part& part, std::span<const OpCause> causes) {
  PartTime time;
  double log_factor = 0;
  for (const OpCause& cause : causes) {
    if (!cause.ops.has(wiring.rank[e], part.op)) continue;
    log_factor += cause.log_factor;
    time.added += cause.added;
  }
  time.scaled = part.share * std::exp(log_factor);
  time.added = wiring.predicted[e] > 0 ? time.added / static_cast<double>(wiring.predicted[e]) : 0;
  return time;
}

}  // namespace

double log_factor_of(const Wiring& wiring, std::size_t e, std::span<const OpCause> causes) {
  if (causes.empty()) return 0;
  double sum = 0;
  for (const Part& part : wiring.parts_of(e)) {
    const PartTime time = part_time(wiring, e, part, causes);
    sum += time.scaled + time.added;
  }
  return std::log(std::max(sum, kLeastLeft));
}

double slope_of(const Wiring& wiring, std::size_t e, std::span<const OpCause> causes, const OpCause& of) {
  double sum = 0;
  double covered = 0;
  for (const Part& part : wiring.parts_of(e)) {
    const PartTime time = part_time(wiring, e, part, causes);
    sum += time.scaled + time.added;
    if (of.ops.has(wiring.rank[e], part.op))
      covered += of.is_added ? of.usual / static_cast<double>(wiring.predicted[e]) : time.scaled;
  }
  return covered / std::max(sum, kLeastLeft);
}

double part_now(const Wiring& wiring, std::size_t e, std::span<const OpCause> causes, const Cover& cover,
                const OpSet& ops) {
  const auto adds = [](const OpCause& cause) { return cause.is_added; };
  if (causes.empty() || (wiring.parts_of(e).size() == 1 && std::none_of(causes.begin(), causes.end(), adds)))
    return cover.part;
  return slope_of(wiring, e, causes, {.ops = ops});
}

double microbatch_log(const Wiring& wiring, std::size_t e, std::span<const OpCause> of_cells,
                      std::span<const OpCause> of_microbatches) {
  if (of_microbatches.empty()) return 0;
  if (wiring.parts_of(e).size() == 1) return log_factor_of(wiring, e, of_microbatches);
  std::vector<OpCause> all(of_cells.begin(), of_cells.end());
  all.insert(all.end(), of_microbatches.begin(), of_microbatches.end());
  return log_factor_of(wiring, e, all) - log_factor_of(wiring, e, of_cells);
}

double of_part(double log_whole, double part) {
  if (part > 0.999) return log_whole;
  return std::log(std::max(1 + std::expm1(log_whole) / part, kLeastLeft));
}
double of_whole(double log_factor, double part) {
  if (part > 0.999) return log_factor;
  return std::log1p(part * std::expm1(log_factor));
}

}  // namespace pipeloom::study::explain
