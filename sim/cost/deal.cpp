#include "sim/cost/deal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/cost/scaled.hpp"
#include "sim/kinds.hpp"
#include "sim/layout/layer_split.hpp"

namespace pipeloom::cost {
namespace {

using Numbers = std::vector<std::int64_t>;                           // [stage]
using NumbersByKind = std::array<std::optional<Numbers>, kOpKinds>;  // [kind][stage]

/// a * b / c to the nearest. REQUIRES: all >= 0, c > 0.
Wide share_of(Wide a, Wide b, Wide c) {
  return (a * b + c / 2) / c;
}

/// The stages that costs were measured on.
struct MeasuredStages {
  std::vector<std::int32_t> layers;  ///< [stage]
  std::vector<Rank> rank;            ///< [stage]
  Where where;

  [[nodiscard]] std::size_t count() const { return layers.size(); }
};

/// Ranks as the input gives them, or those of a loop.
std::vector<Rank> ranks_of_stages(const CostSpec& spec, int ranks) {
  const std::size_t stages = spec.layers.counts.size();
  const auto& given = spec.stage_ranks.counts;
  std::vector<Rank> out;
  if (!given.empty()) {
    if (given.size() != stages)
      throw InputError(spec.stage_ranks.where,
                       fmt::format("costs.stage_ranks has {} entries, but costs.layers has {}; give one "
                                   "entry for each stage that was measured",
                                   given.size(), stages));
    for (const std::int32_t rank : given) {
      if (rank >= ranks)
        throw InputError(spec.stage_ranks.where,
                         fmt::format("costs.stage_ranks names rank {}, but the schedule's ranks are 0 to {}; "
                                     "costs go to other schedules on the ranks that were measured",
                                     rank, ranks - 1));
      out.emplace_back(rank);
    }
    return out;
  }
  if (stages % static_cast<std::size_t>(ranks) != 0)
    throw InputError(spec.layers.where,
                     fmt::format("costs.layers has {} stages, which are no multiple of the schedule's {} "
                                 "ranks; costs go to other schedules on the ranks that were measured: take "
                                 "as many, or say in costs.stage_ranks who ran which stage",
                                 stages, ranks));
  for (std::size_t s = 0; s < stages; ++s)
    out.emplace_back(static_cast<std::int32_t>(s % static_cast<std::size_t>(ranks)));
  return out;
}

/// True if the numbers are the placement's own.
bool is_own(const CostSpec& spec, const Placement& placement) {
  if (spec.layers.counts.size() != static_cast<std::size_t>(placement.stages())) return false;
  const auto& given = spec.stage_ranks.counts;
  if (given.size() != spec.layers.counts.size()) return true;
  for (Stage stage{0}; stage < Stage(placement.stages()); ++stage)
    if (placement.rank_of(stage) != Rank(given[stage.at()])) return false;
  return true;
}

std::int32_t sum_of_layers(const StageCounts& layers) {
  std::int64_t sum = 0;
  for (std::size_t s = 0; s < layers.counts.size(); ++s) {
    const bool is_end = s == 0 || s + 1 == layers.counts.size();
    if (layers.counts[s] == 0 && !is_end)
      throw InputError(layers.where,
                       fmt::format("costs.layers says 0 on stage {}; only the first and the last stage may "
                                   "have none, so that its time belongs to layers",
                                   s));
    sum += layers.counts[s];
  }
  if (sum < 1 || sum > kMaxIndex)
    throw InputError(
        layers.where,
        fmt::format("costs.layers sums up to {}; the model must have 1 to {} layers", sum, kMaxIndex));
  return static_cast<std::int32_t>(sum);
}

MeasuredStages measured_stages(const CostSpec& spec, int ranks) {
  if (spec.per != Per::Stage)
    throw InputError(
        spec.layers.where,
        fmt::format("costs.layers goes with costs.per \"stage\", not \"{}\", as both say how times "
                    "go to other stages; leave one of them out",
                    name_of(spec.per)));
  return {spec.layers.counts, ranks_of_stages(spec, ranks), spec.layers.where};
}

/// The same number on every stage where that is possible, else torchtitan's split, as `pipeloom layout` has it.
std::vector<std::int32_t> split_layers(std::int32_t layers, int stages, const Where& where) {
  if (layers % stages == 0)
    return std::vector<std::int32_t>(static_cast<std::size_t>(stages), layers / stages);
  try {
    return layout::weighted_split({.layers = layers}, stages);
  } catch (const InputError& error) {
    throw InputError(where, fmt::format("costs.layers: {}", error.what()));
  }
}

/// Turns numbers of measured stages into numbers of a placement's stages.
class Deal {
 public:
  Deal(const CostSpec& spec, const Placement& placement, std::vector<std::int32_t> layers)
      : from_(measured_stages(spec, placement.ranks())),
        placement_(placement),
        layers_(std::move(layers)),
        layers_of_rank_(static_cast<std::size_t>(placement.ranks())),
        before_(layers_.size()),
        first_stage_(static_cast<std::size_t>(placement.ranks())) {
    for (std::size_t s = 0; s < from_.count(); ++s) layers_of_rank_[from_.rank[s].at()] += from_.layers[s];
    std::vector<std::int64_t> dealt(layers_of_rank_.size());
    for (Stage stage{0}; stage < Stage(placement.stages()); ++stage) {
      const std::size_t rank = placement.rank_of(stage).at();
      if (dealt[rank] == 0 && !first_stage_[rank]) first_stage_[rank] = stage;
      before_[stage.at()] = dealt[rank];
      dealt[rank] += layers_[stage.at()];
    }
  }

