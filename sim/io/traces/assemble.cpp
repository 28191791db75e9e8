#include "sim/io/traces/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/dependency.hpp"
#include "sim/io/formats/timeline_rows.hpp"
#include "sim/io/traces/rank_steps.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::io {
namespace {

std::string text_of_step(StepName name) {
  return name.first == kUnknown ? fmt::format("{}", name.second)
         : name.second == 0     ? fmt::format("{}", name.first)
                                : fmt::format("{}.{}", name.first, name.second);
}

/// The first few of a list, and how many more there are.
std::string few_of(const std::vector<std::string>& texts) {
  constexpr std::size_t kShownOfList = 8;
  const std::size_t shown = std::min(texts.size(), kShownOfList);
  std::string out =
      fmt::format("{}", fmt::join(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < texts.size()) out += fmt::format(" and {} more", texts.size() - shown);
  return out;
}

class Assembler {
 public:
  Assembler(Trace trace, Partial partial) : trace_(std::move(trace)), partial_(partial) {
    out_.warnings = std::move(trace_.warnings);
    out_.has_step_clocks = trace_.has_step_clocks;
    out_.is_of_torch = trace_.is_of_torch;
    for (RankTrace& rank : trace_.ranks) {
      out_.is_partial = out_.is_partial || rank.is_truncated;
      if (rank.is_truncated) out_.truncated.push_back(rank.rank);
      RankSteps& steps = ranks_.emplace_back(rank);
      if (steps.names().empty())
        throw InputError(Where{rank.file},
                         fmt::format("rank {} has no op; give the file of a run with a pipeline", rank.rank));
      if (steps.num_unmarked() > 0)
        warn(fmt::format("{}: {} ops outside of every mark of a step were left out", rank.file,
                         steps.num_unmarked()));
    }
  }

  TraceRun run() {
    drop_replicas();
    require_ranks();
    warn_of_ranks_without_file();
    require_equal_counts();
    choose_steps();
    make_timeline();
    take_messages();
    warn_of_outliers();
    return std::move(out_);
  }

 private:
  void warn(std::string text) { out_.warnings.push_back(std::move(text)); }

  void drop_replicas() {
    std::set<std::vector<OpName>> seen;
    std::vector<std::string> dropped;
    std::vector<RankSteps> kept;
    for (RankSteps& rank : ranks_) {
      if (!rank.knows_stages() || seen.insert(rank.names()).second)
        kept.push_back(std::move(rank));
      else
        dropped.push_back(fmt::format("{}", rank.rank()));
    }
    ranks_ = std::move(kept);
    has_replicas_ = !dropped.empty();
    if (has_replicas_)
      warn(fmt::format("ranks {} run the same ops as ranks before them: replicas of the pipeline, left out",
                       few_of(dropped)));
    for (const RankSteps& rank : ranks_) out_.ranks.push_back(rank.rank());
  }

  [[nodiscard]] bool knows_stages() const { return ranks_.front().knows_stages(); }

  /// A trace that names stages needs every stage; one of chunks needs every rank.
  void require_ranks() const {
    std::set<std::int32_t> have;
    for (const RankSteps& rank : ranks_) {
      if (rank.knows_stages() != knows_stages())
        throw InputError(Where{rank.file()},
                         "its ranges name stages where those of other ranks do not; map all of them alike");
      if (!knows_stages())
        have.insert(rank.rank());
      else
        for (const OpName& name : rank.names()) have.insert(std::get<1>(name));
    }
    const std::int32_t expected = knows_stages() ? last_stage_of_messages() + 1 : trace_.expected_ranks;
    const std::int32_t count = std::max(expected, *have.rbegin() + 1);
    std::vector<std::string> missing;
    for (std::int32_t i = 0; i < count && missing.size() < 10; ++i)
      if (!have.contains(i)) missing.push_back(fmt::format("{}", i));
    if (missing.empty()) return;
    const char* what = knows_stages() ? "stage" : "rank";
    throw InputError(
        Where{ranks_.front().file()},
        fmt::format("{} {} {} missing{}; {}add the files of {}", what, few_of(missing),
                    missing.size() == 1 ? "is" : "are", knows_stages() ? text_of_no_file() : "",
                    text_of_cut_file(), knows_stages() ? "the ranks that run them" : "these ranks"));
  }

  /// The missing ranks may be in the part of a file that is not there: text that says so, or "".
  [[nodiscard]] std::string text_of_cut_file() const {
    const auto cut = std::ranges::find_if(trace_.ranks, &RankTrace::is_truncated);
    return cut == trace_.ranks.end()
               ? std::string()
               : fmt::format("{} ends before its text does: copy it again, or ", cut->file);
  }

  /// The last that a message goes to or comes from; kUnknown if no message names a stage.
  [[nodiscard]] std::int32_t last_stage_of_messages() const {
    std::int32_t last = kUnknown;
    for (const RankTrace& rank : trace_.ranks)
      for (const TraceMessage& message : rank.messages)
        if (message.stage != kUnknown) {
          const bool goes_up = message.is_gradient == message.is_receive;
          last = std::max(last, message.stage + (goes_up ? 1 : 0));
        }
    return last;
  }

  /// Of the ranks that the run had.
  [[nodiscard]] std::vector<std::string> ranks_without_file() const {
    std::vector<std::string> missing;
    std::int32_t next = 0;
    for (const RankTrace& rank : trace_.ranks) {
      for (; next < rank.rank; ++next) missing.push_back(fmt::format("{}", next));
      next = rank.rank + 1;
    }
    for (; next < trace_.expected_ranks && next < kMaxIndex; ++next)
      missing.push_back(fmt::format("{}", next));
    return missing;
  }
  [[nodiscard]] std::string text_of_no_file() const {
    const std::vector<std::string> missing = ranks_without_file();
    if (missing.empty() || trace_.expected_ranks == kUnknown) return {};
    return fmt::format(", and rank {} {} no file here", few_of(missing),
                       missing.size() == 1 ? "has" : "have");
  }

  /// Files of a job with other dimensions beside the pipeline may be the first of each stage: nothing but a remark.
  void warn_of_ranks_without_file() {
    const std::vector<std::string> missing = ranks_without_file();
    if (!knows_stages() || missing.empty() || trace_.expected_ranks == kUnknown) return;
    warn(fmt::format("of {} ranks, {} {} no file here: if {} a stage of its own, the run is not whole",
                     trace_.expected_ranks, few_of(missing), missing.size() == 1 ? "has" : "have",
                     missing.size() == 1 ? "it ran" : "one of them ran"));
  }

  /// Rank r of p: as the trace says, or by its chunk.
  [[nodiscard]] std::int32_t stage_of(const OpName& name, std::size_t rank) const {
    const auto [kind, stage, chunk, microbatch, slice] = name;
    if (stage != kUnknown) return stage;
    const auto p = static_cast<std::int32_t>(ranks_.size());
    const auto r = static_cast<std::int32_t>(rank);
    if (chunk >= kMaxIndex / p)
      throw InputError(
          Where{ranks_[rank].file()},
          fmt::format("chunk {} on {} ranks is beyond the {} stages that are read", chunk, p, kMaxIndex));
    return trace_.chunk_order == ChunkOrder::Wave && chunk % 2 == 1 ? (chunk + 1) * p - 1 - r : chunk * p + r;
  }

  /// Passes of one direction by stage, and the ranks that ran them.
  struct StageCount {
    std::size_t forwards = 0;
    std::size_t backwards = 0;
    std::vector<std::int32_t> ranks = {};
  };

  [[nodiscard]] std::map<std::int32_t, StageCount> count_passes() const {
    std::map<std::int32_t, StageCount> count;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      for (const OpName& name : ranks_[r].names()) {
        const OpKind kind = std::get<0>(name);
        StageCount& stage = count[stage_of(name, r)];
        if (kind == OpKind::Forward) ++stage.forwards;
        if (kind == OpKind::Backward || kind == OpKind::BackwardInput) ++stage.backwards;
        if (stage.ranks.empty() || stage.ranks.back() != ranks_[r].rank())
          stage.ranks.push_back(ranks_[r].rank());
      }
    return count;
  }

  /// Of a file that ended early, what is there may be shown, if it is said.
  [[nodiscard]] bool takes_cut_step() const {
    return partial_ == Partial::LastStep && !out_.truncated.empty();
  }
  /// Why a run may have no whole step: "the file of rank 2 ends early; ", or "".
  [[nodiscard]] std::string truncated_text() const {
    std::vector<std::string> ranks;
    for (const std::int32_t rank : out_.truncated) ranks.push_back(fmt::format("{}", rank));
    if (ranks.empty()) return {};
    return ranks.size() == 1 ? fmt::format("the file of rank {} ends early; ", ranks.front())
                             : fmt::format("the files of ranks {} end early; ", few_of(ranks));
  }

  /// Every stage runs every microbatch forward, and backward if any stage does.
  void require_equal_counts() {
    const auto count = count_passes();
    const StageCount& first = count.begin()->second;
    const bool goes_back =
        std::any_of(count.begin(), count.end(), [](const auto& stage) { return stage.second.backwards > 0; });
    const auto refuse = [&](std::string_view what, std::size_t StageCount::*number) {
      std::vector<std::string> parts;
      for (const auto& [stage, have] : count)
        parts.push_back(
            fmt::format("stage {} on rank {} has {}", stage, fmt::join(have.ranks, "+"), have.*number));
      if (takes_cut_step()) {
        out_.is_cut = true;
        return warn(fmt::format("no step is whole; numbers of {}: {}", what, few_of(parts)));
      }
      throw InputError(
          Where{ranks_.front().file()},
          fmt::format("stages run different numbers of {} in a step: {}; {}give the files of one run, "
                      "recorded over whole steps",
                      what, few_of(parts), truncated_text()));
    };
    for (const auto& [stage, have] : count)
      if (have.forwards != first.forwards) return refuse("forwards", &StageCount::forwards);
    for (const auto& [stage, have] : count)
      if (goes_back && have.backwards != first.forwards)
        return refuse(fmt::format("backwards, or others than {} forwards,", first.forwards),
                      &StageCount::backwards);
  }

  /// Of which all ranks together have most ops; every rank has some, for the schedule needs all stages.
  [[nodiscard]] std::optional<StepName> fullest_step(const std::set<StepName>& all) const {
    std::optional<StepName> best;
    std::size_t most = 0;
    for (const StepName& name : all) {
      std::size_t ops = 0;
      std::size_t fewest = std::numeric_limits<std::size_t>::max();
      for (const RankSteps& rank : ranks_) {
        ops += rank.count_in(name);
        fewest = std::min(fewest, rank.count_in(name));
      }
      if (fewest > 0 && ops > most) best = name;
      if (fewest > 0) most = std::max(most, ops);
    }
    return best;
  }

  /// Those that every rank ran in full.
  void choose_steps() {
    std::set<StepName> all;
    for (const RankSteps& rank : ranks_)
      for (const auto& [name, ops] : rank.steps()) all.insert(name);
    std::vector<std::string> partial;
    for (const StepName& name : all) {
      const auto lacking = std::find_if(ranks_.begin(), ranks_.end(),
                                        [name](const RankSteps& rank) { return !rank.is_whole(name); });
      if (lacking == ranks_.end()) {
        steps_.push_back(name);
        continue;
      }
      const std::string what = name.second == kUnknown ? "the beginning" : "step " + text_of_step(name);
      partial.push_back(fmt::format("{} (rank {} has {} of {} ops)", what, lacking->rank(),
                                    lacking->count_in(name), lacking->names().size()));
    }
    const std::optional<StepName> fullest = takes_cut_step() ? fullest_step(all) : std::nullopt;
    if (steps_.empty() && fullest) {
      steps_.push_back(*fullest);
      out_.is_cut = true;
      warn("no step is whole on all ranks; the one of which most was recorded is shown as far as it goes");
    }
    if (steps_.empty())
      throw InputError(
          Where{ranks_.front().file()},
          fmt::format("no step is whole on all ranks: {}; {}record a few whole steps on every rank",
                      few_of(partial), truncated_text()));
    if (out_.is_cut) steps_.resize(1);
    out_.is_partial = out_.is_partial || !partial.empty();
    if (!partial.empty()) warn(fmt::format("partial steps were left out: {}", few_of(partial)));
    for (const StepName& name : steps_)
      out_.steps.push_back(name.first == kUnknown || name.second > 0 ? name.second : name.first);
  }

  /// An op that starts before the one before it has ended starts when that ends, unless both are one group. Copies run beside.
  void untangle(Ops& ops) {
    std::stable_sort(ops.begin(), ops.end(),
                     [](const TraceOp& a, const TraceOp& b) { return a.start < b.start; });
    const TraceOp* last = nullptr;
    for (TraceOp& op : ops) {
      if (is_copy(op.kind)) continue;
      const TraceOp* const found = std::exchange(last, &op);
      if (found == nullptr) continue;
      const TraceOp& before = *found;
      if (op.start >= before.end || (op.start == before.start && op.end == before.end)) continue;
      ++num_overlaps_;
      op.start = before.end;
      op.end = std::max(op.end, op.start);
    }
  }

  void add_rows(std::size_t r, int step, const Ops& ops, Ticks offset, std::vector<TimelineRow>& rows) {
    for (const TraceOp& op : ops) {
      const Op whole(op.kind, Stage(stage_of(name_of_op(op), r)), Microbatch(op.microbatch));
      rows.push_back({.op = op.slice == kUnknown ? whole : whole.with_slice(op.slice),
                      .start = op.start + offset,
                      .end = op.end + offset,
                      .rank = static_cast<std::int32_t>(r),
                      .step = step,
                      .line = 0,
                      .is_joined = op.is_joined});
      const std::pair name(static_cast<std::int32_t>(r), rows.back().op.key());
      if (op.wait == WaitInside::Unknown) unknown_.insert(name);
      if (op.wait == WaitInside::OfNext) of_next_.insert(name);
    }
  }

  void make_timeline() {
    TimelineRows rows;
    rows.unit = trace_.unit;
    Ticks offset = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      Ticks last = 0;
      origin_.offset.push_back(offset);
      origin_.marks.push_back(steps_[i].second == 0 ? steps_[i].first : kUnknown);
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        Ops ops = ranks_[r].steps().at(steps_[i]);
        untangle(ops);
        add_rows(r, static_cast<int>(i), ops, offset, rows.rows);
        for (const TraceOp& op : ops) last = std::max(last, op.end);
      }
      if (trace_.has_step_clocks) offset += last;
      if (offset > kMaxTicks / 2)
        throw InputError(Where{ranks_.front().file()},
                         "its steps take longer than time can count; give fewer");
    }
    if (num_overlaps_ > 0)
      warn(fmt::format(
          "{} ops start before the one before them on their rank has ended; they are shown from its end on",
          num_overlaps_));
    Ticks first = kMaxTicks;
    for (const TimelineRow& row : rows.rows) first = std::min(first, row.start);
    for (Ticks& added : origin_.offset) added -= first;
    TimelineFile made = timeline_of(std::move(rows), ranks_.front().file());
    out_.timeline = std::move(made.timeline);
  }