  [[nodiscard]] const MeasuredStages& from() const { return from_; }
  [[nodiscard]] const std::vector<std::int32_t>& layers() const { return layers_; }
  /// The first of the placement's stages that a rank holds; nothing where it holds none.
  [[nodiscard]] std::optional<Stage> first_stage(Rank rank) const { return first_stage_[rank.at()]; }
  [[nodiscard]] bool one_stage_per_rank() const {
    std::vector<Rank> ranks = from_.rank;
    std::sort(ranks.begin(), ranks.end());
    return std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end();
  }

  [[nodiscard]] Numbers of(const Numbers& measured) const {
    const Wide first = more_than_layers(measured, 0);
    const Wide last = more_than_layers(measured, measured.size() - 1);
    std::vector<Wide> whole = of_layers_by_rank(measured, first, last);
    std::vector<Wide> out(layers_.size());
    for (Stage stage{0}; stage < Stage(placement_.stages()); ++stage)
      out[stage.at()] = share_of_stage(stage, whole, measured);
    out.front() += first;
    out.back() += last;
    return narrowed(out);
  }

 private:
  /// The stage whose layers took least, but for one; nothing if no other has layers.
  [[nodiscard]] std::optional<std::size_t> fastest_but(const Numbers& measured, std::size_t except) const {
    std::optional<std::size_t> found;
    for (std::size_t s = 0; s < measured.size(); ++s) {
      if (s == except || from_.layers[s] == 0) continue;
      if (!found || Wide{measured[s]} * from_.layers[*found] < Wide{measured[*found]} * from_.layers[s])
        found = s;
    }
    return found;
  }

  [[nodiscard]] Wide more_than_layers(const Numbers& measured, std::size_t end) const {
    const auto fastest = fastest_but(measured, end);
    if (!fastest) return 0;
    return std::max<Wide>(
        0, measured[end] - share_of(measured[*fastest], from_.layers[end], from_.layers[*fastest]));
  }

  /// Measured time of all layers of a rank, [rank].
  [[nodiscard]] std::vector<Wide> of_layers_by_rank(const Numbers& measured, Wide first, Wide last) const {
    std::vector<Wide> whole(layers_of_rank_.size());
    for (std::size_t s = 0; s < measured.size(); ++s) whole[from_.rank[s].at()] += measured[s];
    whole[from_.rank.front().at()] -= first;
    whole[from_.rank.back().at()] -= last;
    return whole;
  }

  /// The part of its rank's time between the layers before the stage and those after it, so that parts add up to the whole. A rank
  /// without measured layers is as fast as the fastest.
  [[nodiscard]] Wide share_of_stage(Stage stage, const std::vector<Wide>& whole,
                                    const Numbers& measured) const {
    const std::size_t rank = placement_.rank_of(stage).at();
    Wide time = whole[rank];
    Wide layers = layers_of_rank_[rank];
    if (layers == 0) {
      const std::size_t fastest = *fastest_but(measured, measured.size());
      time = measured[fastest];
      layers = from_.layers[fastest];
    }
    const std::int64_t begin = before_[stage.at()];
    return share_of(time, begin + layers_[stage.at()], layers) - share_of(time, begin, layers);
  }

  [[nodiscard]] Numbers narrowed(const std::vector<Wide>& wide) const {
    Numbers out;
    for (const Wide number : wide) {
      if (number >= kMaxTicks)
        throw InputError(
            from_.where,
            "costs.layers: a stage that times are dealt out to overflows; use a larger time unit");
      out.push_back(static_cast<std::int64_t>(number));
    }
    return out;
  }

  MeasuredStages from_;
  const Placement& placement_;
  std::vector<std::int32_t> layers_;               // of the placement's stages
  std::vector<std::int64_t> layers_of_rank_;       // that were measured
  std::vector<std::int64_t> before_;               // layers of the same rank before a stage
  std::vector<std::optional<Stage>> first_stage_;  // [rank]
};

/// Rows of costs.table and costs.exceptions on their way to other stages. They are taken in the order in which they count.
class RowDeal {
 public:
  /// `measured`: durations by measured stage, which rows without a microbatch change.
  RowDeal(const Deal& deal, NumbersByKind& measured)
      : deal_(deal), measured_(measured), stated_(measured), by_rank_(deal.one_stage_per_rank()) {}

  void take_table(const CostRow& row) {
    if (!can_take(row)) return;
    for_each_cell(row, [&](std::size_t kind, std::size_t stage) {
      if (!row.microbatch) return set_all(kind, stage, said(row, kind, stage));
      const auto place = std::pair(kind, *row.microbatch);
      auto& [numbers, where] = tables_.try_emplace(place, *measured_[kind], row.where).first->second;
      numbers[stage] = said(row, kind, stage);
    });
  }

  void take_exception(CostRow row) {
    if (!can_take(row)) return;
    if (row.is_factor && row.microbatch && (!row.stage || by_rank_)) return pass(std::move(row));
    for_each_cell(row, [&](std::size_t kind, std::size_t stage) {
      if (!row.microbatch) return set_all(kind, stage, said(row, kind, stage));
      cells_.insert_or_assign({kind, stage, *row.microbatch}, std::pair(said(row, kind, stage), row.where));
    });
  }

  [[nodiscard]] int left_out() const { return left_out_; }

  /// Rows for the placement whose durations are `dealt`.
  [[nodiscard]] CostRows rows(const NumbersByKind& dealt) const {
    auto out = std::make_shared<std::vector<CostRow>>();
    add_tables(dealt, *out);
    out->insert(out->end(), passed_.begin(), passed_.end());
    add_excesses(dealt, *out);
    if (out->empty()) return nullptr;
    return out;
  }

 private:
  /// Slices are cut by their schedule, and a kind without a number of its own follows from others.
  bool can_take(const CostRow& row) {
    const auto require_below = [&](const std::optional<std::int32_t>& index, std::size_t count,
                                   const char* what) {
      if (index && static_cast<std::size_t>(*index) >= count)
        throw InputError(row.where,
                         fmt::format("the cost names {} {}, but those of costs.layers are 0 to {}; "
                                     "change it, or leave it out to name all",
                                     what, *index, count - 1));
    };
    require_below(row.stage, deal_.from().count(), "stage");
    const bool takes = !row.slice && !row.of_group && (!row.kind || measured_[index_of(*row.kind)]);
    if (!takes) ++left_out_;
    return takes;
  }

  void for_each_cell(const CostRow& row, const auto& visit) {
    for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
      if (!measured_[kind] || (row.kind && index_of(*row.kind) != kind)) continue;
      for (std::size_t s = 0; s < deal_.from().count(); ++s)
        if ((!row.stage || static_cast<std::size_t>(*row.stage) == s) &&
            (!row.rank || Rank(*row.rank) == deal_.from().rank[s]))
          visit(kind, s);
    }
  }

  [[nodiscard]] Ticks said(const CostRow& row, std::size_t kind, std::size_t stage) const {
    if (!row.is_factor) return row.number;
    const Wide product = share_of((*stated_[kind])[stage], row.number, kUnitScale);
    if (product >= kMaxTicks)
      throw InputError(row.where,
                       "the factor makes a duration overflow; use smaller numbers or a larger time unit");
    return static_cast<Ticks>(product);
  }