  void take_messages() {
    for (const RankSteps& rank : ranks_)
      origin_.ranks.push_back(
          &*std::find_if(trace_.ranks.begin(), trace_.ranks.end(),
                         [&rank](const RankTrace& one) { return one.rank == rank.rank(); }));
    for (std::size_t r = 0; r < ranks_.size(); ++r) add_verdict(*origin_.ranks[r], ranks_[r]);
    PairedMessages paired = pair_messages(out_.timeline, origin_);
    out_.messages = std::move(paired.messages);
    if (paired.alone > 0)
      warn(fmt::format("{} messages have a send or a receive alone and were left out", paired.alone));
    const WaitsInside waits = waits_inside();
    // A host that waits for nothing says nothing about messages.
    const bool is_told = std::none_of(trace_.ranks.begin(), trace_.ranks.end(), [](const RankTrace& rank) {
      return rank.times_of == TimesOf::HostOfDevice;
    });
    ClocksSet clocks;
    if (is_told)
      clocks = align_by_messages(out_.timeline, out_.messages, waits, trace_.has_step_clocks, out_.ranks);
    if (!clocks.line.empty()) warn(clocks.line);
    for (std::size_t r = 0; r < clocks.offset.size(); ++r) out_.verdicts[r].ahead = clocks.offset[r];
    out_.clocks_uncertain = clocks.uncertain;
    if (!unknown_.empty() || !of_next_.empty()) find_held(waits);
  }

  void add_verdict(const RankTrace& rank, const RankSteps& steps) {
    out_.verdicts.push_back(
        {.rank = rank.rank,
         .file = rank.file,
         .times_of = rank.times_of,
         .num_ops = rank.ops.size(),
         .num_waits_off = rank.num_waits_off,
         .num_left_out = steps.steps().size() - std::min(steps.steps().size(), steps_.size()),
         .last = text_of_last(rank),
         .is_truncated = rank.is_truncated});
  }

  [[nodiscard]] WaitsInside waits_inside() const {
    const Schedule& schedule = *out_.timeline.schedule;
    WaitsInside waits{std::vector<bool>(schedule.num_ops()), std::vector<bool>(schedule.num_ops())};
    for (std::size_t i = 0; i < schedule.num_ops(); ++i) {
      const std::pair name(schedule.rank_of_op(i).value(), schedule.ops()[i].key());
      waits.unknown[i] = unknown_.contains(name);
      waits.of_next[i] = of_next_.contains(name);
    }
    return waits;
  }

  /// True if the message for one op left only when another had begun, in any step.
  [[nodiscard]] bool left_after_start(const DependencyMap& dependencies, std::size_t consumer,
                                      std::size_t op) const {
    const Timeline& timeline = out_.timeline;
    const std::uint32_t producer = dependencies.producer_of(consumer);
    if (producer == DependencyMap::kNone ||
        timeline.schedule->rank_of_op(producer) == timeline.schedule->rank_of_op(op))
      return false;
    for (int step = 0; step < timeline.steps; ++step)
      if (timeline.end_of(producer, step) > timeline.start_of(op, step)) return true;
    return false;
  }