  /// Sets the time for every microbatch, and drops earlier rows for single ones.
  void set_all(std::size_t kind, std::size_t stage, Ticks ticks) {
    (*measured_[kind])[stage] = ticks;
    for (auto& [place, table] : tables_)
      if (place.first == kind) table.first[stage] = ticks;
    std::erase_if(cells_, [&](const auto& cell) {
      return std::get<0>(cell.first) == kind && std::get<1>(cell.first) == stage;
    });
  }

  /// A factor of a measured stage that was all of its rank is one of the rank.
  void pass(CostRow row) {
    if (row.stage) {
      const Rank rank = deal_.from().rank[static_cast<std::size_t>(*row.stage)];
      if (row.rank && Rank(*row.rank) != rank) return;
      row.rank = rank.value();
      row.stage.reset();
    }
    passed_.push_back(std::move(row));
  }

  static CostRow row_of(std::size_t kind, Stage stage, std::int32_t microbatch, Ticks ticks,
                        const Where& where) {
    CostRow row;
    row.kind = kAllOpKinds[kind];
    row.stage = stage.value();
    row.microbatch = microbatch;
    row.number = ticks;
    row.where = where;
    return row;
  }

  void add_tables(const NumbersByKind& dealt, std::vector<CostRow>& out) const {
    for (const auto& [place, table] : tables_) {
      const auto& [kind, microbatch] = place;
      const Numbers numbers = deal_.of(table.first);
      for (std::size_t s = 0; s < numbers.size(); ++s)
        if (numbers[s] != (*dealt[kind])[s])
          out.push_back(row_of(kind, Stage(static_cast<int>(s)), microbatch, numbers[s], table.second));
    }
  }

  /// Adds the differences between the times of a rank's ops and those of their stages, summed over its stages, on its first stage.
  void add_excesses(const NumbersByKind& dealt, std::vector<CostRow>& out) const {
    std::map<std::tuple<std::size_t, Stage, std::int32_t>, std::pair<Wide, Where>> sums;
    for (const auto& [place, cell] : cells_) {
      const auto& [kind, stage, microbatch] = place;
      const auto first = deal_.first_stage(deal_.from().rank[stage]);
      if (!first) continue;
      auto& [sum, where] = sums.try_emplace({kind, *first, microbatch}, 0, cell.second).first->second;
      sum += cell.first - (*measured_[kind])[stage];
    }
    for (const auto& [place, excess] : sums) {
      const auto& [kind, stage, microbatch] = place;
      const Wide ticks = std::clamp<Wide>((*dealt[kind])[stage.at()] + excess.first, 0, kMaxTicks - 1);
      out.push_back(row_of(kind, stage, microbatch, static_cast<Ticks>(ticks), excess.second));
    }
  }

  const Deal& deal_;
  NumbersByKind& measured_;
  NumbersByKind stated_;  // before any row changed them: factors multiply these
  bool by_rank_;
  std::map<std::pair<std::size_t, std::int32_t>, std::pair<Numbers, Where>> tables_;  // [kind, microbatch]
  std::map<std::tuple<std::size_t, std::size_t, std::int32_t>, std::pair<Ticks, Where>>
      cells_;  // [kind, measured stage, microbatch]
  std::vector<CostRow> passed_;
  int left_out_ = 0;
};

Numbers numbers_of(const StageNumbers& numbers, std::size_t stages) {
  if (numbers.form == StageNumbers::Form::Array && numbers.array.size() != stages)
    throw InputError(numbers.where,
                     fmt::format("{} has {} entries, but costs.layers has {}; give one entry for each stage "
                                 "that was measured",
                                 numbers.key, numbers.array.size(), stages));
  return expand(numbers, static_cast<int>(stages));
}

void set_numbers(StageNumbers& numbers, Numbers dealt) {
  numbers.form = StageNumbers::Form::Array;
  numbers.array = std::move(dealt);
}

/// Under FirstStage::Torch stage 0 was measured with I in its W. Its layers go to other stages too, which do I, so the two are told apart as
/// on the other stages.
void split_first_backward(NumbersByKind& measured) {
  auto& input = measured[index_of(OpKind::BackwardInput)];
  auto& weight = measured[index_of(OpKind::BackwardWeight)];
  if (!input || !weight) return;
  Wide of_input = 0;
  Wide of_both = 0;
  for (std::size_t s = 1; s < input->size(); ++s) {
    of_input += (*input)[s];
    of_both += Wide{(*input)[s]} + (*weight)[s];
  }
  if (of_both == 0) return;
  const Wide both = Wide{input->front()} + weight->front();
  input->front() = static_cast<std::int64_t>(share_of(both, of_input, of_both));
  weight->front() = static_cast<std::int64_t>(both - input->front());
}

/// Turns a spec into that of another placement.
class SpecDeal {
 public:
  SpecDeal(const CostSpec& spec, const Placement& placement, std::vector<std::int32_t> layers)
      : spec_(spec), deal_(spec, placement, std::move(layers)) {
    origin_ = fmt::format("dealt out from {} stages", deal_.from().count());
  }