  void find_held(const WaitsInside& waits) {
    const Schedule& schedule = *out_.timeline.schedule;
    const DependencyMap dependencies(schedule);
    std::map<std::pair<OpKind, std::int32_t>, std::size_t> cells;
    std::vector<bool> held(schedule.num_ops());
    std::size_t count = 0;
    for (std::size_t i = 0; i < schedule.num_ops(); ++i) {
      held[i] = (waits.unknown[i] && left_after_start(dependencies, i, i)) ||
                (waits.of_next[i] && left_after_start(dependencies, i + 1, i));
      if (!held[i]) continue;
      ++count;
      ++out_.verdicts[schedule.rank_of_op(i).at()].num_held;
      ++cells[{schedule.ops()[i].kind(), schedule.ops()[i].stage().value()}];
    }
    if (count == 0) return;
    std::vector<std::string> texts;
    for (const auto& [cell, ops] : cells)
      texts.push_back(fmt::format("{} of stage {}", letter_of(cell.first), cell.second));
    warn(fmt::format(
        "the trace does not show when the messages of {} of {} ops were there, so that their times may hold "
        "the wait for them: {}",
        count, schedule.num_ops(), few_of(texts)));
    out_.held = std::move(held);
  }

  void warn_of_outliers() {
    std::vector<Ticks> windows;
    for (int step = 0; step < out_.timeline.steps; ++step)
      windows.push_back(span_of(out_.timeline, step).length());
    std::vector<Ticks> sorted = windows;
    std::sort(sorted.begin(), sorted.end());
    const Ticks median = sorted[sorted.size() / 2];
    std::vector<std::string> outliers;
    for (std::size_t i = 0; i < windows.size() && median > 0; ++i)
      if (windows[i] - median > multiply_divide(median, kOutlyingPercent, 100)) {
        out_.outliers.push_back(static_cast<int>(i));
        outliers.push_back(fmt::format(
            "step {} by {}", text_of_step(steps_[i]),
            percent_text(static_cast<double>(windows[i] - median) / static_cast<double>(median))));
      }
    if (!outliers.empty())
      warn(fmt::format("longer than the median step of {} {}: {}", format_ticks(median, trace_.unit),
                       name_of(trace_.unit), few_of(outliers)));
  }

  Trace trace_;
  Partial partial_;
  TraceRun out_;
  std::vector<RankSteps> ranks_;
  std::vector<StepName> steps_;
  TraceOrigin origin_;
  std::set<std::pair<std::int32_t, std::uint64_t>> unknown_;  // (rank, op)
  std::set<std::pair<std::int32_t, std::uint64_t>> of_next_;
  std::size_t num_overlaps_ = 0;
  bool has_replicas_ = false;
};

}  // namespace

TraceRun assemble(Trace trace, Partial partial) {
  return Assembler(std::move(trace), partial).run();
}

Timeline usual_steps(const TraceRun& run) {
  Timeline out = run.timeline;
  const auto ops = static_cast<std::ptrdiff_t>(out.schedule->num_ops());
  for (auto step = run.outliers.rbegin(); step != run.outliers.rend(); ++step)
    for (std::vector<Ticks>* const times : {&out.start, &out.end})
      times->erase(times->begin() + *step * ops, times->begin() + (*step + 1) * ops);
  out.steps -= static_cast<int>(run.outliers.size());
  return out;
}

}  // namespace pipeloom::io