  DealtCosts run() {
    out_.spec = spec_;
    deal_durations();
    if (spec_.overlap) deal_overlap(*out_.spec.overlap);
    out_.spec.layers.counts = deal_.layers();
    out_.spec.stage_ranks = {};
    out_.origins.emplace_back("costs.layers", origin_);
    warn();
    return std::move(out_);
  }

 private:
  void deal_durations() {
    NumbersByKind measured;
    for (std::size_t kind = 0; kind < kOpKinds; ++kind)
      if (spec_.duration[kind]) measured[kind] = numbers_of(*spec_.duration[kind], deal_.from().count());
    RowDeal rows(deal_, measured);
    if (spec_.table)
      for (const CostRow& row : *spec_.table) rows.take_table(row);
    if (spec_.exceptions)
      for (const CostRow& row : *spec_.exceptions) rows.take_exception(row);
    if (spec_.first_stage == FirstStage::Torch) split_first_backward(measured);
    NumbersByKind dealt;
    for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
      if (!measured[kind]) continue;
      dealt[kind] = deal_.of(*measured[kind]);
      set_numbers(*out_.spec.duration[kind], *dealt[kind]);
      out_.origins.emplace_back(kKinds[kind].cost_key, origin_);
    }
    out_.spec.table = nullptr;
    out_.spec.exceptions = rows.rows(dealt);
    if (out_.spec.exceptions) out_.origins.emplace_back("costs.exceptions", origin_);
    if (rows.left_out() > 0)
      left_out_.push_back(
          fmt::format("{} row{} of costs.table and costs.exceptions that name{} a slice, overlapped pairs, "
                      "or a kind without a time of its own",
                      rows.left_out(), rows.left_out() == 1 ? "" : "s", rows.left_out() == 1 ? "s" : ""));
  }

  void deal_overlap(OverlapSpec& overlap) {
    if (!overlap.pairs.empty()) {
      left_out_.emplace_back("costs.overlapped.pairs");
      out_.spec.overlap.reset();
      return;
    }
    if (overlap.rule == OverlapRule::Explicit)
      set_numbers(overlap.duration, deal_.of(numbers_of(overlap.duration, deal_.from().count())));
    overlap.saving = multiply_divide(overlap.saving, static_cast<std::int64_t>(deal_.from().count()),
                                     static_cast<std::int64_t>(deal_.layers().size()));
    out_.origins.emplace_back("costs.overlapped", origin_);
  }

  void warn() {
    if (left_out_.empty()) return;
    const std::string place = spec_.layers.where.text();
    out_.warnings.push_back(fmt::format("{}{}costs are {}; left out: {}", place, place.empty() ? "" : ": ",
                                        origin_, fmt::join(left_out_, ", ")));
  }

  const CostSpec& spec_;
  Deal deal_;
  std::string origin_;
  std::vector<std::string> left_out_;
  DealtCosts out_;
};

}  // namespace

std::optional<DealtCosts> deal_out(const CostSpec& spec, const Placement& placement) {
  if (spec.layers.counts.empty() || is_own(spec, placement)) return std::nullopt;
  return deal_layers(spec, placement,
                     split_layers(sum_of_layers(spec.layers), placement.stages(), spec.layers.where));
}

DealtCosts deal_layers(const CostSpec& spec, const Placement& placement,
                       const std::vector<std::int32_t>& layers) {
  return SpecDeal(spec, placement, layers).run();
}

StageNumbers deal_sizes(const StageNumbers& sizes, const CostSpec& spec, const Placement& placement,
                        const std::vector<std::int32_t>& layers) {
  const Deal deal(spec, placement, layers);
  StageNumbers out = sizes;
  set_numbers(out, deal.of(numbers_of(sizes, deal.from().count())));
  return out;
}

}  // namespace pipeloom::cost
